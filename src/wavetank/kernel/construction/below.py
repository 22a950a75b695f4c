"""Models whose MPI-IO calls have no places: Darshan on Open MPI records none. The POSIX calls below them have.

Reads such a model's log again; leaves a model of its POSIX level, and the sentence that says so.
"""

from __future__ import annotations

from pathlib import Path

from wavetank.document import provenance, sha256_of
from wavetank.errors import KernelError
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase, UnknownOffsets
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Level

SENTENCE = (
    "the log does not say at which offsets MPI-IO calls were made: the replay performs the POSIX calls below them, by the "
    "ranks that the MPI library made them on"
)


def is_without_places(model: Model) -> bool:
    """Whether MPI-IO phases of a model lack their places, so that no replay can make them, and POSIX phases have theirs."""
    mpi = [phase for phase in model.phases if phase.level == "mpiio"]
    posix = [phase for phase in model.phases if phase.level == "posix"]
    return any(needs_places(phase) for phase in mpi) and any(
        not isinstance(offsets, UnknownOffsets) for phase in posix for offsets in phase.offset
    )


def needs_places(phase: Phase) -> bool:
    """Whether a phase's offsets are not known, and its calls cannot be made without."""
    names = [member.iop_type for member in phase.pattern]
    return (
        any("_at" in name or name.startswith("p") for name in names)
        and any(isinstance(offsets, UnknownOffsets) for offsets in phase.offset)
        and (
            phase.offset_view is None
            or any(isinstance(offsets, UnknownOffsets) for offsets in phase.offset_view)
        )
    )


def model_below(model: Model) -> Model:
    """The POSIX level of the run that a model is of.

    Raises:
        KernelError: the log that it was made from is not there any more, or is another one.
        TraceError: it cannot be read.
    """
    if len(model.provenance.inputs) != 1:
        raise KernelError(f"{model.application}: {_remedy('LOG')}")
    log = model.provenance.inputs[0]
    path = Path(log.path)
    if not path.exists() or sha256_of(path) != log.sha256:
        raise KernelError(
            f"{path} is not there any more, or is another file than the model was made from; {_remedy(log.path)}"
        )
    rules = Rules(levels=(Level.POSIX,))
    below = extract_model(open_trace(path), provenance([path]), rules, name=model.application)
    return below.model_copy(update={"warnings": (SENTENCE, *below.warnings)})


def _remedy(log: str) -> str:
    return (
        f"{SENTENCE}. Make a model of them: wavetank model {log} --levels posix -o posix.model.json"
    )
