"""The numbers by which a trace is taken apart: they decide, and the model says which they were."""

from __future__ import annotations

import pytest
from fold_builder import Event, model_of
from pydantic import ValidationError

from wavetank.errors import ModelError
from wavetank.model.comparison.comparability import notes_of, sight_of
from wavetank.model.counters.layout import Space, Steps, lay_out
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


def test_models_by_other_thresholds_are_said_to_be_so() -> None:
    a, b = model_of(in_turns(20)), model_of(in_turns(20), by(run_operations=7))
    assert [note for note in notes_of(a, b, sight_of(a, b), 0, True) if "thresholds" in note]


def test_models_by_other_thresholds_give_no_functions() -> None:
    of_two = [Event(rank, "pwrite", offset=rank * 10, size=10) for rank in range(2)]
    models = [model_of(of_two[:1]), model_of(of_two, by(run_operations=7))]
    with pytest.raises(ModelError, match="different thresholds"):
        fit_models(models)


def test_a_threshold_that_decides_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="pieces"):
        Thresholds(pieces=0)


@pytest.mark.parametrize(("sweeps", "ways"), [(10, 3), (11, 1)])
def test_places_are_random_from_as_many_backward_jumps_as_the_threshold_says(
    sweeps: int, ways: int
) -> None:
    # 3 ranks with 10 backward jumps each: random places are each rank's own, passes are those of all ranks.
    space = Space(extent=300 * 100, gaps=(), n_rows=1000, n_sweeps=sweeps)
    layout = lay_out(((100, 300),), 3, Steps(consecutive=267, forward=0, backward=30), space)
    assert len(layout.groups) == ways
