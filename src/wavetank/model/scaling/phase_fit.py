"""Phases and file views of groups of ranks: which of them belong together, and what of their functions is whose.

Reads the behaviours of all ranks in every run; leaves the functions in their groups. A phase that several groups have
(rank 0 reads the input too, and so is a group of its own) is fitted over the ranks of all of them first: what is told by
more ranks is surer. What follows from neither is kept as a reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from wavetank.model.document.model import View
from wavetank.model.scaling.behaviour import Behaviour, LocalPhase, file_kind
from wavetank.model.scaling.functions.nested_strides import PiecesFunction
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.scaling.functions.rank_functions import (
    At,
    RankFunction,
    same_for_all,
)
from wavetank.model.scaling.rank_group import FittedMember, FittedView, Found, Group, ranks_of
from wavetank.model.scaling.scope_fit import FittedPhase, Scope, ScopeFitter, sizes_alone

FunctionT = TypeVar("FunctionT", RankFunction, PiecesFunction)


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
        self._fitter = ScopeFitter()

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
            fitted = self._fitter.view(views, ranks)
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
                self._done[parts] = self._fitter.phase(self._scope(parts))
            except NoFunctionError as error:
                self._done[parts] = str(error)
        return self._done[parts]

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
            pieces = self._picked(pieces, parts, number)
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
            self._picked(view.pieces, parts, number),
        )

    def _picked(
        self, function: FunctionT, parts: Sequence[tuple[int, int]], number: int
    ) -> FunctionT:
        def of(at: At) -> list[Any]:
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
