"""Blocks of a chunk: rows for loops, irregular stretches and interleavings, and which operations they stand for.

A file of its own: the passes over loops and over irregular stretches add to it, and neither knows of the other.
"""

from __future__ import annotations

import numpy as np

from wavetank.model.compression.folded_table import Folded
from wavetank.trace.schema import BoolArray, Int64Array


class Blocks:
    """Rows of one chunk's blocks, with the places of their first operations.

    Attributes:
        covered: by operation, whether a block stands for it.
    """

    def __init__(self, n: int) -> None:
        self.covered: BoolArray = np.zeros(n, dtype=bool)
        self._rows: list[Folded] = []
        self._at: list[Int64Array] = []

    def add(self, rows: Folded, at: Int64Array) -> None:
        """Rows, and the place of each one's first operation. Who adds them marks what they cover."""
        self._rows.append(rows)
        self._at.append(at)

    def all(self) -> tuple[list[Folded], Int64Array, BoolArray] | None:
        """The rows of each block, the place of each row's first operation, and what they cover; None without any."""
        return (self._rows, np.concatenate(self._at), self.covered) if self._rows else None
