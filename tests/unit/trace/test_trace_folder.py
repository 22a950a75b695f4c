"""The folder of a trace, before the program runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wavetank.errors import TraceError
from wavetank.trace.capture import prepare_folder


def told(n_blocks: int, n_available: int) -> os.statvfs_result:
    """As statvfs of a file system that tells so many blocks of 4 KiB."""
    return os.statvfs_result((4096, 4096, n_blocks, n_available, n_available, 0, 0, 0, 0, 255))


def test_a_file_system_that_tells_no_blocks_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ceph-fuse 16 without quota: "f_blocks 0, f_bavail 0"
    monkeypatch.setattr(os, "statvfs", lambda _: told(0, 0))
    prepare_folder(tmp_path / "run.trace", force=False)
    assert (tmp_path / "run.trace").is_dir()


def test_a_file_system_that_is_full_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: told(1000, 3))
    with pytest.raises(TraceError, match="less than 1 MiB of space"):
        prepare_folder(tmp_path / "run.trace", force=False)
    assert not (tmp_path / "run.trace").exists()
