"""Lists that grow: offsets and sizes of operations without regularity.

Each in a range of addresses that is longer than any list: so it grows without being copied, and pages are taken as
they are filled. Where the system gives no such range, in large blocks: the memory of many small ones comes page by
page, which takes longer than to fill it.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from wavetank.model.native.lists import Stretches
from wavetank.model.work_limits import ListRoom
from wavetank.trace.schema import Int64Array

_MAP_NORESERVE = 0x4000  # <sys/mman.h> of Linux; newer Pythons have it in mmap


def _range(room: ListRoom) -> mmap.mmap | None:
    """Addresses for a list and its stripes; None where addresses are limited."""
    if not room.addresses:
        return None
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    try:
        mapped = mmap.mmap(-1, 8 * (room.entries + room.stripes * room.stripe_entries), flags=flags)
    except (OSError, ValueError):
        return None
    with suppress(OSError):  # a system without large pages
        mapped.madvise(mmap.MADV_HUGEPAGE, 0, 8 * room.entries)
    return mapped


class GrowingList:
    """Numbers one after another.

    Args:
        room: for them.
    """

    def __init__(self, room: ListRoom | None = None) -> None:
        self.room = room or ListRoom()
        self._blocks: list[Int64Array] = []
        self._used = 0  # of the last block
        self._before = 0  # in the blocks before it
        self._range: mmap.mmap | None = None  # of the first block, and of the stripes behind it
        self._ends: Int64Array | None = None  # of the stripes, if there are any

    def __len__(self) -> int:
        return self._before + self._used

    def reserve(self, n: int) -> tuple[int, Int64Array]:
        """Where the next n numbers will be, and the room to put them in."""
        if not self._blocks or self._used + n > len(self._blocks[-1]):
            if self._blocks:
                self._close()
            self._blocks.append(self._room(n))
            self._used = 0
        first = self._used
        self._used += n
        return self._before + first, self._blocks[-1][first : self._used]

    def _close(self) -> None:
        """Have what follows in a block of its own: behind the stripes, if there are any."""
        last = self._blocks[-1][: self._used]
        if len(self._blocks) == 1 and self._ends is not None and self._range is not None:
            last = np.frombuffer(self._range, dtype=np.int64)
        self._blocks[-1] = last
        self._before += len(last)

    def _room(self, n: int) -> Int64Array:
        """Memory for n numbers at least."""
        if not self._blocks and n <= self.room.entries:
            self._range = _range(self.room)
            if self._range is not None:
                return np.frombuffer(self._range, dtype=np.int64)[: self.room.entries]
        return np.empty(max(n, self.room.block_entries), dtype=np.int64)

    def stripes(self) -> Int64Array | None:
        """Where each of the stripes ends so far, to be set by who fills them; None: there are none."""
        if self._ends is None:
            if not self._blocks:
                self.reserve(0)
            if self._range is None or len(self._blocks) > 1:
                return None
            self._ends = self.first_of(np.arange(self.room.stripes))
        return self._ends

    def first_of(self, number: Int64Array) -> Int64Array:
        """Where stripes begin."""
        return self.room.entries + self.room.stripe_entries * number

    def address(self, position: Int64Array) -> Int64Array:
        """Addresses of entries of the list's range."""
        return self._blocks[0].ctypes.data + 8 * position

    def in_large_pages(self, number: int) -> None:
        """Ask for large pages behind the beginning of a stripe."""
        if self._range is not None:
            with suppress(OSError):
                small, whole = self.room.small_entries, self.room.stripe_entries
                first = self.room.entries + whole * number + small
                self._range.madvise(mmap.MADV_HUGEPAGE, 8 * first, 8 * (whole - small))

    def append(self, numbers: Int64Array) -> int:
        """Put numbers at the end; where they begin."""
        position, room = self.reserve(len(numbers))
        room[:] = numbers
        return position

    def stretches(self, first: Int64Array, length: Int64Array) -> Stretches:
        """Stretches that were put in at once each, or parts of them."""
        starts = np.cumsum([0, *(len(block) for block in self._blocks[:-1])])
        which = np.searchsorted(starts, first, side="right") - 1
        base = np.array([block.ctypes.data for block in self._blocks], dtype=np.int64)
        place = (base[which] if len(base) else first) + 8 * (first - starts[which])
        return Stretches(place, np.ascontiguousarray(length), tuple(self._blocks))

    def clear(self) -> None:
        """Forget all numbers."""
        self._blocks, self._before, self._used = [], 0, 0
        self._range = self._ends = None

    @property
    def is_one(self) -> bool:
        """Whether the numbers are one array, or may be copied into one: not stripes, and blocks behind them."""
        return self._ends is None or len(self._blocks) == 1

    def all(self) -> Int64Array:
        """All numbers, in one array; ``is_one`` must hold."""
        if not self._blocks:
            return np.zeros(0, dtype=np.int64)
        if self._ends is not None and self._range is not None:
            return np.frombuffer(self._range, dtype=np.int64)[: int(self._ends[-1])]
        self._blocks[-1] = self._blocks[-1][: self._used]
        whole = self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)
        self._blocks, self._before, self._used = [whole], 0, len(whole)
        return whole


@dataclass(frozen=True)
class ListStore:
    """Offsets and sizes, bytes."""

    offsets: GrowingList = field(default_factory=GrowingList)
    sizes: GrowingList = field(default_factory=GrowingList)

    @classmethod
    def with_room(cls, room: ListRoom) -> Self:
        """Empty lists."""
        return cls(GrowingList(room), GrowingList(room))
