"""Files of a trace as columns are the same files as single ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wavetank.trace.schema import UNKNOWN, FileIdentity, TracedFile
from wavetank.trace.traced_files import TracedFiles

FILES = (
    TracedFile("/a", "/", "ext4", 7, identity=FileIdentity("n1 8:1", 2**64 - 1, 5, 1)),
    TracedFile("/b", identity=FileIdentity("n1 8:1", 3)),
    TracedFile("/c/d", directory=True),
    TracedFile("/l", symlink_to="/a", hints=(("cb_nodes", "2"),)),
)


def columns_only(files: TracedFiles) -> TracedFiles:
    """The columns without the single files that they came from."""
    return replace(files, told={})


def test_columns_of_files_are_these_files() -> None:
    files = TracedFiles.of(FILES)
    assert tuple(files) == FILES
    assert files == FILES
    assert files[1:3] == FILES[1:3]
    assert files[-1] == FILES[-1]
    assert TracedFiles.of(files) is files
    plain = columns_only(files)
    assert plain[1] == FILES[1]
    assert plain[2] == FILES[2]
    assert plain[0].identity == FILES[0].identity
    with pytest.raises(IndexError):
        files[len(FILES)]


def test_changed_files_are_others_in_columns_too() -> None:
    files = TracedFiles.of(FILES).changed({0: TracedFile("/long/new/name", size_before=9)})
    assert files[0] == TracedFile("/long/new/name", size_before=9)
    assert list(files.paths) == ["/long/new/name", "/b", "/c/d", "/l"]
    assert files.size_before.tolist() == [9, UNKNOWN, UNKNOWN, UNKNOWN]
    assert files.volume.tolist()[0] == UNKNOWN
    assert files[1:] == FILES[1:]


def test_files_are_apart_unless_two_names_lead_to_one() -> None:
    assert TracedFiles.of(FILES[:3]).apart
    assert not TracedFiles.of(FILES).apart  # a symbolic link
    other_name = replace(FILES[0], path="/z")
    assert not TracedFiles.of((*FILES[:3], other_name)).apart
    assert TracedFiles.of(FILES).numbers(attribute="hints") == [3]
