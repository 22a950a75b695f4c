"""The ways to treat a kernel's pauses, and whether it has any."""

from __future__ import annotations

from typing import Literal

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.program import PauseStep
from wavetank.model.document.step_walks import plain_steps

Pauses = Literal["drop", "keep"]
"""Left out; or kept, in which ranks sleep."""

NO_PAUSES = (
    "none kept: the kernel holds none. Make its model with 'wavetank model --pauses SECONDS'"
)


def holds_pauses(kernel: Kernel) -> bool:
    """Whether any rank of a kernel pauses."""
    return any(
        isinstance(step, PauseStep)
        for program in kernel.programs
        for step in plain_steps(program.steps)
    )
