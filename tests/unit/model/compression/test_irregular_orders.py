"""Operations in no order: interleaved as they are folded, one phase each, and back in the order of the run."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from fold_builder import BY_NAME, PROVENANCE, Event, fold_table, trace_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loops_and_lists import data_of, wanted
from test_model_properties import DATA, moved

from model_events import unfold
from wavetank.model.compression.folding import fold
from wavetank.model.document.expansion import phase_operations
from wavetank.model.document.model import Model
from wavetank.model.document.program import IrregularOrderStep
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.extract import compactor, extract_model
from wavetank.model.rules import Rules
from wavetank.model.work_limits import WorkLimits
from wavetank.trace.schema import Level

SMALL = {
    "compacted_operations": 4, "loop_repetitions": 3, "regular_run": 4, "loop_operations": 8, "woven_operations": 6,
}  # fmt: skip
NEVER = {"compacted_operations": 1 << 30}


# What takes hundreds of operations otherwise takes a few.
FEW = {
    "mix_turns": 8, "mix_order": 8, "mix_long_order": 24, "mix_most_turns": 64, "strand_operations": 3,
    "order_probe": 8, "order_head": 8, "short_program": 24, "mix_steps": 12, "mix_recurrences": 1,
    "recurring_steps": 6,
}  # fmt: skip


KINDS = ("random", "one size", "regular", "bursts", "seek", "alternating", "short", "scan")


@st.composite
def mixed_runs(draw: st.DrawFn) -> list[Event]:
    """Ranks with stretches of operations of several kinds on several files, other calls between."""
    generator = random.Random(draw(st.integers(0, 1 << 30)))
    events: list[Event] = []
    for rank in range(draw(st.integers(1, 3))):
        for _ in range(draw(st.integers(1, 4))):
            files = draw(st.integers(1, 4))
            level = draw(st.sampled_from(["posix", "posix", "mpiio"]))
            # A file is used at one level: what lies below MPI-IO is in no program.
            first = 0 if level == "posix" else 4
            kinds = {first + file: draw(st.sampled_from(KINDS)) for file in range(files)}
            n = draw(st.sampled_from([3, 20, 60, 200]))
            talks = draw(st.sampled_from([0, 0, 0.02]))
            events += stretch(generator, rank, kinds, n, level, talks)
            other = draw(st.sampled_from(["fsync", "reopen", "tell", "empty", "none"]))
            if level == "posix":
                events += between(other, rank, generator)
    return events


def stretch(
    generator: random.Random, rank: int, kinds: dict[int, str], n: int, level: str, talks: float
) -> list[Event]:
    """``n`` turns on files that are used in these ways."""
    position: dict[tuple[int, str], int] = defaultdict(int)
    turn: dict[int, int] = defaultdict(int)
    found: list[Event] = []
    names = ("pread", "pwrite") if level == "posix" else ("MPI_File_read_at", "MPI_File_write_at")
    while len(found) < n:
        file = generator.choice(list(kinds))
        kind, times = kinds[file], 1
        op = generator.choice(names)
        size, offset = generator.randrange(1, 1000), generator.randrange(10**6)
        if kind == "one size":
            size = 512
        elif kind == "bursts":
            times = generator.randrange(1, 12)
        elif kind == "alternating":
            op = names[turn[file] % 2]
        elif kind == "scan":
            op = names[0]
        turn[file] += 1
        for _ in range(times):
            if kind in ("regular", "scan", "alternating", "bursts"):
                size, offset = 100, position[file, op]
                position[file, op] += 100
            if kind == "seek" and level == "posix":
                found.append(Event(rank, "lseek", file, offset))
                op = generator.choice(("read", "write"))
            done = generator.randrange(1, size + 1) if kind == "short" and size < 50 else None
            communication = int(generator.random() < talks)
            found.append(
                Event(rank, op, file, offset, size, moved=done, communication=communication)
            )
    return found


def between(other: str, rank: int, generator: random.Random) -> list[Event]:
    if other == "reopen":
        return [Event(rank, "close", 0), Event(rank, "open", 0)]
    if other == "tell":
        return [Event(rank, "lseek", 0, generator.randrange(100), arg=1)]
    if other == "empty":
        return [Event(rank, "pread", 0, 10**7, 100, moved=0)]
    return [] if other == "none" else [Event(rank, other, 0)]


def model_with(
    events: list[Event], numbers: dict[str, int] | None = None, rules: Rules | None = None
) -> Model:
    rules = replace(rules or Rules(), thresholds=Thresholds(**numbers or {}))
    return extract_model(trace_of(events), PROVENANCE, rules)


RULES = st.sampled_from(
    [
        Rules(),
        Rules(similarity=None),
        Rules(split_at_communication={Level.POSIX: True, Level.MPIIO: True}),
        Rules(split_at_communication={Level.POSIX: False, Level.MPIIO: False}),
    ]
)


@settings(max_examples=150, deadline=None)
@given(events=mixed_runs(), rules=RULES, limits=st.sampled_from([SMALL, NEVER]))
def test_unfolding_gives_back_every_operation_of_a_mix_in_order(
    events: list[Event], rules: Rules, limits: dict[str, int]
) -> None:
    model = model_with(events, limits | FEW, rules)
    for rank in range(model.n_ranks):
        assert data_of(model, rank) == wanted(events, rank)
        others = [e.op for e in events if e.rank == rank and e.op not in ("lseek",)]
        unfolded = unfold(model.programs, model.phases, rank)
        assert [e.iop_type for e in unfolded if e.iop_type != "lseek"] == others


@settings(max_examples=100, deadline=None)
@given(events=mixed_runs(), rules=RULES)
def test_each_operation_of_a_mix_is_in_one_phase(events: list[Event], rules: Rules) -> None:
    model = model_with(events, SMALL | FEW, rules)
    file_ids = {int(file.file_name[-1]): file.file_id for file in model.files}
    expected = Counter(
        (event.rank, file_ids[event.file], event.op, event.offset, event.size, moved(event))
        for event in events
        if BY_NAME[event.op].kind in DATA and moved(event)
    )
    found: Counter[tuple[int, int, str, int, int, int]] = Counter()
    for phase in model.phases:
        weight = 0
        for rank in phase.ph_processid:
            done = phase_operations(phase, rank)
            weight += int(done.moved.sum())
            columns = (done.member, done.offset, done.size, done.moved)
            for member, offset, size, n in zip(*(c.tolist() for c in columns), strict=True):
                found[rank, phase.file_id, phase.pattern[member].iop_type, offset, size, n] += 1
        assert weight == phase.ph_weight
    assert found == expected


def random_mix(n: int, n_files: int, ops: tuple[str, ...] = ("pread", "pwrite")) -> list[Event]:
    generator = random.Random(n)
    return [
        Event(
            0, generator.choice(ops), generator.randrange(n_files), generator.randrange(10**9),
            generator.randrange(1, 10**5),
        )
        for _ in range(n)
    ]  # fmt: skip


@pytest.mark.parametrize("limits", [None, NEVER], ids=["interleaved", "one by one"])
def test_random_calls_on_random_files_are_one_phase_for_each_and_one_step(
    limits: dict[str, int] | None,
) -> None:
    events = random_mix(4000, 3)
    model = model_with(events, limits)
    # What a reader with a list for each file and call would write down.
    expected: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        expected[event.file, event.op].append((event.offset, event.size))
    names = {file.file_id: int(file.file_name[-1]) for file in model.files}
    found = {}
    for phase in model.phases:
        done = phase_operations(phase, 0)
        key = names[phase.file_id], phase.pattern[0].iop_type
        assert key not in found
        found[key] = list(zip(done.offset.tolist(), done.size.tolist(), strict=True))
    assert found == expected
    (program,) = model.programs
    (step,) = program.steps
    assert isinstance(step, IrregularOrderStep)
    assert data_of(model, 0) == wanted(events, 0)
    assert Model.model_validate_json(model.model_dump_json()) == model


def test_a_mix_is_few_rows() -> None:
    table = fold_table(random_mix(4000, 3))
    folded = fold(table, compactor=compactor(Rules()))
    assert len(folded) == 6  # three files, reads and writes
    offsets = [
        folded.lists.offset[at : at + n]
        for at, n in zip(folded.listed.tolist(), folded.count.tolist(), strict=True)
    ]
    assert np.array_equal(np.sort(np.concatenate(offsets)), np.sort(table.offset))


def test_regular_accesses_between_irregular_ones_stay_a_regular_phase() -> None:
    events, position = [], 0
    for event in random_mix(4000, 2, ("pread",)):
        if event.file == 0:
            events.append(Event(0, "pread", 0, position, 100))
            position += 100
        else:
            events.append(event)
    model = model_with(events, None)
    assert sorted(phase.exact for phase in model.phases) == [False, True]
    assert data_of(model, 0) == wanted(events, 0)


def test_calls_whose_numbers_resemble_each_other_are_told_apart() -> None:
    # 66 ^ 4 is 67 ^ 5: op codes and files of these two calls.
    generator = random.Random(1)
    events = [
        Event(
            0, f"MPI_File_{way}_at", file, generator.randrange(10**9), generator.randrange(1, 10**5)
        )
        for _ in range(2000)
        for way, file in [generator.choice([("read", 4), ("write", 5)])]
    ]
    assert data_of(model_with(events, None), 0) == wanted(events, 0)
    assert data_of(model_with(events, {"woven_operations": 1 << 30}), 0) == wanted(events, 0)


def test_seeks_that_lead_to_the_next_call_are_interleaved_with_it() -> None:
    generator = random.Random(2)
    events = []
    for _ in range(2000):
        file, offset = generator.randrange(3), generator.randrange(10**9)
        events += [
            Event(0, "lseek", file, offset),
            Event(
                0, generator.choice(("read", "write")), file, offset, generator.randrange(1, 999)
            ),
        ]
    folded = fold(fold_table(events), compactor=compactor(Rules()))
    assert len(folded) == 9
    model = model_with(events, None)
    assert data_of(model, 0) == wanted(events, 0)
    seeks = [e for e in unfold(model.programs, model.phases, 0) if e.iop_type == "lseek"]
    assert len(seeks) == 2000
    assert {seek.offset for seek in seeks} == {None}  # where the next call begins


def test_stray_seeks_keep_their_own_place_among_those_that_lead() -> None:
    generator = random.Random(3)
    events: list[Event] = []
    for _ in range(2000):
        file, offset = generator.randrange(3), generator.randrange(10**9)
        if generator.random() < 0.05:
            events.append(Event(0, "lseek", file, offset + 7))
        events += [
            Event(0, "lseek", file, offset),
            Event(0, generator.choice(("read", "write")), file, offset, generator.randrange(1, 99)),
        ]
    model = model_with(events, None)
    assert data_of(model, 0) == wanted(events, 0)
    seeks = [e for e in unfold(model.programs, model.phases, 0) if e.iop_type == "lseek"]
    # By file: what comes next through it tells which seek leads there.
    following: dict[int, Event] = {}
    places: list[int | None] = []
    for event in reversed(events):
        if event.op == "lseek":
            after = following[event.file]
            leads = after.op != "lseek" and after.offset == event.offset
            places.append(None if leads else event.offset)
        following[event.file] = event
    assert [seek.offset for seek in seeks] == places[::-1]
    assert 50 < sum(place is not None for place in places) < 150
    # Three files, seeks and reads and writes; and a row for each stray seek.
    folded = fold(fold_table(events), compactor=compactor(Rules()))
    assert len(folded) == 9 + sum(place is not None for place in places)


@pytest.mark.parametrize("chunk", [1 << 18, 1024])
def test_several_calls_of_one_direction_on_a_file_are_counted_in_the_order_of_the_run(
    chunk: int,
) -> None:
    generator = random.Random(4)
    events, end = [], {0: 0, 1: 0}
    for _ in range(3072):
        file = generator.randrange(2)
        # Now and then right behind the end of the call before, whichever it was.
        offset = end[file] if generator.random() < 0.3 else generator.randrange(10**6)
        size = generator.randrange(1, 999)
        events.append(Event(0, generator.choice(("read", "pread")), file, offset, size))
        end[file] = offset + size
    sequential, consecutive = [0, 0], [0, 0]
    before = {0: 0, 1: 0}
    for event in events:
        last = before[event.file] - 1 if before[event.file] else 0
        sequential[event.file] += event.offset > last
        consecutive[event.file] += event.offset == last + 1
        before[event.file] = event.offset + event.size
    rules = Rules(work=WorkLimits(chunk_rows=chunk))
    folded = fold(fold_table(events), compactor=compactor(rules))
    assert len(folded) == 4  # two files, read and pread
    model = model_with(events, None, rules)
    by_name = {int(file.file_name[-1]): file for file in model.files}
    assert [by_name[file].n_sequential for file in (0, 1)] == sequential
    assert [by_name[file].n_consecutive for file in (0, 1)] == consecutive
    assert data_of(model, 0) == wanted(events, 0)


def test_time_between_operations_that_matters_keeps_them_single() -> None:
    events = random_mix(600, 2)
    folded = fold(fold_table(events), 1.0, compactor(Rules(split_at_computation_s=1.0)))
    assert (folded.substream < 0).all()
