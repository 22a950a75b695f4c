"""Size of the buffer in which an aggregator gathers the pieces of a collective call."""

from __future__ import annotations

from typing import ClassVar

from wavetank.kernel.document.kernel import Kernel
from wavetank.units import exact_size
from wavetank.variants.base import Turned, size_of
from wavetank.variants.hints import DEFAULT, collective_phases, hints_of, with_hints

_KEY = "cb_buffer_size"
_MOST = 1 << 30  # bytes; ROMIO reads the hint as an int


class CollectiveBuffer:
    """cb_buffer_size; ROMIO's default is 16 MiB."""

    name: ClassVar[str] = "collective-buffer"
    title: ClassVar[str] = "collective buffer"
    takes: ClassVar[str] = "a size from 1B to 1GiB, e.g. 64MiB"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """A quarter and four times ROMIO's default."""
        return ("4MiB", "64MiB")

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        size = size_of(self, value, _MOST)
        phases = collective_phases(kernel)
        before = hints_of(kernel, {phase.file_id for phase in phases}, (_KEY,))
        return Turned(
            kernel=with_hints(kernel, phases, {_KEY: str(size)}),
            before=before if before == DEFAULT else f"{before} B",
            after=exact_size(size),
            hints=(_KEY,),
        )
