"""File types and lists of operations as functions of the number of processes and the rank.

Reads the pieces of each rank of a group at several process counts. Leaves one function for all of them: the same pieces
everywhere; nests whose starts, lengths, counts and strides are functions of their own; or blocks of one array, divided
along each dimension, of which each rank has one by its place in a grid, or several by a diagonal
multi-partition (NPB BT: make_set.f). What is left is checked against every piece that was traced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate

from wavetank.model.scaling.functions.array_blocks import ByCount, Ranks, array_ways
from wavetank.model.scaling.functions.nested_strides import (
    Nest,
    Pieces,
    PiecesFunction,
    nests,
    unnested,
)
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.scaling.functions.rank_functions import (
    At,
    Column,
    Feature,
    RankFunction,
    fit_column,
)


def fit_pieces(by_count: ByCount, ranks: Ranks, joins: bool) -> PiecesFunction:
    """The function that gives all pieces.

    Args:
        by_count: for each process count the pieces of the group's ranks, in ascending order of ranks.
        ranks: the group's ranks.
        joins: whether pieces that follow on each other count as one, as in decoded file types.

    Raises:
        NoFunctionError: none does; says why.
    """
    if len(by_count) < 2:
        raise NoFunctionError("one run alone has it")
    everything = [pieces for of_ranks in by_count.values() for pieces in of_ranks]
    if all(pieces.same(everything[0]) for pieces in everything):
        return PiecesFunction(
            ("the same in all runs",),
            len(by_count) - 1,
            lambda at: [everything[0]] * len(at.ranks),
        )
    joins = joins and all(len(pieces.joined()) == len(pieces) for pieces in everything)
    reasons: list[str] = []
    for way in (_nested, array_ways):
        try:
            for found in way(by_count, ranks, joins):
                kept = replace(found, of=lru_cache(maxsize=4)(found.of))  # sizes ask for it too
                if _gives(kept, by_count, ranks):
                    return kept
        except NoFunctionError as error:
            reasons.append(str(error))
    raise NoFunctionError(
        "; ".join(dict.fromkeys(reasons))
        or "its pieces are no blocks of an array that wavetank knows"
    )


def _gives(found: PiecesFunction, by_count: ByCount, ranks: Ranks) -> bool:
    try:
        return all(
            a.same(b)
            for n, of_ranks in by_count.items()
            for a, b in zip(found.of(At(n, tuple(ranks[n]))), of_ranks, strict=True)
        )
    except NoFunctionError:
        return False


# --- nests ----------------------------------------------------------------------------------------


def _nested(by_count: ByCount, ranks: Ranks, joins: bool) -> Iterator[PiecesFunction]:
    """As many nests of as many levels on all ranks."""
    found = {n: [nests(pieces) for pieces in of_ranks] for n, of_ranks in by_count.items()}
    forms = {
        None if one is None else tuple(len(nest.levels) for nest in one)
        for of_ranks in found.values()
        for one in of_ranks
    }
    form = next(iter(forms))
    if len(forms) > 1 or form is None or not form:
        return
    rows = {n: [_numbers(one or ()) for one in of_ranks] for n, of_ranks in found.items()}
    features: list[Feature] = []
    columns: list[RankFunction] = []
    labels = [
        (number, label) for number, n_levels in enumerate(form) for label in _labels(n_levels)
    ]
    texts = []
    for place, (number, label) in enumerate(labels):
        column: Column = {n: [row[place] for row in of_ranks] for n, of_ranks in rows.items()}
        try:
            function = fit_column(column, ranks, features)
        except NoFunctionError as error:
            raise NoFunctionError(f"{label} of its pieces: {error}") from error
        columns.append(function)
        where = f" of part {number + 1}" if len(form) > 1 else ""
        texts.append(f"{label}{where} = {function.text}")
        if function.varies:
            features += features_of(f"{label}{where}", column, function)

    def of(at: At) -> list[Pieces]:
        values = [function.of(at) for function in columns]
        made = [
            unnested(_nests(form, [column[i] for column in values])) for i in range(len(at.ranks))
        ]
        return [pieces.joined() for pieces in made] if joins else made

    yield PiecesFunction(tuple(texts), min(function.n_checks for function in columns), of)


def features_of(name: str, column: Column, function: RankFunction) -> list[Feature]:
    """A quantity that was fitted, and its sum over the ranks before, for others to be proportional to."""
    sums = {n: [0, *accumulate(values)][:-1] for n, values in column.items()}
    return [
        Feature(name, column, function.of),
        Feature(
            f"sum of {name} of the ranks before",
            sums,
            lambda at: [0, *accumulate(function.of(at))][:-1],
        ),
    ]


def _labels(n_levels: int) -> list[str]:
    levels = [
        f"{name} {level + 1}" if n_levels > 1 else name
        for level in range(n_levels)
        for name in ("count", "stride")
    ]
    return ["length", *levels, "start"]


def _numbers(found: Sequence[Nest]) -> list[int]:
    return [
        number
        for nest in found
        for number in (
            nest.length,
            *(value for level in nest.levels for value in level),
            nest.start,
        )
    ]


def _nests(form: Sequence[int], numbers: Sequence[int]) -> list[Nest]:
    found = []
    given = iter(numbers)
    for n_levels in form:
        length = next(given)
        levels = tuple((next(given), next(given)) for _ in range(n_levels))
        if length < 0 or any(count < 1 for count, _ in levels):
            raise NoFunctionError("there are no pieces at this np")
        found.append(Nest(next(given), length, levels))
    return found
