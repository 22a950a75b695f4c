"""Lists of substreams that grow from chunk to chunk. Each has its own part of the memory, a stripe, so that it need not be copied.

Reads and changes where the stripes of a ``ListStore`` end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavetank.model.compression.growing_lists import GrowingList, ListStore
from wavetank.model.native.substreams import Tails
from wavetank.trace.schema import Int64Array

Key = tuple[int, ...]
"""What the operations of a substream have in common."""


class Stripes:
    """Stripes of the lists of one run."""

    def __init__(self, store: ListStore) -> None:
        self._store = store
        self._number: dict[Key, int] = {}

    def numbers(self, keys: Sequence[Key]) -> Int64Array:
        """The stripe of each substream; -1 where there is none left for it."""
        if self._store.offsets.stripes() is None or self._store.sizes.stripes() is None:
            return np.full(len(keys), -1, dtype=np.int64)
        for key in keys:
            if len(self._number) < self._store.offsets.room.stripes:
                self._number.setdefault(key, len(self._number))
        return np.array([self._number.get(key, -1) for key in keys], dtype=np.int64)

    def tails(self, numbers: Int64Array, n: int) -> Tails | None:
        """Where the lists of some stripes end, if each has room for n more entries; those of -1 anywhere."""
        offsets, sizes = self._store.offsets, self._store.sizes
        of_offsets, of_sizes = offsets.stripes(), sizes.stripes()
        if of_offsets is None or of_sizes is None:
            return None
        at = of_offsets[numbers], of_sizes[numbers]
        if any((self._room(column, numbers) < n).any() for column in at):
            return None
        return Tails(at[0], at[1], offsets.address(at[0]), sizes.address(at[1]))

    def _room(self, end: Int64Array, numbers: Int64Array) -> Int64Array:
        offsets = self._store.offsets
        whole = offsets.room.stripe_entries
        first = offsets.first_of(np.maximum(numbers, 0))
        return np.where(numbers < 0, whole, first + whole - end)

    def filled(self, numbers: Int64Array, tails: Tails) -> None:
        """Take note of what was put behind ``tails``, which say where it ends now."""
        some = numbers >= 0
        for values, at in (
            (self._store.offsets, tails.offset_at),
            (self._store.sizes, tails.size_at),
        ):
            ends = values.stripes()
            if ends is None:
                continue
            small = values.first_of(numbers[some]) + values.room.small_entries
            for number in numbers[some][(ends[numbers[some]] < small) & (at[some] >= small)]:
                values.in_large_pages(int(number))
            ends[numbers[some]] = at[some]

    def place(
        self, values: GrowingList, numbers: Int64Array, length: Int64Array
    ) -> Int64Array | None:
        """Where the next lists of some stripes, in order, are to be put; None if one has no room or no stripe.

        Args:
            values: offsets or sizes.
            numbers: the stripe of each list.
            length: entries of each.
        """
        ends = values.stripes()
        if ends is None or (numbers < 0).any():
            return None
        order = np.argsort(numbers, kind="stable")
        number, n = numbers[order], length[order]
        start = np.flatnonzero(np.diff(number, prepend=-1))
        before = np.cumsum(n) - n
        inside = before - np.repeat(before[start], np.diff(start, append=len(number)))
        total = np.add.reduceat(n, start)
        which = number[start]
        if (self._room(ends[which], which) < total).any():
            return None
        position = np.empty(len(numbers), dtype=np.int64)
        position[order] = ends[number] + inside
        ends[which] += total
        return position
