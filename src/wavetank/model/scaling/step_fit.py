"""Steps and files of a group of ranks, as functions of np and the rank: how many calls, which names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from wavetank.model.scaling.behaviour import Label, file_kind
from wavetank.model.scaling.functions.process_functions import NoFunctionError, NoNameError
from wavetank.model.scaling.functions.rank_functions import Column, RankFunction, fit_column
from wavetank.model.scaling.rank_group import Found, Group, NumberInName


class StepFitter:
    """Fits the numbers of one group's steps, and the names of its files; after its phases."""

    def __init__(self, group: Group, found: Found) -> None:
        self._group = group
        self._found = {n: [of[rank] for rank in sorted(of)] for n, of in sorted(found.items())}
        self._ranks = {n: group.ranks[n] for n in self._found}
        self._known: dict[object, RankFunction | str] = {}  # columns that were fitted before
        self._n_steps = Counter(
            label.phase for label in group.labels if label.field in ("n", "repeated n", "single n")
        )

    def fit(self) -> None:
        """All of them.

        Raises:
            NoNameError: the names of files follow no function.
            NoFunctionError: a number without which nothing is known follows none.
        """
        group = self._group
        for place, label in enumerate(group.labels):
            column = {n: [b.numbers[place] for b in of] for n, of in self._found.items()}
            group.numbers.append(self._step_number(column, label))
        for number in range(len(group.sample.files)):
            try:
                self._file(number)
            except NoFunctionError as error:
                raise NoNameError(file_kind(group.sample.names[number]), str(error)) from error

    def _fit(self, column: Column) -> RankFunction:
        """As ``fit_column``, once for equal columns."""
        key = tuple((n, tuple(values)) for n, values in column.items())
        if key not in self._known:
            try:
                self._known[key] = fit_column(column, self._ranks)
            except NoFunctionError as error:
                self._known[key] = str(error)
        known = self._known[key]
        if isinstance(known, str):
            raise NoFunctionError(known)
        return known

    def _whole_phase(self, label: Label) -> bool:
        """Whether a number is that of all repetitions of a phase, which are done in one step."""
        return label.phase is not None and (label.field, self._n_steps[label.phase]) == ("n", 1)

    def _step_number(self, column: Column, label: Label) -> RankFunction | None:
        group = self._group
        if label.phase is not None and self._whole_phase(label):
            return group.counts[label.phase]
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
        return function

    def _some_collectives(self, column: Column) -> RankFunction:
        """One collective orders ranks as several do: where their number follows no function, one."""
        note = "how many collectives lie between two operations follows no function of np: there is one"
        if note not in self._group.notes:
            self._group.notes.append(note)
        return RankFunction("1", len(column) - 1, lambda at: [1] * len(at.ranks), False)

    def _name(self, names: Mapping[int, list[str]], sample: str) -> list[str | NumberInName]:
        """A name of each rank as text and numbers in turn."""
        pieces = {n: [re.split(r"(\d+)", name) for name in of] for n, of in names.items()}
        made: list[str | NumberInName] = []
        if len({len(parts) for of in pieces.values() for parts in of}) > 1:
            raise NoFunctionError(f"the names of file {sample} follow no function")
        for place, text in enumerate(re.split(r"(\d+)", sample)):
            texts = {n: [parts[place] for parts in of] for n, of in pieces.items()}
            if len({one for of in texts.values() for one in of}) == 1:
                made.append(text)
            elif place % 2 == 0:
                if any(len(set(of)) > 1 for of in texts.values()):
                    raise NoFunctionError(
                        f"the names of file {sample} follow no function of the rank"
                    )
                made.append(text)
            else:
                made.append(self._number_in_name(texts, sample))
        return made

    def _file(self, number: int) -> None:
        group = self._group
        group.names.append(
            self._name(
                {n: [b.names[number] for b in of] for n, of in self._found.items()},
                group.sample.names[number],
            )
        )
        group.other_names.append(
            [
                self._name(
                    {
                        n: [b.other_names[number][other] for b in of]
                        for n, of in self._found.items()
                    },
                    name,
                )
                for other, name in enumerate(group.sample.other_names[number])
            ]
        )
        before = {
            n: [b.files[number].file_size_before for b in of] for n, of in self._found.items()
        }
        known = {n: [size for size in of if size is not None] for n, of in before.items()}
        function = None
        if any(any(of) for of in known.values()):  # an empty file is what a run makes itself
            try:
                if any(len(known[n]) < len(of) for n, of in before.items()):
                    raise NoFunctionError("it is not known in all runs")
                function = self._fit(known)
            except NoFunctionError as error:
                group.unknown_sizes.setdefault(file_kind(group.sample.names[number]), str(error))
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
