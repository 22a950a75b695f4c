"""What a step's call was given: a field for each meaning, none of them where the call is given no such thing."""

from __future__ import annotations

import os

import pytest
from pydantic import ValidationError

from wavetank.model.document.program import FileStep, given_by_number
from wavetank.trace.arguments import ARGUMENTS, MpiMode
from wavetank.trace.ops import OPS
from wavetank.trace.schema import NUMBERS


def step(call: str, number: int = 0) -> FileStep:
    return FileStep(iop_type=call, file_id=1, handle=0, **given_by_number(call, number))


@pytest.mark.parametrize("name", NUMBERS)
def test_a_step_says_what_its_call_was_given_and_nothing_of_other_calls(name: str) -> None:
    said = {op.name: getattr(step(op.name, 1), name) for op in OPS.values()}
    assert {call for call, number in said.items() if number} == {
        call for call, of in ARGUMENTS.items() if of == name
    }


def test_flags_of_both_kinds_of_opens_are_told_apart() -> None:
    """64 is O_CREAT of open, and MPI_MODE_EXCL of MPI_File_open."""
    assert os.O_CREAT == MpiMode.EXCL
    posix, mpi = step("open", os.O_CREAT), step("MPI_File_open", MpiMode.EXCL | MpiMode.RDWR)
    assert (posix.flags, posix.mpi_mode) == (64, 0)
    assert (mpi.flags, mpi.mpi_mode) == (0, 72)


def test_the_two_names_of_a_call_are_told_apart() -> None:
    for call in ("rename", "link", "symlink"):
        old, new = step(call, 0), step(call, 1)
        assert (old.is_old_name, old.new_name) == (True, False)
        assert (new.is_old_name, new.new_name) == (False, True)
    assert not step("unlink").is_old_name and not step("ftruncate", 1).new_name


def test_a_step_of_an_unknown_call_was_given_nothing() -> None:
    assert step("MPI_File_of_tomorrow", 7).number == 0


def test_what_a_call_was_given_is_written_by_its_name_and_nothing_of_other_calls_is() -> None:
    given = [step("open", 577), step("lseek", os.SEEK_END), step("readdir", 1), step("stat")]
    written = [one.model_dump(mode="json") for one in given]
    assert [{name: one[name] for name in NUMBERS if name in one} for one in written] == [
        {"flags": 577}, {"origin": 2}, {"at_end": True}, {},
    ]  # fmt: skip
    assert [FileStep.model_validate(one) for one in written] == given


def test_a_step_that_says_of_a_call_what_no_such_call_is_given_is_refused() -> None:
    for call, name in (("stat", "flags"), ("MPI_File_open", "flags"), ("open", "mpi_mode")):
        with pytest.raises(ValidationError, match=f"{call} is not given {name}"):
            FileStep(iop_type=call, file_id=1, handle=0, **{name: 2})  # type: ignore[arg-type]
