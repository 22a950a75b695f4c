"""What a step's call was given: a field for each meaning, none of them where the call is given no such thing."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pydantic import ValidationError

from wavetank.model.document.program import FileStep, Program, by_number, given_by_number
from wavetank.trace.arguments import ARGUMENTS, MpiMode
from wavetank.trace.ops import OPS
from wavetank.trace.schema import NUMBERS


def step(call: str, number: int = 0) -> FileStep:
    return FileStep(iop_type=call, file_id=1, handle=0, **given_by_number(call, number))


def older(call: str, number: int) -> dict[str, Any]:
    """As models until version 4 had it."""
    return {
        "step": "file", "iop_type": call, "file_id": 1, "handle": 0, "arg": number, "size": 0, "offset": None,
        "view_id": None, "view_ids": None, "info_id": None, "communicator": None, "name": 0, "error": 0, "count": 1,
    }  # fmt: skip


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


@pytest.mark.parametrize("call", [op.name for op in OPS.values()])
def test_older_documents_are_read_and_their_steps_are_hashed_as_before(call: str) -> None:
    number = 1 if ARGUMENTS.get(call) in NUMBERS else 0
    steps = [older(call, number), {"step": "repeat", "times": 2, "steps": [older(call, 0)]}]
    program = Program.model_validate({"ranks": [0], "steps": steps})
    assert program.steps[0] == step(call, number)
    assert by_number(program.model_dump(mode="json")["steps"]) == steps


def test_a_step_that_says_of_a_call_what_no_such_call_is_given_is_refused() -> None:
    for call, name in (("stat", "flags"), ("MPI_File_open", "flags"), ("open", "mpi_mode")):
        with pytest.raises(ValidationError, match=f"{call} is not given {name}"):
            FileStep(iop_type=call, file_id=1, handle=0, **{name: 2})  # type: ignore[arg-type]
