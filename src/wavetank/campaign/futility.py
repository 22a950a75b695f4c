"""Which configurations need no further repetition, because none can tell them apart from any other.

Pairs of values in the wrong order (Mann and Whitney's U) only become more with further repetitions. A pair that would stay above
its level even if every further value were in the right order is decided: it cannot be told apart. Stopping for this
can raise no false alarm: what is told apart at the end is the same as with all repetitions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Generic, TypeVar

from wavetank.measure.rank_test import FEWEST_REPETITIONS, p_of, smaller_pairs

Name = TypeVar("Name")


class Futility(Generic[Name]):
    """Learns times as they come, and tells who is done."""

    def __init__(
        self, pairs: Mapping[frozenset[Name], bool], repetitions: int, *, error: float
    ) -> None:
        """Begin without a value.

        Args:
            pairs: of configurations that the report will compare; False: more than their times decides them.
            repetitions: planned of each.
            error: that all pairs share.
        """
        self._repetitions = repetitions
        self._error = error
        self._open = {pair: decidable for pair, decidable in pairs.items() if len(pair) == 2}
        self._n_pairs = len(self._open)
        self._times: dict[Name, list[float]] = defaultdict(list)
        self._best: dict[frozenset[Name], float] = dict.fromkeys(
            self._open, p_of(0, repetitions, repetitions)
        )
        self._of: dict[Name, list[frozenset[Name]]] = defaultdict(list)
        for pair in self._open:
            for name in pair:
                self._of[name].append(pair)

    def learn(self, name: Name, time_s: float) -> tuple[Name, ...]:
        """Take a time into account; says which configurations need no further repetition."""
        self._times[name].append(time_s)
        n = self._repetitions
        for pair in self._of[name]:
            (other,) = pair - {name}
            if self._open[pair] and other in self._times:
                wrong = min(smaller_pairs(self._times[name], self._times[other]))
                self._best[pair] = p_of(wrong, n, n)
        decided = self._decided()
        return tuple(
            each
            for each, times in self._times.items()
            if len(times) >= FEWEST_REPETITIONS
            and self._of[each]
            and decided.issuperset(self._of[each])
        )

    def _decided(self) -> set[frozenset[Name]]:
        """Pairs that no outcome can tell apart: refused also where every p is as small as it can become."""
        ordered = sorted(self._best.items(), key=lambda each: each[1])
        for settled, (_, p) in enumerate(ordered):
            if p * (self._n_pairs - settled) > self._error:
                return {pair for pair, _ in ordered[settled:]}
        return set()
