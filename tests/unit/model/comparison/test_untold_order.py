"""What the MPI library does below a program's own calls has no order in a model: it is compared by kind and place."""

from __future__ import annotations

import pytest
from fold_builder import Event, model_of

from wavetank.model.comparison.comparison_limits import ComparisonLimits
from wavetank.model.comparison.difference import compare_models

WAY = tuple[str, int, int]  # call, offset, size

READ_MODIFY_WRITE: list[WAY] = [
    way for i in range(6) for way in (("pread", 100 * i, 64), ("pwrite", 100 * i, 64))
]
ALL_READS_FIRST = sorted(READ_MODIFY_WRITE)


def below_mpi(ways: list[WAY]) -> list[Event]:
    """One MPI-IO write, in which the library does this."""
    inside = [
        Event(0, op, 0, offset=offset, size=size, start_ns=20_000 + 2_000 * i)
        for i, (op, offset, size) in enumerate(ways)
    ]
    return [
        Event(0, "MPI_File_open", 0, start_ns=0),
        *inside,
        Event(0, "MPI_File_write_at", 0, offset=0, size=600, start_ns=10_000, duration_ns=10**6),
        Event(0, "MPI_File_close", 0, start_ns=2 * 10**6),
    ]


def test_the_same_operations_in_other_phases_are_the_same_and_the_reason_is_said() -> None:
    a, b = model_of(below_mpi(READ_MODIFY_WRITE)), model_of(below_mpi(ALL_READS_FIRST))
    assert len(a.phases) != len(b.phases)
    result = compare_models(a, b)
    assert result.same
    (note,) = (note for note in result.notes if "not in their order" in note)
    assert note.endswith("the MPI library made them, and programs hold the application's own calls")
    assert not any("5,000,000" in note or "in the same order" in note for note in result.notes)


@pytest.mark.parametrize("changed", [("pread", 100, 65), ("pread", 101, 64), ("pwrite", 100, 64)])
def test_another_operation_is_named(changed: WAY) -> None:
    other = [changed if way == ("pread", 100, 64) else way for way in ALL_READS_FIRST]
    result = compare_models(model_of(below_mpi(READ_MODIFY_WRITE)), model_of(below_mpi(other)))
    assert not result.same
    assert any(row.field == "operations by place of rank 0" for row in result.differences)


def test_too_many_operations_are_said_to_be_too_many() -> None:
    a, b = model_of(below_mpi(READ_MODIFY_WRITE)), model_of(below_mpi(ALL_READS_FIRST))
    (note,) = (
        note
        for note in compare_models(a, b, ComparisonLimits(operations=5)).notes
        if "by phases alone" in note
    )
    assert note.endswith("by phases alone: there are more than 5 of rank 0")
