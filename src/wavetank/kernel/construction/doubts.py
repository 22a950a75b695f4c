"""What the source of a kernel lost or does not tell: notes that every later stage repeats."""

from __future__ import annotations

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model, own_phases
from wavetank.notes import Note, carried, notes_of, texts
from wavetank.tables.words import ranks_text

UNDECIDED = "it is not known which of these calls were collective: all are made as independent ones"
"""Of a phase at MPI-IO level."""


def doubts_of(model: Model) -> tuple[Note, ...]:
    """What keeps a kernel of this model from being exact, whatever the kernel does."""
    undecided = tuple(
        phase.ph_id
        for phase in own_phases(model)
        if phase.level == "mpiio" and phase.collective_unknown
    )
    made_from = (
        [] if model.approximation is None else [f"the model is {model.approximation.sentence()}"]
    )
    collective = [f"phase {ranks_text(undecided)}: {UNDECIDED}"] if undecided else []
    return (
        *notes_of("assumed", "counters", made_from),
        *carried(model.notes),
        *notes_of("assumed", "collective calls", collective),
    )


def described(kernel: Kernel) -> dict[str, str]:
    """What a kernel's model is, for the settings of a result; empty where it is exact."""
    return {
        **({} if kernel.extrapolation is None else {"model": kernel.extrapolation.sentence()}),
        **({"source": "; ".join(doubts)} if (doubts := texts(carried(kernel.notes))) else {}),
    }
