"""Phases and file views of groups of ranks, as functions of np and the rank.

Reads the behaviours of all ranks in every run; leaves the functions in their groups. A phase that several groups have
(rank 0 reads the input too, and so is a group of its own) is fitted over the ranks of all of them first: what is told by
more ranks is surer. What follows from neither is kept as a reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from wavetank.model.document.model import View
from wavetank.model.scaling.behaviour import Behaviour, LocalPhase, file_kind
from wavetank.model.scaling.functions.block_division import Column
from wavetank.model.scaling.functions.datatypes import features_of, fit_pieces
from wavetank.model.scaling.functions.nested_strides import Pieces, PiecesFunction, pieces_of
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.scaling.functions.rank_functions import (
    At,
    Feature,
    RankFunction,
    fit_column,
    same_for_all,
)
from wavetank.model.scaling.rank_group import FittedMember, FittedView, Found, Group, ranks_of
from wavetank.model.scaling.shared_phase import (
    Scope,
    is_listed,
    operations,
    runs_of,
    size_of,
    sizes_alone,
    suffix,
)

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


class Fitter:
    """Fits the phases of all groups."""

    def __init__(self, groups: Sequence[tuple[Group, Found]]) -> None:
        self._groups = [group for group, _ in groups]
        self._found = [found for _, found in groups]
        self._shared: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
        self._keys: list[list[Hashable]] = []
        for number, group in enumerate(self._groups):
            self._keys.append(_keys(group))
            for at, key in enumerate(self._keys[number]):
                self._shared[key].append((number, at))
        self._done: dict[Hashable, FittedPhase | str] = {}
        self._columns: dict[Hashable, RankFunction | str] = {}
        self._views: dict[Hashable, tuple[FittedView, list[Feature], tuple[Told, ...]] | str] = {}

    def fit(self) -> None:
        """The phases and views of each group."""
        for number, group in enumerate(self._groups):
            group.labels = group.sample.labels
            group.views = [None] * len(group.sample.views)
            for at in range(len(group.sample.phases)):
                self._phase(number, at)
            self._other_views(number)

    def _phase(self, number: int, at: int) -> None:
        group = self._groups[number]
        together = tuple(self._shared[self._keys[number][at]])
        reason = ""
        for parts in dict.fromkeys((together, ((number, at),))):
            fitted = self._fitted(parts)
            if not isinstance(fitted, str) and parts != together:
                fitted = _surely(fitted)
            if isinstance(fitted, str):
                reason = reason or fitted
                continue
            group.phases.append(
                tuple(self._of_group(member, parts, number) for member in fitted.members)
            )
            group.counts.append(self._picked(fitted.count, parts, number))
            group.fields += [(at, *told) for told in fitted.told]
            view = group.sample.phases[at].view
            if fitted.view is not None and view is not None and group.views[view] is None:
                group.views[view] = self._view_of_group(fitted.view, parts, number)
                group.fields += [
                    (None, f"view {view + 1}{name}", text, checks)
                    for name, text, checks in fitted.told_of_view
                ]
            return
        group.reasons[at] = reason
        scope = self._scope(((number, at),))
        group.phases.append(sizes_alone(scope))
        count = same_for_all(scope.column(lambda phase: phase.n_rep))
        sure = count is not None and (count.n_checks > 1 or count.text.isdigit())
        group.counts.append(count if sure else None)

    def _other_views(self, number: int) -> None:
        """Views that no phase goes through."""
        group = self._groups[number]
        ranks = {n: tuple(sorted(of)) for n, of in sorted(self._found[number].items())}
        for at, view in enumerate(group.views):
            if view is not None or any(phase.view == at for phase in group.sample.phases):
                continue
            views = {
                n: tuple(self._found[number][n][rank].views[at] for rank in of)
                for n, of in ranks.items()
            }
            fitted = self._view(views, ranks)
            if isinstance(fitted, str):
                group.step_reasons.append(fitted)
            else:
                group.views[at] = fitted[0]

    # --- one phase of several groups

    def _scope(self, parts: Sequence[tuple[int, int]]) -> Scope:
        counts = sorted({n for number, _ in parts for n in self._found[number]})
        ranks: dict[int, tuple[int, ...]] = {}
        phases: dict[int, tuple[LocalPhase, ...]] = {}
        views: dict[int, tuple[View | None, ...]] = {}
        for n in counts:
            rows: list[tuple[int, Behaviour, LocalPhase]] = [
                (rank, behaviour, behaviour.phases[at])
                for number, at in parts
                for rank, behaviour in self._found[number].get(n, {}).items()
            ]
            rows.sort(key=lambda row: row[0])
            ranks[n] = tuple(rank for rank, _, _ in rows)
            phases[n] = tuple(phase for _, _, phase in rows)
            views[n] = tuple(
                None if phase.view is None else behaviour.views[phase.view]
                for _, behaviour, phase in rows
            )
        return Scope(tuple(number for number, _ in parts), ranks, phases, views)

    def _fitted(self, parts: tuple[tuple[int, int], ...]) -> FittedPhase | str:
        if parts not in self._done:
            try:
                self._done[parts] = self._fit(self._scope(parts))
            except NoFunctionError as error:
                self._done[parts] = str(error)
        return self._done[parts]

    def _fit(self, scope: Scope) -> FittedPhase:
        views = scope.views
        in_view = {view is not None for of in views.values() for view in of}
        if len(in_view) > 1:
            raise NoFunctionError("some ranks go through a file view and others do not")
        view, features, told_of_view = None, list[Feature](), tuple[Told, ...]()
        if in_view == {True}:
            fitted = self._view(views, scope.ranks)
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

    def _view(
        self, views: Mapping[int, Sequence[View | None]], ranks: Mapping[int, Sequence[int]]
    ) -> tuple[FittedView, list[Feature], tuple[Told, ...]] | str:
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

    # --- what is of several groups, for one of them

    def _of_group(
        self, member: FittedMember, parts: Sequence[tuple[int, int]], number: int
    ) -> FittedMember:
        if len(parts) == 1:
            return member
        size, offset, disp, short = (
            None if function is None else self._picked(function, parts, number)
            for function in (member.size, member.offset, member.disp, member.short)
        )
        pieces = member.pieces
        if pieces is not None:
            pieces = self._picked_pieces(pieces, parts, number)
        return FittedMember(size, offset, disp, short, pieces)

    def _view_of_group(
        self, view: FittedView, parts: Sequence[tuple[int, int]], number: int
    ) -> FittedView:
        if len(parts) == 1:
            return view
        return FittedView(
            self._picked(view.displacement, parts, number),
            self._picked(view.etype_size, parts, number),
            self._picked(view.extent, parts, number),
            self._picked_pieces(view.pieces, parts, number),
        )

    def _picked(
        self, function: RankFunction, parts: Sequence[tuple[int, int]], number: int
    ) -> RankFunction:
        def of(at: At) -> list[int]:
            everyone, places = self._places(at.n, parts, number)
            values = function.of(everyone)
            return [values[place] for place in places]

        return replace(function, of=of)

    def _picked_pieces(
        self, function: PiecesFunction, parts: Sequence[tuple[int, int]], number: int
    ) -> PiecesFunction:
        def of(at: At) -> list[Pieces]:
            everyone, places = self._places(at.n, parts, number)
            values = function.of(everyone)
            return [values[place] for place in places]

        return replace(function, of=of)

    def _places(
        self, n: int, parts: Sequence[tuple[int, int]], number: int
    ) -> tuple[At, list[int]]:
        """The ranks of several groups together, and where among them those of one are."""
        by_group = ranks_of(self._groups, n)
        everyone = tuple(sorted(rank for one, _ in parts for rank in by_group[one]))
        place = {rank: at for at, rank in enumerate(everyone)}
        return At(n, everyone), [place[rank] for rank in by_group[number]]


_SHORT = "bytes that the last operation is short"


def _keys(group: Group) -> list[Hashable]:
    """Of each phase, by what phases of other groups are the same: calls, kind of file, and the how manieth of such."""
    kinds = group.shape[1]
    assert isinstance(kinds, tuple)  # noqa: S101 - see Behaviours.of
    seen: dict[Hashable, int] = defaultdict(int)
    found: list[Hashable] = []
    for file, level, pattern, unknown in kinds:
        key = (file_kind(group.sample.names[file]), level, pattern, unknown)
        found.append((*key, seen[key]))
        seen[key] += 1
    return found


def _surely(fitted: FittedPhase) -> FittedPhase | str:
    """A phase of one group alone, of which other groups have one too that no function gives for all of them.

    A line through three values of one rank may be chance then: two runs more than parameters are asked for.
    """
    weak = [
        f"{field} = {function}"
        for field, function, n_checks in fitted.told
        if n_checks < 2 and not function.isdigit()
    ]
    return f"{weak[0]} may be chance: trace a further run" if weak else fitted


def _numbers(pieces: PiecesFunction) -> Callable[[At], list[int]]:
    return lambda at: list(map(len, pieces.of(at)))


def _lengths(pieces: PiecesFunction) -> Callable[[At], list[int]]:
    return lambda at: [int(one.length.sum()) for one in pieces.of(at)]
