"""Models whose MPI-IO calls have no places: Darshan on Open MPI records none. The POSIX calls below them have.

Reads such a model's log again; leaves a model of its POSIX level, and the note that says so.
"""

from __future__ import annotations

from pathlib import Path

from wavetank.document import provenance, sha256_of
from wavetank.errors import KernelError
from wavetank.kernel.construction.places import BELOW
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Level


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
    return below.model_copy(update={"notes": (BELOW, *below.notes)})


def _remedy(log: str) -> str:
    return f"{BELOW}. Make a model of them: wavetank model {log} --levels posix -o posix.model.json"
