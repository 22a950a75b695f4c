"""Operations of which the trace knows sizes and no offsets: the size of each is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fold_builder import BY_NAME, PROVENANCE, Event, trace_of
from pydantic import ValidationError

from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.expansion import phase_operations
from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.model import Model
from wavetank.model.document.phase import UnknownOffsets
from wavetank.model.extract import extract_model

CALL = "MPI_File_write_at_all"
RANDOM = np.random.default_rng(14)


def model_of_sizes(*ranks: list[int], fold: bool = False) -> Model:
    """The model of a log without offsets, of collective writes of these sizes by rank."""
    events = [
        Event(rank, CALL, offset=-1, size=size)
        for rank, sizes in enumerate(ranks)
        for size in sizes
    ]
    assert BY_NAME[CALL].collective
    return extract_model(trace_of(events, fold), PROVENANCE)


def sizes_of(model: Model) -> dict[int, list[int]]:
    """What the model says of each rank's requests, in order."""
    found: dict[int, list[int]] = {}
    for phase in model.phases:
        for rank in phase.ph_processid:
            done = phase_operations(phase, rank)
            assert (done.offset == -1).all()
            assert (done.size == done.moved).all()
            found.setdefault(rank, []).extend(done.size.tolist())
    return found


MANY = RANDOM.integers(1, 1 << 20, 5000).tolist()


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize(
    "ranks",
    [
        [[588, 1408000, 384000, 128000, 128000]],
        [[588, 1408000, 384000, 128000, 128000], [588, 1408000, 384000, 128000, 128000]],
        [[1000] * 6, [1001] * 6],
        [[100, 101, 102, 103, 104, 105]],
        [[40] * 20],
        [MANY, MANY[::-1]],
    ],
    ids=["one rank", "two ranks", "ranks of other sizes", "similar", "equal", "many"],
)
def test_each_size_comes_back(ranks: list[list[int]], fold: bool) -> None:
    model = model_of_sizes(*ranks, fold=fold)
    assert sizes_of(model) == dict(enumerate(ranks))
    assert sum(phase.ph_weight for phase in model.phases) == sum(map(sum, ranks))
    body = json.loads(model.model_dump_json())
    assert Model.model_validate(body).phases == model.phases


def test_equal_sizes_need_no_list() -> None:
    (phase,) = model_of_sizes([40] * 20, [40] * 20).phases
    assert phase.offset == (UnknownOffsets(),)


def irregular() -> Model:
    (phase,) = (model := model_of_sizes([588, 1408000, 384000, 128000, 128000])).phases
    assert phase.ph_nrep == 5
    return model


def test_models_with_other_sizes_differ() -> None:
    a, b = irregular(), model_of_sizes([588, 1408000, 384000, 127000, 129000])
    assert compare_models(a, irregular()).same
    assert [one.field for one in compare_models(a, b).differences] == [
        "operation 4 of rank 0",
        "rs",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_runs": [0]}, "n_runs must be above 0"),
        ({"rs": [1, 2, 3]}, "rs holds 3 numbers for 2 runs"),
        ({"count": [1, 0]}, "no repetition"),
        ({"rs": [1, -2]}, "negative request size"),
    ],
)
def test_sizes_that_cannot_be_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ListedSizes.model_validate({"n_runs": [2], "count": [1, 1], "rs": [1, 2], **wrong})


def test_sizes_of_other_ranks_than_the_phase_has_are_refused() -> None:
    body = json.loads(irregular().model_dump_json())
    body["phases"][0]["offset"][0]["sizes"]["n_runs"] = [2, 2]
    with pytest.raises(ValidationError, match="runs of 2 ranks and 1 in ph_processid"):
        Model.model_validate(body)
