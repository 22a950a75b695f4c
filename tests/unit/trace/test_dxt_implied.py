"""What is concluded from a Darshan log, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from wavetank.trace.fold import SingleOperations
from wavetank.trace.importers.dxt_implied import (
    with_offsets_from_below,
    with_whole_requests,
    without_closed_streams,
)
from wavetank.trace.importers.library_files import library_files
from wavetank.trace.ops import OPS_BY_NAME

DECIDED = {True: np.array([False]), False: np.array([False])}
Row = tuple[int, str, int, int, int, int]  # rank, call, file, offset, bytes, start


def operations(*rows: Row) -> SingleOperations:
    """Operations of 10 ns each, in the order in which they ended."""
    rank, op, file, offset, size, start = zip(*rows, strict=True)
    n = np.zeros(len(rows), dtype=np.int64)
    moved = np.array(size, dtype=np.int64)
    return SingleOperations(
        rank=np.array(rank, dtype=np.int32),
        op=np.array([OPS_BY_NAME[name].code for name in op], dtype=np.uint8),
        file=np.array(file, dtype=np.int32),
        handle=np.array(file, dtype=np.int32),
        size=moved,
        moved=moved,
        offset=np.array(offset, dtype=np.int64),
        tick=n,
        subtick=n,
        start_ns=np.array(start, dtype=np.int64),
        end_ns=np.array(start, dtype=np.int64) + 10,
        arg=n,
        error=n.astype(np.int32),
    )


def reads(*sizes: int, rank: int = 0, file: int = 0) -> list[Row]:
    starts = np.cumsum((0, *sizes[:-1])).tolist()
    return [
        (rank, "read", file, start, size, 100 * number)
        for number, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]


def test_a_short_read_before_the_end_of_a_file_asked_for_as_much_as_the_one_before() -> None:
    found, n = with_whole_requests(operations(*reads(8191, 8191, 51, 0)))
    assert found.size.tolist() == [8191] * 4
    assert found.moved.tolist() == [8191, 8191, 51, 0]
    assert n == 1


def test_a_read_at_the_end_of_a_file_asked_for_as_much_also_where_none_is_short() -> None:
    found, n = with_whole_requests(operations(*reads(100, 100, 0)))
    assert (found.size.tolist(), n) == ([100, 100, 100], 0)


@pytest.mark.parametrize(
    "rows",
    [
        reads(8191, 51),  # the program knew how much there was
        reads(51, 0),  # nothing says what it asked for
        reads(51, 8191, 0),  # the one before was smaller
        [*reads(8191, 51), (0, "read", 0, 0, 0, 300)],  # the read of nothing is somewhere else
        [*reads(8191, 51), (0, "read", 1, 8242, 0, 300)],  # of another file
        [*reads(8191, 51), (1, "read", 0, 8242, 0, 300)],  # of another rank
        [*reads(8191, 51), (0, "write", 0, 8242, 0, 300)],
    ],
)
def test_other_short_reads_are_left_alone(rows: list[Row]) -> None:
    events = operations(*rows)
    found, n = with_whole_requests(events)
    assert (found.size.tolist(), n) == (events.moved.tolist(), 0)


def test_reads_of_two_ranks_and_files_are_told_apart() -> None:
    rows = [
        row for pair in zip(reads(10, 4, 0), reads(7, 3, 0, file=1), strict=True) for row in pair
    ]
    rows += reads(20, 6, 0, rank=1)
    found, n = with_whole_requests(operations(*rows))
    assert found.size.tolist() == [10, 7, 10, 7, 10, 7, 20, 20, 20]
    assert n == 3


def test_operations_behind_the_close_of_a_stream_are_left_out() -> None:
    events = operations(
        (0, "read", 0, 0, 100, 0), (0, "read", 0, 100, 28, 50), (1, "read", 0, 0, 9, 50), (0, "read", 1, 0, 5, 60)
    )  # fmt: skip
    found, n = without_closed_streams(events, {(0, 0): 40})
    assert (found.size.tolist(), n) == ([100, 9, 5], 1)
    assert without_closed_streams(events, {(0, -1): 40})[1] == 2  # of all ranks
    assert without_closed_streams(events, {})[0] is events


def test_an_independent_call_lies_where_the_operations_that_it_was_made_of_lie() -> None:
    events = operations(
        (0, "write", 0, 500, 60, 1),
        (0, "write", 0, 560, 40, 2),
        (0, "MPI_File_write_at", 0, -1, 100, 0),
        (0, "read", 0, 700, 10, 21),
        (0, "MPI_File_read_at", 0, -1, 10, 20),
    )
    found, n = with_offsets_from_below(events, DECIDED)
    assert (found.offset.tolist(), n) == ([500, 560, 500, 700, 700], 2)
    writes_undecided = {True: np.array([True]), False: np.array([False])}
    assert with_offsets_from_below(events, writes_undecided)[1] == 1


def test_a_collective_call_stays_unknown_beside_independent_ones() -> None:
    events = operations(
        (0, "write", 0, 500, 100, 1),
        (0, "MPI_File_write_at_all", 0, -1, 100, 0),
        (0, "write", 0, 700, 100, 21),
        (0, "MPI_File_write_at", 0, -1, 100, 20),
    )
    found, n = with_offsets_from_below(events, DECIDED)
    assert (found.offset.tolist(), n) == ([500, -1, 700, 700], 1)


@pytest.mark.parametrize(
    "below",
    [
        [(0, "write", 0, 500, 60, 1), (0, "write", 0, 600, 40, 2)],  # a hole between them
        [(0, "write", 0, 500, 60, 1)],  # too little
        [(0, "write", 0, 500, 150, 1)],  # data sieving: more than was asked for
        [(0, "read", 0, 500, 100, 1)],  # the other way
        [(0, "write", 0, 500, 100, -20)],  # before the call
        [(1, "write", 0, 500, 100, 1)],  # of another rank
        [],
    ],
)
def test_a_call_made_of_anything_else_stays_unknown(below: list[Row]) -> None:
    rows = sorted([*below, (0, "MPI_File_write_at", 0, -1, 100, 0)], key=lambda row: row[0])
    found, n = with_offsets_from_below(operations(*rows), DECIDED)
    assert n == 0
    assert -1 in found.offset.tolist()


def test_files_that_mpi_libraries_keep_are_told_by_their_names() -> None:
    # Names as Open MPI 4.1 and MPICH 4.0 gave them; the last three are the application's.
    kept = [
        "/tmp/ompi.node.1000/pid.7734/1/sh.out_cid--1-0.sm",
        "/tmp/ompi.node.1000/pid.7734/1/sh.out_cid-0-7738.sm",
        "/scratch/run/sh.out.locktest.2",
        "/scratch/run/.sh.out.shfp.4102390861.7784",
    ]
    own = ["/scratch/run/sh.out", "/scratch/run/other.locktest.0", "/scratch/run/sh.out.bak"]
    assert library_files([*kept, *own], ["/scratch/run/sh.out"]) == set(kept)
