"""Collective buffering: whether aggregators gather the pieces of a collective call."""

from __future__ import annotations

from typing import ClassVar

from wavetank.kernel.document.kernel import Kernel
from wavetank.variants.base import Turned, require_word
from wavetank.variants.hints import collective_phases, hints_of, verbs, with_hints


class CollectiveBuffering:
    """romio_cb_read and romio_cb_write, of the kinds of calls that the kernel makes."""

    name: ClassVar[str] = "collective-buffering"
    title: ClassVar[str] = "collective buffering"
    takes: ClassVar[str] = "on or off"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """Both: the default leaves it to ROMIO."""
        return ("on", "off")

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        require_word(self, value, ("on", "off"))
        phases = collective_phases(kernel)
        keys = tuple(f"romio_cb_{verb}" for verb in verbs(phases))
        files = {phase.file_id for phase in phases}
        hint = "enable" if value == "on" else "disable"
        return Turned(
            kernel=with_hints(kernel, phases, dict.fromkeys(keys, hint)),
            before=hints_of(kernel, files, keys),
            after=hint,
            hints=keys,
        )
