"""Long programs: what recurs in them as loops, and long ranges in which nothing does as irregular orders.

Reads the numbers of a program's steps in order; leaves nodes. Numbers are compared as bytes, some thousands at a
time, so that a program of many million steps takes as long as to read it a few times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank.model.document.thresholds import Thresholds
from wavetank.model.native.orders import find, first_come, narrow, tally, translated
from wavetank.model.programs.loops import Loop, Node, compress, match_length
from wavetank.trace.schema import BoolArray, Int64Array

_LONGEST_STRIDE = 1 << 12  # steps that are passed over where nothing recurs again and again
_REACH = 1 << 13  # how far ahead a recurrence is looked for; now and then to the end


Numbers = npt.NDArray[Any]
"""Of steps, not below 0."""


@dataclass(frozen=True, eq=False)
class IrregularOrder:
    """Numbers of steps that alternate without a repeating order."""

    numbers: Numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IrregularOrder) and np.array_equal(self.numbers, other.numbers)

    def __hash__(self) -> int:
        return hash((len(self.numbers), self.numbers[:32].tobytes()))


def with_irregular_orders(
    nodes: Sequence[Node], may_alternate: BoolArray, thresholds: Thresholds
) -> list[Node]:
    """Nodes with their long stretches of numbers as loops and irregular orders.

    Args:
        nodes: numbers, loops that are known already, and arrays of numbers.
        may_alternate: by number, whether the step may be part of an irregular order.
        thresholds: what is a long program, and what an irregular order.
    """
    found: list[Node] = []
    stretch: list[Numbers] = []
    single: list[int] = []

    def close() -> None:
        if single:
            stretch.append(np.array(single, dtype=np.int64))
            single.clear()
        if stretch:
            whole = stretch[0] if len(stretch) == 1 else np.concatenate(stretch)
            found.extend(nodes_of(whole, may_alternate, thresholds))
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


def nodes_of(numbers: Numbers, may_alternate: BoolArray, thresholds: Thresholds) -> list[Node]:
    """Loops, irregular orders and single numbers of a stretch."""
    if len(numbers) <= thresholds.short_program:
        plain: list[Node] = numbers.tolist()
        return plain
    found: list[Node] = []
    position = 0
    for low, period, times in _loops(numbers, thresholds.recurring_steps):
        found += _loose(numbers[position:low], may_alternate, thresholds)
        body = numbers[low : low + period]
        nodes = nodes_of(body, may_alternate, thresholds)
        found.append(Loop(times, compress(nodes, thresholds.loop_candidates)))
        position = low + period * times
    return found + _loose(numbers[position:], may_alternate, thresholds)


def _loose(numbers: Numbers, may_alternate: BoolArray, thresholds: Thresholds) -> list[Node]:
    """A stretch without long loops: irregular orders of what may be part of one."""
    if len(numbers) < thresholds.mix_steps:
        plain: list[Node] = numbers.tolist()
        return plain
    counts = tally(numbers, int(numbers.max()) + 1)
    if may_alternate[np.flatnonzero(counts)].all():
        return (
            [IrregularOrder(numbers)]
            if _is_irregular_order(counts, thresholds)
            else numbers.tolist()
        )
    can = may_alternate.take(numbers)
    edges = np.flatnonzero(np.diff(can, prepend=not can[0], append=not can[-1]))
    found: list[Node] = []
    for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = numbers[a:b]
        if can[a] and _is_irregular_order(tally(part, len(counts)), thresholds):
            found.append(IrregularOrder(part))
        else:
            found += part.tolist()
    return found


def _is_irregular_order(counts: Int64Array, limits: Thresholds) -> bool:
    """Whether so many of each of some steps are an irregular order, not single steps."""
    n = int(counts.sum())
    n_different = int(np.count_nonzero(counts))
    if n >= limits.mix_any_steps:
        return True
    return n >= limits.mix_steps and n_different * limits.mix_recurrences <= n


def _loops(numbers: Numbers, recurring: int) -> Iterator[tuple[int, int, int]]:
    """Where a body begins to recur, its length, and how often it comes; from left to right."""
    n = len(numbers)
    most = int(numbers.max())
    short = numbers.astype(narrow(most), copy=False)
    position = free = probes = 0
    stride = recurring
    while n - position >= 2 * recurring:
        probes += 1
        # At place 1, 4, 16, ... as far as it takes.
        far = probes & (probes - 1) == 0 and probes.bit_length() % 2 == 1
        reach = n if far else min(n, position + _REACH)
        at = find(short, position, recurring, position + 1, reach)
        period = at - position
        matched = match_length(short, position, period) if at >= 0 else 0
        if at >= 0 and matched >= period:
            before = short[free:position][::-1] == short[free + period : position + period][::-1]
            low = position - (len(before) if before.all() else int(np.argmin(before)))
            times = (position - low + matched) // period + 1
            yield low, period, times
            position = free = low + period * times
            stride = recurring
            continue
        position += stride
        stride = min(2 * stride, _LONGEST_STRIDE)


def in_order(order: IrregularOrder) -> tuple[Int64Array, Numbers]:
    """The different numbers of an irregular order as they first come, and for each place which of them it is."""
    counts = tally(order.numbers, int(order.numbers.max()) + 1)
    different = first_come(order.numbers, counts)
    width = np.uint8 if len(different) <= 256 else np.uint32
    place = np.zeros(len(counts), dtype=np.uint32)
    place[different] = np.arange(len(different))
    return different, translated(order.numbers, place, width)
