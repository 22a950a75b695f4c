"""The plan's text read back: what the replay program will issue, rank by rank, folded.

Independent of the lowering (kernel/lowering), and of the program that reads plans: tests compare the one with the kernel by
it, and the other with what it reads. The programs' steps are those of models, which name rows of the plan's own tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import unquote

import numpy as np
from performed import of_next_member

from wavetank.errors import KernelError
from wavetank.kernel.document.operations import objects
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.phase import Run
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    PauseStep,
    RepeatStep,
    Step,
    SyncStep,
    given_by_number,
)
from wavetank.trace.schema import Int64Array


@dataclass
class PlannedCall:
    """One call of a phase's pattern.

    Attributes:
        name: of the call.
        placed: at given offsets; else wherever the file pointer is.
        handle: which open of the file.
        memory: by rank the view that says where the gaps in memory are; none of ranks without.
        linear: count, rs, a, b, c, moved_last: for every rank that performs the phase.
        listed: shape (n, 6): rank, count, rs, offset, disp, moved_last of each run, in the plan's order.
    """

    name: str
    placed: bool = True
    handle: int = 0
    memory: dict[int, int] = field(default_factory=dict)
    linear: tuple[int, int, int, int, int, int] | None = None
    listed: Int64Array = field(default_factory=lambda: np.zeros((0, 6), dtype=np.int64))

    @cached_property
    def _rows_of(self) -> dict[int, Int64Array]:
        """Indices of the listed runs of each rank, in order."""
        if not len(self.listed):
            return {}
        order = np.argsort(self.listed[:, 0], kind="stable")
        ranks, first = np.unique(self.listed[order, 0], return_index=True)
        return dict(zip(ranks.tolist(), np.split(order, first[1:]), strict=True))

    def columns(self, rank: int) -> RunArrays:
        """One rank's listed operations, in the view where there is one."""
        rows = self.listed[self._rows_of.get(rank, np.zeros(0, dtype=np.int64))]
        _, count, rs, offset, disp, last = rows.T
        return RunArrays(count, rs, (count - 1) * rs + last, offset, disp)

    def runs(self, rank: int) -> list[Run]:
        """One rank's operations, in the view where there is one."""
        if self.linear is None:
            return objects(self.columns(rank))
        count, rs, a, b, c, last = self.linear
        moved = (count - 1) * rs + last
        return [Run(count=count, rs=rs, offset=a * rank + c, disp=b, moved=moved)]


@dataclass
class PlannedPhase:
    """A phase of a plan."""

    file_id: int
    calls: list[PlannedCall] = field(default_factory=list)


@dataclass(frozen=True)
class OwnStep:
    """What the replay does for itself: a tick, or waiting for other ranks. The words of the plan's line."""

    words: tuple[str, ...]
    step: Literal["own"] = "own"


@dataclass
class PlannedVisits:
    """The members that a rank turns to.

    Attributes:
        names: of each that it visits all its names, below the file's folder or the root.
        sizes: of each, bytes beforehand.
        order: which of them it turns to, in order.
    """

    names: list[tuple[str, ...]]
    sizes: list[int]
    order: Int64Array


@dataclass
class PlannedMembers:
    """The members of a file: how many, whether they lie below the root, and the visits by rank."""

    n: int
    in_tree: bool
    visits: dict[int, PlannedVisits] = field(default_factory=dict)


@dataclass
class PlannedRun:
    """A plan."""

    n_ranks: int = 0
    names: dict[int, list[str]] = field(default_factory=dict)  # of each file, the first its own
    sizes: dict[int, int] = field(default_factory=dict)  # of files that are there beforehand
    members: dict[int, PlannedMembers] = field(default_factory=dict)  # of files with such
    views: list[tuple[int, ...]] = field(default_factory=list)
    infos: list[tuple[tuple[str, str], ...]] = field(default_factory=list)
    communicators: list[tuple[int, ...]] = field(default_factory=list)
    phases: dict[int, PlannedPhase] = field(default_factory=dict)
    programs: dict[int, list[Step]] = field(default_factory=dict)  # by rank; OwnStep among them

    def each_program(self) -> Iterator[tuple[frozenset[int], list[Step]]]:
        """Each program once, with the ranks that perform it."""
        ranks: dict[int, set[int]] = {}
        for rank, steps in self.programs.items():
            ranks.setdefault(id(steps), set()).add(rank)
        return ((frozenset(some), self.programs[min(some)]) for some in ranks.values())


def read_plan(text: str) -> PlannedRun:
    """Read a plan.

    Raises:
        KernelError: it is damaged.
    """
    plan = PlannedRun()
    lines = (line for line in text.splitlines() if line.strip())
    runs: list[str] = []  # lines of runs that follow each other are read together
    try:
        if next(lines).split() != ["wavetank-plan", "1"]:
            raise KernelError("not a plan of version 1")
        for line in lines:
            if line.lstrip().startswith("run "):
                runs.append(line)
                continue
            _add_runs(plan, runs)
            _line(plan, line.split(), lines)
        _add_runs(plan, runs)
    except (StopIteration, IndexError, ValueError, KeyError, OverflowError) as error:
        raise KernelError(f"the plan is damaged: {error}") from error
    return plan


def _add_runs(plan: PlannedRun, lines: list[str]) -> None:
    if not lines:
        return
    words = " ".join(lines).split()
    if len(words) != 7 * len(lines) or words[::7] != ["run"] * len(lines):
        raise ValueError("a run has not six numbers")
    del words[::7]
    rows = np.array(list(map(int, words)), dtype=np.int64).reshape(-1, 6)
    if int(rows[:, 1].min()) < 1:
        raise ValueError("a run has no operations")
    call = _latest(plan).calls[-1]
    call.listed = np.concatenate([call.listed, rows]) if len(call.listed) else rows
    lines.clear()


def _line(plan: PlannedRun, words: list[str], lines: Iterator[str]) -> None:
    keyword, *rest = words
    if keyword == "ranks":
        plan.n_ranks = int(rest[0])
    elif keyword in _OF_FILES:
        _of_file(plan, keyword, rest, lines)
    elif keyword == "view":
        plan.views.append(tuple(map(int, rest)))
    elif keyword == "info":
        # A value of "-" is the empty one.
        words = ["" if word == "-" else unquote(word) for word in rest[1:]]
        plan.infos.append(tuple(zip(words[::2], words[1::2], strict=True)))
    elif keyword == "communicator":
        ranks = range(plan.n_ranks) if rest == ["all"] else map(int, rest[1:])
        plan.communicators.append(tuple(ranks))
    elif keyword == "phase":
        plan.phases[int(rest[0])] = PlannedPhase(int(rest[1]))
    elif keyword == "call":
        _latest(plan).calls.append(PlannedCall(rest[0], rest[1] == "placed", int(rest[2])))
    elif keyword == "memory":
        if int(rest[1]) >= len(plan.views):
            raise ValueError(f"memory names view {rest[1]}, and there are {len(plan.views)}")
        _latest(plan).calls[-1].memory.update(dict.fromkeys(_ranks(rest[0]), int(rest[1])))
    elif keyword == "linear":
        count, rs, a, b, c, last = map(int, rest)
        _latest(plan).calls[-1].linear = (count, rs, a, b, c, last)
    elif keyword == "program":
        steps = _steps(plan, lines, {})
        for rank in _ranks(rest[0]):
            plan.programs[rank] = steps


_OF_FILES = frozenset({"file", "name", "members", "visits"})


def _of_file(plan: PlannedRun, keyword: str, rest: list[str], lines: Iterator[str]) -> None:
    number = int(rest[0])
    if keyword == "file":
        plan.names[number] = [unquote(rest[4])]
        if rest[2] in ("input", "both"):
            plan.sizes[number] = int(rest[3])
    elif keyword == "name":
        plan.names[number].append(unquote(rest[1]))
    elif keyword == "members":
        plan.members[number] = PlannedMembers(int(rest[1]), rest[2] == "tree")
        plan.names[number] = [
            each for name in plan.names[number] for each in (name, of_next_member(name))
        ]
    else:
        rank, n_members, n_visits = map(int, rest[1:4])
        own = [next(lines).split() for _ in range(n_members)]
        order = np.array(list(map(int, rest[4:])) or range(n_members), dtype=np.int64)
        n_names = len(plan.names[number]) // 2
        if (
            len(order) != n_visits
            or int(order.max()) >= n_members
            or any(len(line) != 2 + n_names for line in own)
        ):
            raise ValueError("a rank's visits are not those that it says")
        plan.members[number].visits[rank] = PlannedVisits(
            [tuple(map(unquote, names)) for _, _, *names in own],
            [int(size) for _, size, *_ in own],
            order,
        )


def _latest(plan: PlannedRun) -> PlannedPhase:
    return next(reversed(plan.phases.values()))


def _steps(plan: PlannedRun, lines: Iterator[str], known: dict[str, list[Step]]) -> list[Step]:
    """The steps up to an end. Equal lines are one object, of which a long program holds few."""
    steps: list[Step] = []
    for line in lines:
        found = known.get(line)
        if found is None:
            kind, *words = line.split()
            if kind == "end":
                return steps
            if kind == "repeat":
                inner = tuple(_steps(plan, lines, known))
                found = [RepeatStep.model_construct(times=int(words[0]), steps=inner)]
            else:
                found = known[line] = _step(plan, kind, words)
        steps += found
    raise ValueError("a program has no end")


_FIELDS: dict[str, tuple[type[DataStep | FileStep | SyncStep], str]] = {
    "data": (DataStep, "ph_id n handle single null_seeks"),
    "do": (FileStep, "iop_type file_id handle number offset view_id communicator error count info_id name"),
    "empty": (FileStep, "iop_type file_id handle offset size count error"),
    "sync": (SyncStep, "communicator count"),
}  # fmt: skip
"""What the words of a step's line are."""


def _step(plan: PlannedRun, kind: str, words: list[str]) -> list[Any]:
    if kind == "pause":
        return [PauseStep(seconds=int(words[0]) / 1e9)]
    if kind == "pair":  # counted with the second name
        call, old, old_name, new, new_name, error = words
        either = FileStep(iop_type=call, file_id=int(old), handle=-1, error=int(error))
        second = {"file_id": int(new), "name": int(new_name), "new_name": True}
        return [
            either.model_copy(update={"name": int(old_name), "count": 0}),
            either.model_copy(update=second),
        ]
    if kind in _FIELDS:
        record, fields = _FIELDS[kind]
        each = zip(fields.split(), words, strict=True)
        values: dict[str, Any] = {field: _value(field, word) for field, word in each}
        if "number" in values:
            values |= given_by_number(values["iop_type"], values.pop("number"))
        _require_rows(plan, values)
        return [record(**values)]
    return [OwnStep((kind, *words))]


def _require_rows(plan: PlannedRun, values: dict[str, Any]) -> None:
    if "ph_id" in values and values["ph_id"] not in plan.phases:
        raise ValueError(f"a step names phase {values['ph_id']}, which is not there")
    rows = {
        "view_id": len(plan.views),
        "info_id": len(plan.infos),
        "communicator": len(plan.communicators),
    }
    for name, n in rows.items():
        if values.get(name) is not None and values[name] >= n:
            raise ValueError(f"a step has {name} {values[name]}, and there are {n}")


def _value(field: str, word: str) -> str | int | None:
    if field == "single":
        return word == "1"
    return word if field == "iop_type" else None if word == "-" else int(word)


def _ranks(text: str) -> list[int]:
    ranks: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        ranks.extend(range(int(low), int(high or low) + 1))
    return ranks
