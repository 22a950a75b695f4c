"""Numbers in a document that name something: what is not there is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from wavetank.model.document.program import FileStep, Program, RepeatStep
from wavetank.model.document.references import Known, findings

NOTHING = Known({1: 1}, 2, 0, 0, ())
ONE_OF_EACH = Known({1: 1}, 2, 1, 1, ((0, 1),))
MISSING = {
    "view_id": "programs.0 sets a file view that is not there",
    "info_id": "programs.0 gives MPI hints that are not there",
    "communicator": "programs.0 opens a file on communicator {}, which is not there",
}


def found(known: Known, **given: Any) -> list[str]:
    step = FileStep.model_validate(
        {"iop_type": "MPI_File_open", "file_id": 1, "handle": 0, **given}
    )
    inner = RepeatStep(times=2, steps=(step,))
    return findings((), (Program(ranks=(0, 1), steps=(inner,)),), known)


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize(("known", "number"), [(NOTHING, 0), (ONE_OF_EACH, 1), (ONE_OF_EACH, -2)])
def test_a_call_may_name_only_what_is_there(name: str, known: Known, number: int) -> None:
    assert found(known, **{name: number}) == [MISSING[name].format(number)]


def test_what_is_there_and_what_is_not_named_is_fine() -> None:
    assert found(ONE_OF_EACH, view_id=0, info_id=0, communicator=0) == []
    assert found(NOTHING) == []


def test_a_rank_without_a_view_of_its_own_names_none() -> None:
    assert found(ONE_OF_EACH, view_ids=(0, -1)) == []
    assert found(NOTHING, view_ids=(-1, 0)) == [MISSING["view_id"]]


def test_a_call_that_sets_views_by_rank_has_one_for_each_rank() -> None:
    for n in (0, 1, 3):
        (told,) = found(ONE_OF_EACH, view_ids=(0,) * n)
        assert told.startswith(f"programs.0 sets view_ids of {n} ranks, in a program of 2: ")


@pytest.mark.parametrize(("n_names", "number"), [(1, 1), (1, -1), (3, 3), (2, 7)])
def test_a_call_is_on_one_of_its_files_names(n_names: int, number: int) -> None:
    known = Known({1: n_names}, 2, 0, 0, ())
    assert found(known, name=number) == [
        f"programs.0 calls MPI_File_open of file 1 with name {number}, and its names are 0 to {n_names - 1}: "
        "give one of these"
    ]
    assert found(known, name=n_names - 1) == []


def test_all_that_is_not_there_is_told_at_once() -> None:
    told = found(NOTHING, file_id=7, view_id=0, info_id=0)
    assert told == [
        "programs.0 uses file 7, which is not among the files",
        MISSING["view_id"],
        MISSING["info_id"],
    ]
