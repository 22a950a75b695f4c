"""Memory with gaps of MPI-IO calls in words: equal words stand for equal memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import blake2b

from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.trace.schema import UNKNOWN


class MemoryWords:
    """The memory that the calls of one model's phases were given.

    Args:
        model: the model.
        told: whether it is compared; else there are no words for it.
    """

    def __init__(self, model: Model, told: bool) -> None:
        self._views, self._told = model.views, told
        self._of_view = cache(self._words)

    def of_rank(self, phase: Phase, rank: int, member: int) -> str:
        """Of a rank's calls of a pattern member; empty where there are no gaps."""
        if not self._told or phase.memory is None:
            return ""
        return self._of_view(phase.memory_at(phase.ph_processid.index(rank), member))

    def of_phase(self, phase: Phase) -> str:
        """Of all ranks and pattern members: what they have in common, or digits that stand for all."""
        if not self._told or phase.memory is None:
            return "without gaps"
        found = [*self._of_members(phase)]
        if len({*found}) == 1:
            return found[0] or "without gaps"
        digits = blake2b(repr(found).encode(), digest_size=5).hexdigest()
        return f"{len({*found})} different ones #{digits}"

    def _of_members(self, phase: Phase) -> Iterator[str]:
        for member in range(len(phase.pattern)):
            for place in range(len(phase.ph_processid)):
                yield self._of_view(phase.memory_at(place, member))

    def _words(self, view_id: int) -> str:
        """Memory in print, with digits that stand for its pieces."""
        if view_id == UNKNOWN:
            return ""
        view = self._views[view_id]
        told = (view.displacement, view.etype_size, view.run_offsets, view.run_lengths)
        found = blake2b(repr(told).encode(), digest_size=5)
        n = len(view.run_offsets)
        pieces = f"{n:,} piece{'s' if n != 1 else ''}"
        return f"{pieces} in {view.extent:,} bytes #{found.hexdigest()}"
