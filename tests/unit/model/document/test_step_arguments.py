"""What a step's call was given, by name: the same table says it of traces and of steps."""

from __future__ import annotations

import os

import pytest

from wavetank.model.document.program import FileStep
from wavetank.trace.arguments import ARGUMENTS, Argument, MpiMode
from wavetank.trace.ops import OPS


def step(call: str, arg: int = 0) -> FileStep:
    return FileStep(iop_type=call, file_id=1, handle=0, arg=arg)


@pytest.mark.parametrize("argument", Argument)
def test_a_step_says_what_its_call_was_given_and_nothing_of_other_arguments(
    argument: Argument,
) -> None:
    said = {op.name: step(op.name, 7).given(argument) for op in OPS.values()}
    assert {name for name, number in said.items() if number == 7} == {
        name for name, of in ARGUMENTS.items() if of is argument
    }
    assert set(said.values()) == {0, 7}


def test_flags_of_both_kinds_of_opens_are_told_apart() -> None:
    """64 is O_CREAT of open, and MPI_MODE_EXCL of MPI_File_open."""
    assert os.O_CREAT == MpiMode.EXCL
    posix, mpi = step("open", os.O_CREAT), step("MPI_File_open", MpiMode.EXCL | MpiMode.RDWR)
    assert (posix.open_flags, posix.mpi_mode) == (64, 0)
    assert (mpi.open_flags, mpi.mpi_mode) == (0, 72)
    assert (step("stat", 64).open_flags, step("stat", 64).mpi_mode) == (0, 0)


def test_the_two_names_of_a_call_are_told_apart() -> None:
    for call in ("rename", "link", "symlink"):
        old, new = step(call, 0), step(call, 1)
        assert (old.is_old_name, old.is_new_name) == (True, False)
        assert (new.is_old_name, new.is_new_name) == (False, True)
    assert not step("unlink").is_old_name and not step("ftruncate", 1).is_new_name


def test_a_step_of_an_unknown_call_was_given_nothing() -> None:
    assert not any(step("MPI_File_of_tomorrow", 7).given(argument) for argument in Argument)
