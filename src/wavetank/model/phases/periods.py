"""Finds the patterns of several operations that a sequence of operations repeats, one after the other.

Reads what must be equal (symbols) and what must be similar (sizes) in repetitions; leaves ranges with
their period. Columns shifted by each period are compared, a window at a time, so that
memory does not grow with the sequence.

Why not a suffix array or a grammar, which find all repetitions of a sequence: they need symbols that are equal or not. Sizes
here are similar or not, which is no such relation (``patterns``). A comparison with what lies a period later asks each
pair of operations.

Why a bounded period (``Thresholds.pattern_operations``): each period is one more look at all operations. A longer body is
a pattern with runs in it (``nested_patterns``), or a loop of the program.

Why the one that covers most, and not the shortest: read read write, again and again, begins with two equal reads. The shortest
pattern would take these two and leave the write alone, each time anew.

Why from left to right, and not the best cover of all: a pattern begins where the program begins it, and what is found further on
changes nothing before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wavetank.model.rules import Rules
from wavetank.trace.schema import Int64Array

_FIRST_WINDOW, _LAST_WINDOW = 1 << 8, 1 << 14  # operations

Found = list[tuple[int, int, int]]  # low, high, period


@dataclass(frozen=True)
class _Window:
    """For each operation from ``start`` on: what the best pattern that begins there covers, and its period.

    ``open``: a match runs on beyond the window, so that more must be looked at.
    """

    start: int
    covered: list[int]
    period: list[int]
    open: list[bool]


def find_periods(symbols: Int64Array, sizes: Int64Array, rules: Rules, most: int) -> Found | None:
    """From left to right the pattern that covers most, the shortest of those; None if more than ``most``."""
    n = len(symbols)
    found: Found = []
    low, length = 0, _FIRST_WINDOW
    window = _Window(0, [], [], [])
    while low < n:
        if len(found) > most:
            return None
        at = low - window.start
        if at >= len(window.covered):
            window = _look(symbols, sizes, low, min(low + length, n), rules)
            length = min(2 * length, _LAST_WINDOW)
            at = 0
        covered, period = window.covered[at], window.period[at]
        if window.open[at]:
            covered, period = _best_at(symbols, sizes, low, rules)
        found.append((low, low + covered, period))
        low += covered
    return found if len(found) <= most else None


def find_each(
    symbols: Int64Array, sizes: Int64Array, edges: Int64Array, rules: Rules, most: int
) -> list[Found | None]:
    """``find_periods`` of many short sequences, by few calls of numpy for all of them.

    Args:
        symbols: of all sequences, in sequence; each from 0 to 2**40 - 1.
        sizes: likewise.
        edges: where sequences begin, and the end of the last one.
        rules: what is similar.
        most: patterns of a sequence.
    """
    sequence = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    window = _look(symbols + (sequence << 40), sizes, 0, len(symbols), rules)
    return [_walk(window, low, high, most) for low, high in pairwise(edges.tolist())]


def _walk(window: _Window, low: int, high: int, most: int) -> Found | None:
    """From left to right the best patterns of a sequence that lies in a window without open matches."""
    found: Found = []
    at = low
    while at < high:
        if len(found) == most:
            return None
        covered = window.covered[at]
        found.append((at - low, at - low + covered, window.period[at]))
        at += covered
    return found


def _look(symbols: Int64Array, sizes: Int64Array, start: int, stop: int, rules: Rules) -> _Window:
    """The best pattern at each of operations [start, stop)."""
    n = len(symbols)
    index = np.arange(start, stop)
    best = np.ones(len(index), dtype=np.int64)
    periods = np.ones(len(index), dtype=np.int64)
    is_open = np.zeros(len(index), dtype=bool)
    run = best
    limits = rules.thresholds
    for period in range(1, limits.pattern_operations + 1):
        limit = min(stop, n - period)  # operations below it have one that is a period later
        if limit <= start:
            break
        first, second = slice(start, limit), slice(start + period, limit + period)
        equal = (symbols[first] == symbols[second]) & rules.similar(sizes[first], sizes[second])
        m = limit - start
        ends = np.minimum.accumulate(np.where(equal, limit, index[:m])[::-1])[::-1]
        matched = np.zeros(len(index), dtype=np.int64)
        matched[:m] = ends - index[:m]
        if limit < n - period:
            is_open[:m] |= ends == limit
        if period == 1:
            best = 1 + matched
            run = best
            continue
        covered = period * (matched // period + 1)
        better = (matched >= period) & (covered > best) & (run < limits.run_operations)
        best = np.where(better, covered, best)
        periods = np.where(better, period, periods)
    return _Window(start, best.tolist(), periods.tolist(), is_open.tolist())


def _best_at(symbols: Int64Array, sizes: Int64Array, low: int, rules: Rules) -> tuple[int, int]:
    """What the best pattern at one operation covers, and its period, however far it goes."""
    best, period = 1 + _match_length(symbols, sizes, low, 1, rules), 1
    limits = rules.thresholds
    if best < limits.run_operations:
        for candidate in range(2, min(limits.pattern_operations, (len(symbols) - low) // 2) + 1):
            length = _match_length(symbols, sizes, low, candidate, rules)
            covered = candidate * (length // candidate + 1)
            if length >= candidate and covered > best:
                best, period = covered, candidate
    return best, period


def _match_length(
    symbols: Int64Array, sizes: Int64Array, low: int, period: int, rules: Rules
) -> int:
    """How many operations from ``low`` on are matched by the one ``period`` later."""
    n = len(symbols) - period
    position, block = low, 4
    while position < n:
        stop = min(position + block, n)
        matches = (
            symbols[position:stop] == symbols[position + period : stop + period]
        ) & rules.similar(sizes[position:stop], sizes[position + period : stop + period])
        if not matches.all():
            return position - low + int(np.argmin(matches))
        position, block = stop, block * 4
    return max(n - low, 0)
