"""What was measured instead of the application: how exact it is."""

from __future__ import annotations

from wavetank.kernel.document.kernel import Kernel
from wavetank.notes import texts


def kernel_words(kernel: Kernel) -> tuple[str, ...]:
    """What the replay does not reproduce, a sentence each."""
    whence: tuple[str, ...] = (
        ()
        if kernel.extrapolation is None
        else (f"The model is {kernel.extrapolation.sentence()}.",)
    )
    if kernel.approximation is not None:
        whence += tuple(f"Assumed: {sentence}" for sentence in kernel.approximation.assumed)
    if not kernel.notes:
        return (*whence, "The replay is exact: it issues the operations of the model.")
    return (
        *whence,
        *(f"Not reproduced exactly: {sentence}" for sentence in texts(kernel.notes)),
    )
