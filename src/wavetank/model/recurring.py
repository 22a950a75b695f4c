"""What recurs in a chunk of operations: periods, how far they go, and parts that stay alike."""

from __future__ import annotations

import numpy as np

from wavetank.model.folded import BoolArray
from wavetank.model.rules import Rules
from wavetank.trace.schema import Int64Array

HEAD = 32
"""Operations that must recur."""


def find_period(window: np.ndarray, most: int) -> int:
    """After how many entries the window repeats its beginning; 0 if it does not."""
    n = len(window)
    text = window.tobytes()
    head = text[: 8 * min(HEAD, n // 2)]
    at = text.find(head, 8)
    while at > 0:
        period, rest = divmod(at, 8)
        if not rest:
            if period > most:
                return 0
            if text[at:] == text[: len(text) - at]:
                return period
        at = text.find(head, at + 1)
    return 0


def find_matched(signature: np.ndarray, position: int, high: int, period: int) -> int:
    """How many operations from ``position`` on equal the one ``period`` later."""
    stop, at, block = high - period, position, 256
    while at < stop:
        end = min(at + block, stop)
        equal = signature[at:end] == signature[at + period : end + period]
        if not equal.all():
            return at - position + int(np.argmin(equal))
        at, block = end, block * 8
    return stop - position


def find_equal_runs(goes_on: BoolArray, shortest: int) -> list[tuple[int, int]]:
    """Ranges of at least ``shortest`` repetitions with equal steps; ``goes_on[i]``: step i + 1 is as step i."""
    start = np.flatnonzero(np.append(True, ~goes_on))
    n_steps = np.diff(start, append=len(goes_on) + 1)
    long = n_steps + 1 >= shortest
    start, n_steps = start[long], n_steps[long]
    parts: list[tuple[int, int]] = []
    for begin, steps in zip(start.tolist(), n_steps.tolist(), strict=True):
        # A repetition between two parts belongs to the first of them.
        first = begin + (bool(parts) and parts[-1][1] == begin + 1)
        if begin + steps + 1 - first >= shortest:
            parts.append((first, begin + steps + 1))
    return parts


def find_parts_by_size(size: Int64Array, rules: Rules, regular: int) -> list[int]:
    """Bounds of parts whose sizes are similar throughout, and of what lies between such parts."""
    alike = np.concatenate([[False], rules.similar(size[:-1], size[1:]), [False]])
    edges = np.flatnonzero(alike[1:] != alike[:-1])
    first, last = edges[0::2], edges[1::2]  # operations from one to the other are similar
    long = last - first + 1 >= regular
    bounds = np.concatenate([[0], first[long], last[long] + 1, [len(size)]])
    return np.unique(bounds).tolist()  # type: ignore[no-any-return]
