"""What an extrapolated model says of memory with gaps."""

from __future__ import annotations

from fold_builder import PROVENANCE, Event, trace_of

from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.scaling.extrapolation import extrapolate
from wavetank.model.scaling.fitting import fit_models
from wavetank.notes import texts
from wavetank.trace.arguments import MEMORY_VIEW
from wavetank.trace.schema import FileView


def run_of(n_ranks: int) -> Model:
    events = [
        Event(rank, "MPI_File_write_at", 0, (rank * 4 + step) * 500, 500, arg=MEMORY_VIEW)
        for rank in range(n_ranks)
        for step in range(4)
    ]
    gaps = FileView(0, 1, 1000, (0, 600), (250, 250))
    return extract_model(trace_of(events, views=(gaps,)), PROVENANCE)


def test_gaps_in_memory_are_not_extrapolated_and_the_model_says_so() -> None:
    runs = {n: run_of(n) for n in (2, 4, 8)}
    assert all(model.phases[0].memory == ((0,),) for model in runs.values())
    made = extrapolate(fit_models(list(runs.values())), 16, PROVENANCE)
    assert made.extrapolation is not None
    assert made.extrapolation.not_extrapolated == ()
    assert [phase.memory for phase in made.phases] == [None]
    assert texts(made.notes, "library") == tuple(
        f"in the traced run of {n} processes: phase 1: the gaps in the application's memory are not extrapolated, so that "
        "the MPI library may make other calls below these"
        for n in runs
    )
