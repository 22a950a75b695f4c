"""Scripts and programs that fork: where processes begin and end, in the programs of the others."""

from __future__ import annotations

from dataclasses import replace

from fold_builder import PROVENANCE, Event, fold_table, trace_of

from wavetank.model.document.model import Model
from wavetank.model.document.program import ProcessStep, RepeatStep
from wavetank.model.events.process_order import ProcessEvent, process_events
from wavetank.model.extract import extract_model
from wavetank.trace.schema import RankFacts


def facts(
    rank: int, begin_ns: int, end_ns: int, parent: int | None = None, of_launcher: bool = False
) -> RankFacts:
    return RankFacts(rank, "host", 100 + rank, True, parent, begin_ns, end_ns, of_launcher)


def test_ranks_of_a_launcher_are_not_ordered() -> None:
    # Rank 1 began when rank 0 had ended: chance, they run side by side.
    assert process_events([facts(0, 0, 10, None, True), facts(1, 20, 30, None, True)]) == []


def test_each_process_waits_for_the_last_ones_before_it() -> None:
    # 0 and 1 side by side, then 2, then 3: 3 waits for 2 alone, which waits for both.
    found = process_events([facts(0, 0, 10), facts(1, 5, 15), facts(2, 20, 30), facts(3, 40, 50)])
    assert {(event.rank, event.process) for event in found if event.ended} == {
        (2, 0), (2, 1), (3, 2),
    }  # fmt: skip
    assert not any(event.rank in (0, 1) for event in found)


def test_a_child_begins_and_ends_in_its_parent() -> None:
    assert process_events([facts(0, 0, 100), facts(1, 20, 30, parent=0)]) == [
        ProcessEvent(0, 1, False, 20),
        ProcessEvent(0, 1, True, 30),
    ]


def test_what_comes_before_and_after_an_mpi_program_is_ordered_with_each_of_its_ranks() -> None:
    # prepare (2), then mpirun with ranks 0 and 1, then a process (3) that looks at the results
    found = process_events(
        [
            facts(0, 20, 80, None, True),
            facts(1, 21, 79, None, True),
            facts(2, 0, 10),
            facts(3, 90, 99),
        ]
    )
    assert {(event.rank, event.process) for event in found} == {(0, 2), (1, 2), (3, 0), (3, 1)}


def of_processes(events: list[Event], ranks: list[RankFacts]) -> Model:
    trace = replace(trace_of(fold_table(events)), ranks=tuple(ranks), n_ranks=len(ranks))
    return extract_model(trace, PROVENANCE)


def steps_of(model: Model, rank: int) -> list[object]:
    (program,) = (program for program in model.programs if rank in program.ranks)
    return [
        (step.event, step.rank) if isinstance(step, ProcessStep) else step.step
        for step in program.steps
    ]


def test_a_parents_program_shows_where_its_children_ran() -> None:
    # The parent writes, starts a child at 5 us that ends at 9 us, and writes again.
    events = [
        Event(0, "pwrite", 0, offset=0, size=10, start_ns=1000),
        Event(0, "pwrite", 1, offset=0, size=10, start_ns=10000),
        Event(1, "pread", 0, offset=0, size=10, start_ns=6000),
    ]
    model = of_processes(events, [facts(0, 0, 20000), facts(1, 5000, 9000, parent=0)])
    assert steps_of(model, 0) == ["data", ("begins", 1), ("ended", 1), "data"]
    assert steps_of(model, 1) == ["data"]


def test_operations_of_one_fold_are_not_separated_by_a_child() -> None:
    # 40 writes, one each microsecond; the child runs in their midst. It begins before and has ended after them.
    events = [
        Event(0, "pwrite", 0, offset=i * 10, size=10, start_ns=i * 1000, duration_ns=500)
        for i in range(40)
    ]
    events.append(Event(1, "pread", 1, offset=0, size=10, start_ns=16000))
    trace = trace_of(fold_table(events, fold=True))
    trace = replace(trace, ranks=(facts(0, 0, 50000), facts(1, 15000, 18000, parent=0)), n_ranks=2)
    model = extract_model(trace, PROVENANCE)
    assert steps_of(model, 0) == [("begins", 1), "data", ("ended", 1)]
    assert not any(
        isinstance(step, RepeatStep) for program in model.programs for step in program.steps
    )
