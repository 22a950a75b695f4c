"""What the source of a kernel lost or does not tell: sentences that every later stage repeats.

Reads a model; leaves ``Kernel.doubts``, which measurements, comparisons and reports take over.
"""

from __future__ import annotations

from wavetank.kernel.construction.places import SENTENCE
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model, own_phases
from wavetank.tables.words import ranks_text
from wavetank.trace.partial import partial_sentences

UNDECIDED = "it is not known which of these calls were collective: all are made as independent ones"
"""Of a phase at MPI-IO level."""


def doubts_of(model: Model) -> tuple[str, ...]:
    """What keeps a kernel of this model from being exact, whatever the kernel does; a sentence each."""
    undecided = tuple(
        phase.ph_id
        for phase in own_phases(model)
        if phase.level == "mpiio" and phase.collective_unknown
    )
    return (
        *(
            []
            if model.approximation is None
            else [f"the model is {model.approximation.sentence()}"]
        ),
        *partial_sentences(model.lost),
        *model.untold,
        *(warning for warning in model.warnings if warning == SENTENCE),
        *([f"phase {ranks_text(undecided)}: {UNDECIDED}"] if undecided else []),
    )


def described(kernel: Kernel) -> dict[str, str]:
    """What a kernel's model is, for the settings of a result; empty where it is exact."""
    return {
        **({} if kernel.extrapolation is None else {"model": kernel.extrapolation.sentence()}),
        **({"source": "; ".join(kernel.doubts)} if kernel.doubts else {}),
    }
