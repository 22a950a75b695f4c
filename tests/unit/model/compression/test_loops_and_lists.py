"""Loops of several operations and irregular stretches: folded, and in the model as if they were not."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from fold_builder import BY_NAME, PROVENANCE, Event, fold_table, trace_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from test_model_properties import DATA, has_data, moved, runs

from model_events import unfold
from wavetank.model.compression.folding import fold
from wavetank.model.document.model import Model
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.extract import compactor, extract_model
from wavetank.model.rules import Rules
from wavetank.trace.schema import COLUMNS, FoldTable

SMALL = {
    "compacted_operations": 4, "loop_repetitions": 2, "regular_run": 4, "loop_operations": 8,
}  # fmt: skip
NEVER = {"compacted_operations": 1 << 30}
SHORT = {"sampled_repetitions": 24}


def by(limits: dict[str, int] | None, rules: Rules | None = None) -> Rules:
    return replace(rules or Rules(), thresholds=Thresholds(**limits or {}))


def model_with(
    events: list[Event], limits: dict[str, int] | None = SMALL, rules: Rules | None = None
) -> Model:
    return extract_model(trace_of(events), PROVENANCE, by(limits, rules))


def data_of(model: Model, rank: int) -> list[tuple[object, ...]]:
    names = {file.file_id: int(file.file_name[-1]) for file in model.files}
    return [
        (event.iop_type, names[event.file_id], event.offset, event.size, event.moved)
        for event in unfold(model.programs, model.phases, rank)
        if BY_NAME[event.iop_type].kind in DATA
    ]


def wanted(events: Iterable[Event], rank: int) -> list[tuple[object, ...]]:
    return [
        (event.op, event.file, event.offset, event.size, moved(event))
        for event in events
        if event.rank == rank and BY_NAME[event.op].kind in DATA
    ]


@settings(max_examples=120, deadline=None)
@given(events=runs(), times=st.integers(1, 12))
def test_whatever_is_folded_unfolding_gives_back_every_event(
    events: list[Event], times: int
) -> None:
    # The whole run again and again, further on in its files each time: loops of everything.
    events = [
        replace(event, offset=event.offset + turn * 1000)
        for rank in range(3)
        for turn in range(times)
        for event in events
        if event.rank == rank
    ]
    if not has_data(events):
        return
    model = model_with(events)
    for rank in range(model.n_ranks):
        assert data_of(model, rank) == wanted(events, rank)


def body(kind: str, i: int) -> list[Event]:
    """One repetition of a loop."""
    if kind == "read, write":
        return [
            Event(0, "pread", offset=i * 10, size=10),
            Event(0, "pwrite", offset=5000 + i * 30, size=10),
        ]
    if kind == "two files":
        return [Event(0, "pread", 0, i * 10, 10), Event(0, "pwrite", 1, i * 20, 20)]
    if kind == "seek, read":
        return [Event(0, "lseek", offset=i * 64), Event(0, "read", offset=i * 64, size=10)]
    if kind == "tell, read":
        return [Event(0, "lseek", offset=i * 10, arg=1), Event(0, "read", offset=i * 10, size=10)]
    if kind == "5 writes, read":
        return [
            *(Event(0, "pwrite", offset=(5 * i + j) * 10, size=10) for j in range(5)),
            Event(0, "pread", offset=i * 10, size=10),
        ]
    if kind == "write, sync, other":
        return [
            Event(0, "write", offset=i * 10, size=10),
            Event(0, "fsync"),
            Event(0, "pwrite", 1, i * 10, 10),
        ]
    if kind == "same file around another":
        return [
            Event(0, "pwrite", 0, i * 40, 10), Event(0, "pwrite", 1, i * 10, 10), Event(0, "pwrite", 0, i * 40 + 20, 10)
        ]  # fmt: skip
    raise AssertionError(kind)


KINDS = (
    "read, write", "two files", "seek, read", "tell, read", "5 writes, read", "write, sync, other",
    "same file around another",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_folded_loop_gives_the_model_of_its_operations(kind: str, before: int) -> None:
    events = [event for i in range(100) for event in body(kind, i)]
    # As the tracer has it: it begins to fold in the middle of a repetition, and stops in another.
    table = fold_table(events)
    begin, n = before, (len(events) - before - 1) // len(body(kind, 0))
    looped = looped_table(table, begin, len(body(kind, 0)), n)
    assert len(looped) < 30
    assert unfolded_columns(looped) == unfolded_columns(table)
    never = by(NEVER | SHORT)
    plain = extract_model(trace_of(table), PROVENANCE, never)
    folded = extract_model(
        trace_of(looped, paths=["/scratch/file0", "/scratch/file1"]), PROVENANCE, never
    )
    assert without_times(folded) == without_times(plain)


@pytest.mark.parametrize("kind", KINDS)
def test_loops_are_found_in_single_operations(kind: str) -> None:
    events = [event for i in range(100) for event in body(kind, i)]
    folded = fold(fold_table(events), compactor=compactor(by(SMALL | SHORT)))
    assert len(folded) < 40
    small, never = model_with(events, SMALL | SHORT), model_with(events, NEVER | SHORT)
    assert without_times(small) == without_times(never)


def without_times(model: Model) -> object:
    clocks = dict.fromkeys(("start_s", "end_s", "io_time_s"))
    phases = [phase.model_copy(update=clocks) for phase in model.phases]
    return model.files, phases, model.series, model.programs


def looped_table(table: FoldTable, begin: int, k: int, n: int) -> FoldTable:
    """The operations from ``begin`` on as a loop of k members and n repetitions."""
    index = np.concatenate([np.arange(begin + k), np.arange(begin + k * n, len(table))])
    columns = {name: getattr(table, name)[index].copy() for name in COLUMNS}
    at = slice(begin, begin + k)
    second, last = (
        np.arange(begin + k, begin + 2 * k),
        np.arange(begin + k * (n - 1), begin + k * n),
    )
    for name, step in (
        ("offset", "disp"), ("view_offset", "view_disp"), ("tick", "tick_step"), ("subtick", "subtick_step")
    ):  # fmt: skip
        columns[step][at] = vars(table)[name][second] - vars(table)[name][begin : begin + k]
    columns["count"][at] = n
    columns["moved"][at] *= n
    columns["busy_ns"][at] *= n
    columns["end_ns"][at] = table.end_ns[last]
    columns["loop"][at] = 7
    return replace(table, **columns)


def unfolded_columns(table: FoldTable) -> list[list[int]]:
    from wavetank.trace.events import unfold as events_of

    events = events_of(table)
    return [events.seq.tolist(), events.op.tolist(), events.offset.tolist(), events.size.tolist()]


# --- irregular stretches --------------------------------------------------------------------------


def scattered(op: str, n: int, size: int | None = None, file: int = 0) -> list[Event]:
    generator = random.Random(n)
    return [
        Event(0, op, file, generator.randrange(10**6), size or generator.randrange(1, 10**5))
        for _ in range(n)
    ]


@pytest.mark.parametrize("size", [512, None], ids=["one size", "random sizes"])
def test_random_accesses_are_one_row_and_one_listed_phase(size: int | None) -> None:
    events = scattered("pwrite", 3000, size)
    folded = fold(fold_table(events), compactor=compactor(Rules()))
    assert len(folded) == 1
    model = model_with(events, None)
    (phase,) = model.phases
    assert phase.offset[0].function == "list"
    assert data_of(model, 0) == wanted(events, 0)
    file = model.files[0]
    assert file.file_accessmode == "random"
    assert file.file_size == max(event.offset + event.size for event in events)
    # Darshan's counts, by their definition.
    ends = [0, *(event.offset + event.size for event in events)]
    later = [event.offset >= end for event, end in zip(events, ends, strict=False)]
    assert file.n_sequential == sum(later) - (events[0].offset == 0)


def test_a_regular_stretch_inside_random_accesses_stays_a_phase() -> None:
    regular = [Event(0, "pwrite", offset=10**7 + i * 512, size=512) for i in range(2000)]
    events = [*scattered("pwrite", 2000, 512), *regular, *scattered("pwrite", 2500, 512)]
    model = model_with(events, None)
    assert [phase.ph_nrep for phase in model.phases] == [2000, 2000, 2500]
    assert [phase.exact for phase in model.phases] == [False, True, False]
    assert data_of(model, 0) == wanted(events, 0)


def test_pairs_at_random_offsets_are_one_phase_of_two_operations() -> None:
    reads = scattered("pread", 3000, 512)
    events = [e for read in reads for e in (read, replace(read, op="pwrite"))]
    model = model_with(events, None)
    (phase,) = model.phases
    assert [member.iop_type for member in phase.pattern] == ["pread", "pwrite"]
    assert data_of(model, 0) == wanted(events, 0)
    assert model.files[0].n_operations == 6000


def test_lists_survive_the_model_file() -> None:
    model = model_with(scattered("pwrite", 3000), None)
    assert Model.model_validate_json(model.model_dump_json()) == model


def test_a_column_of_equal_numbers_is_one_number_in_the_file() -> None:
    model = model_with(scattered("pwrite", 3000, 512), None)
    (offset,) = model.model_dump(mode="json")["phases"][0]["offset"]
    assert (offset["count"], offset["rs"], offset["disp"], offset["moved"]) == (1, 512, 0, None)
    assert len(offset["offset"]) == 3000


# --- irregular orders ------------------------------------------------------------------------------


def mix(n: int, size: int | None = 512) -> list[Event]:
    generator = random.Random(n)
    return [
        replace(event, op=generator.choice(["pread", "pwrite"]))
        for event in scattered("pread", n, size)
    ]


@pytest.mark.parametrize("size", [512, None], ids=["one size", "random sizes"])
def test_an_irregular_mix_is_one_listed_phase_for_each_operation(size: int | None) -> None:
    events = mix(2000, size)
    model = model_with(events, None)
    # No phase table of hundreds of scraps; the programs keep what comes after what.
    assert sorted(phase.pattern[0].iop_type for phase in model.phases) == ["pread", "pwrite"]
    assert [phase.ph_nrep for phase in model.phases] == [
        sum(event.op == phase.pattern[0].iop_type for event in events) for phase in model.phases
    ]
    assert data_of(model, 0) == wanted(events, 0)


def test_a_mix_leaves_regular_phases_around_it_alone() -> None:
    before = [Event(0, "pwrite", offset=i * 512, size=512) for i in range(200)]
    after = [Event(0, "pread", offset=i * 512, size=512) for i in range(300)]
    events = [*before, *mix(2000), *after]
    model = model_with(events, None)
    assert [phase.ph_nrep for phase in model.phases if phase.exact] == [200, 300]
    assert len(model.phases) == 4
    assert data_of(model, 0) == wanted(events, 0)


def test_a_mix_is_counted_as_darshan_counts() -> None:
    events = mix(1000)
    (file,) = model_with(events, None).files
    sequential = consecutive = 0
    end = {"pread": 0, "pwrite": 0}
    for event in events:
        # Last byte 0 before the first operation: past it is past byte 0.
        last = end[event.op] - 1 if end[event.op] else 0
        sequential += event.offset > last
        consecutive += event.offset == last + 1
        end[event.op] = event.offset + event.size
    assert (file.n_sequential, file.n_consecutive) == (sequential, consecutive)


def test_the_timeline_of_random_accesses_shows_where_they_went() -> None:
    events = scattered("pwrite", 3000, 512)
    points = model_with(events, None).timeline
    assert len(points) == 1000
    assert sum(point.count for point in points) == 3000
    assert [point.offset_first for point in points] == [event.offset for event in events[::3]]
    assert all(point.scattered for point in points)
    starts = [point.start_s for point in points]
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("offset", [1, 2, 3], "offset holds 3 numbers for 3000 runs"),
        ("offset", "far", "whole number"),
        ("rs", 1.5, "whole number"),
        ("disp", [[1]], "whole number"),
        ("count", 2**70, "whole number"),
        ("count", 0, "no repetition"),
        ("n_runs", [1000, 2000], "runs of 2 ranks and 1 in ph_processid"),
        ("n_runs", [3001, -1], "n_runs must be above 0"),
    ],
)
def test_a_damaged_list_is_refused_with_what_is_wrong(
    column: str, value: object, message: str
) -> None:
    body = model_with(scattered("pwrite", 3000), None).model_dump(mode="json")
    body["phases"][0]["offset"][0][column] = value
    with pytest.raises(ValidationError, match=message):
        Model.model_validate(body)
