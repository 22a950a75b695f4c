"""A folder that one process has at a time."""

import fcntl
import os
import resource
from contextlib import contextmanager

import pytest

from wavetank.locks import LockedError, is_taken, lock_folder


@contextmanager
def no_space():
    """No file takes a byte more: writing fails, making a file does not."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def take(folder, **mode):
    return lock_folder(folder, "its.lock", "its.database", **mode)


def test_a_folder_is_made_and_another_is_told_who_has_it(tmp_path):
    folder = tmp_path / "outer" / "folder"
    lock = take(folder)
    try:
        assert (folder / "its.lock").read_text() == f"{os.getpid()}\n"
        with pytest.raises(LockedError, match=f"process {os.getpid()} has") as told:
            take(folder)
        assert told.value.owner == str(os.getpid())
    finally:
        os.close(lock)
    os.close(take(folder))  # closed is free


def test_who_looks_sees_whether_it_is_taken_and_is_in_nobodys_way(tmp_path):
    assert not is_taken(tmp_path, "its.lock")
    assert list(tmp_path.iterdir()) == []
    lock = take(tmp_path)
    try:
        assert is_taken(tmp_path, "its.lock")
        assert (tmp_path / "its.lock").read_text() == f"{os.getpid()}\n"
    finally:
        os.close(lock)
    assert not is_taken(tmp_path, "its.lock")


def test_who_takes_a_folder_waits_for_those_who_only_look(tmp_path, monkeypatch):
    os.close(take(tmp_path))
    looker = os.open(tmp_path / "its.lock", os.O_RDONLY)
    fcntl.flock(looker, fcntl.LOCK_SH)
    monkeypatch.setattr("time.sleep", lambda seconds: os.close(looker))
    os.close(take(tmp_path))


def test_who_is_refused_removes_nothing_of_who_has_it(tmp_path):
    lock = take(tmp_path / "folder")
    try:
        with pytest.raises(LockedError):
            take(tmp_path / "folder")
        assert (tmp_path / "folder" / "its.lock").exists()
    finally:
        os.close(lock)


def test_a_folder_of_its_owner_alone_has_a_lock_of_its_owner_alone(tmp_path):
    os.close(take(tmp_path / "folder", mode=0o700))
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "folder" / "its.lock").stat().st_mode & 0o777 == 0o600


def test_where_nothing_can_be_written_nothing_is_left(tmp_path):
    with no_space(), pytest.raises(OSError, match="File too large"):
        take(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", ["its.database", "of others"])
def test_where_nothing_can_be_written_what_was_there_stays(tmp_path, kept):
    (tmp_path / kept).touch()
    with no_space(), pytest.raises(OSError, match="File too large"):
        take(tmp_path)
    assert (tmp_path / kept).exists()
    assert (tmp_path / "its.lock").exists() == (kept == "its.database")


def test_a_folder_that_cannot_be_made_is_said_by_the_system(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="File exists"):
        take(tmp_path / "file")
