"""Long programs: what recurs in them as loops, and long stretches in which nothing does as mixes.

Reads the numbers of a program's steps in order; leaves nodes. Numbers are compared as bytes, some thousands at a
time, so that a program of many million steps takes as long as to read it a few times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank.model.loops import Loop, Node, compress, match_length
from wavetank.model.rules import BoolArray
from wavetank.trace.schema import Int64Array

SHORT = 512
"""Steps up to which a program is looked through loop by loop, and has no mixes (Choice)."""
SHORTEST = 256
"""Steps of a mix (Choice)."""
FEW = 4
"""Of a mix, how often each of its different steps comes at least, on average (Choice)."""
MANY = 1024
"""Steps of a mix whatever its different ones (Choice)."""
_HEAD = 32  # steps that must recur
_LONGEST_STRIDE = 1 << 12  # steps that are passed over where nothing recurs again and again
_REACH = 1 << 13  # how far ahead a recurrence is looked for; now and then to the end


@dataclass(frozen=True, eq=False)
class Mix:
    """Numbers of steps in no order."""

    numbers: Int64Array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mix) and np.array_equal(self.numbers, other.numbers)

    def __hash__(self) -> int:
        return hash((len(self.numbers), self.numbers[:_HEAD].tobytes()))


def with_mixes(nodes: Sequence[Node], mixable: BoolArray) -> list[Node]:
    """Nodes with their long stretches of numbers as loops and mixes.

    Args:
        nodes: numbers, loops that are known already, and arrays of numbers.
        mixable: by number, whether the step may be part of a mix.
    """
    found: list[Node] = []
    stretch: list[Int64Array] = []
    single: list[int] = []

    def close() -> None:
        if single:
            stretch.append(np.array(single, dtype=np.int64))
            single.clear()
        if stretch:
            whole = stretch[0] if len(stretch) == 1 else np.concatenate(stretch)
            found.extend(nodes_of(whole, mixable))
            stretch.clear()

    for node in nodes:
        if isinstance(node, int):
            single.append(node)
        elif isinstance(node, np.ndarray):
            if single:
                stretch.append(np.array(single, dtype=np.int64))
                single.clear()
            stretch.append(node)
        else:
            close()
            found.append(node)
    close()
    return found


def nodes_of(numbers: Int64Array, mixable: BoolArray) -> list[Node]:
    """Loops, mixes and single numbers of a stretch."""
    if len(numbers) <= SHORT:
        plain: list[Node] = numbers.tolist()
        return plain
    found: list[Node] = []
    position = 0
    for low, period, times in _loops(numbers):
        found += _loose(numbers[position:low], mixable)
        body = numbers[low : low + period]
        found.append(Loop(times, compress(nodes_of(body, mixable))))
        position = low + period * times
    return found + _loose(numbers[position:], mixable)


def _loose(numbers: Int64Array, mixable: BoolArray) -> list[Node]:
    """A stretch without long loops: mixes of what may be mixed."""
    if len(numbers) < SHORTEST:
        plain: list[Node] = numbers.tolist()
        return plain
    can = mixable.take(numbers)
    edges = np.flatnonzero(np.diff(can, prepend=not can[0], append=not can[-1]))
    found: list[Node] = []
    for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = numbers[a:b]
        few = b - a >= SHORTEST and np.count_nonzero(np.bincount(part)) * FEW <= b - a
        if can[a] and (few or b - a >= MANY):
            found.append(Mix(part))
        else:
            found += part.tolist()
    return found


def _loops(numbers: Int64Array) -> Iterator[tuple[int, int, int]]:
    """Where a body begins to recur, its length, and how often it comes; from left to right."""
    n = len(numbers)
    most = int(numbers.max())
    short = numbers.astype(np.uint8 if most < 256 else np.uint16 if most < 1 << 16 else np.uint32)
    text, width = short.tobytes(), short.itemsize
    position = free = probes = 0
    stride = _HEAD
    while n - position >= 2 * _HEAD:
        probes += 1
        # At place 1, 4, 16, ... as far as it takes.
        far = probes & (probes - 1) == 0 and probes.bit_length() % 2 == 1
        reach = n if far else min(n, position + _REACH)
        head = text[position * width : (position + _HEAD) * width]
        at = text.find(head, (position + 1) * width, reach * width)
        while at >= 0 and at % width:
            at = text.find(head, at + 1, reach * width)
        period = at // width - position
        matched = match_length(short, position, period) if at >= 0 else 0
        if at >= 0 and matched >= period:
            before = short[free:position][::-1] == short[free + period : position + period][::-1]
            low = position - (len(before) if before.all() else int(np.argmin(before)))
            times = (position - low + matched) // period + 1
            yield low, period, times
            position = free = low + period * times
            stride = _HEAD
            continue
        position += stride
        stride = min(2 * stride, _LONGEST_STRIDE)


def in_order(mix: Mix) -> tuple[Int64Array, npt.NDArray[Any]]:
    """The different numbers of a mix in the order in which they first come, and for each place which of them it is."""
    size = int(mix.numbers.max()) + 1
    n = len(mix.numbers)
    first = np.full(size, n, dtype=np.int64)
    n_different = np.count_nonzero(np.bincount(mix.numbers, minlength=size))
    # Most steps come soon: from stretch to longer stretch, until all have come.
    low, high = 0, min(n, 1 << 14)
    while True:
        part = mix.numbers[low:high]
        np.minimum.at(first, part[::-1], np.arange(high - 1, low - 1, -1))
        if high == n or np.count_nonzero(first < n) == n_different:
            break
        low, high = high, min(n, 4 * high)
    different = np.flatnonzero(first < n)
    different = different[np.argsort(first[different])]
    place = np.zeros(size, dtype=np.uint8 if len(different) <= 256 else np.uint32)
    place[different] = np.arange(len(different))
    return different, place.take(mix.numbers)
