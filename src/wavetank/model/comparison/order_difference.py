"""Compares the order in which two models do the same things: data operations, calls that move none, collectives.

Reads the programs of both; leaves the first step of a rank that differs. How repetitions are written makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from errno import errorcode
from itertools import takewhile
from operator import eq

import numpy as np

from wavetank.model.comparison.call_results import asked_text, result_and_argument
from wavetank.model.comparison.comparability import Sight
from wavetank.model.comparison.flat_programs import LaidOut, Leaf, TooLongError, lay_out
from wavetank.model.comparison.inherited_files import AROUND
from wavetank.model.document.model import Model
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    PauseStep,
    ProcessStep,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.tables.words import ranks_text

_Key = tuple[Hashable, Callable[[], str], int]
"""What equal steps have in common, its text, and how often a step is done."""


@dataclass(frozen=True)
class Named:
    """What stands for a file or a phase in both models, and how people call it."""

    key: Hashable
    text: str


@dataclass(frozen=True)
class OrderedModel:
    """A model with names that the other one has too.

    Attributes:
        files: by file_id.
        phases: by ph_id; equal names are for operations that are compared elsewhere and are equal in both models.
        most_runs: of equal steps that a program is laid out into.
    """

    model: Model
    files: Mapping[int, Named]
    phases: Mapping[int, Named]
    most_runs: int


@dataclass(frozen=True)
class OtherStep:
    """The first step of a rank that differs; in words."""

    a: str
    b: str


class OrderNotComparedError(Exception):
    """Programs that are too long to be laid out, and are not written in the same way. The text says whose, and from where on."""


def first_other_step(
    a: OrderedModel, b: OrderedModel, given: Set[tuple[int, Hashable]], sight: Sight
) -> OtherStep | None:
    """The first step that differs, of the first rank that has one; None where none does.

    Args:
        a: one model.
        b: the other.
        given: rank and key of files that the rank was given open in one of the models; opening and closing them is
            left out.
        sight: what is compared of steps.

    Raises:
        OrderNotComparedError: the order of a rank cannot be compared.
    """
    numbers = _Numbers()
    programs_a, programs_b = (_Programs(one, given, sight, numbers) for one in (a, b))
    same: set[tuple[Hashable, Hashable]] = set()  # pairs of programs
    for rank in sorted({*programs_a.of_rank, *programs_b.of_rank}):
        pair = programs_a.key_of(rank), programs_b.key_of(rank)
        if pair in same:
            continue
        written_a, written_b = programs_a.as_written(rank), programs_b.as_written(rank)
        if written_a != written_b:
            try:
                one, other = programs_a.laid_out(rank), programs_b.laid_out(rank)
            except TooLongError:
                same_steps = takewhile(bool, map(eq, written_a, written_b))
                where = f"rank {rank}, from step {sum(same_steps) + 1} of its program on,"
                raise OrderNotComparedError(where) from None
            at = _first_unequal(one, other)
            if at is not None:
                return _other_step(rank, at, *(numbers.text(runs, at) for runs in (one, other)))
        same.add(pair)
    return None


def _other_step(rank: int, at: int, a: str, b: str) -> OtherStep:
    otherwise = ", but given other arguments" if a == b else ""
    return OtherStep(*(f"rank {rank}, step {at + 1}: {text}" for text in (a, b + otherwise)))


class _Numbers:
    """Numbers of the steps of both models."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._texts: list[str] = []

    def of(self, key: Hashable, text: Callable[[], str]) -> int:
        """The number of a step, the same for equal keys."""
        number = self._numbers.setdefault(key, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text())
        return number

    def text(self, runs: LaidOut, at: int) -> str:
        """One run of a program in words."""
        if at >= len(runs):
            return "no further step"
        n = int(runs.n[at])
        return self._texts[int(runs.code[at])] + (f", {n} times" if n > 1 else "")


class _Programs:
    """What the ranks of one model do, in numbers."""

    def __init__(
        self, one: OrderedModel, given: Set[tuple[int, Hashable]], sight: Sight, numbers: _Numbers
    ) -> None:
        self._one, self._sight, self._numbers = one, sight, numbers
        of_all = {
            number
            for number, ranks in enumerate(one.model.communicators)
            if len(ranks) == one.model.n_ranks
        }
        self._steps = [_between(program.steps, of_all) for program in one.model.programs]
        self.of_rank = {
            rank: number
            for number, program in enumerate(one.model.programs)
            for rank in program.ranks
        }
        self._given: dict[int, frozenset[Hashable]] = {}
        for rank, file in given:
            self._given[rank] = self._given.get(rank, frozenset()) | {file}
        self._members = {phase.ph_id: len(phase.pattern) for phase in one.model.phases}
        self._laid_out: dict[Hashable, LaidOut] = {}

    def key_of(self, rank: int) -> Hashable:
        """The same for ranks that do the same."""
        return self.of_rank.get(rank), self._given.get(rank)

    def laid_out(self, rank: int) -> LaidOut:
        """A rank's program without loops and irregular orders."""
        key = self.key_of(rank)
        if key not in self._laid_out:
            self._laid_out[key] = lay_out(
                self._steps_of(rank), self._leaf(rank), self._one.most_runs
            )
        return self._laid_out[key]

    def as_written(self, rank: int) -> tuple[Hashable, ...]:
        """A rank's program with them."""
        return _as_written(self._steps_of(rank), self._leaf(rank))

    def _steps_of(self, rank: int) -> Sequence[Step]:
        return self._steps[self.of_rank[rank]] if rank in self.of_rank else ()

    def _leaf(self, rank: int) -> Leaf:
        given = self._given.get(rank, frozenset())

        def leaf(step: Step) -> tuple[int, int] | None:
            found = self._key(step, given)
            return None if found is None else (self._numbers.of(*found[:2]), found[2])

        return leaf

    def _key(self, step: Step, given: Set[Hashable]) -> _Key | None:
        """The key of a step; None if it is not compared.

        Pauses, processes and null seeks count only where everything does: a replay orders whole processes by barriers.
        """
        if isinstance(step, DataStep):
            return self._of_data(step)
        if not self._sight.calls:
            return None
        if isinstance(step, FileStep):
            return self._of_call(step, given)
        if isinstance(step, SyncStep):
            ranks = self._one.model.communicators[step.communicator]
            return ("sync", ranks), lambda: f"a collective of ranks {ranks_text(ranks)}", step.count
        return self._of_time(step) if self._sight.everything else None

    def _of_data(self, step: DataStep) -> _Key:
        phase = self._one.phases[step.ph_id]
        n = step.operations(self._members[step.ph_id])
        seeks = (step.null_seeks, n) if step.null_seeks else None
        told = (step.handle, step.single, seeks) if self._sight.everything else ()
        return ("data", phase.key, told), lambda: phase.text, n

    def _of_call(self, step: FileStep, given: Set[Hashable]) -> _Key | None:
        file = self._one.files[step.file_id]
        if file.key in given and step.iop_type in AROUND:
            return None
        everything = self._sight.everything
        asked = _all_given(step, self._one.model) if everything else result_and_argument(step)
        key = (step.iop_type, file.key, step.name, step.handle, step.offset, asked)
        return key, lambda: _file_text(step, file), step.count

    def _of_time(self, step: Step) -> _Key | None:
        if isinstance(step, PauseStep):
            return ("pause", round(step.seconds * 1e9)), lambda: f"a pause of {step.seconds} s", 1
        if isinstance(step, ProcessStep):
            key = ("process", step.rank, step.event)
            return key, lambda: f"where the process of rank {step.rank} {step.event}", 1
        return None


def _all_given(step: FileStep, model: Model) -> Hashable:
    """What a call was given and how it ended, with what numbers stand for."""
    tables = (
        (model.views, step.view_id),
        (model.infos, step.info_id),
        (model.communicators, step.communicator),
    )
    of_tables = (
        None if number is None or number < 0 else table[number] for table, number in tables
    )
    return step.error, step.number, step.size, *of_tables


def _file_text(step: FileStep, file: Named) -> str:
    where = "" if step.offset is None else f" at {step.offset}"
    result = f" failed ({errorcode.get(step.error, step.error)})" if step.error else ""
    return f"{step.iop_type}{asked_text(step)} of {file.text}{where}{result}"


def _between(steps: Sequence[Step], of_all: Set[int]) -> Sequence[Step]:
    """Steps without collectives of all ranks before the first and behind the last other one.

    Those order nothing. MPI_Init and MPI_Finalize are such.
    """
    other = [not (isinstance(step, SyncStep) and step.communicator in of_all) for step in steps]
    if not any(other):
        return ()
    return steps[other.index(True) : len(other) - other[::-1].index(True)]


def _as_written(steps: Sequence[Step], leaf: Leaf) -> tuple[Hashable, ...]:
    found: list[Hashable] = []
    for step in steps:
        if isinstance(step, RepeatStep):
            found.append(("repeat", step.times, _as_written(step.steps, leaf)))
        elif isinstance(step, IrregularOrderStep):
            found.append(("mix", tuple(map(leaf, step.steps)), np.asarray(step.order).tobytes()))
        else:
            found.append(leaf(step))
    return tuple(one for one in found if one is not None)


def _first_unequal(a: LaidOut, b: LaidOut) -> int | None:
    n = min(len(a), len(b))
    unequal = (a.code[:n] != b.code[:n]) | (a.n[:n] != b.n[:n])
    if unequal.any():
        return int(unequal.argmax())
    return n if len(a) != len(b) else None
