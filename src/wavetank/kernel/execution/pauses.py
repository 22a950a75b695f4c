"""The ways to keep a kernel's pauses, and what that needs: pauses in the kernel, and memory where they compute."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from wavetank.errors import KernelError
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.program import PauseStep
from wavetank.model.document.step_walks import plain_steps
from wavetank.units import format_size

Pauses = Literal["drop", "keep", "busy"]
"""Left out; kept, in which ranks sleep; or kept by ranks that use the processor, and wait for each other as MPI libraries do."""
_MEMORY = Path("/proc/meminfo")
# MemAvailable:   18043616 kB (Linux 6.1)
_AVAILABLE = "MemAvailable:"

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


def require_memory(kernel: Kernel, compute_bytes: int, memory: Path = _MEMORY) -> None:
    """Refuse pauses that compute on more memory than this host has for all ranks.

    Args:
        kernel: gives the ranks; all run here.
        compute_bytes: of each rank.
        memory: as Linux tells it.

    Raises:
        KernelError: less is available.
    """
    lines = memory.read_text().splitlines() if memory.exists() else []
    for line in lines:
        if line.startswith(_AVAILABLE):
            available = int(line.split()[1]) * 1024
            needed = compute_bytes * kernel.n_ranks
            if needed > available:
                raise KernelError(
                    f"pauses of {kernel.n_ranks} ranks that compute on {format_size(compute_bytes)} each need "
                    f"{format_size(needed)} of memory, {format_size(available)} are available. Give --compute less"
                )
