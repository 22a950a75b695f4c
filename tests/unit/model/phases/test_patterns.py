"""How a rank's operations come apart into phases."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from fold_builder import Event, model_of

from wavetank.model.rules import Rules
from wavetank.notes import texts
from wavetank.trace.schema import Level

R, W = "pread", "pwrite"


def shapes(events: list[Event], rules: Rules | None = None) -> list[tuple[list[str], int]]:
    """Operations and repetitions of each phase, the same for folded and unfolded events."""
    found = [
        [([m.iop_type for m in p.pattern], p.ph_nrep) for p in model_of(events, rules, fold).phases]
        for fold in (False, True)
    ]
    assert found[0] == found[1]
    return found[0]


def regular(
    op: str, n: int, start: int = 0, size: int = 10, disp: int | None = None
) -> list[Event]:
    return [
        Event(0, op, offset=start + i * (size if disp is None else disp), size=size)
        for i in range(n)
    ]


def test_writes_then_reads_are_two_phases() -> None:
    assert shapes([*regular(W, 8), *regular(R, 8)]) == [([W], 8), ([R], 8)]


def test_pairs_are_one_phase_of_two_operations() -> None:
    events = [
        e
        for i in range(6)
        for e in (Event(0, R, offset=i * 10, size=10), Event(0, W, offset=900 + i * 10, size=10))
    ]
    assert shapes(events) == [([R, W], 6)]


def test_two_reads_and_a_write_repeat_as_three() -> None:
    # Not two reads, then (write, read, read): the pattern that covers most.
    events = [
        e
        for i in range(50)
        for e in (
            Event(0, R, offset=i * 100, size=10),
            Event(0, R, offset=i * 100 + 50, size=10),
            Event(0, W, offset=9000 + i * 10, size=10),
        )
    ]
    assert shapes(events) == [([R, R, W], 50)]


def test_pairs_that_follow_a_run_of_their_first_operation_keep_all_their_operations() -> None:
    pairs = [
        e
        for i in range(6)
        for e in (Event(0, W, offset=i * 10, size=10), Event(0, R, offset=500 + i * 10, size=10))
    ]
    assert shapes([*regular(W, 8), *pairs]) == [([W], 8), ([W, R], 6)]


def test_a_file_that_is_read_twice_has_two_read_phases() -> None:
    assert shapes([*regular(R, 20), *regular(R, 20)]) == [([R], 20), ([R], 20)]


def test_another_displacement_is_another_phase() -> None:
    assert shapes([*regular(R, 10), *regular(R, 10, start=5000, disp=400)]) == [
        ([R], 10),
        ([R], 10),
    ]


def test_random_offsets_are_one_phase_with_listed_offsets() -> None:
    # A linear congruential walk over a thousand blocks: no displacement comes back.
    events, at = [], 7
    for _ in range(300):
        at = (at * 1103515245 + 12345) % 1000
        events.append(Event(0, R, offset=at * 4096, size=4096))
    model = model_of(events)
    (phase,) = model.phases
    assert phase.offset[0].function == "list"
    assert not phase.exact
    assert model.files[0].file_accessmode == "random"


def test_more_pieces_than_a_phase_table_can_bear_are_one_listed_phase() -> None:
    # 100 records of 8 reads each, far apart: 100 pieces, of which the limit is 64.
    events = [e for r in range(100) for e in regular(R, 8, start=(r * r + r) * 100_000)]
    assert shapes(events) == [([R], 800)]
    few = [e for r in range(10) for e in regular(R, 8, start=(r * r + r) * 100_000)]
    assert shapes(few) == [([R], 8)] * 10


@pytest.mark.parametrize(("second", "phases"), [(80, 1), (120, 1), (79, 2), (121, 2)])
def test_sizes_are_similar_from_0_8_to_1_2(second: int, phases: int) -> None:
    events = [
        *regular(W, 5, size=100, disp=1000),
        *regular(W, 5, start=5000, size=second, disp=1000),
    ]
    assert len(shapes(events)) == phases


def test_values_of_zero_or_below_must_be_equal() -> None:
    # Rewriting one block (disp 0) and then going backwards is not similar to anything but itself.
    events = [*regular(W, 5, start=1000, disp=0), *regular(W, 5, start=990, disp=-10)]
    assert shapes(events) == [([W], 5), ([W], 5)]


def test_communication_parts_phases_only_at_the_levels_asked_for() -> None:
    def run(op: str) -> list[Event]:
        return [Event(0, op, offset=i * 10, size=10, communication=1) for i in range(6)]

    both = Rules(split_at_communication={Level.POSIX: True, Level.MPIIO: True})
    none = Rules(split_at_communication={})
    posix, mpiio = "pwrite", "MPI_File_write_at"
    assert shapes(run(posix)) == [([posix], 6)]
    assert shapes(run(mpiio)) == [([mpiio], 1)] * 6
    assert shapes(run(posix), both) == [([posix], 1)] * 6
    assert shapes(run(mpiio), none) == [([mpiio], 6)]


def test_mpi_io_calls_between_two_operations_are_no_communication() -> None:
    events = [
        e
        for i in range(6)
        for e in (
            Event(0, "MPI_File_seek", offset=i * 10),
            Event(0, "MPI_File_write", offset=i * 10, size=10),
        )
    ]
    assert shapes(events) == [(["MPI_File_write"], 6)]


def test_a_pause_longer_than_the_gap_splits_a_phase() -> None:
    second = 10**9
    events = [
        Event(0, W, offset=i * 10, size=10, start_ns=i * second // 100 + (i >= 5) * 3 * second)
        for i in range(10)
    ]
    assert len(model_of(events).phases) == 1
    assert [p.ph_nrep for p in model_of(events, Rules(split_at_computation_s=2.0)).phases] == [5, 5]
    assert len(model_of(events, Rules(split_at_computation_s=4.0)).phases) == 1


def test_a_pause_hidden_in_a_folded_row_is_told() -> None:
    second = 10**9
    events = [
        Event(0, W, offset=i * 10, size=10, start_ns=i * second + (i >= 5) * 30 * second)
        for i in range(10)
    ]
    model = model_of(events, Rules(split_at_computation_s=20.0), fold=True)
    assert any("is not recorded" in warning for warning in texts(model.notes))


def test_similar_displacements_are_one_phase_that_keeps_each_offset() -> None:
    events, at = [], 0
    for i in range(20):
        events.append(Event(0, R, offset=at, size=10))
        at += 100 + i % 3  # 100, 101, 102: within 0.8 to 1.2 of each other
    assert shapes(events) == [([R], 20)]
    offset = model_of(events).phases[0].offset[0]
    assert offset.function == "list"
    assert sum(run.count for run in offset.runs[0]) == 20


def test_short_reads_in_the_middle_keep_their_bytes() -> None:
    # A pipe-like file: every third read returns half.
    events, at = [], 0
    for i in range(30):
        moved = 50 if i % 3 == 2 else 100
        events.append(Event(0, "read", offset=at, size=100, moved=moved))
        at += moved
    model = model_of(events)
    assert sum(phase.ph_weight for phase in model.phases) == 10 * 250


def test_only_reads_that_return_nothing_are_no_phase() -> None:
    events = [*regular(W, 5), *(Event(0, R, offset=50, size=10, moved=0) for _ in range(3))]
    assert shapes(events) == [([W], 5)]


def nested(*runs: tuple[str, int], times: int, start: int = 0) -> list[Event]:
    """(op x n, ...) x times, each operation sequential in a region of the file of its own."""
    at = {op: start + (op == R) * 10**6 for op, _ in runs}
    events = []
    for op in [op for _ in range(times) for op, n in runs for _ in range(n)]:
        events.append(Event(0, op, offset=at[op], size=10))
        at[op] += 10
    return events


def test_runs_that_alternate_many_times_are_one_pattern() -> None:
    assert shapes(nested((W, 5), (R, 1), times=100)) == [([W] * 5 + [R], 100)]
    assert shapes(nested((W, 4), (R, 1), (W, 1), (R, 2), times=50)) == [
        ([W] * 4 + [R, W, R, R], 50)
    ]


def test_runs_longer_than_the_list_of_their_phases_stay_phases() -> None:
    # 16 members for 4 phases would tell nothing shorter; 6 members for 6 phases do not tell it longer.
    assert shapes(nested((W, 8), (R, 8), times=2)) == [([W], 8), ([R], 8)] * 2
    assert shapes(nested((W, 5), (R, 1), times=2)) == [([W], 5), ([R], 1)] * 2
    assert shapes(nested((W, 5), (R, 1), times=3)) == [([W] * 5 + [R], 3)]
    assert shapes(nested((W, 40), (R, 40), times=1)) == [([W], 40), ([R], 40)]


def test_a_pattern_takes_what_belongs_to_it_from_the_runs_beside_it() -> None:
    # One write more before it, two reads more behind it.
    pattern = nested((W, 5), (R, 1), times=30, start=10)
    before = [Event(0, W, offset=0, size=10)]
    after = [Event(0, R, offset=10**6 + 310 + i * 10, size=10) for i in range(2)]
    assert shapes([*before, *pattern, *after]) == [([W], 1), ([W] * 5 + [R], 30), ([R], 2)]


def test_other_counts_inside_end_a_pattern() -> None:
    events = [*nested((W, 5), (R, 2), times=9), *nested((W, 6), (R, 2), times=9, start=10**7)]
    assert shapes(events) == [([W] * 5 + [R, R], 9), ([W] * 6 + [R, R], 9)]


def test_records_of_one_operation_far_apart_are_no_pattern() -> None:
    events = [e for r in range(10) for e in regular(R, 5, start=r * 100_000)]
    assert shapes(events) == [([R], 5)] * 10


def test_a_boundary_ends_a_pattern_with_runs_in_it() -> None:
    second = 10**9
    events = [
        replace(event, start_ns=i * 1000 + (i >= 60) * 5 * second)
        for i, event in enumerate(nested((W, 5), (R, 1), times=20))
    ]
    rules = Rules(split_at_computation_s=1.0)
    assert [p.ph_nrep for p in model_of(events, rules).phases] == [10, 10]


def irregular(n: int, seed: int, sequential: bool = False) -> list[Event]:
    """Writes of sizes from 1 to 100,000 at offsets without regularity, or in sequence."""
    draw, events, at = random.Random(seed), [], 10**8
    for _ in range(n):
        size = draw.randint(1, 100_000)
        events.append(Event(0, W, offset=at if sequential else draw.randrange(10**9), size=size))
        at += size
    return events


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("n", [50, 5000])
def test_writes_of_random_sizes_are_one_irregular_phase(n: int, sequential: bool) -> None:
    events = irregular(n, n, sequential)
    assert shapes(events) == [([W], n)]
    model = model_of(events)
    assert not model.phases[0].exact
    assert model.phases[0].pattern[0].rs == events[0].size
    assert sum(phase.ph_weight for phase in model.phases) == sum(event.size for event in events)
    assert model.files[0].file_accessmode == ("sequential" if sequential else "random")


def test_regular_neighbours_of_irregular_writes_keep_their_phases() -> None:
    events = [*regular(W, 40, size=7), *irregular(300, 1), *regular(W, 30, start=10**10, size=9)]
    assert shapes(events) == [([W], 40), ([W], 300), ([W], 30)]
