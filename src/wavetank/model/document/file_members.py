"""Files that a run used alike, one at a time, as one file of the model: its members, and which rank visits them when.

Source of the idea: names and sizes are what differs between the files of an untar or of a training epoch; what is
done with each of them is the same, and is held once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from wavetank.document import Record
from wavetank.model.columns import different
from wavetank.model.document.columnar import Column, ListColumn, at_least, fill
from wavetank.trace.schema import Int32Array, Int64Array

_Number = TypeVar("_Number", int, Int32Array, Int64Array)


def step_name(name: _Number, *, turns: bool) -> _Number:
    """``FileStep.name`` of a call on a file with members.

    Args:
        name: by which of the member's names: 0 its own, n the n-th of its other ones.
        turns: whether the call is on the next member in the rank's order of visits; else on the one at hand.
    """
    return 2 * name + turns


def turns_to_next(number: _Number) -> _Number:
    """1 where a ``FileStep.name`` on a file with members is of a call on the next one, else 0."""
    return number & 1


def name_of_member(number: _Number) -> _Number:
    """By which of a member's names a call is, out of its ``FileStep.name``."""
    return number >> 1


def n_step_names(n_others: int, has_members: bool) -> int:
    """How many numbers ``FileStep.name`` may be on a file, from 0.

    Args:
        n_others: its names beside the first.
        has_members: whether it stands for several files, of which a call is on the one at hand or on the next.
    """
    return (1 + n_others) * (1 + has_members)


_SHORTEST = 4  # names in a row that are written as one run
_LAST_NUMBER = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)
_NUMBERED = {"before", "first", "step", "digits", "after", "count"}


def _as_names(value: object) -> tuple[str, ...]:
    """Names out of texts and runs of numbered names."""
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of names")
    names: list[str] = []
    for entry in value:
        if isinstance(entry, str):
            names.append(entry)
        elif isinstance(entry, dict) and entry.keys() == _NUMBERED:
            names.extend(_numbered(**entry))
        else:
            raise ValueError(
                f"must hold texts, and runs of numbered names with {', '.join(sorted(_NUMBERED))}"
            )
    return tuple(names)


def _numbered(
    before: str, first: int, step: int, digits: int, after: str, count: int
) -> Iterator[str]:
    if not all(isinstance(number, int) for number in (first, step, digits, count)) or (
        min(first, digits) < 0 or min(step, count) < 1
    ):
        raise ValueError("a run of numbered names has no whole numbers, or negative ones")
    return (
        f"{before}{number:0{digits}d}{after}" for number in range(first, first + count * step, step)
    )


def _of_names(names: Sequence[str]) -> list[object]:
    """Names as a file holds them: those in a row that count up in one number are one entry."""
    found: list[object] = []
    run = 0  # names at the end of ``found`` that count up
    step = digits = first = last = 0
    around: tuple[str, str] | None = None

    def end_run() -> None:
        if run >= _SHORTEST and around is not None:
            found[-run:] = [
                {
                    "before": around[0], "first": first, "step": step, "digits": digits, "after": around[1],
                    "count": run,
                }
            ]  # fmt: skip

    for name in names:
        parts = _LAST_NUMBER.fullmatch(name)
        if parts is None:
            end_run()
            run, around = 0, None
        else:
            before, text, after = parts.groups()
            number = int(text)
            distance = number - last
            if (
                around == (before, after)
                and distance > 0
                and (run == 1 or distance == step)
                and text == f"{number:0{digits}d}"
            ):
                run, step = run + 1, distance
            else:
                end_run()
                run, first, digits, around = 1, number, len(text), (before, after)
            last = number
        found.append(name)
    end_run()
    return found


Names = Annotated[
    Any,
    BeforeValidator(_as_names),
    PlainSerializer(_of_names),
    WithJsonSchema({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}}),
]
"""A tuple of texts; in a file names that count up are runs."""


class Visits(Record):
    """Which rank works on which members, in order. A member may be visited again, and by several ranks."""

    ranks: tuple[int, ...] = Field(description="that visit members, ascending")
    n_visits: Annotated[ListColumn, at_least(1, "must be numbers above 0")] = Field(
        description="of each of these ranks"
    )
    order: Column | None = Field(
        default=None,
        description="members by number, from 0, of the first rank's visits, then of the next one's; None: 0, 1, 2, ...",
    )

    @model_validator(mode="after")
    def _in_step(self) -> Self:
        if len(self.ranks) != len(self.n_visits):
            raise ValueError("ranks and n_visits are of different lengths")
        if list(self.ranks) != sorted(set(self.ranks)):
            raise ValueError("ranks are not ascending")
        n = int(self.n_visits.sum())
        if self.order is not None:
            if len(self.order) == 1 and n > 1:
                self.__dict__["order"] = np.broadcast_to(self.order, n)
            if len(self.order) != n:
                raise ValueError(f"order holds {len(self.order)} members for {n} visits")
            if self.order.min(initial=0) < 0:
                raise ValueError("order names a member below 0")
        return self

    @classmethod
    def of(cls, ranks: Sequence[int], n_visits: Int64Array, order: Int64Array) -> Visits:
        """From columns; an order that counts up from 0 is left out."""
        plain = np.array_equal(order, np.arange(len(order)))
        return cls(ranks=tuple(ranks), n_visits=n_visits, order=None if plain else order)

    def all(self) -> Int64Array:
        """Members in the order of ``ranks``."""
        if self.order is not None:
            order: Int64Array = self.order
            return order
        return np.arange(int(self.n_visits.sum()))

    def of_rank(self, rank: int) -> Int64Array:
        """Members that a rank visits, in order; none where it visits none."""
        if rank not in self.ranks:
            return np.zeros(0, dtype=np.int64)
        position = self.ranks.index(rank)
        start = int(self.n_visits[:position].sum())
        return self.all()[start : start + int(self.n_visits[position])]

    def by_rank(self) -> Iterator[tuple[int, Int64Array]]:
        """Each rank that visits members, with these in order."""
        parts = np.split(self.all(), np.cumsum(self.n_visits)[:-1])
        return zip(self.ranks, parts, strict=True)

    @property
    def shared(self) -> bool:
        """Whether several ranks visit one member."""
        order = self.all()
        if len(self.ranks) < 2 or not len(order):
            return False
        rank = np.repeat(np.arange(len(self.ranks)), self.n_visits)
        pairs = different(rank * (int(order.max()) + 1) + order)
        return len(pairs) > len(different(order))

    def _values(self) -> tuple[object, ...]:
        return self.ranks, self.n_visits.tobytes(), self.all().tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Visits) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())


class Members(Record):
    """The files of a family. Columns hold a number for each, one number stands for all where they are equal."""

    folder: str = Field(description="that names are below; with a slash at its end, or empty")
    names: Names = Field(
        description="below the folder: texts, and runs of names that count up: "
        "before, a number of so many digits at least, after"
    )
    other_names: tuple[Names, ...] = Field(
        default=(),
        description="below the folder, for each of the file's other_names those of all members",
    )
    size: Column = Field(description="bytes: highest offset touched + 1")
    size_before: Column | None = Field(
        default=None,
        description="bytes, when first opened; None: they did not exist, or it is not known",
    )
    visits: Visits

    @model_validator(mode="after")
    def _in_step(self) -> Self:
        n = len(self.names)
        fill(self, ("size", "size_before"), n, "names")
        if any(len(names) != n for names in self.other_names):
            raise ValueError(f"other_names are not {n} each, as names are")
        if not n or int(self.visits.all().max(initial=-1)) >= n:
            raise ValueError(f"visits name a member that is not there; there are {n}")
        return self

    def __len__(self) -> int:
        return len(self.names)

    def path(self, number: int) -> str:
        """The whole name of a member."""
        return f"{self.folder}{self.names[number]}"

    def paths(self, which: int = 0) -> Iterator[str]:
        """The whole names of all; of several that each has, their own or the ``which``-th other one."""
        names = self.other_names[which - 1] if which else self.names
        return (self.folder + name for name in names)

    def all_paths(self) -> Iterator[str]:
        """The whole names of all members: their own ones, then the further ones. Some may be equal."""
        return (path for which in range(1 + len(self.other_names)) for path in self.paths(which))

    def _values(self) -> tuple[object, ...]:
        before = None if self.size_before is None else self.size_before.tobytes()
        return self.folder, self.names, self.other_names, self.size.tobytes(), before, self.visits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Members) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())
