"""Which block of a divided array a rank has: its place in a Cartesian grid, or on the diagonals of a multi-partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.trace.schema import Int64Array

NAMES = ("x", "y", "z", "w", "v")
"""Of an array's dimensions, the innermost first."""


class Place:
    """Which parts of each dimension the ranks' blocks are."""

    def of(self, n: int, n_ranks: int, n_boxes: int, sizes: Sequence[int]) -> Int64Array:
        """Part numbers, shape (ranks, boxes, dims)."""
        raise NotImplementedError

    def text(self, dim: int) -> str:
        """The part along one dimension."""
        raise NotImplementedError


@dataclass(frozen=True)
class Cartesian(Place):
    """Dimensions in the order of ranks, the slowest first."""

    order: tuple[int, ...]
    n_dims: int

    def of(self, n: int, n_ranks: int, n_boxes: int, sizes: Sequence[int]) -> Int64Array:
        """See ``Place``."""
        parts = np.zeros((n_ranks, n_boxes, self.n_dims), dtype=np.int64)
        rest = np.arange(n_ranks)
        for dim in reversed(self.order):
            parts[:, 0, dim] = rest % sizes[dim]
            rest = rest // sizes[dim]
        if n_boxes != 1 or rest.any():
            raise NoFunctionError("there are more ranks than blocks")
        return parts

    def text(self, dim: int) -> str:
        """See ``Place``."""
        faster = self.order[self.order.index(dim) + 1 :]
        below = " / " + " / ".join(f"parts of {NAMES[d]}" for d in faster) if faster else ""
        return f"rank{below}" + ("" if dim == self.order[0] else f" mod parts of {NAMES[dim]}")


@dataclass(frozen=True)
class Diagonal(Place):
    """By dimension, the factors of rank mod q, rank / q and the block's number c, and a constant; all mod q."""

    terms: Mapping[int, tuple[int, ...]]
    n_dims: int

    def of(self, n: int, n_ranks: int, n_boxes: int, sizes: Sequence[int]) -> Int64Array:
        """See ``Place``."""
        if n_boxes**2 != n_ranks:
            raise NoFunctionError("the ranks are no square of the number of blocks")
        parts = np.zeros((n_ranks, n_boxes, self.n_dims), dtype=np.int64)
        for dim, term in self.terms.items():
            parts[:, :, dim] = diagonal_parts(term, n, n_boxes)
        return parts

    def text(self, dim: int) -> str:
        """See ``Place``."""
        names = ("rank mod q", "rank / q", "c", "1")
        told = ""
        for factor, name in zip(self.terms[dim], names, strict=True):
            if factor:
                told += f" {'-' if factor < 0 else '+'} {name}"
        return (
            f"({told.strip().removeprefix('+ ') or '0'}) mod q of the rank's block c, q = sqrt(np)"
        )


def diagonal_parts(term: Sequence[int], n: int, q: int) -> Int64Array:
    """Part numbers by rank and block along one dimension, shape (q * q, q)."""
    ranks, boxes_ = np.arange(q * q)[:, None], np.arange(q)[None, :]
    a, b, c, d = term
    found: Int64Array = (a * (ranks % q) + b * (ranks // q) + c * boxes_ + d) % q
    return found
