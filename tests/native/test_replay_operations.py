"""What the replay program does to files is what the kernel says; results count it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from replay_run import replay  # first: makes kernel_models importable
from replay_time import counted_sleeps, n_sleeps

import kernel_models as km  # isort: skip
from waiting import HANG_S
from wavetank.kernel.document import calls
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.kernel.preparation.pattern import content
from wavetank.model.document.phase import Run
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    PauseStep,
    Program,
    RepeatStep,
    SyncStep,
)

REPLAY_SOURCE = Path(__file__).parents[2] / "native" / "replay"


def test_the_program_and_the_lowering_know_the_same_calls():
    found = set(re.findall(r'X\(\w+, "(\w+)",', (REPLAY_SOURCE / "calls.h").read_text()))
    assert found == calls.KNOWN


def test_two_readers_of_four_ranks_read_their_files_to_the_end(tmp_path):
    result, _ = replay(
        km.abyss(500_000), tmp_path, "openmpi", ReplayOptions(verify=True, timeout_s=HANG_S)
    )
    assert result.status == "ok", result.failure
    # 500000 / 8191 = 61.04: 62 reads each
    assert [(p.ph_id, p.bytes, p.operations) for p in result.phases] == [
        (1, 500_000, 62),
        (2, 500_000, 62),
    ]
    assert [[rank.rank for rank in p.ranks] for p in result.phases] == [[0], [1]]
    assert result.settings["verified_bytes"] == "1000000"
    # 2 opens, 2 reads of nothing, 2 closes, 3 * 62 seeks by each reader
    assert result.settings["metadata_operations"] == str(6 + 2 * 3 * 62)
    assert result.settings["extra_seeks"] == "0"


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_collective_strided_writes_fill_the_file_and_are_read_back(tmp_path, name):
    options = ReplayOptions(verify=True, timeout_s=HANG_S)
    result, root = replay(km.btio(steps=5, rs=960, piece=480, n_ranks=2), tmp_path, name, options)
    assert result.status == "ok", result.failure
    size = 5 * 2 * 960
    assert (root / "btio.full.out").read_bytes() == b"".join(content(1, size))
    assert [phase.bytes for phase in result.phases] == [2 * 960] * 5 + [size]
    assert [phase.operations for phase in result.phases] == [2] * 5 + [10]
    assert result.settings["verified_bytes"] == str(size)


def test_a_file_per_process_is_written_and_read_back(tmp_path):
    result, root = replay(
        km.file_per_process(2, 4096, 3), tmp_path, "openmpi", ReplayOptions(verify=True)
    )
    assert result.status == "ok", result.failure
    for rank in (0, 1):
        assert (root / f"out.{rank:04d}").read_bytes() == b"".join(content(rank + 1, 3 * 4096))
    assert sum(phase.bytes for phase in result.phases) == 2 * 2 * 3 * 4096


def test_a_pattern_of_reads_and_writes_is_alternated(tmp_path):
    result, root = replay(
        km.read_write_three_times(4096), tmp_path, "none", ReplayOptions(verify=True)
    )
    assert result.status == "ok", result.failure
    (phase,) = result.phases
    assert (phase.operations, phase.bytes) == (6, 6 * 4096)
    assert (root / "work.dat").read_bytes() == b"".join(content(1, 6 * 4096))


def test_irregular_reads_land_where_the_list_says(tmp_path):
    result, _ = replay(km.irregular(), tmp_path, "none", ReplayOptions(verify=True))
    assert result.status == "ok", result.failure
    # 50, 350 and 3 are not where the read before ended, and the model holds no seeks: 3 are added
    assert result.settings["extra_seeks"] == "3"
    assert result.settings["verified_bytes"] == "207"


def one_rank(steps, phases=None, before: int | None = None, size: int = 4096):
    phases = phases or [
        km.phase(1, 1, (0,), 4, [km.member("write", 1000, 1000)], [km.linear(b=1000)])
    ]
    return km.model(
        1, [km.model_file(1, "/s/f", size, before)], phases, [Program(ranks=(0,), steps=steps)]
    )


OPEN = FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_RDWR | km.O_CREAT)
CLOSE = FileStep(iop_type="close", file_id=1, handle=0)


def test_metadata_calls_are_made(tmp_path):
    steps = (
        OPEN, DataStep(ph_id=1, n=4),
        *(FileStep(iop_type=name, file_id=1, handle=0) for name in ("fsync", "fdatasync", "fstat", "stat", "access")),
        FileStep(iop_type="ftruncate", file_id=1, handle=0, new_size=2500), CLOSE,
    )  # fmt: skip
    result, root = replay(one_rank(steps), tmp_path, "none")
    assert result.status == "ok", result.failure
    assert (root / "f").stat().st_size == 2500
    assert result.settings["metadata_operations"] == "8"


def test_a_seek_to_the_next_operation_is_made_as_one_call(tmp_path):
    one = km.phase(1, 1, (0,), 3, [km.member("write", 10, 100)], [km.linear(b=100, c=50)])
    seek = FileStep(iop_type="lseek", file_id=1, handle=0, origin=0)
    steps = (OPEN, RepeatStep(times=3, steps=(seek, DataStep(ph_id=1, n=1))), CLOSE)
    result, root = replay(one_rank(steps, [one]), tmp_path, "none")
    assert result.settings["extra_seeks"] == "0"
    assert result.settings["metadata_operations"] == "5"
    assert (root / "f").stat().st_size == 50 + 2 * 100 + 10


def test_a_loop_of_open_write_close_opens_each_time(tmp_path):
    one = km.phase(1, 1, (0,), 5, [km.member("write", 10, 0)], [km.linear()])
    steps = (RepeatStep(times=5, steps=(OPEN, DataStep(ph_id=1, n=1), CLOSE)),)
    result, _ = replay(one_rank(steps, [one]), tmp_path, "none")
    assert result.settings["metadata_operations"] == "10"
    assert result.phases[0].operations == 5


def test_an_open_that_failed_in_the_traced_run_may_fail_again(tmp_path):
    probe = FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_RDONLY, error=2)
    result, _ = replay(one_rank((probe, OPEN, DataStep(ph_id=1, n=4), CLOSE)), tmp_path, "none")
    assert result.status == "ok", result.failure


def test_a_file_that_was_open_before_the_trace_began_is_opened(tmp_path):
    result, root = replay(one_rank((DataStep(ph_id=1, n=4),)), tmp_path, "none")
    assert result.status == "ok", result.failure
    assert (root / "f").stat().st_size == 4000


def test_appended_writes_need_no_seeks(tmp_path):
    appending = OPEN.model_copy(update={"flags": km.O_WRONLY | km.O_CREAT | 0o2000})
    one = km.phase(1, 1, (0,), 4, [km.member("write", 10, 10)], [km.linear(b=10)])
    steps = (appending, DataStep(ph_id=1, n=2), CLOSE, appending, DataStep(ph_id=1, n=2), CLOSE)
    result, root = replay(one_rank(steps, [one]), tmp_path, "none")
    assert result.settings["extra_seeks"] == "0"
    assert (root / "f").read_bytes() == b"".join(content(1, 40))


@pytest.mark.parametrize("name", ["pwrite", "writev", "pwritev"])
def test_every_way_to_write_writes_the_same(tmp_path, name):
    one = km.phase(1, 1, (0,), 4, [km.member(name, 1000, 1000)], [km.linear(b=1000)])
    result, root = replay(one_rank((OPEN, DataStep(ph_id=1, n=4), CLOSE), [one]), tmp_path, "none")
    assert result.status == "ok", result.failure
    assert (root / "f").read_bytes() == b"".join(content(1, 4000))


@pytest.mark.parametrize("name", ["pread", "readv", "preadv"])
def test_every_way_to_read_reads_the_same(tmp_path, name):
    one = km.phase(1, 1, (0,), 4, [km.member(name, 1000, 1000)], [km.linear(b=1000)])
    steps = (OPEN, DataStep(ph_id=1, n=4), CLOSE)
    result, _ = replay(one_rank(steps, [one], 4000), tmp_path, "none", ReplayOptions(verify=True))
    assert result.settings["verified_bytes"] == "4000"


TRANSFERS = ["", "_at", "_all", "_at_all", "_shared", "_ordered"]


@pytest.mark.parametrize("how", TRANSFERS)
def test_every_blocking_mpi_io_transfer_is_performed(tmp_path, how):
    ranks = (0, 1)
    # Where a rank lands by the shared pointer is open: equal sizes fill the file.
    shared = how in ("_shared", "_ordered")
    offsets = km.linear(b=64) if shared else km.linear(a=64, b=128)
    verb = [
        km.phase(i, 1, ranks, 3, [km.member(f"MPI_File_{v}{how}", 64, 128)], [offsets],
                 collective="all" in how or how == "_ordered")
        for i, v in ((1, "write"), (2, "read"))
    ]  # fmt: skip
    opening = FileStep(
        iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=km.MPI_CREATE_RDWR, communicator=0
    )
    closing = FileStep(iop_type="MPI_File_close", file_id=1, handle=0)
    steps = (opening, DataStep(ph_id=1, n=3), closing, opening, DataStep(ph_id=2, n=3), closing)
    made = km.model(2, [km.model_file(1, "/s/f", 384)], verb, [Program(ranks=ranks, steps=steps)],
                    communicators=(ranks,))  # fmt: skip
    placed = how not in ("_shared", "_ordered")
    result, root = replay(made, tmp_path, "openmpi", ReplayOptions(verify=placed, timeout_s=HANG_S))
    assert result.status == "ok", result.failure
    assert [(p.bytes, p.operations) for p in result.phases] == [(384, 6), (384, 6)]
    assert (root / "f").stat().st_size == 384
    if placed:
        assert (root / "f").read_bytes() == b"".join(content(1, 384))


LATER = [
    ("i", ""),
    ("i", "_at"),
    ("i", "_all"),
    ("i", "_at_all"),
    ("", "_all_begin"),
    ("", "_at_all_begin"),
]


@pytest.mark.parametrize(("before", "after"), LATER)
def test_calls_that_are_completed_later_are_completed_and_counted(tmp_path, before, after):
    ranks = (0, 1)
    ending = FileStep(iop_type="MPI_Wait" if before else "MPI_File_end", file_id=1, handle=0)
    both = [
        km.phase(i, 1, ranks, 4, [km.member(f"MPI_File_{before}{verb}{after}", 64, 128)], [km.linear(a=64, b=128)],
                 collective="all" in after)
        for i, verb in ((1, "write"), (2, "read"))
    ]  # fmt: skip
    opening = FileStep(
        iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=km.MPI_CREATE_RDWR, communicator=0
    )
    closing = FileStep(iop_type="MPI_File_close", file_id=1, handle=0)
    # nonblocking writes are completed two at a time, everything else one at a time
    at_once = 2 if before else 1
    writing = RepeatStep(times=4 // at_once, steps=(DataStep(ph_id=1, n=at_once), ending))
    reading = RepeatStep(times=4, steps=(DataStep(ph_id=2, n=1), ending))
    steps = (opening, writing, closing, opening, reading, closing)
    made = km.model(2, [km.model_file(1, "/s/f", 512)], both, [Program(ranks=ranks, steps=steps)],
                    communicators=(ranks,))  # fmt: skip
    result, root = replay(made, tmp_path, "openmpi", ReplayOptions(verify=True, timeout_s=HANG_S))
    assert result.status == "ok", result.failure
    assert [(p.bytes, p.operations) for p in result.phases] == [(512, 8), (512, 8)]
    assert result.settings["verified_bytes"] == "512"
    assert (root / "f").read_bytes() == b"".join(content(1, 512))
    for phase in result.phases:  # what completing takes is in the phase: more than the calls alone
        assert all(rank.end_s - rank.start_s <= result.elapsed_s for rank in phase.ranks)


def test_pauses_are_kept_scaled_or_dropped_and_their_drift_is_told(tmp_path):
    one = km.phase(1, 1, (0,), 50, [km.member("write", 10, 10)], [km.linear(b=10)])
    steps = (
        OPEN,
        RepeatStep(times=50, steps=(PauseStep(seconds=0.002), DataStep(ph_id=1, n=1))),
        CLOSE,
    )
    made = one_rank(steps, [one])
    kept, _ = replay(made, tmp_path, "none", ReplayOptions(pauses="keep"))
    scaled, _ = replay(made, tmp_path, "none", ReplayOptions(pauses=0.5))
    dropped, _ = replay(made, tmp_path, "none", ReplayOptions(pauses="drop"))
    assert kept.settings["pauses_wanted_s"] == "0.100000"
    assert scaled.settings["pauses_wanted_s"] == "0.050000"
    assert "pauses_wanted_s" not in dropped.settings
    assert kept.elapsed_s >= 0.1 - float(kept.settings["pauses_drift_s"])
    assert scaled.elapsed_s >= 0.05 - float(scaled.settings["pauses_drift_s"])


def slept(made, folder, monkeypatch, options, name="none", rank=0, until="all"):
    """How often a rank slept, and the result, which is a success."""
    for variable, value in counted_sleeps(folder).items():
        monkeypatch.setenv(variable, value)
    result, _ = replay(made, folder, name, options)
    assert result.status == "ok", result.failure
    return n_sleeps(folder, rank, until), result


def test_kept_pauses_sleep(tmp_path, monkeypatch):
    one = km.phase(1, 1, (0,), 5, [km.member("write", 100, 100)], [km.linear(b=100)])
    loop = RepeatStep(times=5, steps=(PauseStep(seconds=0.02), DataStep(ph_id=1, n=1)))
    n, _ = slept(
        one_rank((OPEN, loop, CLOSE), [one]), tmp_path, monkeypatch, ReplayOptions(pauses="keep")
    )
    assert n > 0  # not once a pause: what one sleep took too long is taken off the next ones


def test_pauses_can_be_shortened_to_a_limit(tmp_path):
    one = km.phase(1, 1, (0,), 2, [km.member("write", 100, 100)], [km.linear(b=100)])
    steps = (OPEN, PauseStep(seconds=30), DataStep(ph_id=1, n=1), PauseStep(seconds=0.01), DataStep(ph_id=1, n=1), CLOSE)  # fmt: skip
    options = ReplayOptions(pauses="keep", longest_pause_s=0.05)
    result, _ = replay(one_rank(steps, [one]), tmp_path, "none", options)
    assert result.status == "ok", result.failure
    assert result.settings["pauses_wanted_s"] == "0.060000"
    assert result.settings["pauses"] == "keep, at most 50 ms each"


def test_ranks_that_wait_for_others_sleep(tmp_path, monkeypatch):
    # Rank 1 waits for rank 0's pause in a barrier.
    one = km.phase(1, 1, (0,), 1, [km.member("write", 10, 10)], [km.linear(b=10)])
    first = (PauseStep(seconds=0.2), SyncStep(communicator=0))
    made = km.model(
        2,
        [km.model_file(1, "data", 10)],
        [one],
        [
            Program(ranks=(0,), steps=(OPEN, DataStep(ph_id=1, n=1), *first, CLOSE)),
            Program(ranks=(1,), steps=(SyncStep(communicator=0),)),
        ],
        communicators=((0, 1),),
    )
    options = ReplayOptions(pauses="keep")
    n, _ = slept(made, tmp_path, monkeypatch, options, "openmpi", rank=1, until="met")
    assert n > 0


def test_a_null_replay_touches_nothing_and_counts_everything(tmp_path):
    made = km.read_write_three_times()
    result, root = replay(made, tmp_path, "none", ReplayOptions(null=True), prepare=False)
    assert result.status == "ok", result.failure
    assert list(root.iterdir()) == []
    assert (result.phases[0].operations, result.phases[0].bytes) == (6, 6 * 4096)


@pytest.mark.parametrize("flush", ["phase", "end"])
def test_written_data_can_be_flushed_inside_or_outside_of_the_times(tmp_path, flush):
    made = one_rank((OPEN, DataStep(ph_id=1, n=4), CLOSE))
    result, _ = replay(made, tmp_path, "none", ReplayOptions(flush=flush))
    assert result.status == "ok", result.failure
    assert ("final_flush_s" in result.settings) == (flush == "end")


def test_a_hundred_million_operations_are_performed_from_a_folded_plan(tmp_path):
    n = 100_000_000
    one = km.phase(1, 1, (0,), n, [km.member("pread", 4096, 4096)], [km.linear(b=4096)])
    made = one_rank((OPEN, DataStep(ph_id=1, n=1000), CLOSE), [one], 4096 * 1000)
    result, _ = replay(made, tmp_path, "none", ReplayOptions())
    assert result.status == "ok", result.failure
    assert result.phases[0].operations == 1000
    assert (
        tmp_path / "scratch" / next((tmp_path / "scratch").iterdir()).name
    ).stat().st_size < 1000


def test_lists_of_several_ranks_are_kept_apart(tmp_path):
    runs = tuple(
        (Run(count=2, rs=10, offset=100 * rank, disp=30, moved=20), Run(count=1, rs=5, offset=100 * rank + 90, disp=0, moved=5))
        for rank in (0, 1)
    )  # fmt: skip
    one = km.phase(1, 1, (0, 1), 3, [km.member("pwrite", 10)], [km.listed(*runs)], 50)
    made = km.model(2, [km.model_file(1, "/s/f", 195)], [one],
                    [Program(ranks=(0, 1), steps=(OPEN, DataStep(ph_id=1, n=3), CLOSE))])  # fmt: skip
    result, root = replay(made, tmp_path, "openmpi")
    assert result.status == "ok", result.failure
    found = (root / "f").read_bytes()
    expected = b"".join(content(1, 195))
    covered = {
        base + at + i
        for base in (0, 100)
        for at, n in ((0, 10), (30, 10), (90, 5))
        for i in range(n)
    }
    assert len(found) == 195
    assert all(found[i] == (expected[i] if i in covered else 0) for i in range(195))
