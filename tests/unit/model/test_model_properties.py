"""What holds for every trace: nothing is lost, nothing is counted twice, the order is kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from fold_builder import BY_NAME, Event, model_of
from hypothesis import given, settings
from hypothesis import strategies as st

from model_events import UnfoldedEvent, unfold
from wavetank.model.document.expansion import phase_operations
from wavetank.model.document.model import Model
from wavetank.model.rules import Rules
from wavetank.trace.schema import Level, OpKind

DATA = (OpKind.READ, OpKind.WRITE)


@st.composite
def rank_events(draw: st.DrawFn, rank: int) -> list[Event]:
    """Stretches of regular, similar, irregular and mixed operations on two files, with other calls between."""
    events: list[Event] = []
    for _ in range(draw(st.integers(0, 6))):
        file = draw(st.integers(0, 1))
        kind = draw(
            st.sampled_from(
                ["regular", "irregular", "mixed", "nested", "seek", "sync", "empty", "reopen"]
            )
        )
        start = draw(st.sampled_from([0, 4096, 2**53 + 1, 2**60]))
        n = draw(st.integers(1, 9))
        size = draw(st.sampled_from([1, 100, 110, 8191]))
        op = draw(st.sampled_from(["pread", "pwrite"]))
        communication = draw(st.integers(0, 1))
        if kind == "regular":
            disp = draw(st.sampled_from([size, -size, 0, 1000, 3 * size]))
            first = max(start, n * size)
            events += [Event(rank, op, file, first + i * disp, size) for i in range(n)]
        elif kind == "irregular":
            offsets = draw(st.lists(st.integers(0, 500), min_size=n, max_size=n))
            sizes = draw(st.lists(st.sampled_from([90, 100, 110, 300]), min_size=n, max_size=n))
            events += [Event(rank, op, file, o, s) for o, s in zip(offsets, sizes, strict=True)]
        elif kind == "mixed":
            events += [
                event
                for i in range(n)
                for event in (
                    Event(rank, "pread", file, start + i * 700, size),
                    Event(rank, "pwrite", file, i * 300, 200),
                )
            ]
        elif kind == "nested":
            inner = draw(st.integers(3, 6))
            events += [
                event
                for i in range(n)
                for event in (
                    *(
                        Event(rank, op, file, start + (i * inner + j) * size, size)
                        for j in range(inner)
                    ),
                    Event(rank, "pread", file, i * 300, 200),
                )
            ]
        elif kind == "seek":
            events.append(Event(rank, "lseek", file, start, communication=communication))
        elif kind == "sync":
            events.append(Event(rank, "fsync", file))
        elif kind == "empty":
            events.append(Event(rank, "pread", file, start, size, moved=0))
        else:
            events += [Event(rank, "close", file), Event(rank, "open", file)]
        if events and kind == "regular" and draw(st.booleans()):
            events[-1] = replace(events[-1], moved=draw(st.integers(1, size)))
    return events


@st.composite
def runs(draw: st.DrawFn) -> list[Event]:
    """Three ranks, of which some do the same."""
    first = draw(rank_events(0))
    events = list(first)
    for rank in (1, 2):
        if draw(st.booleans()):
            shift = draw(st.sampled_from([0, 10_000, 12_345]))
            events += [replace(e, rank=rank, offset=e.offset + shift * rank) for e in first]
        else:
            events += draw(rank_events(rank))
    return events


def moved(event: Event) -> int:
    return event.size if event.moved is None else event.moved


def has_data(events: list[Event]) -> bool:
    return any(BY_NAME[event.op].kind in DATA and moved(event) for event in events)


RULES = st.sampled_from(
    [
        Rules(),
        Rules(similarity=None),
        Rules(split_at_communication={Level.POSIX: True, Level.MPIIO: True}),
    ]
)


@settings(max_examples=70, deadline=None)
@given(events=runs(), rules=RULES, fold=st.booleans())
def test_weights_are_the_bytes_of_the_events(events: list[Event], rules: Rules, fold: bool) -> None:
    if not has_data(events):
        return
    model = model_of(events, rules, fold)
    expected: Counter[int] = Counter()
    for event in events:
        if BY_NAME[event.op].kind in DATA:
            expected[event.file] += moved(event)
    assert model.app_st == sum(expected.values())
    by_name = {file.file_id: file.file_name for file in model.files}
    found: Counter[int] = Counter()
    for phase in model.phases:
        found[int(by_name[phase.file_id][-1])] += phase.ph_weight
    assert +found == +expected


@settings(max_examples=80, deadline=None)
@given(events=runs(), rules=RULES, fold=st.booleans())
def test_unfolding_gives_back_every_event_of_every_rank_in_order(
    events: list[Event], rules: Rules, fold: bool
) -> None:
    if not has_data(events):
        return
    model = model_of(events, rules, fold)
    file_ids = {int(file.file_name[-1]): file.file_id for file in model.files}
    for rank in range(model.n_ranks):
        expected = [
            (event.op, file_ids[event.file], event.offset, event.size, moved(event))
            for event in events
            if event.rank == rank and BY_NAME[event.op].kind in DATA
        ]
        found = [
            (event.iop_type, event.file_id, event.offset, event.size, event.moved)
            for event in unfold(model.programs, model.phases, rank)
            if BY_NAME[event.iop_type].kind in DATA
        ]
        assert found == expected


@settings(max_examples=50, deadline=None)
@given(events=runs())
def test_calls_that_move_nothing_keep_their_place(events: list[Event]) -> None:
    if not has_data(events):
        return
    model = model_of(events)
    for rank in range(model.n_ranks):
        expected = [e.op for e in events if e.rank == rank and e.op != "lseek"]
        found = [
            e.iop_type for e in unfold(model.programs, model.phases, rank) if e.iop_type != "lseek"
        ]
        assert found == expected


@settings(max_examples=70, deadline=None)
@given(events=runs(), rules=RULES)
def test_a_folded_trace_gives_the_same_model(events: list[Event], rules: Rules) -> None:
    if not has_data(events):
        return
    plain, folded = model_of(events, rules), model_of(events, rules, fold=True)
    assert _without_times(plain) == _without_times(folded)


def _without_times(model: Model) -> object:
    clocks = dict.fromkeys(("start_s", "end_s", "io_time_s"))
    phases = [phase.model_copy(update=clocks) for phase in model.phases]
    return model.files, phases, model.series, model.programs


@settings(max_examples=50, deadline=None)
@given(events=runs(), rules=RULES)
def test_every_event_is_in_exactly_one_phase(events: list[Event], rules: Rules) -> None:
    if not has_data(events):
        return
    model = model_of(events, rules)
    file_ids = {int(file.file_name[-1]): file.file_id for file in model.files}
    expected = Counter(
        (event.rank, file_ids[event.file], event.op, event.offset, event.size, moved(event))
        for event in events
        if BY_NAME[event.op].kind in DATA and moved(event)
    )
    found: Counter[tuple[int, int, str, int, int, int]] = Counter()
    for phase in model.phases:
        for rank in phase.ph_processid:
            done = phase_operations(phase, rank)
            assert len(done) == phase.ph_niop
            for member, size, bytes_moved, offset in zip(
                done.member.tolist(),
                done.size.tolist(),
                done.moved.tolist(),
                done.offset.tolist(),
                strict=True,
            ):
                found[
                    rank, phase.file_id, phase.pattern[member].iop_type, offset, size, bytes_moved
                ] += 1
    assert found == expected


@settings(max_examples=25, deadline=None)
@given(events=runs())
def test_a_model_survives_its_file(events: list[Event]) -> None:
    if not has_data(events):
        return
    model = model_of(events)
    assert Model.model_validate_json(model.model_dump_json()) == model


def test_unfolded_events_tell_where_a_seek_went_that_is_no_data_offset() -> None:
    model = model_of([Event(0, "open"), Event(0, "lseek", offset=100), Event(0, "write", offset=100, size=10),
                      Event(0, "lseek", offset=7)])  # fmt: skip
    seeks = [e for e in unfold(model.programs, model.phases, 0) if e.iop_type == "lseek"]
    # The first goes to where the write starts; the second to a place of its own.
    assert seeks == [
        UnfoldedEvent("lseek", 1, 0, None, 0, 0),
        UnfoldedEvent("lseek", 1, 0, 7, 0, 0),
    ]


def test_offsets_beyond_2_to_the_53_stay_exact() -> None:
    base = 2**53 + 1  # no float64
    model = model_of(
        [
            Event(r, "pwrite", offset=base + r * 10**15 + i * 3, size=3)
            for r in range(4)
            for i in range(5)
        ]
    )
    (phase,) = model.phases
    (offset,) = phase.offset
    assert offset.function == "linear"
    assert (offset.a, offset.b, offset.c) == (10**15, 3, base)
    assert np.array_equal(
        phase_operations(phase, 3).offset, [base + 3 * 10**15 + i * 3 for i in range(5)]
    )


def test_a_seek_before_a_call_that_moves_nothing_keeps_its_place() -> None:
    model = model_of(
        [
            Event(0, "write", offset=0, size=10),
            Event(0, "lseek", offset=4),
            Event(0, "pread", offset=900, size=10, moved=0),
            Event(0, "read", offset=4, size=3),
        ]
    )
    seeks = [e for e in unfold(model.programs, model.phases, 0) if e.iop_type == "lseek"]
    assert [seek.offset for seek in seeks] == [4]
