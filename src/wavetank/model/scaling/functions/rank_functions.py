"""One number of many ranks in several runs, as an exact function of the number of processes and the rank.

Reads a column of values for each process count, a value for each rank of a group; leaves a function that gives all of
them: the same for all ranks, linear in the rank, in another known quantity or in the rank's place in a grid, or
the sizes or starts of blocks into which a total is divided. Coefficients are functions of np.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import gcd

from wavetank.model.scaling.functions.process_functions import (
    Candidates,
    NoFunctionError,
    candidates,
    few_runs,
    value_at,
    values_text,
    whole_at,
)

Column = Mapping[int, Sequence[int]]
"""By process count, values in the ascending order of what they are of: ranks, or parts."""


def _first(total: int, parts: int) -> list[int]:
    return [total // parts + (part < total % parts) for part in range(parts)]


def _last(total: int, parts: int) -> list[int]:
    return _first(total, parts)[::-1]


def _ceil(total: int, parts: int) -> list[int]:
    block = -(-total // parts)
    return [max(0, min(block, total - part * block)) for part in range(parts)]


def _rest_last(total: int, parts: int) -> list[int]:
    return [total // parts] * (parts - 1) + [total // parts + total % parts]


def _spread(total: int, parts: int) -> list[int]:
    return [(part + 1) * total // parts - part * total // parts for part in range(parts)]


RULES: dict[str, Callable[[int, int], list[int]]] = {
    "the first {rest} parts one more": _first,
    "the last {rest} parts one more": _last,
    "blocks of ceil({total} / {parts}), the last parts what is left": _ceil,
    "the last part takes the rest": _rest_last,
    "part i from floor(i * {total} / {parts})": _spread,
}
"""Ways to divide a total into parts: sizes by total and number of parts."""


def rule_text(rule: str, total: str, parts: str) -> str:
    """A rule in words."""
    return rule.format(total=total, parts=parts, rest=f"{total} mod {parts}")


def units(column: Column) -> list[int]:
    """Sizes of which the values may be multiples: what they have in common, and its parts."""
    common = gcd(*(value for values in column.values() for value in values))
    steps = {max(values) - min(values) for values in column.values()} - {0}
    found = [
        unit for unit in sorted(steps | {common, 1}, reverse=True) if unit and common % unit == 0
    ]
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Division:
    """A total in units, divided into parts by a rule."""

    rule: str
    unit: int
    total: Candidates  # units

    def sizes(self, n: int, parts: int) -> list[int]:
        """Sizes of the parts at ``n`` processes."""
        total = whole_at(self.total, n, "a total")
        return [self.unit * size for size in RULES[self.rule](total, parts)]

    def text(self, parts: str) -> str:
        """What is divided and how."""
        unit = "" if self.unit == 1 else f"{self.unit} * "
        total = str(self.total[0])
        return f"{unit}block of {total} in {parts} parts ({rule_text(self.rule, total, parts)})"


def divisions(column: Column) -> list[Division]:
    """Every way to divide a total that gives these sizes of parts."""
    found = []
    for unit in units(column):
        totals = {n: Fraction(sum(values), unit) for n, values in column.items()}
        total = candidates(totals)
        if not total:
            continue
        for rule, sizes in RULES.items():
            if all(
                totals[n].denominator == 1
                and [unit * size for size in sizes(totals[n].numerator, len(values))]
                == list(values)
                for n, values in column.items()
            ):
                found.append(Division(rule, unit, total))
    return found


def agreed(found: Sequence[Division], n: int, parts: int) -> list[int]:
    """Sizes that all divisions give.

    Raises:
        NoFunctionError: they differ: the traced runs do not tell which one it is.
    """
    sizes: dict[tuple[int, ...], Division] = {}
    for division in found:
        sizes.setdefault(tuple(division.sizes(n, parts)), division)
    if len(sizes) > 1:
        told = " or ".join(division.text(str(parts)) for division in sizes.values())
        raise NoFunctionError(
            f"the traced runs do not tell how {parts} parts are made: {told}. Trace an np that does not divide evenly"
        )
    return list(next(iter(sizes)))


@dataclass(frozen=True)
class At:
    """Where a function is asked for: the process count and the ranks of the group there."""

    n: int
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class RankFunction:
    """Values for all ranks of a group at a process count."""

    text: str
    n_checks: int  # runs more than the function of np has parameters, of the least checked part
    of: Callable[[At], list[int]]
    varies: bool  # with the rank


@dataclass(frozen=True)
class Feature:
    """A quantity of each rank that others may be proportional to."""

    name: str
    values: Column
    of: Callable[[At], list[int]]


@dataclass(frozen=True)
class Grid:
    """Process grids: the places of ranks 0, 1, 2 ... in them, the last coordinate changing fastest."""

    names: tuple[str, ...]
    shape: Callable[[int], tuple[int, ...]]

    def digits(self, n: int, index: int) -> tuple[int, ...]:
        """Coordinates of the ``index``-th rank."""
        found = []
        for size in reversed(self.shape(n)):
            index, digit = divmod(index, size)
            found.append(digit)
        return tuple(reversed(found))


def balanced(n: int, n_dims: int) -> tuple[int, ...]:
    """Factors of n as near to each other as can be, the largest first: MPI_Dims_create."""
    if n_dims == 1:
        return (n,)
    options = []
    for first in range(1, n + 1):
        if n % first == 0:
            rest = balanced(n // first, n_dims - 1)
            options.append(tuple(sorted((first, *rest), reverse=True)))
    return min(options, key=lambda sizes: (sizes[0] - sizes[-1], sizes))


GRIDS = (
    Grid(("y", "x"), lambda n: balanced(n, 2)),
    Grid(("z", "y", "x"), lambda n: balanced(n, 3)),
)


def fit_column(
    column: Column, ranks: Mapping[int, Sequence[int]], features: Sequence[Feature] = ()
) -> RankFunction:
    """The simplest function that gives every value.

    Args:
        column: the values; process counts at which they are not known are left out.
        ranks: the group's ranks by process count.
        features: other quantities of the same ranks, in the order in which they are tried.

    Raises:
        NoFunctionError: none fits, or fewer runs than would check one; says why.
    """
    ranks = {n: ranks[n] for n in column}
    if len(column) < 2:
        raise NoFunctionError(f"one run alone has it ({_sample(column)})")
    for way in _ways(column, ranks, features):
        if way is not None:
            return way
    raise NoFunctionError(
        f"no function that wavetank knows gives {_sample(column)}{few_runs(len(column))}"
    )


def _sample(column: Column) -> str:
    return values_text(
        {
            n: values[0] if len(set(values)) == 1 else f"{min(values)} to {max(values)} by rank"
            for n, values in column.items()
        }
    )


def _ways(
    column: Column, ranks: Mapping[int, Sequence[int]], features: Sequence[Feature]
) -> Iterator[RankFunction | None]:
    yield same_for_all(column)
    yield _linear(column, Feature("rank", ranks, lambda at: list(at.ranks)))
    for feature in features:
        yield _proportional(column, feature)
    index = {n: range(len(values)) for n, values in column.items()}
    yield _blocks(column)
    for feature in features:
        yield _linear(column, feature)
    if all(tuple(ranks[n]) == tuple(index[n]) for n in column):
        for grid in GRIDS:
            yield _on_grid(column, grid)
    yield _starts(column)


# --- one way each -------------------------------------------------------------------------------


def _checks(column: Mapping[int, object], found: Candidates) -> int:
    return len(column) - found[0].n_parameters


def same_for_all(column: Column) -> RankFunction | None:
    """All ranks of a run have one value."""
    if any(len(set(values)) != 1 for values in column.values()):
        return None
    found = candidates({n: values[0] for n, values in column.items()})
    if not found:
        return None
    text = str(found[0])
    return RankFunction(
        text,
        _checks(column, found),
        lambda at: [whole_at(found, at.n, "it")] * len(at.ranks),
        False,
    )


def _proportional(column: Column, feature: Feature) -> RankFunction | None:
    """k(np) times a feature."""
    factors: dict[int, Fraction] = {}
    for n, values in column.items():
        found = {
            Fraction(value, of) if of else None
            for value, of in zip(values, feature.values[n], strict=True)
            if (value, of) != (0, 0)
        }
        if len(found) > 1 or None in found:
            return None
        factors[n] = next(iter(found)) or Fraction(0) if found else Fraction(0)
    factor = candidates(factors)
    if not factor:
        return None
    text = "" if str(factor[0]) == "1" else f"{_inside(factor)} * "

    def of(at: At) -> list[int]:
        k = _exact(factor, at.n)
        return [_whole(k * value, at.n) for value in feature.of(at)]

    return RankFunction(text + feature.name, _checks(column, factor), of, True)


def _inside(found: Candidates) -> str:
    text = str(found[0])
    return f"({text})" if " " in text else text


def _exact(found: Candidates, n: int) -> Fraction:
    return value_at(found, n, "a factor")


def _whole(value: Fraction | int, n: int) -> int:
    if Fraction(value).denominator != 1:
        raise NoFunctionError(f"it is no whole number at np {n}. Choose an np at which it is")
    return int(value)


def _linear(column: Column, feature: Feature) -> RankFunction | None:
    """a(np) times a feature plus c(np)."""
    slopes: dict[int, Fraction] = {}
    for n, values in column.items():
        of = feature.values[n]
        low, high = min(range(len(of)), key=of.__getitem__), max(range(len(of)), key=of.__getitem__)
        if of[low] != of[high]:  # of one rank a slope is not told
            slopes[n] = Fraction(values[high] - values[low], of[high] - of[low])
    a = candidates(slopes)
    if not a:
        return None
    starts: dict[int, Fraction] = {}
    for n, values in column.items():
        try:
            slope = slopes[n] if n in slopes else value_at(a, n, "a factor")
        except NoFunctionError:
            return None
        starts[n] = values[0] - slope * feature.values[n][0]
        if any(
            slope * x + starts[n] != value
            for x, value in zip(feature.values[n], values, strict=True)
        ):
            return None
    c = candidates(starts)
    if not c:
        return None
    text = f"{_inside(a)} * {feature.name}".removeprefix("1 * ")
    if str(c[0]) != "0":
        text += f" + {c[0]}"

    def of_at(at: At) -> list[int]:
        slope, start = _exact(a, at.n), _exact(c, at.n)
        return [_whole(slope * x + start, at.n) for x in feature.of(at)]

    return RankFunction(text, min(_checks(slopes, a), _checks(column, c)), of_at, True)


# --- blocks ---------------------------------------------------------------------------------------


def _blocks(column: Column) -> RankFunction | None:
    """Sizes of the blocks of a total, in the order of the group's ranks."""
    found = divisions(column)
    if not found:
        return None
    return RankFunction(
        found[0].text("np"),
        _checks(column, found[0].total),
        lambda at: agreed(found, at.n, len(at.ranks)),
        True,
    )


def _starts(column: Column) -> RankFunction | None:
    """Starts of such blocks, from a first one that is a function of np. The last block's size is not in the column."""
    if any(len(values) < 2 for values in column.values()):
        return None
    sizes = {n: [b - a for a, b in pairwise(values)] for n, values in column.items()}
    first = candidates({n: values[0] for n, values in column.items()})
    if not first or any(size < 0 for of in sizes.values() for size in of):
        return None
    found: list[Division] = []
    for total in _totals(sizes):
        found += divisions({n: [*of, total - sum(of)] for n, of in sizes.items()})
    if not found:
        return None

    def of(at: At) -> list[int]:
        start = whole_at(first, at.n, "the first start")
        return [start + s for s in accumulate(agreed(found, at.n, len(at.ranks))[:-1], initial=0)]

    return RankFunction(
        f"start of {found[0].text('np')} + {first[0]}".removesuffix(" + 0"),
        min(_checks(column, found[0].total), _checks(column, first)),
        of,
        True,
    )


def _totals(sizes: Mapping[int, list[int]]) -> list[int]:
    """What the blocks may come to in all runs, if the last one is as large as another, or less by what others differ by."""
    steps = {1, *(max(of) - min(of) for of in sizes.values())}
    totals = [
        {sum(of) + last - step for last in {*of, max(of)} for step in (0, *steps) if last >= step}
        for of in sizes.values()
    ]
    return sorted(set.intersection(*totals))


# --- grids ----------------------------------------------------------------------------------------


def _on_grid(column: Column, grid: Grid) -> RankFunction | None:
    """The sum of a function of each coordinate."""
    axes: list[dict[int, list[int]]] = [{} for _ in grid.names]
    for n, values in column.items():
        shape = grid.shape(n)
        if len(values) != n:
            return None
        strides = [1]
        for size in reversed(shape[1:]):
            strides.insert(0, strides[0] * size)
        for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
            if size > 1:
                axes[axis][n] = [values[i * stride] - values[0] for i in range(size)]
        for index, value in enumerate(values):
            digits = grid.digits(n, index)
            parts = (axes[d][n][digit] for d, digit in enumerate(digits) if digit)
            if value != values[0] + sum(parts):
                return None
    base = candidates({n: values[0] for n, values in column.items()})
    functions = [_axis(axis) for axis in axes]
    if not base or any(function is None for function in functions):
        return None
    known = [function for function in functions if function is not None]

    def of(at: At) -> list[int]:
        start = whole_at(base, at.n, "the first rank's value")
        shape = grid.shape(at.n)
        along = [
            function.of(At(at.n, tuple(range(size))))
            for function, size in zip(known, shape, strict=True)
        ]
        return [
            start
            + sum(axis[digit] for axis, digit in zip(along, grid.digits(at.n, i), strict=True))
            for i in range(len(at.ranks))
        ]

    terms = [
        function.text.replace("rank", name).replace(" in np parts", f" along {name}")
        for function, name in zip(known, grid.names, strict=True)
        if function.text != "0"
    ]
    text = " + ".join([*terms, *([] if str(base[0]) == "0" else [str(base[0])])])
    return RankFunction(text, min(function.n_checks for function in known), of, True)


def _axis(axis: dict[int, list[int]]) -> RankFunction | None:
    if len(axis) < 2:
        return None
    index = {n: range(len(values)) for n, values in axis.items()}
    return (
        same_for_all(axis)
        or _linear(axis, Feature("rank", index, lambda at: list(at.ranks)))
        or _starts(axis)
    )
