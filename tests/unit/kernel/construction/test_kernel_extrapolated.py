"""Kernels of models that no run was traced for: refused where something is no function of np, never a placeholder."""

from __future__ import annotations

from pathlib import Path

import pytest
from fold_builder import PROVENANCE, Event, model_of

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.model.document.model import Model
from wavetank.model.document.phase import LinearOffsets, UnknownOffsets
from wavetank.model.scaling.extrapolation import extrapolate
from wavetank.model.scaling.fitting import fit_models
from wavetank.notes import carried, note, texts

SCATTERED = {2: [0, 700], 3: [100, 0, 900], 4: [300, 0, 1100, 500]}
"""Where ranks write 100 bytes: no function of np and the rank."""


def scattered(n: int, sizes: tuple[int, ...] = (100,) * 4) -> list[Event]:
    """Ranks write to places without a rule, and then each 10 bytes of another file side by side."""
    return [
        event
        for rank in range(n)
        for event in (
            Event(rank, "open", 0),
            Event(rank, "pwrite", 0, SCATTERED[n][rank], sizes[rank]),
            Event(rank, "open", 1),
            Event(rank, "pwrite", 1, rank * 10, 10),
        )
    ]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    made = extrapolate(fit_models([model_of(scattered(n)) for n in (2, 3, 4)]), 8, PROVENANCE)
    made.write(tmp_path / "m.json")
    return made


def test_a_phase_whose_offsets_are_no_function_says_so_and_keeps_its_size(model: Model) -> None:
    phase = next(phase for phase in model.phases if phase.pattern[0].rs == 100)
    assert isinstance(phase.offset[0], UnknownOffsets)
    assert phase.ph_weight == 800
    assert phase.not_extrapolated is not None
    assert phase.not_extrapolated.startswith(
        "offset: no function that wavetank knows gives 0 to 700 by rank at np 2"
    )
    assert model.extrapolation is not None
    assert [one.ph_ids for one in model.extrapolation.not_extrapolated] == [(phase.ph_id,)]
    assert any("not extrapolated: offset" in warning for warning in texts(model.notes))
    other = next(phase for phase in model.phases if phase.pattern[0].rs == 10)
    assert other.offset[0] == LinearOffsets(a=10, b=0, c=0)


def test_what_the_traced_runs_do_not_tell_is_said_with_their_process_counts(tmp_path: Path) -> None:
    runs = [
        model_of([Event(rank, "pwrite", 0, rank * 10, 10) for rank in range(n)]) for n in (2, 3, 4)
    ]
    runs[1] = runs[1].model_copy(
        update={
            "notes": (
                note("unrecorded", "calls", "no results"),
                note("library", "calls", "other calls"),
            )
        }
    )
    made = extrapolate(fit_models(runs), 8, PROVENANCE)
    untold, possible = (
        f"in the traced run of 3 processes: {said}" for said in ("no results", "other calls")
    )
    assert (texts(made.notes, "unrecorded"), texts(made.notes, "library")) == (
        (untold,),
        (possible,),
    )
    assert {untold, possible} <= set(texts(made.notes))
    made.write(tmp_path / "m.json")
    kernel = make_kernel(made, tmp_path / "m.json")
    assert untold in texts(carried(kernel.notes))
    assert possible in texts(kernel.notes)


def test_its_kernel_is_refused_with_the_reason(model: Model, tmp_path: Path) -> None:
    with pytest.raises(
        KernelError,
        match=r"phase 1: not extrapolated: offset: no function .* or give --approximate",
    ):
        make_kernel(model, tmp_path / "m.json")


def test_an_approximate_kernel_says_what_stands_in(model: Model, tmp_path: Path) -> None:
    kernel = make_kernel(model, tmp_path / "m.json", approximate=True)
    assert texts(kernel.notes)[0].startswith(
        "Where phase 1 lies in the file is not extrapolated (offset: no function"
    )
    phase = next(phase for phase in kernel.phases if phase.pattern[0].rs == 100)
    assert phase.offset == (LinearOffsets(a=100, b=0, c=0),)
    assert kernel.extrapolation == model.extrapolation


def test_a_phase_of_unknown_size_is_left_out_and_refused(tmp_path: Path) -> None:
    sizes = {2: (100, 103, 0, 0), 3: (97, 101, 110, 0), 4: (99, 104, 95, 103)}
    fit = fit_models([model_of(scattered(n, sizes[n])) for n in (2, 3, 4)])
    made = extrapolate(fit, 8, PROVENANCE)
    made.write(tmp_path / "m.json")
    assert [phase.pattern[0].rs for phase in made.phases] == [10]
    assert made.extrapolation is not None
    (missing,) = made.extrapolation.not_extrapolated
    assert missing.what.startswith("pwrite on file# (phase 1 of the largest run)")
    assert missing.reason.startswith(
        "rs: no function that wavetank knows gives 100 to 103 by rank at np 2"
    )
    with pytest.raises(KernelError, match="pwrite on file#"):
        make_kernel(made, tmp_path / "m.json")
    kernel = make_kernel(made, tmp_path / "m.json", approximate=True)
    assert any(
        text.startswith("Left out, because it is not extrapolated: pwrite")
        for text in texts(kernel.notes)
    )
