"""The I/O time of a replay is the time in which its ranks are at I/O calls, and no other.

Calls take a known time longer (replay_slow.py); what is asserted are relations that hold on a machine of any speed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import replay_slow
from replay_run import need, replay  # first: makes kernel_models importable

import kernel_models as km  # isort: skip
from waiting import HANG_S
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.execution.replay import ReplayOptions, run_replay
from wavetank.kernel.results.io_time import phases_time_s
from wavetank.kernel.results.replay_output import rank_reports
from wavetank.launchers.registry import launcher
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    PauseStep,
    Program,
    RepeatStep,
    SyncStep,
)
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace

SIZE = 4096
O_SYNC = 0o4010000
KEPT = ReplayOptions(pauses="keep", timeout_s=HANG_S)
UNFLUSHED = ReplayOptions(flush="none", timeout_s=HANG_S)


def opened(file_id: int = 1, flags: int = km.O_RDWR | km.O_CREAT) -> FileStep:
    return FileStep(iop_type="open", file_id=file_id, handle=0, flags=flags)


def call(name: str, file_id: int = 1, **more) -> FileStep:
    return FileStep(iop_type=name, file_id=file_id, handle=0, **more)


def writes(ph_id: int, rank: int, count: int, file_id: int | None = None):
    """A phase of one rank: so many writes of 4096 bytes in a row."""
    return km.phase(
        ph_id, file_id or ph_id, (rank,), count, [km.member("pwrite", SIZE, SIZE)], [km.linear(b=SIZE)]
    )  # fmt: skip


def renamed(before: int, after: int) -> tuple[FileStep, FileStep]:
    return (
        FileStep(iop_type="rename", file_id=before, handle=-1),
        FileStep(iop_type="rename", file_id=after, handle=-1, new_name=True),
    )


def one_rank(*steps, count: int = 4):
    phases = (
        [writes(1, 0, count)] if any(isinstance(s, DataStep | RepeatStep) for s in steps) else []
    )
    return km.model(1, [km.model_file(1, "/s/f", count * SIZE)], phases, [Program(ranks=(0,), steps=steps)])  # fmt: skip


def slowly(monkeypatch, folder: Path, calls: str, ms: int) -> None:
    for name, value in replay_slow.environment(folder, calls, ms).items():
        monkeypatch.setenv(name, value)


def io_of(result):
    assert result.status == "ok", result.failure
    assert result.io is not None
    io = result.io
    assert io.total_s == pytest.approx(io.data_s + io.metadata_s + io.flush_s)
    assert io.at_least_s <= io.total_s <= io.at_most_s
    assert io.total_s <= result.elapsed_s
    return io


def test_an_fsync_of_the_application_is_io_time(tmp_path, monkeypatch):
    slowly(monkeypatch, tmp_path, "fsync", 200)
    made = one_rank(opened(), DataStep(ph_id=1, n=4), call("fsync"), call("close"))
    result, _ = replay(made, tmp_path, "none")
    io = io_of(result)
    assert io.flush_s >= 0.2  # the fsync's own
    assert io.total_s >= phases_time_s(result.phases) + 0.2  # which no phase holds


def test_ranks_that_write_one_after_the_other_take_the_sum(tmp_path, monkeypatch):
    slowly(monkeypatch, tmp_path, "pwrite", 300)
    before, after = (DataStep(ph_id=1, n=1), SyncStep(communicator=0)), (SyncStep(communicator=0), DataStep(ph_id=2, n=1))  # fmt: skip
    result, _ = replay(two_writers(before, after), tmp_path, "openmpi")
    assert io_of(result).total_s >= 0.6  # 0.3 s each, never at the same time


def test_ranks_that_write_at_the_same_time_count_once(tmp_path, monkeypatch):
    slowly(monkeypatch, tmp_path, "pwrite", 1000)
    together = [(SyncStep(communicator=0), DataStep(ph_id=n, n=1)) for n in (1, 2)]
    result, _ = replay(two_writers(*together), tmp_path, "openmpi")
    of_ranks = sum(rank.io_time_s for phase in result.phases for rank in phase.ranks)
    assert of_ranks >= 2.0
    assert io_of(result).data_s < 0.95 * of_ranks


def two_writers(first, second):
    """Two ranks with a file of their own each, opened and closed around these steps."""
    programs = [
        Program(ranks=(rank,), steps=(opened(rank + 1), *steps, call("close", rank + 1)))
        for rank, steps in enumerate((first, second))
    ]
    files = [km.model_file(n, f"/s/out-{n}", SIZE) for n in (1, 2)]
    phases = [writes(1, 0, 1), writes(2, 1, 1)]
    return km.model(2, files, phases, programs, communicators=((0, 1),))


def test_a_rank_that_waits_for_others_is_not_at_io(tmp_path):
    # Rank 0 pauses for a second, and rank 1 waits for it in a barrier: nobody is at I/O meanwhile.
    meet = SyncStep(communicator=0)
    pausing = (DataStep(ph_id=1, n=1), meet, PauseStep(seconds=1.0), meet)
    waiting = (DataStep(ph_id=2, n=1), meet, meet)
    result, _ = replay(two_writers(pausing, waiting), tmp_path, "openmpi", KEPT)
    assert io_of(result).at_most_s <= result.elapsed_s - 1.0


def test_pauses_that_are_kept_are_not_io(tmp_path):
    made = one_rank(
        opened(), DataStep(ph_id=1, n=2), PauseStep(seconds=0.5), DataStep(ph_id=1, n=2), call("close")
    )  # fmt: skip
    kept, _ = replay(made, tmp_path, "none", KEPT)
    assert io_of(kept).total_s <= kept.elapsed_s - 0.5
    assert phases_time_s(kept.phases) >= 0.5  # the phase's span holds the pause


def test_many_short_spans_are_told_in_bounded_memory_and_add_up(tmp_path):
    n = 3000  # more than the program keeps (ACTIVITY_SPANS, 1024), each after a pause
    folder = tmp_path / "root"
    folder.mkdir()
    made = one_rank(
        opened(),
        RepeatStep(times=n, steps=(DataStep(ph_id=1, n=1), PauseStep(seconds=1e-4))),
        call("close"),
        count=n,
    )
    said = []
    kernel = make_kernel(made, km.written(made, tmp_path))
    result = run_replay(
        kernel, folder, launcher("none"), tmp_path, None, KEPT, lambda out, _: said.append(out)
    )
    (report,) = rank_reports(said[0])
    spans = report["io"]["spans"]
    assert len(spans) <= 1024 and report["io"]["merged_below_ns"] > 0
    assert [sum(span[2 + kind] for span in spans) for kind in range(3)] == report["io"]["sums"]
    io = io_of(result)
    # One rank's I/O is known exactly, however its spans are told; n pauses of 0.1 ms are none of it.
    assert io.total_s == pytest.approx(sum(report["io"]["sums"]) * 1e-9)
    assert io.total_s <= result.elapsed_s - n * 1e-4


# ---- what is on storage at the end ----

WRITTEN = 4 * SIZE


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ((opened(), DataStep(ph_id=1, n=4), call("close")), WRITTEN),
        ((opened(), DataStep(ph_id=1, n=4)), WRITTEN),  # left open
        ((opened(), DataStep(ph_id=1, n=4), call("fsync"), call("close")), 0),
        ((opened(), DataStep(ph_id=1, n=4), call("fdatasync"), call("close")), 0),
        ((opened(), DataStep(ph_id=1, n=3), call("fsync"), DataStep(ph_id=1, n=1), call("close")), SIZE),
        ((opened(flags=km.O_RDWR | km.O_CREAT | O_SYNC), DataStep(ph_id=1, n=4), call("close")), 0),
        ((opened(), DataStep(ph_id=1, n=4), call("close"), call("unlink")), 0),
        ((opened(), DataStep(ph_id=1, n=4), call("ftruncate", new_size=1000), call("close")), 1000),
    ],
)  # fmt: skip
def test_what_no_later_call_brought_to_storage_is_told(tmp_path, steps, left):
    unflushed, _ = replay(one_rank(*steps), tmp_path, "none", UNFLUSHED)
    assert io_of(unflushed).not_on_disk_bytes == left
    assert "final_flush_s" not in unflushed.settings


@pytest.mark.parametrize("flush", ["end", "phase"])
@pytest.mark.parametrize(
    "last", [(), (call("close"),), (call("close"), call("unlink"))], ids=["open", "closed", "gone"]
)
def test_what_was_written_is_flushed_within_the_io_time(tmp_path, flush, last):
    made = one_rank(opened(), DataStep(ph_id=1, n=4), *last)
    result, _ = replay(made, tmp_path, "none", ReplayOptions(flush=flush))
    io = io_of(result)
    assert io.not_on_disk_bytes == 0
    assert io.flush_s > 0


def test_the_flush_at_the_end_asks_for_each_file_once(tmp_path):
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    files = [km.model_file(n, f"/s/out-{n}", SIZE) for n in range(1, 6)]
    phases = [writes(n, 0, 1) for n in range(1, 6)]
    synced = 3
    steps = [
        step
        for n in range(1, 6)
        for step in (
            opened(n), DataStep(ph_id=n, n=1), *([call("fsync", n)] if n == synced else []), call("close", n)
        )
    ]  # fmt: skip
    made = km.model(1, files, phases, [Program(ranks=(0,), steps=tuple(steps))])
    kernel = make_kernel(made, km.written(made, tmp_path))
    kernel.write(tmp_path / "kernel.json")
    (tmp_path / "root").mkdir()
    argv = [strace, "-f", "-y", "-e", "trace=fsync", "-o", str(tmp_path / "calls"), sys.executable, "-m", "wavetank",
            "replay", str(tmp_path / "kernel.json"), "--root", str(tmp_path / "root")]  # fmt: skip
    subprocess.run(argv, check=True, capture_output=True, timeout=HANG_S)
    calls = [line for line in (tmp_path / "calls").read_text().splitlines() if "fsync(" in line]
    for n in range(1, 6):
        assert sum(f"/out-{n}>" in line for line in calls) == 1


def test_a_file_that_was_renamed_is_flushed_under_its_new_name(tmp_path):
    files = [km.model_file(1, "/s/a", WRITTEN), km.model_file(2, "/s/b", WRITTEN)]
    steps = (opened(), DataStep(ph_id=1, n=4), call("close"), *renamed(1, 2))
    made = km.model(1, files, [writes(1, 0, 4)], [Program(ranks=(0,), steps=steps)])
    none, _ = replay(made, tmp_path, "none", UNFLUSHED)
    assert io_of(none).not_on_disk_bytes == WRITTEN
    result, root = replay(made, tmp_path, "none")
    assert io_of(result).not_on_disk_bytes == 0 and io_of(result).flush_s > 0
    assert (root / "b").exists()


def test_a_file_that_another_rank_renamed_is_flushed_by_the_one_that_wrote_it(tmp_path):
    files = [km.model_file(1, "/s/a", WRITTEN), km.model_file(2, "/s/b", WRITTEN)]
    meet = SyncStep(communicator=0)
    programs = [
        Program(ranks=(0,), steps=(opened(), DataStep(ph_id=1, n=4), call("close"), meet, meet)),
        Program(ranks=(1,), steps=(meet, *renamed(1, 2), meet)),
    ]
    made = km.model(2, files, [writes(1, 0, 4)], programs, communicators=((0, 1),))
    none, _ = replay(made, tmp_path, "openmpi", UNFLUSHED)
    assert io_of(none).not_on_disk_bytes == WRITTEN
    result, _ = replay(made, tmp_path, "openmpi")
    assert io_of(result).not_on_disk_bytes == 0 and "final_flush_s" in result.settings


def test_all_ranks_of_a_collective_file_flush_it(tmp_path):
    made = km.btio(steps=2, rs=960, piece=480, n_ranks=2)
    none, _ = replay(made, tmp_path, "openmpi", UNFLUSHED)
    assert io_of(none).not_on_disk_bytes == 2 * 2 * 960  # steps x ranks x request
    result, _ = replay(made, tmp_path, "openmpi")
    assert io_of(result).not_on_disk_bytes == 0 and io_of(result).flush_s > 0


def test_a_write_error_that_the_flush_finds_fails_the_run(tmp_path):
    if not Path("/dev/full").exists() or os.geteuid() != 0:
        pytest.skip("needs root, for a file system that fills")
    image, mount = tmp_path / "small", tmp_path / "root"
    mount.mkdir()
    image.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(mount)], check=False
    )
    if done.returncode != 0:
        pytest.skip("mount is not permitted here")
    try:
        made = one_rank(opened(), DataStep(ph_id=1, n=4), call("close"))
        result, _ = replay(made, tmp_path, "none", prepare=False)
        assert result.status == "failed" and "No space left" in (result.failure or "")
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_the_trace_of_a_replay_holds_no_flush_of_its_own(tmp_path):
    need("none")
    made = one_rank(opened(), DataStep(ph_id=1, n=4), call("close"))
    make_kernel(made, km.written(made, tmp_path)).write(tmp_path / "kernel.json")
    (tmp_path / "root").mkdir()
    argv = [sys.executable, "-m", "wavetank", "replay", str(tmp_path / "kernel.json"), "--root", str(tmp_path / "root"),
            "-o", str(tmp_path / "result.json")]  # fmt: skip
    trace(argv, tmp_path / "replay.trace", CaptureOptions())
    assert json.loads((tmp_path / "result.json").read_text())["result"]["io"]["flush_s"] > 0
    folds = read_trace(tmp_path / "replay.trace").folds
    assert "fsync" not in {OPS[int(op)].name for op in folds.op}


def test_the_common_start_is_told_on_both_clocks(tmp_path):
    earlier = time.monotonic_ns(), time.time_ns()
    result, _ = replay(one_rank(opened(), DataStep(ph_id=1, n=4), call("close")), tmp_path, "none")
    later = time.monotonic_ns(), time.time_ns()
    assert earlier[0] <= result.started_monotonic_ns <= later[0]
    assert earlier[1] <= result.started_realtime_ns <= later[1]
