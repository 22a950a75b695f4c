"""The phase of a scope, and its file view, as functions of np and the rank.

Reads a phase as all ranks of a scope have it in every run; leaves its functions, each with how many runs check it.
Equal columns and equal views are fitted once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.model import View
from wavetank.model.scaling.behaviour import LocalPhase
from wavetank.model.scaling.functions.datatypes import features_of, fit_pieces
from wavetank.model.scaling.functions.nested_strides import Pieces, PiecesFunction, pieces_of
from wavetank.model.scaling.functions.process_functions import (
    Candidates,
    NoFunctionError,
    candidates,
    value_at,
)
from wavetank.model.scaling.functions.rank_functions import (
    At,
    Column,
    Feature,
    RankFunction,
    fit_column,
)
from wavetank.model.scaling.rank_group import FittedMember, FittedView


@dataclass(frozen=True)
class Scope:
    """A phase of several groups, or of one: its ranks in ascending order, by process count."""

    groups: tuple[int, ...]
    ranks: Mapping[int, tuple[int, ...]]
    phases: Mapping[int, tuple[LocalPhase, ...]]
    views: Mapping[int, tuple[View | None, ...]]

    def column(self, of: Callable[[LocalPhase], int]) -> Column:
        """A number of each rank."""
        return {n: [of(phase) for phase in phases] for n, phases in self.phases.items()}


def runs_of(phase: LocalPhase, member: int) -> RunArrays:
    """The runs of a rank by pattern member, of a phase whose offsets are known."""
    assert phase.runs is not None  # noqa: S101 - the shape says whether offsets are known
    return phase.runs[member]


def is_listed(scope: Scope) -> bool:
    """Whether operations of some rank are at no one distance."""
    return any(
        len(one) != 1 for of in scope.phases.values() for phase in of for one in (phase.runs or ())
    )


def suffix(scope: Scope, member: int) -> str:
    """The number of a pattern member, of several."""
    return f"[{member}]" if len(next(iter(scope.phases.values()))[0].rs) > 1 else ""


def size_of(phase: LocalPhase, member: int) -> int:
    """The request size of a rank by pattern member, bytes; of several, the first."""
    return phase.rs[member] if phase.runs is None else int(phase.runs[member].size[0])


def _mean_size(phase: LocalPhase, member: int) -> Fraction:
    if phase.runs is None:
        return Fraction(phase.rs[member])
    one = phase.runs[member]
    return Fraction(int((one.count * one.size).sum()), int(one.count.sum()))


def operations(runs: RunArrays) -> Pieces:
    """Single operations of runs."""
    count = runs.count
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return Pieces(
        np.repeat(runs.offset, count) + within * np.repeat(runs.disp, count),
        np.repeat(runs.size, count),
    )


def _mean_of(means: Candidates) -> Callable[[At], list[int]]:
    """Sizes that have a mean: the first ranks one byte more where it is no whole number."""

    def of(at: At) -> list[int]:
        total = value_at(means, at.n, "the mean size") * len(at.ranks)
        if total.denominator != 1 or total < 0:
            raise NoFunctionError(f"the mean size {means[0]} gives no whole total at np {at.n}")
        size, more = divmod(total.numerator, len(at.ranks))
        return [size + (place < more) for place in range(len(at.ranks))]

    return of


def sizes_alone(scope: Scope) -> tuple[FittedMember | None, ...]:
    """The sizes, or their mean, so that the weight is known."""
    sample = next(iter(scope.phases.values()))[0]
    members: list[FittedMember | None] = []
    for member in range(len(sample.rs)):
        means = candidates(
            {
                n: sum((_mean_size(phase, member) for phase in of), Fraction(0)) / len(of)
                for n, of in scope.phases.items()
            }
        )
        checks = len(scope.phases) - means[0].n_parameters if means else 0
        if not means or checks < min(
            2, len(scope.phases) - 1
        ):  # a line through three means may be chance
            members.append(None)
            continue
        mean = RankFunction(str(means[0]), checks, _mean_of(means), False)
        members.append(FittedMember(mean, None, None, None))
    return tuple(members)


MOST_OPERATIONS = 4_000_000
"""Operations of one rank that are looked at one by one where they are at no regular distance."""

Told = tuple[str, str, int]
"""A field, its function, and how many runs check it."""


@dataclass(frozen=True)
class FittedPhase:
    """A phase of a scope, with its view."""

    members: tuple[FittedMember, ...]
    count: RankFunction  # repetitions
    view: FittedView | None
    told: tuple[Told, ...]
    told_of_view: tuple[Told, ...]


_SHORT = "bytes that the last operation is short"


class ScopeFitter:
    """Fits phases and views, one scope after another."""

    def __init__(self) -> None:
        self._columns: dict[Hashable, RankFunction | str] = {}
        self._views: dict[Hashable, tuple[FittedView, list[Feature], tuple[Told, ...]] | str] = {}

    def phase(self, scope: Scope) -> FittedPhase:
        """The functions of a phase.

        Raises:
            NoFunctionError: there are none, with the reason.
        """
        views = scope.views
        in_view = {view is not None for of in views.values() for view in of}
        if len(in_view) > 1:
            raise NoFunctionError("some ranks go through a file view and others do not")
        view, features, told_of_view = None, list[Feature](), tuple[Told, ...]()
        if in_view == {True}:
            fitted = self.view(views, scope.ranks)
            if isinstance(fitted, str):
                raise NoFunctionError(f"its file view: {fitted}")
            view, features, told_of_view = fitted
        sample = next(iter(scope.phases.values()))[0]
        told: list[Told] = []
        numbers = range(len(sample.rs))
        counts = scope.column(lambda phase: phase.n_rep)
        if is_listed(scope):
            placed = [self._listed(scope, number, told) for number in numbers]
            places = placed[0].pieces
            assert places is not None  # noqa: S101 - see _listed
            of_places = RankFunction("", places.n_checks, _numbers(places), True)
            features = features_of("number of its places", counts, of_places)
            count = self._named("repetitions", counts, scope, features, told)
            return FittedPhase(tuple(placed), count, view, tuple(told), told_of_view)
        sizes = [self._size(scope, number, features, told) for number in numbers]
        count = self._named("repetitions", counts, scope, features, told)
        features = [*features, *self._bytes(scope, sizes, count)]
        members = tuple(
            self._member(scope, number, size, features, told) for number, size in enumerate(sizes)
        )
        return FittedPhase(members, count, view, tuple(told), told_of_view)

    def view(
        self, views: Mapping[int, Sequence[View | None]], ranks: Mapping[int, Sequence[int]]
    ) -> tuple[FittedView, list[Feature], tuple[Told, ...]] | str:
        """A view's functions, what offsets may depend on by it, and what is told of it; the reason where there is none."""
        key = tuple((n, tuple(map(id, of))) for n, of in views.items())
        if key not in self._views:
            try:
                self._views[key] = self._fit_view(
                    {n: [view for view in of if view is not None] for n, of in views.items()}, ranks
                )
            except NoFunctionError as error:
                self._views[key] = str(error)
        return self._views[key]

    def _fit_view(
        self, views: Mapping[int, Sequence[View]], ranks: Mapping[int, Sequence[int]]
    ) -> tuple[FittedView, list[Feature], tuple[Told, ...]]:
        told: list[Told] = []

        def scalar(name: str) -> RankFunction:
            column = {n: [getattr(view, name) for view in of] for n, of in views.items()}
            try:
                function = self._column(column, ranks, ())
            except NoFunctionError as error:
                raise NoFunctionError(f"{name}: {error}") from error
            told.append((f": {name}", function.text, function.n_checks))
            return function

        displacement, etype_size, extent = map(scalar, ("displacement", "etype_size", "extent"))
        pieces = fit_pieces(
            {n: [pieces_of(v.run_offsets, v.run_lengths) for v in of] for n, of in views.items()},
            ranks,
            joins=True,
        )
        told += [("", line, pieces.n_checks) for line in pieces.text]
        visible = {n: [sum(view.run_lengths) for view in of] for n, of in views.items()}
        function = RankFunction("", pieces.n_checks, _lengths(pieces), True)
        features = features_of("bytes of the view", visible, function)
        return FittedView(displacement, etype_size, extent, pieces), features, tuple(told)

    def _column(
        self, column: Column, ranks: Mapping[int, Sequence[int]], features: Sequence[Feature]
    ) -> RankFunction:
        """As ``fit_column``, once for equal columns."""
        key = (
            tuple((n, tuple(values), tuple(ranks[n])) for n, values in column.items()),
            tuple(
                (feature.name, tuple(map(tuple, feature.values.values()))) for feature in features
            ),
        )
        if key not in self._columns:
            try:
                self._columns[key] = fit_column(column, ranks, features)
            except NoFunctionError as error:
                self._columns[key] = str(error)
        known = self._columns[key]
        if isinstance(known, str):
            raise NoFunctionError(known)
        return known

    def _size(
        self, scope: Scope, member: int, features: Sequence[Feature], told: list[Told]
    ) -> RankFunction:
        sizes = scope.column(lambda phase: size_of(phase, member))
        return self._named("rs" + suffix(scope, member), sizes, scope, features, told)

    def _bytes(
        self, scope: Scope, sizes: Sequence[RankFunction], count: RankFunction
    ) -> list[Feature]:
        """What a rank moves in the phase, and all ranks before it, where that differs: offsets may be that."""
        if not count.varies and not any(size.varies for size in sizes):
            return []

        def of(at: At) -> list[int]:
            together = map(sum, zip(*(size.of(at) for size in sizes), strict=True))
            return [n * rs for n, rs in zip(count.of(at), together, strict=True)]

        moved = scope.column(
            lambda phase: phase.n_rep * sum(size_of(phase, m) for m in range(len(sizes)))
        )
        return features_of("bytes of the rank", moved, RankFunction("", 0, of, True))

    def _member(
        self,
        scope: Scope,
        member: int,
        size: RankFunction,
        features: Sequence[Feature],
        told: list[Told],
    ) -> FittedMember:
        which = suffix(scope, member)
        if next(iter(scope.phases.values()))[0].runs is None:
            return FittedMember(size, None, None, None)
        runs = {n: [runs_of(phase, member) for phase in of] for n, of in scope.phases.items()}
        columns: dict[str, Column] = {
            "offset": {n: [int(one.offset[0]) for one in of] for n, of in runs.items()},
            "disp": {
                n: [int(one.disp[0]) for one in of]
                for n, of in runs.items()
                if all(one.count[0] > 1 for one in of)
            },
            _SHORT: {
                n: [int(one.count[0] * one.size[0] - one.moved[0]) for one in of]
                for n, of in runs.items()
            },
        }
        made = {
            name: self._named(name + which, column, scope, features, told) if column else None
            for name, column in columns.items()
        }
        return FittedMember(size, made["offset"], made["disp"], made[_SHORT])

    def _named(
        self, name: str, column: Column, scope: Scope, features: Sequence[Feature],
        told: list[Told],
    ) -> RankFunction:  # fmt: skip
        try:
            function = self._column(column, scope.ranks, features)
        except NoFunctionError as error:
            raise NoFunctionError(f"{name}: {error}") from error
        if not name.startswith(_SHORT) or function.text != "0":
            told.append((name, function.text, function.n_checks))
        return function

    def _listed(self, scope: Scope, member: int, told: list[Told]) -> FittedMember:
        runs = {n: [runs_of(phase, member) for phase in of] for n, of in scope.phases.items()}
        for of in runs.values():
            for one in of:
                if (one.moved != one.count * one.size).any():
                    raise NoFunctionError(
                        "its operations are irregular, and some moved less than they asked for"
                    )
                if int(one.count.sum()) > MOST_OPERATIONS:
                    raise NoFunctionError("it has too many operations at no regular distance")
        pieces = fit_pieces(
            {n: [operations(one) for one in of] for n, of in runs.items()},
            scope.ranks,
            joins=False,
        )
        name = f"operations{suffix(scope, member)}"
        told += [(name, line, pieces.n_checks) for line in pieces.text]
        return FittedMember(None, None, None, None, pieces)


def _numbers(pieces: PiecesFunction) -> Callable[[At], list[int]]:
    return lambda at: list(map(len, pieces.of(at)))


def _lengths(pieces: PiecesFunction) -> Callable[[At], list[int]]:
    return lambda at: [int(one.length.sum()) for one in pieces.of(at)]
