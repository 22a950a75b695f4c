"""Which MPI-IO operations of a Darshan log were collective: what decides it, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

from wavetank.trace.importers.counter_table import CounterRecord
from wavetank.trace.importers.dxt import SEGMENT, Segments
from wavetank.trace.importers.dxt_collective import Calls, calls_of

Operation = tuple[int, float, float]  # bytes, start and end in seconds
FILE = 77
NUMBERS = {FILE: 0}


def log(*ranks: list[Operation], reads: bool = False) -> Segments:
    """Segments of one file, by rank."""
    n = np.array([len(mine) for mine in ranks], dtype=np.int64)
    rows = [(0, size, start, end) for mine in ranks for size, start, end in mine]
    return Segments(
        rank=np.arange(len(ranks), dtype=np.int32),
        file=np.full(len(ranks), FILE, dtype=np.uint64),
        n_writes=np.zeros_like(n) if reads else n,
        n_reads=n if reads else np.zeros_like(n),
        segment=np.array(rows, dtype=SEGMENT),
        hosts={},
    )


def counters(rank: int = -1, **given: int) -> CounterRecord:
    names = [
        f"{kind}_{way}" for kind in ("INDEP", "COLL", "SPLIT", "NB") for way in ("WRITES", "READS")
    ]
    found = dict.fromkeys([*names, "VIEWS"], 0) | given
    return CounterRecord(FILE, rank, {f"MPIIO_{name}": n for name, n in found.items()})


def told(segments: Segments, *records: CounterRecord) -> list[list[bool]] | None:
    """By rank which operations are collective; None where that is not decided."""
    calls = calls_of(segments, records, NUMBERS, len(segments.rank))
    if undecided(calls):
        assert not calls.collective.any()
        return None
    ends = np.cumsum(segments.n_writes + segments.n_reads)[:-1]
    return [mine.tolist() for mine in np.split(calls.collective, ends)]


def undecided(calls: Calls) -> bool:
    return bool(calls.undecided[True][0] or calls.undecided[False][0])


def in_turn(*sizes: int, start: float = 0.0) -> list[Operation]:
    """Operations of a second each."""
    return [(size, start + i, start + i + 0.9) for i, size in enumerate(sizes)]


HEADER = [(588, 0.0, 0.5)]
FIELDS = in_turn(1408, 384, 128, 128, start=1.0)


@pytest.mark.parametrize("reads", [False, True])
def test_a_header_of_rank_0_before_collective_operations_is_told_by_counts_and_order(
    reads: bool,
) -> None:
    way = "READS" if reads else "WRITES"
    segments = log([*HEADER, *FIELDS], FIELDS, FIELDS, FIELDS, reads=reads)
    record = counters(**{f"COLL_{way}": 16, f"INDEP_{way}": 1})
    assert told(segments, record) == [[False, *[True] * 4], *[[True] * 4] * 3]


def test_split_collective_operations_are_collective() -> None:
    record = counters(COLL_WRITES=8, SPLIT_WRITES=8, INDEP_WRITES=1)
    assert told(log([*HEADER, *FIELDS], FIELDS, FIELDS, FIELDS), record) == [
        [False, *[True] * 4], *[[True] * 4] * 3,
    ]  # fmt: skip


def test_counts_of_each_rank_decide_alone_where_no_rank_made_both() -> None:
    # Ranks 0 and 1 share a communicator, rank 2 writes by itself: no shared record, as not all ranks opened the file.
    records = [counters(0, COLL_WRITES=2), counters(1, COLL_WRITES=2), counters(2, INDEP_WRITES=3)]
    two, three = in_turn(10, 10), in_turn(10, 10, 10)
    assert told(log(two, two, three), *records) == [[True] * 2, [True] * 2, [False] * 3]


def test_times_tell_an_operation_that_other_ranks_were_not_in() -> None:
    # All of one size; rank 0 wrote one more while the others were in no call.
    shared = [(100, 1.0, 1.9), (100, 5.0, 5.9)]
    between = [shared[0], (100, 3.0, 3.5), shared[1]]
    assert told(log(between, shared), counters(COLL_WRITES=4, INDEP_WRITES=1)) == [
        [True, False, True], [True, True],
    ]  # fmt: skip


def test_sizes_decide_where_other_ranks_waited_in_the_call_meanwhile() -> None:
    # No barrier behind the header: rank 1 is in the first collective write from 0.1 s on.
    waiting = [(1408, 0.1, 1.9), *FIELDS[1:]]
    record = counters(COLL_WRITES=8, INDEP_WRITES=1)
    assert told(log([*HEADER, *FIELDS], waiting), record) == [[False, *[True] * 4], [True] * 4]


def test_sizes_decide_where_ranks_did_not_wait_for_each_other() -> None:
    later = [(size, start + 100, end + 100) for size, start, end in FIELDS]
    record = counters(COLL_WRITES=12, INDEP_WRITES=1)
    assert told(log([*HEADER, *FIELDS], FIELDS, later), record) == [
        [False, *[True] * 4], [True] * 4, [True] * 4,
    ]  # fmt: skip


def test_times_win_over_sizes() -> None:
    ranks = [[(100, 1.0, 1.9), (200, 3.0, 3.9)], [(200, 1.1, 1.8)]]
    assert told(log(*ranks), counters(COLL_WRITES=2, INDEP_WRITES=1)) == [[True, False], [True]]


def turns(size_a: int, size_b: int, late: float = 0.0, n: int = 4) -> list[Operation]:
    """Calls of a second each with a pause after each, sizes in turn; from ``late`` seconds after the others on."""
    return [((size_a, size_b)[i % 2], 2.0 * i + late, 2.0 * i + 1 + late) for i in range(n)]


@pytest.mark.parametrize("n_alone", [1, 2])
@pytest.mark.parametrize("late", [0.0, -0.3])
def test_ranks_that_give_nothing_are_no_evidence_of_a_size(n_alone: int, late: float) -> None:
    # Rank 1 gives bytes to every second call, rank 2 to the others, and rank 1 writes alone at the end: with ``late`` below
    # 0 while rank 0 is in the last call still.
    writes = [(96, 7.01 + late + 0.1 * i, 7.02 + late + 0.1 * i) for i in range(n_alone)]
    segments = log(turns(0, 0), [*turns(65536, 0, late), *writes], turns(0, 8192), turns(0, 0))
    record = counters(COLL_WRITES=16, INDEP_WRITES=n_alone)
    assert told(segments, record) == [
        [True] * 4, [*[True] * 4, *[False] * n_alone], [True] * 4, [True] * 4,
    ]  # fmt: skip


def test_a_rank_may_leave_a_call_before_another_one_comes() -> None:
    # As ROMIO lets ranks without data do: the third call has no moment that all share, and calls are apart nevertheless.
    early = [*turns(0, 0)[:2], (0, 3.5, 4.01), turns(0, 0)[3]]
    late = [*turns(0, 8192)[:2], (0, 4.02, 5.0), turns(0, 8192)[3]]
    alone = (96, 8.5, 8.6)
    expected = [[True] * 4, [*[True] * 4, False], [True] * 4]
    record = counters(COLL_WRITES=12, INDEP_WRITES=1)
    assert told(log(early, [*turns(65536, 0), alone], late), record) == expected
    # And so may the rank that is looked at.
    writes = [*turns(65536, 0)[:2], (65536, 4.02, 5.0), turns(65536, 0)[3], alone]
    assert told(log(early, writes, turns(0, 0)), record) == expected


@pytest.mark.parametrize(
    ("ranks", "record"),
    [
        # The others waited in the call meanwhile, and sizes are equal.
        (
            [[(100, 0.0, 0.5), (100, 1.0, 1.9)], [(100, 0.1, 1.9)]],
            counters(COLL_WRITES=2, INDEP_WRITES=1),
        ),
        # Every rank made both.
        ([in_turn(588, 1408), in_turn(588, 1408)], counters(COLL_WRITES=2, INDEP_WRITES=2)),
        # Not equally many collective operations on all ranks.
        ([in_turn(1, 2, 3), in_turn(1, 2)], counters(COLL_WRITES=3, INDEP_WRITES=2)),
        # Segments are missing.
        ([in_turn(588, 1408), in_turn(1408)], counters(COLL_WRITES=4, INDEP_WRITES=1)),
        # A rank made fewer operations than it would have to.
        ([in_turn(1, 2, 3, 4), []], counters(COLL_WRITES=2, INDEP_WRITES=2)),
        # Darshan has one counter for MPI_File_iwrite_at and MPI_File_iwrite_at_all.
        ([in_turn(1, 2), in_turn(1, 2)], counters(NB_WRITES=4)),
    ],
)  # fmt: skip
def test_what_nothing_decides_is_undecided(
    ranks: list[list[Operation]], record: CounterRecord
) -> None:
    assert told(log(*ranks), record) is None


def test_a_size_that_occurs_twice_beside_an_unsynchronised_call_is_undecided() -> None:
    later = [(size, start + 100, end + 100) for size, start, end in in_turn(5, 7)]
    record = counters(COLL_WRITES=6, INDEP_WRITES=1)
    assert told(log(in_turn(5, 5, 7), in_turn(5, 7), later), record) is None


def test_nonblocking_operations_of_some_ranks_are_independent() -> None:
    assert told(log(in_turn(1, 2, 3), in_turn(1, 2)), counters(NB_WRITES=5)) == [
        [False] * 3,
        [False] * 2,
    ]


def test_without_segments_a_file_with_both_kinds_is_undecided() -> None:
    both = calls_of(None, [counters(COLL_WRITES=4, INDEP_WRITES=1)], NUMBERS, 4)
    assert undecided(both)
    assert not undecided(calls_of(None, [counters(COLL_WRITES=4, INDEP_READS=4)], NUMBERS, 4))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (counters(COLL_WRITES=16, INDEP_WRITES=1, VIEWS=16), [False, *[True] * 16]),
        (counters(COLL_WRITES=16, INDEP_WRITES=1, VIEWS=32), [True] * 17),
        (counters(COLL_WRITES=16, INDEP_WRITES=1, VIEWS=4), [False] * 17),
        (counters(COLL_WRITES=16, INDEP_WRITES=1), [False] * 17),
    ],
)
def test_operations_have_a_view_each_where_as_many_views_were_set(
    record: CounterRecord, expected: list[bool]
) -> None:
    calls = calls_of(log([*HEADER, *FIELDS], FIELDS, FIELDS, FIELDS), [record], NUMBERS, 4)
    assert calls.own_view.tolist() == expected
    assert calls.viewed.tolist() == [any(expected)]
