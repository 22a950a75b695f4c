"""Two models of the same I/O are the same, whatever machine and folder they come from."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from applications import bt_io, madbench2
from fold_builder import PROVENANCE, Event, model_of, trace_of

from waiting import HANG_S
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.expansion import phase_operations
from wavetank.model.document.model import Model
from wavetank.model.document.phase import ListedOffsets, Offsets, Phase
from wavetank.model.extract import extract_model
from wavetank.notes import note


def test_a_model_is_the_same_as_itself_in_another_folder_and_at_another_speed() -> None:
    events = madbench2(4, 8, 1000)
    slower = [replace(event, duration_ns=10**6) for event in events]
    other = extract_model(trace_of(slower, paths=["/elsewhere/file0"]), PROVENANCE)
    result = compare_models(model_of(events), other)
    assert result.same
    assert result.n_equal_phases == 5


def test_a_request_size_that_differs_is_named_with_its_phase() -> None:
    a, b = model_of(madbench2(4, 8, 1000)), model_of(madbench2(4, 8, 2000))
    result = compare_models(a, b)
    rs = [d for d in result.differences if d.field == "rs"]
    assert [(d.ph_id_a, d.ph_id_b) for d in rs] == [(n, n) for n in range(1, 6)]
    assert (rs[0].a, rs[0].b) == ("1000", "2000")
    assert result.n_equal_phases == 0


def test_a_phase_that_one_model_lacks_is_missing_and_the_others_are_matched() -> None:
    events = madbench2(2, 8, 1000)
    # Without the two reads of phase 2, the operations after the open and eight writes.
    fewer = [
        event
        for rank in (0, 1)
        for n, event in enumerate(e for e in events if e.rank == rank)
        if n not in (9, 10)
    ]
    result = compare_models(model_of(events), model_of(fewer))
    missing = [d for d in result.differences if d.field == "phase"]
    assert [(d.ph_id_a, d.ph_id_b, d.a, d.b) for d in missing] == [(2, None, "there", "missing")]
    assert result.n_equal_phases == 4


def test_listed_offsets_are_compared_in_full() -> None:
    events, views = bt_io(12, 4, steps=3)
    moved = [
        replace(e, offset=e.offset + 8) if e.rank == 2 and "read" in e.op else e for e in events
    ]
    result = compare_models(model_of(events, views=views), model_of(moved, views=views))
    assert [(d.ph_id_a, d.field) for d in result.differences] == [
        (4, "operation 4 of rank 2"),
        (4, "offset"),
    ]


def test_another_order_of_the_same_phases_differs() -> None:
    def two_files(first: int) -> list[Event]:
        return [
            Event(0, "pwrite", file, offset=i * 10, size=10)
            for file in (first, 1 - first)
            for i in range(5)
        ]

    result = compare_models(model_of(two_files(0)), model_of(two_files(1)))
    assert [d.field for d in result.differences] == ["order of operations"]


def test_a_file_that_one_model_lacks_is_named() -> None:
    one = [Event(0, "pwrite", 0, size=10)]
    result = compare_models(model_of(one), model_of([*one, Event(0, "pwrite", 1, size=10)]))
    assert ("file1", "file", "missing", "there") in [
        (d.where, d.field, d.a, d.b) for d in result.differences
    ]


def test_collectives_of_all_ranks_around_everything_are_no_difference() -> None:
    # MPI_Init and MPI_Finalize, say: nothing lies before or behind them that they could order.
    def run(before: int, between: int, after: int) -> Model:
        events = [
            event
            for rank in (0, 1)
            for event in (
                *[Event(rank, "MPI_Barrier")] * before,
                Event(rank, "pwrite", offset=rank * 10, size=10),
                *[Event(rank, "MPI_Barrier")] * between,
                Event(rank, "pread", offset=rank * 10, size=10),
                *[Event(rank, "MPI_Barrier")] * after,
            )
        ]
        return model_of(events)

    assert compare_models(run(1, 1, 1), run(2, 1, 0)).same
    (found,) = compare_models(run(1, 1, 1), run(1, 2, 1)).differences
    assert found.field == "order of operations"


def test_communicators_are_compared_by_their_ranks() -> None:
    def run(communicators: tuple[tuple[int, ...], ...], number: int) -> Model:
        events = [
            event
            for rank in (0, 1)
            for event in (
                Event(rank, "pwrite", offset=rank * 10, size=10),
                Event(rank, "MPI_Barrier", arg=number),
                Event(rank, "pread", offset=rank * 10, size=10),
            )
        ]
        events.append(Event(2, "pwrite", offset=20, size=10))
        return extract_model(
            trace_of(events, communicators=communicators, paths=["/f"]), PROVENANCE
        )

    a = run(((0, 1), (0, 1, 2)), 0)
    b = run(((0, 1, 2), (0, 1)), 1)
    assert a.communicators != b.communicators
    assert compare_models(a, b).same
    assert not compare_models(a, run(((0, 1), (0, 1, 2)), 1)).same


def test_files_of_equal_names_in_two_folders_are_told_apart() -> None:
    def copy(first: int) -> list[Event]:
        return [
            Event(0, "pread", first, offset=0, size=70),
            Event(0, "pwrite", 1 - first, offset=0, size=50),
        ]

    a = extract_model(trace_of(copy(0), paths=["/run/in/f", "/run/out/f"]), PROVENANCE)
    # The replay's names below its root, in another order of first use.
    b = extract_model(trace_of(copy(1), paths=["/root/out-f", "/root/in-f"]), PROVENANCE)
    assert compare_models(a, b).same
    swapped = extract_model(trace_of(copy(1), paths=["/root/in-f", "/root/out-f"]), PROVENANCE)
    assert not compare_models(a, swapped).same


def test_files_with_blanks_in_their_names_are_those_that_a_replay_names_without() -> None:
    def copy(first: int) -> list[Event]:
        return [
            Event(0, "pread", first, offset=0, size=70),
            Event(0, "pwrite", 1 - first, offset=0, size=50),
        ]

    a = extract_model(trace_of(copy(0), paths=["/run/my input/f (1)", "/run/o/f 2"]), PROVENANCE)
    b = extract_model(trace_of(copy(1), paths=["/root/f_2", "/root/my_input-f_1_"]), PROVENANCE)
    assert compare_models(a, b).same
    swapped = extract_model(
        trace_of(copy(1), paths=["/root/my_input-f_1_", "/root/f_2"]), PROVENANCE
    )
    assert not compare_models(a, swapped).same


def test_a_file_that_was_given_open_is_opened_by_a_replay() -> None:
    # Rank 0 opens a file, starts rank 1 that writes it, and closes it; in the replay rank 1 opens it itself.
    given = [
        Event(0, "open", 0, arg=1), Event(0, "pwrite", 1, size=5), Event(1, "write", 0, offset=0, size=10),
        Event(1, "close", 0), Event(0, "close", 0),
    ]  # fmt: skip
    own = [*given[:2], Event(1, "open", 0, arg=1), *given[2:]]
    assert compare_models(model_of(given), model_of(own)).same
    # A rank that opens a file in both, and once more in one of them, does not do the same.
    twice = [*own[:2], Event(1, "open", 0, arg=1), Event(1, "close", 0), *own[2:]]
    assert not compare_models(model_of(own), model_of(twice)).same


def test_who_comes_first_to_a_shared_pointer_is_no_difference_but_how_often_is() -> None:
    def run(turns: list[int]) -> Model:
        """Ranks write 100 bytes by the shared pointer in these turns: three each."""
        return model_of(
            [
                event
                for turn, rank in enumerate(turns)
                for event in (
                    Event(rank, "MPI_File_write_shared", 0, offset=-1, view_offset=-1, size=100),
                    Event(rank, "pwrite", 0, offset=turn * 100, size=100),
                )
            ]
        )

    by_turns, one_late = run([0, 1, 0, 1, 0, 1]), run([0, 1, 1, 1, 0, 0])
    # In turns, each rank advances by 200 bytes: one phase of both ranks. Otherwise each rank has a phase of its own.
    assert len([p for p in by_turns.phases if p.level == "posix"]) == 1
    assert len([p for p in one_late.phases if p.level == "posix"]) == 2
    assert compare_models(by_turns, one_late).same
    # 4 calls of rank 0 and 2 of rank 1 instead of 3 each
    found = compare_models(by_turns, run([0, 1, 0, 1, 0, 0])).differences
    assert ("pwrite of rank 0", 3, 4) in [(d.field, d.a, d.b) for d in found]
    assert ("pwrite of rank 1", 3, 2) in [(d.field, d.a, d.b) for d in found]


def from_darshan(events: list[Event]) -> Model:
    return extract_model(replace(trace_of(events), source="darshan-dxt"), PROVENANCE)


def test_a_darshan_log_is_compared_in_what_it_tells() -> None:
    # A log has neither the name of the call nor the open, nor what was synchronised.
    seen = [Event(0, "write", offset=i * 10, size=10) for i in range(5)]
    traced = [
        Event(0, "open"),
        *(Event(0, "pwrite", offset=i * 10, size=10) for i in range(5)),
        Event(0, "fsync"),
    ]
    assert not compare_models(model_of(traced), model_of(seen)).same
    result = compare_models(model_of(traced), from_darshan(seen))
    assert (result.same, result.n_equal_phases) == (True, 1)
    assert any("b comes from a Darshan log" in note for note in result.notes)
    read = [replace(event, op="read") for event in seen]
    found = compare_models(model_of(traced), from_darshan(read)).differences
    assert ("iop_type", "posix write", "posix read") in [(d.field, d.a, d.b) for d in found]


def test_what_models_do_not_tell_is_noted_with_each() -> None:
    a = model_of([Event(0, "pwrite", offset=i * 10, size=10) for i in range(5)])
    b = a.model_copy(
        update={
            "notes": (
                note("unrecorded", "calls", "no results"),
                note("library", "calls", "other calls below"),
            )
        }
    )
    assert compare_models(a, b).notes == ("b: no results", "b: other calls below")
    assert compare_models(b, a).notes == ("a: no results", "a: other calls below")
    assert compare_models(a, a).notes == ()


def test_the_order_of_a_darshan_log_is_compared_too() -> None:
    def turns(first: int) -> list[Event]:
        return [
            Event(0, "write", file, offset=i * 10, size=10)
            for file in (first, 1 - first)
            for i in range(5)
        ]

    found = compare_models(model_of(turns(0)), from_darshan(turns(1))).differences
    assert [d.field for d in found] == ["order of operations"]
    assert compare_models(model_of(turns(0)), from_darshan(turns(0))).same


def test_offsets_that_one_source_does_not_know_are_not_compared_and_said() -> None:
    traced = [Event(0, "MPI_File_write_at", offset=i * 10, size=10) for i in range(5)]
    unknown = [replace(event, offset=-1) for event in traced]
    result = compare_models(model_of(traced), from_darshan(unknown))
    assert result.same
    assert any("offsets of 1 phases are not known" in note for note in result.notes)


def test_phases_that_communication_parts_in_one_model_alone_are_the_same_operations() -> None:
    separated = [
        Event(0, "MPI_File_write_at", offset=i * 10, size=10, communication=1) for i in range(5)
    ]
    whole = [replace(event, communication=0) for event in separated]
    result = compare_models(model_of(separated), from_darshan(whole))
    assert (len(model_of(separated).phases), result.n_phases_b) == (5, 1)
    assert (result.same, result.n_equal_phases) == (True, 5)
    assert any("phase 1-5 of a is folded otherwise in b" in note for note in result.notes)
    # Where operations differ, what parts the phases is explained.
    longer = [*whole, Event(0, "MPI_File_write_at", offset=50, size=10)]
    result = compare_models(model_of(separated), from_darshan(longer))
    assert not result.same
    assert any("--split-at-communication none" in note for note in result.notes)


def random_calls(n: int) -> list[Event]:
    """Writes and reads at irregular places of two files, in no order."""
    chance = Random(4)
    events = [Event(0, "open", file, arg=1) for file in (0, 1)]
    places = [0, 0]
    for _ in range(n):
        file, op = chance.randrange(2), chance.choice(["pwrite", "pread"])
        # A third of the places in a row, so that there are runs to fold.
        offset = places[file] if chance.random() < 0.3 else 512 * chance.randrange(1000)
        size = 512
        places[file] = offset + size
        events.append(Event(0, op, file, offset=offset, size=size))
    return events


def one_by_one(model: Model) -> Model:
    """The model with a run for each operation, where offsets are listed."""

    def unfolded(phase: Phase, member: int) -> Offsets:
        if phase.offset[member].function != "list":
            return phase.offset[member]
        ranks = []
        for rank in phase.ph_processid:
            done = phase_operations(phase, rank)
            own = done.member == member
            ones, zeros = np.ones(own.sum(), dtype=np.int64), np.zeros(own.sum(), dtype=np.int64)
            ranks.append(RunArrays(ones, done.size[own], done.moved[own], done.offset[own], zeros))
        return ListedOffsets.of(ranks)

    phases = tuple(
        phase.model_copy(
            update={"offset": tuple(unfolded(phase, m) for m in range(len(phase.pattern)))}
        )
        for phase in model.phases
    )
    return model.model_copy(update={"phases": phases})


def test_equal_operations_are_the_same_however_they_were_folded() -> None:
    a = model_of(random_calls(300))
    b = one_by_one(a)
    assert a.phases != b.phases
    result = compare_models(a, b)
    assert result.differences == ()
    assert result.n_equal_phases == len(a.phases)
    assert any("folded otherwise in b" in note for note in result.notes)


@pytest.mark.parametrize(
    ("change", "a", "b"),
    [
        ({"offset": 7}, "at {0.offset}", "at 7"),
        ({"size": 513}, "of {0.size} bytes", "of 513 bytes"),
        ({"op": "write"}, "{0.op} of", "write of"),
    ],
)
def test_the_first_operation_that_differs_is_named(change: dict[str, int], a: str, b: str) -> None:
    events = random_calls(300)
    place = 150
    other = [*events]
    other[place] = replace(events[place], **change)  # type: ignore[arg-type]
    result = compare_models(model_of(events), one_by_one(model_of(other)))
    named = [d for d in result.differences if d.field.startswith("operation ")]
    one = events[place]
    number = sum(e.file == one.file and e.op != "open" for e in events[: place + 1])
    assert [(d.where, d.field) for d in named] == [
        (f"file{one.file}", f"operation {number} of rank 0")
    ]
    assert a.format(one) in str(named[0].a)
    assert b in str(named[0].b)


def test_operations_that_one_model_lacks_at_the_end_are_named() -> None:
    events = random_calls(100)
    last = max(n for n, event in enumerate(events) if event.file == 0)
    fewer = [event for n, event in enumerate(events) if n != last]
    found = compare_models(one_by_one(model_of(events)), model_of(fewer)).differences
    assert [d.b for d in found if d.field.startswith("operation ")] == ["no further operation"]


def test_the_order_between_files_is_compared_however_they_were_folded() -> None:
    events = random_calls(300)
    place = next(
        n for n in range(150, 300) if events[n].file != events[n + 1].file
    )  # two neighbours on two files
    other = [*events]
    other[place : place + 2] = other[place + 1], other[place]
    (found,) = compare_models(model_of(events), one_by_one(model_of(other))).differences
    assert found.field == "order of operations"
    assert str(found.a).startswith("rank 0, step ")
    assert f"file{events[place].file}" in str(found.a)
    # A Darshan log has that order too.
    darshan = [
        extract_model(replace(trace_of(some), source="darshan-dxt"), PROVENANCE)
        for some in (events[2:], other[2:])
    ]
    assert [d.field for d in compare_models(*darshan).differences] == ["order of operations"]
    assert compare_models(darshan[0], darshan[0]).same


def test_differences_read_the_same_in_every_process(tmp_path: Path) -> None:
    events = random_calls(300)
    moved = [*events[:-1], replace(events[-1], offset=3)]
    for name, some in (("a", events), ("b", moved)):
        model_of(some).write(tmp_path / f"{name}.json")
    said = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "wavetank", "diff", "a.json", "b.json", "--format", "csv"]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=False, timeout=HANG_S,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert " #" in done.stdout  # what stands for a list of offsets
        said.add(done.stdout)
    assert len(said) == 1


def through_two_opens(handles: list[int]) -> list[Event]:
    """Writes of 10 bytes in sequence, each through one of two opens of a file."""
    opens = [Event(0, "open", 0, handle=handle, arg=1) for handle in (0, 1)]
    writes = [
        Event(0, "pwrite", 0, offset=10 * i, size=10, handle=handle)
        for i, handle in enumerate(handles)
    ]
    return [*opens, *writes, *(Event(0, "close", 0, handle=handle) for handle in (0, 1))]


def test_operations_through_another_open_of_the_file_differ() -> None:
    """One open may be O_SYNC, O_DIRECT or O_APPEND, and the other not; each has a pointer of its own."""
    turns = model_of(through_two_opens([0, 1] * 6))
    assert compare_models(turns, model_of(through_two_opens([0, 1] * 6))).same
    found = compare_models(turns, model_of(through_two_opens([1, 0] * 6))).differences
    assert [(d.a, d.b) for d in found if d.field == "handle"] == [("0 + 1", "1 + 0")]
    (first,) = (d for d in found if d.field.startswith("operation "))
    assert (first.field, "through another open" in str(first.b)) == ("operation 1 of rank 0", True)


def test_operations_through_two_opens_are_the_same_however_they_were_folded() -> None:
    handles = [0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1] * 5
    a = model_of(through_two_opens(handles))
    assert compare_models(a, one_by_one(a)).same
    other = compare_models(a, one_by_one(model_of(through_two_opens([*handles[:-1], 0]))))
    assert any("operation 60 of rank 0" in d.field for d in other.differences)
