"""A rank's program without its loops and irregular orders: what comes after what, as columns.

One order may be written in several ways: as repeated steps, as an irregular order, one by one. Expanded it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.document.program import IrregularOrderStep, RepeatStep, Step
from wavetank.trace.schema import Int64Array

Leaf = Callable[[Step], tuple[int, int] | None]
"""The number that stands for a step, and how often it is done; None for steps that are left out."""


class TooLongError(Exception):
    """A program has more runs than may be, or a step is done more often than 2^63 times."""


@dataclass(frozen=True)
class LaidOut:
    """Runs of equal steps in order; neighbours differ."""

    code: Int64Array  # as ``Leaf`` numbers the steps
    n: Int64Array  # how often one after another

    def __len__(self) -> int:
        return len(self.code)


def lay_out(steps: Sequence[Step], leaf: Leaf, most: int) -> LaidOut:
    """The steps one after another, as runs of equal ones.

    Raises:
        TooLongError: there are more than ``most`` runs, or numbers that no column holds.
    """
    try:
        return _laid_out(steps, leaf, most)
    except OverflowError:
        raise TooLongError from None


def _laid_out(steps: Sequence[Step], leaf: Leaf, most: int) -> LaidOut:
    parts: list[LaidOut] = []
    single: list[tuple[int, int]] = []
    for step in steps:
        if isinstance(step, RepeatStep | IrregularOrderStep):
            parts.append(_of_pairs(single))
            single = []
            parts.append(
                _repeated(step, leaf, most)
                if step.step == "repeat"
                else _in_order(step, leaf, most)
            )
        elif (found := leaf(step)) is not None:
            single.append(found)
    parts.append(_of_pairs(single))
    if len(parts) == 1:
        return _joined(parts[0])
    return _joined(
        LaidOut(np.concatenate([p.code for p in parts]), np.concatenate([p.n for p in parts]))
    )


def _of_pairs(pairs: Sequence[tuple[int, int]]) -> LaidOut:
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return LaidOut(columns[:, 0], columns[:, 1])


def _repeated(step: RepeatStep, leaf: Leaf, most: int) -> LaidOut:
    inner = _laid_out(step.steps, leaf, most)
    if len(inner) == 1:
        return LaidOut(inner.code, inner.n * step.times)
    if len(inner) * step.times > most:
        raise TooLongError
    return LaidOut(np.tile(inner.code, step.times), np.tile(inner.n, step.times))


def _in_order(step: IrregularOrderStep, leaf: Leaf, most: int) -> LaidOut:
    found = [leaf(one) for one in step.steps]
    kept = np.array([one is not None for one in found], dtype=bool)
    each = _of_pairs([one or (0, 0) for one in found])
    order = step.order[kept[step.order]]
    if len(order) > most:
        raise TooLongError
    return LaidOut(each.code[order], each.n[order])


def _joined(runs: LaidOut) -> LaidOut:
    """With equal neighbours as one."""
    if len(runs) < 2:
        return runs
    first = np.flatnonzero(np.append(True, runs.code[1:] != runs.code[:-1]))
    if len(first) == len(runs):
        return runs
    return LaidOut(runs.code[first], np.add.reduceat(runs.n, first))
