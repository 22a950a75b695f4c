"""Blocks of one array, divided along each dimension, as functions of the number of processes and the rank.

Reads the pieces of each rank at several process counts; leaves the division of each dimension, the process grid and
the rank's place in it. Of several that fit, all must agree at the process count that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations, product
from math import gcd, prod

import numpy as np

from wavetank.model.scaling.functions.nested_strides import (
    Boxes,
    Pieces,
    PiecesFunction,
    boxes,
    rows_of,
    stride_chains,
)
from wavetank.model.scaling.functions.process_functions import (
    Candidates,
    NoFunctionError,
    candidates,
    few_runs,
    values_text,
    whole_at,
)
from wavetank.model.scaling.functions.rank_functions import (
    At,
    Division,
    agreed,
    balanced,
    divisions,
    rule_text,
)
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


ByCount = Mapping[int, Sequence[Pieces]]
Ranks = Mapping[int, Sequence[int]]


def array_ways(by_count: ByCount, ranks: Ranks, joins: bool) -> Iterator[PiecesFunction]:
    """Functions for the pieces as blocks of an array, the arrays of most dimensions first."""
    reasons: list[str] = []
    for chain in stride_chains(by_count):
        try:
            yield _Array(by_count, chain, joins).function()
        except NoFunctionError as error:
            reasons.append(str(error))
    if reasons:
        raise NoFunctionError(reasons[0])


@dataclass(frozen=True)
class _Dimension:
    """One dimension of the array and how it is divided."""

    divisions: tuple[Division, ...]
    parts: dict[int, int]

    def low_high(self, n: int, parts: int) -> Int64Array:
        """Bounds of its parts, shape (parts, 2)."""
        ends = [0, *accumulate(agreed(self.divisions, n, parts))]
        return np.array([ends[:-1], ends[1:]], dtype=np.int64).T


class _Array:
    """The blocks of one array by rank."""

    def __init__(self, by_count: ByCount, strides: tuple[int, ...], joins: bool) -> None:
        self._strides, self._joins = strides, joins
        self._boxes: dict[int, list[Boxes]] = {}
        for n, of_ranks in by_count.items():
            self._boxes[n] = []
            for pieces in of_ranks:
                found = boxes(pieces, strides)
                if found is None:
                    raise NoFunctionError("it has too many pieces to look at")
                if self._boxes[n] and len(found.low) != len(self._boxes[n][0].low):
                    raise NoFunctionError("ranks have different numbers of blocks of it")
                self._boxes[n].append(found)
        self._n_boxes = {n: len(found[0].low) for n, found in self._boxes.items()}
        if any(number > 4 * n + 4 for n, number in self._n_boxes.items()):
            raise NoFunctionError("its pieces are no blocks of an array that wavetank knows")
        self._dims = [self._dimension(dim) for dim in range(len(strides) + 1)]
        self._dims[0] = self._like_another(self._dims[0])
        # shape (ranks, boxes, dims): which part of each dimension
        self._parts = {n: self._part_numbers(n) for n in self._boxes}

    def _bounds(self, n: int, dim: int) -> Int64Array:
        pairs = np.concatenate(
            [np.stack([found.low[:, dim], found.high[:, dim]], axis=1) for found in self._boxes[n]]
        )
        return np.unique(pairs, axis=0)

    def _dimension(self, dim: int) -> _Dimension:
        sizes: dict[int, list[int]] = {}
        for n in self._boxes:
            bounds = self._bounds(n, dim)
            if bounds[0, 0] != 0 or (bounds[1:, 0] != bounds[:-1, 1]).any():
                raise NoFunctionError("its blocks overlap, or leave gaps")
            sizes[n] = (bounds[:, 1] - bounds[:, 0]).tolist()
        found = divisions(sizes)
        if dim == 0:
            found += self._finer(sizes, found)
        else:
            found = [division for division in found if division.unit == 1]
        if not found:
            raise NoFunctionError(
                f"the sizes of its blocks follow no rule that wavetank knows ({values_text({n: _few(s) for n, s in sizes.items()})})"
            )
        return _Dimension(tuple(found), {n: len(of) for n, of in sizes.items()})

    def _finer(self, sizes: Mapping[int, list[int]], found: Sequence[Division]) -> list[Division]:
        """Divisions in other units: parts of the common one."""
        common = gcd(*(size for of in sizes.values() for size in of))
        known = {division.unit for division in found}
        smaller = [unit for unit in range(2, min(common, 256) + 1) if common % unit == 0]
        made: list[Division] = []
        for unit in smaller:
            if unit in known:
                continue
            scaled = {n: [size // unit for size in of] for n, of in sizes.items()}
            made += [
                Division(division.rule, unit, division.total)
                for division in divisions(scaled)
                if division.unit == 1
            ]
        return made

    def _like_another(self, first: _Dimension) -> _Dimension:
        """The innermost dimension in the units in which it is divided as another one is, if there are such.

        Its unit in bytes is not in a decoded file type; an array that is as long in its elements as along another
        dimension, and is divided alike in all runs, is taken to be divided alike.
        """
        for other in self._dims[1:]:
            if other.parts != first.parts or set(other.parts.values()) == {1}:
                continue
            of_other = {
                n: np.diff(self._bounds(n, self._dims.index(other)), axis=1)[:, 0]
                for n in self._boxes
            }
            own = {n: np.diff(self._bounds(n, 0), axis=1)[:, 0] for n in self._boxes}
            ratios = {
                ratio
                for n in own
                for ratio in (
                    {0} if (own[n] % of_other[n]).any() else set((own[n] // of_other[n]).tolist())
                )
            }
            if len(ratios) == 1 and (unit := ratios.pop()) > 0:
                return _Dimension(
                    tuple(
                        Division(division.rule, unit, division.total)
                        for division in other.divisions
                        if division.unit == 1
                    ),
                    first.parts,
                )
        return first

    def _part_numbers(self, n: int) -> Int64Array:
        columns = []
        for dim in range(len(self._dims)):
            starts = self._bounds(n, dim)[:, 0]
            low = np.stack([found.low[:, dim] for found in self._boxes[n]])
            columns.append(np.searchsorted(starts, low))
        return np.stack(columns, axis=2)

    def function(self) -> PiecesFunction:
        """The function, if the blocks follow one."""
        whole = candidates(self._n_boxes)
        shape = self._shape()
        place = self._cartesian() if set(self._n_boxes.values()) == {1} else self._diagonal()
        if not whole or not place:
            raise NoFunctionError(
                "which blocks a rank has follows no rule that wavetank knows: "
                + values_text({n: self._shape_text(n) for n in self._boxes})
                + few_runs(len(self._boxes))
            )

        def of(at: At) -> list[Pieces]:
            n_boxes = whole_at(whole, at.n, "the number of blocks", least=1)
            sizes = shape(at.n)
            bounds = [
                dim.low_high(at.n, parts) for dim, parts in zip(self._dims, sizes, strict=True)
            ]
            ways = [way.of(at.n, len(at.ranks), n_boxes, sizes) for way in place]
            if any(not np.array_equal(ways[0], other) for other in ways[1:]):
                raise NoFunctionError(
                    "the traced runs do not tell which blocks of the grid a rank has. Trace another process count"
                )
            made = []
            for own in ways[0]:
                low = np.stack([bounds[d][own[:, d], 0] for d in range(len(sizes))], axis=1)
                high = np.stack([bounds[d][own[:, d], 1] for d in range(len(sizes))], axis=1)
                pieces = rows_of(Boxes(low, high), self._strides)
                pieces = Pieces(pieces.offset[pieces.length > 0], pieces.length[pieces.length > 0])
                made.append(pieces.joined() if self._joins else pieces)
            return made

        return PiecesFunction(self._text(place[0]), len(self._boxes) - 1, of)

    def _shape_text(self, n: int) -> str:
        return "x".join(str(dim.parts[n]) for dim in reversed(self._dims))

    def _shape(self) -> Callable[[int], list[int]]:
        """Parts of each dimension at a process count."""
        found = [candidates(dim.parts) for dim in self._dims]
        counts = list(self._boxes)
        if all(found) and not all(prod(dim.parts[n] for dim in self._dims) == n for n in counts):
            return lambda n: _shape_at(found, n)
        divided = [d for d, dim in enumerate(self._dims) if set(dim.parts.values()) != {1}]
        ways: list[tuple[str, Callable[[int], list[int]]]] = []
        if all(found):
            ways.append(("", lambda n: _shape_at(found, n)))
        for order in permutations(divided):

            def made(n: int, order: tuple[int, ...] = order) -> list[int]:
                sizes = [1] * len(self._dims)
                for dim, size in zip(order, balanced(n, len(order)), strict=True):
                    sizes[dim] = size
                return sizes

            if divided and all(made(n) == [dim.parts[n] for dim in self._dims] for n in counts):
                ways.append(("MPI_Dims_create", made))
        if not ways:
            raise NoFunctionError(
                "the process grid follows no rule that wavetank knows: "
                + values_text({n: self._shape_text(n) for n in counts})
                + few_runs(len(counts))
            )

        def shape(n: int) -> list[int]:
            told = []
            reasons = []
            for _, way in ways:
                try:
                    told.append(way(n))
                except NoFunctionError as error:
                    reasons.append(str(error))
            told = [sizes for sizes in told if prod(sizes) == n]
            if not told:
                raise NoFunctionError(
                    reasons[0]
                    if reasons
                    else f"the process grid of the traced runs has no place for np {n}"
                )
            if any(sizes != told[0] for sizes in told):
                grids = " or ".join("x".join(map(str, reversed(sizes))) for sizes in told)
                raise NoFunctionError(
                    f"the traced runs do not tell the process grid at np {n}: {grids}. Trace another process count"
                )
            return told[0]

        return shape

    def _cartesian(self) -> list[Place]:
        """A block for each rank, by its place in a grid whose dimensions are in some order."""
        divided = [d for d, dim in enumerate(self._dims) if set(dim.parts.values()) != {1}]
        found: list[Place] = []
        for order in permutations(divided):
            way = Cartesian(order, len(self._dims))
            if self._fits(way):
                found.append(way)
        return found

    def _diagonal(self) -> list[Place]:
        """Several blocks for each rank: parts that move on with the block's number, in a square grid of ranks."""
        if any(
            len(of) != number**2
            for of, number in ((self._boxes[n], self._n_boxes[n]) for n in self._boxes)
        ):
            return []
        divided = [d for d, dim in enumerate(self._dims) if set(dim.parts.values()) != {1}]
        of_dims: list[list[tuple[int, ...]]] = []
        for dim in divided:
            terms = [
                term
                for term in product((0, 1, -1), repeat=4)
                if all(
                    np.array_equal(
                        diagonal_parts(term, n, self._n_boxes[n]), self._parts[n][:, :, dim]
                    )
                    for n in self._boxes
                )
            ]
            if not terms:
                return []
            least = sorted(terms, key=lambda term: (sum(map(abs, term)), -sum(term)))
            of_dims.append(least)
        # All that fit count: of a grid of two by two, +1 and -1 are the same.
        return [
            Diagonal(dict(zip(divided, terms, strict=True)), len(self._dims))
            for terms in product(*(of[:4] for of in of_dims))
        ]

    def _fits(self, way: Place) -> bool:
        return all(
            np.array_equal(
                way.of(n, len(self._boxes[n]), 1, [dim.parts[n] for dim in self._dims]), parts
            )
            for n, parts in self._parts.items()
        )

    def _text(self, place: Place) -> tuple[str, ...]:
        lines = [f"blocks of an array with strides {', '.join(map(str, self._strides))} bytes"]
        for d, (dim, name) in enumerate(zip(self._dims, NAMES, strict=False)):
            division = dim.divisions[0]
            unit = f" of {division.unit} bytes" if d == 0 and division.unit > 1 else ""
            total = str(division.total[0])
            if set(dim.parts.values()) == {1}:
                lines.append(f"{name}: {total}{unit}, undivided")
                continue
            parts = candidates(dim.parts)
            number = str(parts[0]) if parts else "as MPI_Dims_create says"
            rule = rule_text(division.rule, total, f"({number})")
            lines.append(f"{name}: {total}{unit} in {number} parts ({rule}), part {place.text(d)}")
        return tuple(lines)


def _few(values: Sequence[int]) -> str:
    text = ", ".join(map(str, values[:6]))
    return f"[{text}, ...]" if len(values) > 6 else f"[{text}]"


def _shape_at(found: Sequence[Candidates], n: int) -> list[int]:
    return [whole_at(one, n, "the parts of a dimension", least=1) for one in found]
