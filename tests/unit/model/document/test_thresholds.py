"""The numbers by which a trace is taken apart: they decide, and the model says which they were."""

from __future__ import annotations

import pytest
from fold_builder import Event, model_of
from pydantic import ValidationError

from wavetank.errors import ModelError
from wavetank.model.comparison.comparability import notes_of, sight_of
from wavetank.model.document.model import Model
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.rules import Rules
from wavetank.model.scaling.fitting import fit_models


def in_turns(n: int) -> list[Event]:
    """Reads and writes of one file in runs of 6 and 5."""
    events, offset = [], 0
    for i in range(n):
        op = "pwrite" if i % 11 < 6 else "pread"
        events.append(Event(0, op, offset=offset, size=100 if op == "pread" else 9000))
        offset += 9000
    return events


def by(**numbers: int) -> Rules:
    return Rules(thresholds=Thresholds(**numbers))


def test_a_model_says_by_which_thresholds_it_was_made() -> None:
    assert model_of(in_turns(20)).thresholds == Thresholds()
    model = model_of(in_turns(20), by(run_operations=7))
    assert Model.model_validate_json(model.model_dump_json()).thresholds == Thresholds(
        run_operations=7
    )


def test_a_run_is_a_phase_from_as_many_operations_on_as_the_threshold_says() -> None:
    runs = model_of(in_turns(11)).phases
    assert [phase.ph_nrep for phase in runs] == [6, 5]
    # No run is one any more: what repeats itself is told as before, as far as its pattern may go.
    assert len(model_of(in_turns(11), by(run_operations=7)).phases) == len(runs)
    assert len(model_of(in_turns(220), by(nested_operations=10)).phases) == 40
    assert len(model_of(in_turns(220)).phases) == 1


def test_a_model_without_thresholds_is_read_and_compared() -> None:
    model = model_of(in_turns(20))
    old = Model.model_validate_json(model.model_dump_json(exclude={"thresholds"}))
    assert old.thresholds is None
    assert not [
        note for note in notes_of(old, model, sight_of(old, model), 0, True) if "rules" in note
    ]


def test_models_by_other_thresholds_are_said_to_be_so() -> None:
    a, b = model_of(in_turns(20)), model_of(in_turns(20), by(run_operations=7))
    assert [note for note in notes_of(a, b, sight_of(a, b), 0, True) if "thresholds" in note]


def test_models_by_other_thresholds_give_no_functions() -> None:
    of_two = [Event(rank, "pwrite", offset=rank * 10, size=10) for rank in range(2)]
    models = [model_of(of_two[:1]), model_of(of_two, by(run_operations=7))]
    with pytest.raises(ModelError, match="different thresholds"):
        fit_models(models)


def test_a_threshold_that_decides_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="mix_turns"):
        Thresholds(mix_turns=0)


def test_every_threshold_says_what_it_is() -> None:
    for name, field in Thresholds.model_fields.items():
        assert field.description, name
        assert "(choice)" in field.description, name
