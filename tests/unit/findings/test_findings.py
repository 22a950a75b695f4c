"""What a model's I/O shows: known mixtures, and what must not be told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from applications import BT_GRID, abyss_read, bt_io, s3d_io
from fold_builder import PROVENANCE as MADE
from fold_builder import Event, model_of, trace_of

from wavetank.findings.all_findings import all_findings
from wavetank.findings.finding import Finding, percent
from wavetank.findings.requests import io_of
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.open import open_trace
from wavetank.trace.schema import FileView, Level, RankFacts

KIB, MIB = 1 << 10, 1 << 20
DARSHAN = Path(__file__).parents[2] / "data" / "darshan"


def found(
    events: Sequence[Event], n_ranks: int | None = None, **more: object
) -> dict[str, Finding]:
    model = model_of(events, n_ranks=n_ranks, **more)  # type: ignore[arg-type]
    findings = all_findings(model)
    assert len({one.kind for one in findings}) == len(findings)
    return {one.kind: one for one in findings}


def sequential(
    op: str, n: int, size: int, *, rank: int = 0, file: int = 0, start: int = 0
) -> list[Event]:
    return [Event(rank, op, file, offset=start + i * size, size=size) for i in range(n)]


def headers_and_blocks(n: int, header: int, block: int, rank: int = 0) -> list[Event]:
    """A header before each block, in one file."""
    events = []
    for i in range(n):
        at = i * (header + block)
        events += [Event(rank, "write", offset=at, size=header)]
        events += [Event(rank, "write", offset=at + header, size=block)]
    return events


# --- small requests ---------------------------------------------------------------------------------


def test_a_phase_that_mixes_sizes_is_counted_by_the_sizes_that_it_has() -> None:
    # 1200 headers of 8,000 B and 1200 blocks of 64 KiB: small are the headers alone, half of the operations and
    # 8000 / (8000 + 65536) = 10.9 % of the bytes: 9,600,000 B are 9.2 MiB.
    small = found(headers_and_blocks(1200, 8000, 64 * KIB))["small-requests"]
    assert (small.n_operations, small.moved_bytes) == (1200, 9_600_000)
    assert small.share_of_operations == 0.5
    assert small.share_of_bytes == pytest.approx(0.1088, abs=1e-4)
    assert (
        "1,200 requests are below 64.0 KiB: 50 % of the operations, which move 11 % of the bytes"
        in small.sentence
    )
    assert "8,000 B (1,200 times)" in small.sentence


def test_sizes_of_listed_runs_count_one_by_one() -> None:
    # No order in sizes: every third of 6000 requests is of 1 KiB, the others of 128 KiB, at places without a rule.
    events = [
        Event(0, "pread", offset=(i * 7919 % 6000) * MIB, size=KIB if i % 3 == 0 else 128 * KIB)
        for i in range(6000)
    ]
    small = found(events)["small-requests"]
    assert (small.n_operations, small.moved_bytes) == (2000, 2000 * KIB)


def test_a_short_last_read_moves_what_it_moved() -> None:
    # 3000 reads of 8191 B, the last one of 100 B.
    events = sequential("read", 3000, 8191)
    events[-1] = replace(events[-1], moved=100)
    small = found(events)["small-requests"]
    assert (small.n_operations, small.moved_bytes) == (3000, 2999 * 8191 + 100)
    assert small.share_of_bytes == 1


def test_a_log_file_is_no_finding() -> None:
    log = sequential("write", 40, 100, file=1)  # 4 kB
    assert found([*sequential("write", 50, 4 * MIB), *log]) == {}
    # A longer one: 2000 lines are 2000 * 64 KiB = 125 MiB beside 4 GiB, 3 %.
    assert (
        found([*sequential("write", 1024, 4 * MIB), *sequential("write", 2000, 80, file=1)]) == {}
    )


def test_what_collective_calls_gather_is_not_called_small() -> None:
    # 4 ranks, 500 collective writes of 480 B each.
    events = [
        Event(rank, "MPI_File_write_at_all", offset=(i * 4 + rank) * 480, size=480)
        for rank in range(4)
        for i in range(500)
    ]
    assert found(events) == {}


# --- who does it ------------------------------------------------------------------------------------


def test_one_rank_that_writes_all_of_a_parallel_run_is_told() -> None:
    events = sequential("write", 64, MIB)
    one = found(events, n_ranks=16)["few-ranks"]
    assert one.sentence.startswith(
        "One of 16 ranks writes 100 % of all that is written: 64.0 MiB in 64 operations"
    )
    assert one.ph_ids == (1,) and one.share_of_bytes == 1


def test_processes_of_a_script_are_no_ranks() -> None:
    # A shell (rank 0) reads its script and starts a program (rank 1) that writes all.
    trace = trace_of([Event(0, "read", 1, size=100), *sequential("write", 64, MIB, rank=1)])
    ranks = (
        RankFacts(0, "host", 100, True, None, 0, 10**12),
        RankFacts(1, "host", 101, True, 0, 1, 10**11),
    )
    assert all_findings(extract_model(replace(trace, ranks=ranks), MADE)) == ()
    # Side by side under a launcher they are.
    together = tuple(replace(one, parent=None, of_launcher=True) for one in ranks)
    assert all_findings(extract_model(replace(trace, ranks=together), MADE)) != ()


def test_two_readers_of_four_are_told_as_readers_and_their_output_is_not() -> None:
    # 4000 * 8191 B each; rank 0 then writes 4 kB of results.
    events = [
        *abyss_read(0, 0, 4000 * 8191), Event(0, "write", 2, size=4096), *abyss_read(1, 1, 4000 * 8191),
    ]  # fmt: skip
    one = found(events, n_ranks=4)["few-ranks"]
    assert one.sentence.startswith("2 of 4 ranks read 100 % of all that is read")
    assert one.ph_ids == (1, 2)


def test_ranks_that_share_the_work_are_no_finding() -> None:
    events = [e for rank in range(8) for e in sequential("write", 16, MIB, rank=rank, file=rank)]
    assert found(events) == {}
    # So are 8 of 16, and 8 aggregators of 64: more than a few streams.
    assert found(events, n_ranks=16) == found(events, n_ranks=64) == {}


def test_all_ranks_that_read_the_same_file_are_told_with_what_differs() -> None:
    events = [e for rank in range(8) for e in sequential("read", 32, MIB, rank=rank)]
    same = found(events)["same-bytes-by-many-ranks"]
    # 8 * 32 MiB are read, of which 32 MiB differ.
    assert (
        "8 ranks read the same bytes: 256.0 MiB are read, of which 32.0 MiB differ" in same.sentence
    )


# --- one file, many ranks ---------------------------------------------------------------------------


def shared(op: str, n: int, size: int, n_ranks: int = 4, *, interleaved: bool) -> list[Event]:
    """Each rank moves n pieces of one file: between those of the others, or in a region of its own."""
    place = (lambda r, i: i * n_ranks + r) if interleaved else (lambda r, i: r * n + i)
    return [
        Event(rank, op, offset=place(rank, i) * size, size=size)
        for rank in range(n_ranks)
        for i in range(n)
    ]


@pytest.mark.parametrize(("by_library", "n_times"), [(False, 2), (True, 1)])
def test_posix_calls_count_where_the_mpi_library_does_not_make_them(
    *, by_library: bool, n_times: int
) -> None:
    # As of a header that a program writes by hand into a file which it writes by MPI-IO, too.
    model = model_of(shared("MPI_File_write_at", 300, 256 * KIB, interleaved=False))
    moved = io_of(model).moved_bytes
    below = [
        phase.model_copy(update={"ph_id": 99, "level": "posix", "by_library": by_library})
        for phase in model.phases
    ]
    both = model.model_copy(update={"phases": (*model.phases, *below)})
    assert io_of(both).moved_bytes == n_times * moved


@pytest.mark.parametrize(
    ("call", "kind"), [("MPI_File_write_at", "no-collective-calls"), ("pwrite", "few-ranks")]
)
def test_the_line_to_paste_is_a_call_where_calls_are_not_collective(call: str, kind: str) -> None:
    # A hint of ROMIO changes nothing for a program that makes no collective calls.
    events = shared(call, 300, 256 * KIB, interleaved=False)
    if kind == "few-ranks":
        events = [event for event in events if event.rank == 0] + [
            Event(rank, call, offset=rank, size=1) for rank in range(1, 4)
        ]
    paste = found(events)[kind].paste
    assert paste is not None and paste.startswith("MPI_File_write_at_all(")


def test_independent_calls_on_a_shared_file_are_told_with_their_pieces() -> None:
    # 4 ranks * 300 pieces of 256 KiB = 300 MiB.
    one = found(shared("MPI_File_write_at", 300, 256 * KIB, interleaved=False))[
        "no-collective-calls"
    ]
    assert (
        "4 ranks write one file by independent MPI-IO calls in 1,200 pieces of 256.0 KiB"
        in one.sentence
    )
    assert "300.0 MiB, 100 % of all bytes" in one.sentence
    assert (
        one.remedy is not None
        and "MPI_File_write_all" in one.remedy
        and "romio_cb_write" in one.remedy
    )


def test_small_pieces_between_those_of_other_ranks_are_told_once() -> None:
    told = found(shared("pwrite", 1000, 4096, interleaved=True))
    assert set(told) == {"interleaved-pieces"}
    one = told["interleaved-pieces"]
    assert one.n_operations == 4000 and "lie between those of other ranks" in one.sentence
    assert one.remedy is not None and "romio_ds_write" in one.remedy


def test_pieces_in_phases_of_one_repetition_lie_between_others_too() -> None:
    # Communication between all of them: a phase each.
    events = [
        replace(event, communication=3)
        for event in shared("MPI_File_write_at", 300, 4096, interleaved=True)
    ]
    assert set(found(events)) == {"interleaved-pieces"}


def test_a_view_with_holes_makes_small_pieces_of_large_requests() -> None:
    # Each rank sees every fourth KiB; a request of 1 MiB is 1024 pieces.
    views = tuple(
        FileView(
            displacement=rank * KIB,
            etype_size=1,
            extent=4 * KIB,
            run_offsets=(0,),
            run_lengths=(KIB,),
        )
        for rank in range(4)
    )
    events = [
        Event(
            rank,
            "MPI_File_read",
            offset=rank * KIB + i * 4 * MIB,
            size=MIB,
            view=rank,
            view_offset=i * MIB,
        )
        for rank in range(4)
        for i in range(8)
    ]
    one = found(events, views=views)["interleaved-pieces"]
    assert "in 32,768 pieces of 1.0 KiB" in one.sentence and one.n_operations == 32


def test_the_papers_collective_programs_show_nothing_but_that_bt_io_reads_back() -> None:
    events, views = bt_io(BT_GRID["W"], 4)
    assert set(found(events, views=views)) == {"read-back"}
    assert found(s3d_io(200, 8)) == {}


def test_unaligned_writes_to_a_shared_file_are_counted_one_by_one() -> None:
    # Requests of 100,000 B: 100,000 * i is a multiple of 4096 for every 128th i (100,000 = 32 * 3125). Rank r begins at
    # 300 * 100,000 * r = 2^7 * 234,375 * r, a multiple of 4096 = 2^12 for r = 0 alone. Rank 0: i = 0, 128, 256: 3 of
    # 300. Others: r * 300 + i = 0 mod 128: r = 1: i = 84, 212; r = 2: i = 40, 168, 296; r = 3: i = 124, 252.
    told = found(shared("pwrite", 300, 100_000, interleaved=False))
    assert told["unaligned-requests"].n_operations == 1200 - 3 - 2 - 3 - 2
    aligned = found(shared("pwrite", 300, 128 * KIB, interleaved=False))
    assert "unaligned-requests" not in aligned


# --- jumps, files, calls ----------------------------------------------------------------------------


def test_reads_at_random_places_are_told_and_strided_ones_are_not() -> None:
    n = 4096
    places = [(i * 1657) % n for i in range(n)]  # a permutation: 1657 is odd
    back = sum(b < a for a, b in pairwise(places))
    random = found([Event(0, "pread", offset=p * 16 * KIB, size=4 * KIB) for p in places])
    assert (
        f"{back:,} of 4,096 reads ({percent(back / n)}) start before"
        in random["random-access"].sentence
    )
    strided = [Event(0, "pread", offset=i * 64 * KIB, size=4 * KIB) for i in range(n)]
    assert "random-access" not in found(strided)


def test_400_files_of_4_kib_are_told_once() -> None:
    events = [
        event
        for file in range(400)
        for event in (
            Event(0, "open", file, arg=os.O_WRONLY | os.O_CREAT),
            Event(0, "write", file, size=4096),
            Event(0, "close", file),
        )
    ]
    told = found(events)
    assert set(told) == {"many-small-files"}
    files = told["many-small-files"]
    assert (
        "400 of 400 files move less than 64.0 KiB each: 4.0 KiB on average, 1.6 MiB in all"
        in files.sentence
    )
    assert files.remedy is not None and "HDF5" in files.remedy
    # Beside 16 GiB in one file they weigh 3 * 400 * 64 KiB = 75 MiB: nothing.
    assert found([*events, *sequential("write", 4096, 4 * MIB, file=400)]) == {}


def test_opens_and_stats_that_are_many_beside_the_bytes_are_told() -> None:
    events = []
    for i in range(800):
        events += [
            Event(0, "stat", 0), Event(0, "open", 0), Event(0, "read", 0, offset=i * 100 * KIB, size=100 * KIB),
            Event(0, "fstat", 0), Event(0, "close", 0),
        ]  # fmt: skip
    calls = found(events)["metadata-load"]
    # 800 stats and 800 opens; fstat and close are not asked of a server. 800 * 100 KiB / 1600 = 50 KiB.
    assert calls.n_operations == 1600
    assert "800 opens and 800 stats on 1 files" in calls.sentence
    assert "one call for each 50.0 KiB" in calls.sentence


@pytest.mark.parametrize("how", ["fsync", "O_SYNC"])
def test_a_flush_after_each_write_is_told(how: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | (os.O_SYNC if how == "O_SYNC" else 0)
    events = [Event(0, "open", 0, arg=flags)]
    for i in range(200):
        events += [Event(0, "write", 0, offset=i * MIB, size=MIB)]
        events += [Event(0, "fsync", 0)] if how == "fsync" else []
    flush = found(events)["flush-after-each-write"]
    assert "200 flushes" in flush.sentence and "200 writes: one for each 1.0 MiB" in flush.sentence


def test_a_flush_at_the_end_and_flushes_of_large_writes_are_no_findings() -> None:
    assert found([*sequential("write", 200, MIB), Event(0, "fsync")]) == {}
    large = [
        e
        for i in range(200)
        for e in (Event(0, "write", offset=i * 16 * MIB, size=16 * MIB), Event(0, "fsync"))
    ]
    assert found(large) == {}


def test_what_the_run_wrote_and_reads_back_is_told_and_updates_in_place_are_not() -> None:
    written, read = sequential("write", 32, MIB), sequential("read", 32, MIB)
    back = found([*written, *read])["read-back"]
    assert (
        "32.0 MiB are read from a file that the run wrote before: 100 % of all that is read"
        in back.sentence
    )
    assert back.ph_ids == (2,)
    assert found([*read, *written]) == {}


# --- all of them ------------------------------------------------------------------------------------


def test_a_kernel_shows_what_its_model_shows(tmp_path: Path) -> None:
    from wavetank.kernel.construction.from_model import make_kernel

    model = model_of(shared("pwrite", 1000, 4096, interleaved=True))
    model.write(tmp_path / "m.json")
    kernel = make_kernel(model, tmp_path / "m.json")
    assert [one.kind for one in all_findings(kernel)] == ["interleaved-pieces"]


@pytest.mark.parametrize(
    ("log", "kinds"),
    [
        # The counters of each: BT-IO and IOR read all that they wrote (MPIIO_BYTES_READ = MPIIO_BYTES_WRITTEN or the
        # POSIX ones), S3D-IO reads nothing. All collective or of 1 MiB; none has 1000 operations.
        # MPIIO_F_READ_TIME and the like are 12.1 s over ranks, POSIX_F_READ_TIME and the like 12 ms.
        ("bt.W.4.mpi_io_full.darshan", {"time-above-posix", "read-back"}),
        ("ior_seq_fpp_posix_1m.darshan", {"read-back"}),
        ("ior_strided_shared_mpiio_coll_256k.darshan", {"time-above-posix", "read-back"}),
        ("s3dio_np4_40c_method0_openmpi_ompio.darshan", {"time-above-posix"}),
        # Less than a MiB is moved each way.
        ("bt.S.4.mpi_io_full.dxt-40-byte-segments.darshan", {"time-above-posix"}),
        ("recorded/dd.darshan", set()),
        ("recorded/abyss.darshan", set()),
    ],
)
def test_sample_logs_show_what_their_counters_say(log: str, kinds: set[str]) -> None:
    model = extract_model(open_trace(DARSHAN / log), MADE)
    assert {one.kind for one in all_findings(model)} == kinds


def test_calls_of_which_the_log_does_not_say_whether_they_were_collective_are_not_blamed() -> None:
    # As if nothing decided which of S3D-IO's calls were collective.
    trace = open_trace(DARSHAN / "s3dio_np4_40c_method0_openmpi_ompio.darshan")
    files = tuple(replace(file, collective_unknown=True) for file in trace.files)
    model = extract_model(replace(trace, files=files), MADE)
    own = [phase for phase in model.phases if phase.level == "mpiio"]
    assert own and all(phase.collective_unknown and not phase.exact for phase in own)
    assert {one.kind for one in all_findings(model)} == {"time-above-posix"}
    # BT-IO's are all collective.
    model = extract_model(open_trace(DARSHAN / "bt.W.4.mpi_io_full.darshan"), MADE)
    assert not any(phase.collective_unknown for phase in model.phases)


def test_aggregators_of_collective_calls_are_not_blamed_where_posix_alone_is_modelled() -> None:
    # Rank 0 writes for all: ROMIO and OMPIO on one node.
    trace = open_trace(DARSHAN / "s3dio_np4_40c_method0_openmpi_ompio.darshan")
    model = extract_model(trace, MADE, Rules(levels=(Level.POSIX,)))
    assert {phase.ph_processid for phase in model.phases} == {(0,)}
    assert {one.kind for one in all_findings(model)} == {"time-above-posix"}
