"""All numbers of what a group of ranks does, as functions of np and the rank.

Reads the behaviours of the group's ranks in every run; leaves the functions in the group. What follows from neither is kept
as a reason, with the phases that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from wavetank.model.application import View
from wavetank.model.behaviour import Behaviour, Label
from wavetank.model.columns import At, Feature, RankFunction, fit_column
from wavetank.model.divisions import Column
from wavetank.model.functions import Candidates, NoFunctionError, candidates, value_at
from wavetank.model.group import FittedMember, FittedView, Found, Group, NumberInName
from wavetank.model.partition import features_of, fit_pieces
from wavetank.model.pieces import Pieces, PiecesFunction, pieces_of
from wavetank.model.runs import RunArrays

MOST_OPERATIONS = 4_000_000
"""Operations of one rank that are looked at one by one where they are at no regular distance."""


class Fitter:
    """Fits all numbers of one group."""

    def __init__(self, group: Group, found: Found) -> None:
        self._group = group
        self._found = {n: [of[rank] for rank in sorted(of)] for n, of in sorted(found.items())}
        self._ranks = {n: group.ranks[n] for n in self._found}
        self._known: dict[object, RankFunction | str] = {}  # columns that were fitted before
        self._features: list[Feature] = []
        self._visible: list[list[Feature]] = []  # by view

    def fit(self) -> None:
        """Views first, for sizes are those of views; then the phases; then the steps and files."""
        group = self._group
        group.labels = group.sample.labels
        for number in range(len(group.sample.views)):
            view, features = self._view(number)
            group.views.append(view)
            self._visible.append(features)
        for number in range(len(group.sample.phases)):
            self._phase(number)
        for place, label in enumerate(group.labels):
            column = {n: [b.numbers[place] for b in of] for n, of in self._found.items()}
            group.numbers.append(self._step_number(column, label))
        for number in range(len(group.sample.files)):
            self._file(number)

    def _column(self, of: Callable[[Behaviour], int]) -> Column:
        return {n: [of(behaviour) for behaviour in found] for n, found in self._found.items()}

    def _fit(self, column: Column, features: Sequence[Feature] = ()) -> RankFunction:
        """As ``fit_column``, once for equal columns."""
        key = (
            tuple((n, tuple(values)) for n, values in column.items()),
            tuple(f.name for f in features),
        )
        if key not in self._known:
            try:
                self._known[key] = fit_column(column, self._ranks, [*features, *self._features])
            except NoFunctionError as error:
                self._known[key] = str(error)
        known = self._known[key]
        if isinstance(known, str):
            raise NoFunctionError(known)
        return known

    # --- views

    def _view(self, number: int) -> tuple[FittedView | None, list[Feature]]:
        views: dict[int, list[View]] = {
            n: [behaviour.views[number] for behaviour in found] for n, found in self._found.items()
        }
        visible = {n: [sum(view.run_lengths) for view in of] for n, of in views.items()}
        name = f"view {number + 1}"
        try:
            displacement, etype_size, extent = (
                self._named(
                    {n: [getattr(view, field_) for view in of] for n, of in views.items()},
                    f"{name}: {field_}",
                )
                for field_ in ("displacement", "etype_size", "extent")
            )
            pieces = self._pieces(
                {
                    n: [pieces_of(v.run_offsets, v.run_lengths) for v in of]
                    for n, of in views.items()
                },
                name,
            )
        except NoFunctionError as error:
            reason = f"its file view: {error}"
            for at, phase in enumerate(self._group.sample.phases):
                if phase.view == number:
                    self._group.reasons[at] = reason
            self._group.step_reasons.append(reason)
            return None, []
        made = FittedView(displacement, etype_size, extent, pieces)

        def of(at: At) -> list[int]:
            return [int(one.length.sum()) for one in pieces.of(at)]

        function = RankFunction(f"bytes of {name}", pieces.n_checks, of, True)
        return made, features_of(f"bytes of {name}", visible, function)

    def _named(self, column: Column, name: str) -> RankFunction:
        try:
            function = self._fit(column)
        except NoFunctionError as error:
            raise NoFunctionError(f"{name.rsplit(': ', maxsplit=1)[-1]}: {error}") from error
        self._group.fields.append((None, name, function.text, function.n_checks))
        return function

    def _pieces(self, by_count: Mapping[int, list[Pieces]], name: str) -> PiecesFunction:
        function = fit_pieces(by_count, self._ranks, joins=True)
        for line in function.text:
            self._group.fields.append((None, name, line, function.n_checks))
        return function

    # --- phases

    def _phase(self, number: int) -> None:
        group = self._group
        sample = group.sample.phases[number]
        if number in group.reasons:
            group.phases.append(tuple(None for _ in sample.rs))
            self._sizes_alone(number)
            return
        if sample.runs is None:
            group.phases.append(tuple(self._unplaced(number, m) for m in range(len(sample.rs))))
            return
        members: list[FittedMember | None] = []
        for member in range(len(sample.runs)):
            try:
                members.append(self._member(number, member))
            except NoFunctionError as error:
                group.reasons.setdefault(number, str(error))
                members.append(None)
        group.phases.append(tuple(members))
        if number in group.reasons:
            self._sizes_alone(number)

    def _member(self, number: int, member: int) -> FittedMember:
        runs = {
            n: [self._runs(behaviour, number, member) for behaviour in found]
            for n, found in self._found.items()
        }
        view = self._group.sample.phases[number].view
        features = self._visible[view] if view is not None else []
        if any(len(one) != 1 for of in runs.values() for one in of):
            return self._listed(runs, number)
        suffix = f"[{member}]" if len(self._group.sample.phases[number].rs) > 1 else ""
        columns: dict[str, Column] = {
            "rs": {n: [int(one.size[0]) for one in of] for n, of in runs.items()},
            "offset": {n: [int(one.offset[0]) for one in of] for n, of in runs.items()},
            "disp": {
                n: [int(one.disp[0]) for one in of]
                for n, of in runs.items()
                if all(one.count[0] > 1 for one in of)
            },
            "bytes that the last operation is short": {
                n: [int(one.count[0] * one.size[0] - one.moved[0]) for one in of]
                for n, of in runs.items()
            },
        }
        made: list[RankFunction | None] = []
        for name, column in columns.items():
            if not column:  # one repetition in all runs: no distance
                made.append(None)
                continue
            try:
                function = self._fit(column, features)
            except NoFunctionError as error:
                raise NoFunctionError(f"{name}{suffix}: {error}") from error
            made.append(function)
            if not name.startswith("bytes") or function.text != "0":
                self._group.fields.append((number, name + suffix, function.text, function.n_checks))
            if name == "rs" and function.varies and not features:
                features = features_of(f"{name}{suffix}", column, function)
        size, offset, disp, short = made
        return FittedMember(size, offset, disp, short)

    def _runs(self, behaviour: Behaviour, number: int, member: int) -> RunArrays:
        runs = behaviour.phases[number].runs
        assert runs is not None  # noqa: S101 - the shape says whether offsets are known
        return runs[member]

    def _listed(self, runs: Mapping[int, list[RunArrays]], number: int) -> FittedMember:
        for of in runs.values():
            for one in of:
                if (one.moved != one.count * one.size).any():
                    raise NoFunctionError(
                        "its operations are irregular, and some moved less than they asked for"
                    )
                if int(one.count.sum()) > MOST_OPERATIONS:
                    raise NoFunctionError("it has too many operations at no regular distance")
        pieces = fit_pieces(
            {n: [_operations(one) for one in of] for n, of in runs.items()},
            self._ranks,
            joins=False,
        )
        for line in pieces.text:
            self._group.fields.append((number, "operations", line, pieces.n_checks))
        return FittedMember(None, None, None, None, pieces)

    def _unplaced(self, number: int, member: int) -> FittedMember | None:
        """Sizes where the traces do not know offsets."""
        try:
            size = self._fit(self._column(lambda b: b.phases[number].rs[member]))
        except NoFunctionError as error:
            self._group.reasons.setdefault(number, f"rs: {error}")
            return None
        return FittedMember(size, None, None, None)

    def _sizes_alone(self, number: int) -> None:
        """For a phase whose offsets follow no function: its sizes, or their mean, so that its weight is known."""
        group = self._group
        members: list[FittedMember | None] = []
        for member, known in enumerate(group.phases[number]):
            if known is not None and known.size is not None:
                members.append(FittedMember(known.size, None, None, None))
                continue
            totals = {n: self._total(found, number, member) for n, found in self._found.items()}
            means = candidates({n: Fraction(of, len(self._ranks[n])) for n, of in totals.items()})
            if not means:
                members.append(None)
                continue
            checks = len(totals) - means[0].n_parameters
            members.append(
                FittedMember(
                    RankFunction(str(means[0]), checks, _mean_of(means), False), None, None, None
                )
            )
        group.phases[number] = tuple(members)

    def _total(self, found: Sequence[Behaviour], number: int, member: int) -> Fraction:
        """Request sizes of the ranks together; of each its mean."""
        total = Fraction(0)
        for behaviour in found:
            runs = behaviour.phases[number].runs
            if runs is None:
                total += behaviour.phases[number].rs[member]
            else:
                one = runs[member]
                total += Fraction(int((one.count * one.size).sum()), int(one.count.sum()))
        return total

    # --- steps and files

    def _step_number(self, column: Column, label: Label) -> RankFunction | None:
        group = self._group
        try:
            function = self._fit(column)
        except NoFunctionError as error:
            if label.field == "collectives":
                return self._some_collectives(column)
            if label.field == "repetitions":
                raise NoFunctionError(f"the number of repetitions: {error}") from error
            if label.phase is None:
                group.step_reasons.append(f"{label.field}: {error}")
            else:
                group.reasons.setdefault(label.phase, f"{label.field}: {error}")
            return None
        if label.field == "n" and label.phase is not None:
            group.fields.append((label.phase, "repetitions", function.text, function.n_checks))
        return function

    def _some_collectives(self, column: Column) -> RankFunction:
        """One collective orders ranks as several do: where their number follows no function, one."""
        note = "how many collectives lie between two operations follows no function of np: there is one"
        if note not in self._group.notes:
            self._group.notes.append(note)
        return RankFunction("1", len(column) - 1, lambda at: [1] * len(at.ranks), False)

    def _file(self, number: int) -> None:
        group = self._group
        pieces = {
            n: [re.split(r"(\d+)", behaviour.names[number]) for behaviour in found]
            for n, found in self._found.items()
        }
        sample = re.split(r"(\d+)", group.sample.names[number])
        if len({len(parts) for of in pieces.values() for parts in of}) > 1:
            raise NoFunctionError(
                f"the names of file {group.sample.names[number]} follow no function"
            )
        made: list[str | NumberInName] = []
        for place, text in enumerate(sample):
            texts = {n: [parts[place] for parts in of] for n, of in pieces.items()}
            if len({one for of in texts.values() for one in of}) == 1:
                made.append(text)
            elif place % 2 == 0:
                if any(len(set(of)) > 1 for of in texts.values()):
                    raise NoFunctionError(
                        f"the names of file {group.sample.names[number]} follow no function of the rank"
                    )
                made.append(text)
            else:
                made.append(self._number_in_name(texts, group.sample.names[number]))
        group.names.append(made)
        before = {
            n: [b.files[number].file_size_before for b in of] for n, of in self._found.items()
        }
        known = {n: [size for size in of if size is not None] for n, of in before.items()}
        function = None
        if any(known.values()):
            try:
                if any(len(known[n]) < len(of) for n, of in before.items()):
                    raise NoFunctionError("it is not known in all runs")
                function = self._fit(known)
            except NoFunctionError as error:
                group.notes.append(
                    f"the size of {group.sample.names[number]} before the run is not extrapolated: {error}"
                )
        group.sizes_before.append(function)

    def _number_in_name(self, texts: Mapping[int, list[str]], name: str) -> NumberInName:
        column = {n: [int(text) for text in of] for n, of in texts.items()}
        every = [text for of in texts.values() for text in of]
        padded = any(text != str(int(text)) for text in every)
        width = min(map(len, every)) if padded else 1
        if any(f"{int(text):0{width}d}" != text for text in every):
            raise NoFunctionError(f"the numbers in the names of file {name} have no one width")
        try:
            return NumberInName(self._fit(column), width)
        except NoFunctionError as error:
            raise NoFunctionError(f"the name of file {name}: {error}") from error


def _operations(runs: RunArrays) -> Pieces:
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
