"""The plan's text read back: what the replay program will issue, rank by rank, folded.

Independent of lower.py, so that a certificate does not compare the lowering with itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from wavetank.errors import KernelError
from wavetank.model.phase import Run


@dataclass
class PlannedCall:
    """One call of a phase's pattern. ``runs`` by rank; those of rank None hold for every rank (a, b, c)."""

    name: str
    placed: bool = True  # at given offsets; else wherever the file pointer is
    handle: int = 0
    linear: tuple[int, int, int, int, int, int] | None = None  # count rs a b c moved_last
    listed: dict[int, list[Run]] = field(default_factory=lambda: defaultdict(list))

    def runs(self, rank: int) -> list[Run]:
        """One rank's operations, in the view where there is one."""
        if self.linear is None:
            return self.listed.get(rank, [])
        count, rs, a, b, c, last = self.linear
        moved = (count - 1) * rs + last
        return [Run(count=count, rs=rs, offset=a * rank + c, disp=b, moved=moved)]


@dataclass
class PlannedPhase:
    """A phase of a plan."""

    file_id: int
    calls: list[PlannedCall] = field(default_factory=list)


@dataclass
class PlannedStep:
    """A step: its words, and for a repeat what is repeated."""

    words: tuple[str, ...]
    inner: list[PlannedStep] | None = None


@dataclass
class PlannedRun:
    """A plan."""

    n_ranks: int = 0
    names: dict[int, list[str]] = field(default_factory=dict)  # of each file, the first its own
    views: list[tuple[int, ...]] = field(default_factory=list)
    infos: list[tuple[tuple[str, str], ...]] = field(default_factory=list)
    communicators: list[tuple[int, ...]] = field(default_factory=list)
    phases: dict[int, PlannedPhase] = field(default_factory=dict)
    programs: dict[int, list[PlannedStep]] = field(default_factory=dict)  # by rank


def read_plan(text: str) -> PlannedRun:
    """Read a plan.

    Raises:
        KernelError: it is damaged.
    """
    plan = PlannedRun()
    lines = (line.split() for line in text.splitlines() if line.strip())
    try:
        if next(lines) not in (["wavetank-plan", "2"], ["wavetank-plan", "3"]):
            raise KernelError("not a plan of version 2 or 3")
        for words in lines:
            _line(plan, words, lines)
    except (StopIteration, IndexError, ValueError, KeyError) as error:
        raise KernelError(f"the plan is damaged: {error}") from error
    return plan


def _line(plan: PlannedRun, words: list[str], lines: Iterator[list[str]]) -> None:
    keyword, *rest = words
    if keyword == "ranks":
        plan.n_ranks = int(rest[0])
    elif keyword == "file":
        plan.names[int(rest[0])] = [unquote(rest[3])]
    elif keyword == "name":
        plan.names[int(rest[0])].append(unquote(rest[1]))
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
    elif keyword == "linear":
        count, rs, a, b, c, last = map(int, rest)
        _latest(plan).calls[-1].linear = (count, rs, a, b, c, last)
    elif keyword == "run":
        rank, count, rs, offset, disp, last = map(int, rest)
        _latest(plan).calls[-1].listed[rank].append(
            Run.model_construct(
                count=count, rs=rs, offset=offset, disp=disp, moved=(count - 1) * rs + last
            )
        )
    elif keyword == "program":
        steps = _steps(lines)
        for rank in _ranks(rest[0]):
            plan.programs[rank] = steps


def _latest(plan: PlannedRun) -> PlannedPhase:
    return next(reversed(plan.phases.values()))


def _steps(lines: Iterator[list[str]]) -> list[PlannedStep]:
    steps: list[PlannedStep] = []
    for words in lines:
        if words == ["end"]:
            return steps
        inner = _steps(lines) if words[0] == "repeat" else None
        steps.append(PlannedStep(tuple(words), inner))
    raise ValueError("a program has no end")


def _ranks(text: str) -> list[int]:
    ranks: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        ranks.extend(range(int(low), int(high or low) + 1))
    return ranks
