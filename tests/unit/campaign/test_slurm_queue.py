"""Slurm's programs as the queue meets them: what they print, and how they end."""

import os

import pytest

from wavetank.campaign.slurm.queue import QueuedJob, SlurmQueue, SlurmUnreachableError
from wavetank.errors import MeasurementError


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """Puts a shell script in the place of squeue."""

    def put(script):
        program = tmp_path / "squeue"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return SlurmQueue()

    return put


def test_jobs_are_read_with_their_task_and_state(squeue):
    queue = squeue("echo '17|RUNNING|a3f0'")
    assert queue.jobs("site") == [QueuedJob("17", "a3f0", "RUNNING")]


def test_a_program_that_a_signal_ends_is_asked_again_later(squeue):
    """A controller on a busy machine closes connections: its jobs are not cancelled for that."""
    with pytest.raises(SlurmUnreachableError, match="squeue was ended by a signal: Broken pipe"):
        squeue("kill -PIPE $$").jobs("site")


def test_what_a_program_refuses_is_no_absence(squeue):
    with pytest.raises(MeasurementError, match="status 1: Invalid user") as raised:
        squeue("echo Invalid user >&2; exit 1").jobs("site")
    assert not isinstance(raised.value, SlurmUnreachableError)
