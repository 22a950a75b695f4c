"""Whether ranks wait for each other in a plan where one must come before another.

What must come before what is asked of the kernel: reads after writes, names, processes (kernel/ordering). Whether it does is
looked up in the plan alone: a signal behind the one and an await before the other, or a collective between the two. Which of
them a lowering takes, and where it puts its lines, is its own decision, and not looked at.
"""

# Places in a program are numbers that programs of the kernel and of the plan have in common: step k, without collectives, is at
# 2k + 1, and what lies before it at 2k. A lowering leaves out the collectives of MPI_Init and MPI_Finalize, and adds lines.

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, islice
from operator import itemgetter

from plan_reader import OwnStep, PlannedRun

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.ordering.made_names import Place, made_pairs
from wavetank.kernel.ordering.name_order import name_pairs
from wavetank.kernel.ordering.process_order import process_pairs
from wavetank.kernel.ordering.waits import (
    MOST_MESSAGES,
    Key,
    collectives_of,
    read_after_write,
    uses_mpi,
)
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    ProcessStep,
    Step,
    SyncStep,
)
from wavetank.model.document.step_walks import file_steps, plain_steps

_OF_A_PROCESS = "a process begins or ends there"
_OF_A_NAME = "the one makes, removes or uses a name of the other"


@dataclass(eq=False)
class _Program:
    """A program of the plan: what it has to do with other ranks, and where.

    Attributes:
        ranks: that perform it.
        signals: places, numbers, ranks and lines of its signals, in order.
        awaits: places, ranks and lines of its awaits, by number. Lines order signals and awaits of one place.
        met: places of its collectives with their number so far, by communicator or file.
        data: places of the first and the last data of each phase.
        waiting: places of steps that may wait for other ranks themselves.
    """

    ranks: frozenset[int]
    signals: list[tuple[int, int, frozenset[int], int]] = field(default_factory=list)
    awaits: dict[int, list[tuple[int, frozenset[int], int]]] = field(default_factory=dict)
    met: dict[Key, list[tuple[int, int]]] = field(default_factory=dict)
    data: dict[int, tuple[int, int]] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)

    def n_met(self, key: Key, until: int) -> int:
        """Collectives up to a place."""
        met = self.met.get(key, [])
        at = bisect_right(met, until, key=itemgetter(0))
        return met[at - 1][1] if at else 0


@dataclass(frozen=True)
class _Point:
    """Where some ranks end or begin something."""

    program: _Program
    ranks: frozenset[int]
    place: int


def waiting_differences(plan: PlannedRun, kernel: Kernel) -> Iterator[str]:
    """A sentence on each message between ranks that only one side has, and on each order that nothing keeps."""
    programs = [_look_at(steps, ranks) for ranks, steps in plan.each_program()]
    yield from _one_sided(programs)
    together = _together(plan)
    of_rank = {rank: program for program in programs for rank in program.ranks}
    for why, first, then, is_certain in _orders(kernel, of_rank):
        if not first or not then:
            continue  # they are not performed, which is said elsewhere
        open_ = [
            (a, b)
            for a in first
            for b in then
            if not _is_before(a, b, together) and not _leads(a, b, of_rank)
        ]
        may_wait = any(one.place in one.program.waiting for one in (*first, *then))
        n_messages = len(_ranks(first)) * len(_ranks(then))
        if open_ and (is_certain or (not may_wait and n_messages <= MOST_MESSAGES)):
            a, b = open_[0]
            yield f"rank {min(b.ranks)} does not wait for rank {min(a.ranks)}: {why}"


def _look_at(steps: Sequence[Step | OwnStep], ranks: frozenset[int]) -> _Program:
    program = _Program(ranks)
    n_met: Counter[Key] = Counter()
    place = 0
    for line, step in enumerate(steps):
        if isinstance(step, OwnStep):
            if step.words[0] != "tick":
                word, number, _, *others = step.words
                told = frozenset(map(int, others))
                if word == "signal":
                    program.signals.append((place, int(number), told, line))
                else:
                    program.awaits.setdefault(int(number), []).append((place, told, line))
            continue
        at = place if isinstance(step, SyncStep) else place + 1
        place += 2 * (at > place)
        for inner in plain_steps([step]):
            if isinstance(inner, DataStep):
                program.data[inner.ph_id] = (program.data.get(inner.ph_id, (at,))[0], at)
            if _may_wait(inner):
                program.waiting.add(at)
        for key, n in collectives_of(step):
            n_met[key] += n
            program.met.setdefault(key, []).append((at, n_met[key]))
    return program


def _may_wait(step: Step) -> bool:
    return isinstance(step, SyncStep | ProcessStep) or (
        isinstance(step, FileStep) and calls.is_mpi(step.iop_type)
    )


def _one_sided(programs: Sequence[_Program]) -> Iterator[str]:
    """Each signal is awaited once by those that it names, and each await is answered once by those that it names."""
    sides: dict[str, defaultdict[int, list[tuple[_Program, frozenset[int]]]]] = {
        "signal": defaultdict(list), "await": defaultdict(list),
    }  # fmt: skip
    for program in programs:
        for _, number, others, _ in program.signals:
            sides["signal"][number].append((program, others))
        for number, lines in program.awaits.items():
            sides["await"][number] += [(program, others) for _, others, _ in lines]
    for word, answer in (("signal", "await"), ("await", "signal")):
        for number, told in sides[word].items():
            answering = Counter(rank for one, _ in sides[answer][number] for rank in one.ranks)
            for program, others in told:
                if answering != Counter(others):
                    yield f"rank {min(program.ranks)} has {word} {number} for ranks that have no {answer} of it, or another"


def _together(plan: PlannedRun) -> dict[Key, frozenset[int]]:
    """Which ranks a collective's count is common to, by communicator or file."""
    opened: defaultdict[str, set[int]] = defaultdict(set)
    for ranks, steps in plan.each_program():
        for step in file_steps(steps):
            if step.iop_type == "MPI_File_open":
                opened[f"file {step.file_id}"] |= ranks
    found: dict[Key, frozenset[int]] = dict(enumerate(map(frozenset, plan.communicators)))
    return found | {key: frozenset(ranks) for key, ranks in opened.items()}


def _orders(
    kernel: Kernel, of_rank: dict[int, _Program]
) -> Iterator[tuple[str, list[_Point], list[_Point], bool]]:
    """What must come before what, why, and whether it must even beside steps that may wait for other ranks."""

    @cache
    def n_before(program: int) -> list[int]:
        return [0, *accumulate(map(_n_planned, kernel.programs[program].steps))]

    def at(place: Place, *, end: bool) -> list[_Point]:
        number, index = place
        ranks = kernel.programs[number].ranks
        found = of_rank.get(ranks[0])
        before = n_before(number)[index + end]
        return [_Point(found, frozenset(ranks), 2 * before + (-1 if end else 1))] if found else []

    told = [(pair.first, pair.then, _OF_A_PROCESS) for pair in process_pairs(kernel)]
    by_time = not told and not uses_mpi(kernel)
    told += [((one,), then, _OF_A_NAME) for one, then in made_pairs(kernel)]
    if by_time:
        told += [(pair.first, pair.then, _OF_A_NAME) for pair in name_pairs(kernel)]
    for places, then, why in told:
        first = [point for place in places for point in at(place, end=True)]
        yield why, first, at(then, end=False), why is _OF_A_PROCESS
    begun, ended = defaultdict[int, list[_Point]](list), defaultdict[int, list[_Point]](list)
    for program in dict.fromkeys(of_rank.values()):
        for ph_id, (low, high) in program.data.items():
            begun[ph_id].append(_Point(program, program.ranks, low))
            ended[ph_id].append(_Point(program, program.ranks, high))
    for written, read in read_after_write(kernel):
        why = f"phase {read.ph_id} works on what phase {written.ph_id} wrote"
        yield why, ended[written.ph_id], begun[read.ph_id], False


def _n_planned(step: Step) -> int:
    """How many steps of a plan one of a kernel is, without collectives."""
    if isinstance(step, IrregularOrderStep):
        return sum(map(_n_planned, step.each()))
    if isinstance(step, FileStep):
        return int(calls.performed(step.iop_type) is not None)
    return int(not isinstance(step, SyncStep | ProcessStep))


def _is_before(a: _Point, b: _Point, together: dict[Key, frozenset[int]]) -> bool:
    """Whether all that one has to do ends before another begins, on whatever rank."""
    if a.ranks == b.ranks and len(a.ranks) == 1:
        return True  # its own order is compared elsewhere
    both = a.ranks | b.ranks
    if any(
        both <= together[key] and b.program.n_met(key, b.place - 1) > a.program.n_met(key, a.place)
        for key in b.program.met.keys() & together.keys()
    ):
        return True
    behind = bisect_right(a.program.signals, a.place, key=itemgetter(0))
    return any(
        b.ranks <= told
        and any(
            place < b.place and a.ranks <= by for place, by, _ in b.program.awaits.get(number, ())
        )
        for _, number, told, _ in islice(a.program.signals, behind, None)
    )


def _leads(a: _Point, b: _Point, of_rank: dict[int, _Program]) -> bool:
    """Whether messages lead from each rank of one to each of the other, by way of others: a shell waits between its programs."""
    for rank in a.ranks:
        after: dict[
            int, tuple[int, int]
        ] = {}  # line and place of the first await behind ``a``, by rank
        todo: list[tuple[int, int | None]] = [(rank, None)]
        while todo:
            sender, since = todo.pop()
            for place, number, told, sent in of_rank[sender].signals:
                if (place <= a.place) if since is None else (sent < since):
                    continue
                for other in told & of_rank.keys():
                    for where, by, line in of_rank[other].awaits.get(number, ()):
                        if sender in by and (other not in after or line < after[other][0]):
                            after[other] = line, where
                            todo.append((other, line))
        if any(other != rank and after.get(other, (0, b.place))[1] >= b.place for other in b.ranks):
            return False
    return True


def _ranks(points: Sequence[_Point]) -> frozenset[int]:
    return frozenset[int]().union(*(point.ranks for point in points))
