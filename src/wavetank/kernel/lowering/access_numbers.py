"""Numbers of sequences of operations whose offsets grow regularly, without unfolding them.

As in ``sequences`` a sequence of n words w has the number sum(w[i] * BASE**(n-1-i)) modulo a prime. The word of an access is
a constant of its call and size, plus its offset times OFFSET. So it grows by a fixed amount from one repetition to the next,
and the number of any sequence of such words grows by a fixed amount when all of it lies one repetition further on. Loops over
accesses at different places are then sums of geometric series.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from wavetank.errors import KernelError
from wavetank.kernel.lowering.sequences import BASE, PRIME
from wavetank.model.document.access_runs import RunArrays

OFFSET = 0x517CC1B727220A94FE13ABE8FA9A6EE0 % PRIME  # 2**128 / pi


def word(text: str) -> int:
    """The word of something that has no offset."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=20).digest()) % PRIME


@dataclass(frozen=True)
class Numbered:
    """A sequence of operations.

    Attributes:
        length: words.
        number: of the sequence.
        growth: by how much the number grows when a phase is one repetition further on, by phase.
        taken: operations of each phase in it.
    """

    length: int = 0
    number: int = 0
    growth: dict[int, int] = field(default_factory=dict)
    taken: dict[int, int] = field(default_factory=dict)

    def then(self, other: Numbered) -> Numbered:
        """This sequence and another one behind it."""
        if not self.length:
            return other
        step = pow(BASE, other.length, PRIME)
        growth = {phase: value * step % PRIME for phase, value in self.growth.items()}
        for phase, value in other.growth.items():
            growth[phase] = (growth.get(phase, 0) + value) % PRIME
        taken = self.taken | {
            phase: self.taken.get(phase, 0) + n for phase, n in other.taken.items()
        }
        return Numbered(
            self.length + other.length, (self.number * step + other.number) % PRIME, growth, taken
        )

    def times(self, n: int, members: Callable[[int], int]) -> Numbered:
        """The sequence n times, in which each phase goes on where it was: it must lie within one stretch of ``Accesses``.

        Args:
            n: repetitions.
            members: of the pattern of a phase. It divides what is taken of the phase.
        """
        if n == 1:
            return self
        step = pow(BASE, self.length, PRIME)
        ones = _geometric(step, n)
        counts = (ones - n) * pow(step - 1, -1, PRIME)  # sum of t * step**(n-1-t) over t below n
        each = sum(
            value * (self.taken.get(phase, 0) // members(phase))
            for phase, value in self.growth.items()
        )
        return Numbered(
            self.length * n,
            (self.number * ones + each * counts) % PRIME,
            {phase: value * ones % PRIME for phase, value in self.growth.items()},
            {phase: taken * n for phase, taken in self.taken.items()},
        )


def _geometric(step: int, n: int) -> int:
    """The sum of step**t over t below n. BASE has no power that is 1 in a sequence of a length that there can be."""
    return (pow(step, n, PRIME) - 1) * pow(step - 1, -1, PRIME) % PRIME


class Accesses:
    """A rank's data operations of one phase, in stretches in which all members of the pattern are regular.

    Args:
        phase: its number.
        members: the runs of each pattern member, and the text that stands for its call.
    """

    def __init__(self, phase: int, members: Sequence[tuple[str, RunArrays]]) -> None:
        self._phase = phase
        self._runs = [_Runs(text, runs) for text, runs in members]
        self.n_members = len(members)
        starts = np.unique(np.concatenate([runs.starts for runs in self._runs]))
        self._starts: list[int] = starts.tolist()
        self._ends: list[int] = [*self._starts[1:], min(runs.n for runs in self._runs)]

    def stretch_end(self, at: int) -> int:
        """The first operation behind the stretch in which operation ``at`` lies."""
        stretch = bisect_right(self._starts, at // self.n_members) - 1
        return self._ends[stretch] * self.n_members

    def of(self, at: int, n: int) -> Numbered:
        """The ``n`` operations from ``at`` on."""
        found, end = Numbered(), at + n
        while at < end:
            n_here = min(end, self.stretch_end(at)) - at
            if n_here <= 0:
                raise KernelError(
                    f"the steps perform more operations of phase {self._phase} than it has. Make the kernel again from its model"
                )
            if n_here == 1 and self.n_members == 1:
                several = self._singles(at, end)
                found, at = found.then(several), at + several.length
                continue
            found, at = found.then(self._regular(at, n_here)), at + n_here
        return found

    def _singles(self, at: int, end: int) -> Numbered:
        """Operations of runs of one each: of an irregular phase there may be millions."""
        (runs,) = self._runs
        first = stretch = bisect_right(self._starts, at) - 1
        number = 0
        while at + stretch - first < end and self._ends[stretch] - self._starts[stretch] == 1:
            number = (number * BASE + runs.word_at(stretch, self._starts[stretch])) % PRIME
            stretch += 1
            if stretch == len(self._ends):
                break
        n = stretch - first
        if n:
            growth = {self._phase: runs.growth(first)} if n == 1 else {}
            return Numbered(n, number, growth, {self._phase: n})
        return self._one(at)

    def _regular(self, at: int, n: int) -> Numbered:
        """Operations within one stretch."""
        found, members = Numbered(), self.n_members
        ahead = min(-at % members, n)
        for place in range(at, at + ahead):
            found = found.then(self._one(place))
        whole = (n - ahead) // members
        if whole:
            one = Numbered()
            for place in range(at + ahead, at + ahead + members):
                one = one.then(self._one(place))
            found = found.then(one.times(whole, lambda _: members))
        for place in range(at + ahead + whole * members, at + n):
            found = found.then(self._one(place))
        return found

    def _one(self, at: int) -> Numbered:
        repetition, member = divmod(at, self.n_members)
        runs = self._runs[member]
        run = bisect_right(runs.places, repetition) - 1
        return Numbered(
            1, runs.word_at(run, repetition), {self._phase: runs.growth(run)}, {self._phase: 1}
        )


class _Runs:
    """Runs of a pattern member, in which all operations of a run move as much."""

    def __init__(self, text: str, runs: RunArrays) -> None:
        last = runs.moved - (runs.count - 1) * runs.size
        short = (last != runs.size) & (runs.count > 1)
        pieces = 1 + short.astype(
            np.int64
        )  # the last operation of a run may be short: it is a run of its own
        of_run = np.repeat(np.arange(len(runs)), pieces)
        is_last = np.zeros(len(of_run), dtype=bool)
        is_last[np.cumsum(pieces)[short] - 1] = True
        count = np.where(is_last, 1, runs.count[of_run] - short[of_run])
        behind = runs.count[of_run] - 1
        offset = runs.offset[of_run] + np.where(is_last, behind * runs.disp[of_run], 0)
        moved = np.where(is_last | (count == 1) & ~short[of_run], last[of_run], runs.size[of_run])
        self.n = int(count.sum())
        self.starts = np.cumsum(count) - count
        self.places: list[int] = self.starts.tolist()
        self._offset: list[int] = offset.tolist()
        self._disp: list[int] = runs.disp[of_run].tolist()
        self._kinds = list(zip(runs.size[of_run].tolist(), moved.tolist(), strict=True))
        self._text = text
        self._words: dict[tuple[int, int], int] = {}

    def word_at(self, run: int, repetition: int) -> int:
        """The word of an operation."""
        kind = self._kinds[run]
        found = self._words.get(kind)
        if found is None:
            found = self._words[kind] = word(f"{self._text} {kind}")
        offset = self._offset[run] + (repetition - self.places[run]) * self._disp[run]
        return (found + offset * OFFSET) % PRIME

    def growth(self, run: int) -> int:
        """By how much words grow from one repetition of a run to the next."""
        return self._disp[run] * OFFSET % PRIME
