"""Folders of replays: removed at the end, and by the next replay where one was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank.kernel.execution.scratch import clear_abandoned, scratch_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files of this test alone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_removed_at_the_end(temporary):
    with scratch_folder() as folder:
        (folder / "plan").write_text("x")
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_folder_elsewhere_has_a_lock_too_and_is_removed_at_the_end(temporary, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("shared")
    with scratch_folder(elsewhere) as folder:
        (folder / "plan").write_text("x")
        assert folder.parent == elsewhere
        assert list(temporary.iterdir()) == []
    assert list(elsewhere.iterdir()) == []


def test_a_folder_in_use_is_left_alone(temporary):
    with scratch_folder() as folder:
        (folder / "plan").write_text("x")
        assert clear_abandoned() == []
        assert folder.is_dir()


def test_the_folder_of_a_killed_process_is_cleared_by_the_next_one(temporary):
    script = (
        "import sys, time\nfrom wavetank.kernel.execution.scratch import scratch_folder\n"
        "with scratch_folder() as folder:\n"
        "    (folder / 'plan').write_text('x')\n"
        "    print(folder, flush=True)\n"
        "    time.sleep(100000)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert folder.is_dir()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=HANG_S)
    with scratch_folder() as ours:
        assert not folder.exists()
        assert ours.is_dir()
