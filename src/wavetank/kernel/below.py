"""Models whose MPI-IO calls have no places: Darshan on Open MPI records none. The POSIX calls below them have.

Reads such a model's log again; leaves a model of its POSIX level, and the sentence that says so.
"""

from __future__ import annotations

from pathlib import Path

from wavetank.document import provenance, sha256_of
from wavetank.errors import KernelError
from wavetank.model.application import Model
from wavetank.model.extract import extract_model
from wavetank.model.phase import Phase, UnknownOffsets
from wavetank.model.rules import Rules
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Level

SENTENCE = (
    "the log does not say at which offsets MPI-IO calls were made: the replay performs the POSIX calls below them, by the "
    "ranks that the MPI library made them on"
)


def is_without_places(model: Model) -> bool:
    """Whether all of a model's MPI-IO phases lack their places, and POSIX phases have theirs."""
    mpi = [phase for phase in model.phases if phase.level == "mpiio"]
    posix = [phase for phase in model.phases if phase.level == "posix"]
    return (
        bool(mpi)
        and all(_lacks_places(phase) for phase in mpi)
        and any(not _lacks_places(phase) for phase in posix)
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


def _lacks_places(phase: Phase) -> bool:
    return all(isinstance(offsets, UnknownOffsets) for offsets in phase.offset)


def _remedy(log: str) -> str:
    return (
        f"{SENTENCE}. Make a model of them: wavetank model {log} --levels posix -o posix.model.json"
    )
