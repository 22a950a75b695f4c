"""Phases as benchmarks see them: groups that one run of a benchmark stands for, and how far it falls short.

What the writers share: which phases go together, which cannot be expressed by request size, count and
stride at all, and notes on every difference between a benchmark's operations and the model's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.kernel.document.operations import (
    Totals,
    fewest,
    first_difference,
    member_runs,
    normal,
    totals,
)
from wavetank.model.document.phase import ListedOffsets, Phase, Run, Series
from wavetank.notes import Note, note

_MANY = 1000  # runs that are counted before each becomes an object
_REGULAR = 2  # runs that may be regular operations, the last of them short
FILES_ON_THEIR_OWN = 4  # up to as many read-only files get a run each; more go together


@dataclass(frozen=True)
class Group:
    """Phases that one run stands for.

    A series on one file, the same phase on a file per rank, or phases at random of different ranks on one file.
    """

    phases: tuple[Phase, ...]
    files: tuple[KernelFile, ...]  # one, or one for each phase

    @property
    def per_process(self) -> bool:
        """Whether each rank has a file of its own."""
        return len(self.files) > 1

    @cached_property
    def apart(self) -> bool:
        """Whether its phases are of different ranks."""
        return self.per_process or are_apart(self.phases)

    def ranks(self) -> list[int]:
        """Its ranks; with a file for each, in the order of the files."""
        if self.per_process:
            return [phase.ph_processid[0] for phase in self.phases]
        return ranks_of(self.phases)

    def runs(self, rank: int) -> list[Run] | None:
        """One rank's operations, in order; None where offsets are unknown."""
        phases = (
            [phase for phase in self.phases if rank in phase.ph_processid]
            if self.apart
            else self.phases
        )
        found: list[Run] = []
        for phase in phases:
            runs = member_runs(phase, 0, rank)
            if runs is None:
                return None
            found.extend(runs)
        return normal(found)

    @property
    def n_files(self) -> int:
        """Files that its phases are on, one after another; 1 where each phase is on a file of its own."""
        return next((file.n_files for file in self.files if file.n_files > 1), 1)

    def lists_sizes(self, rank: int) -> bool:
        """Whether one rank's only phase lists many runs that differ in request size. None of them is looked at."""
        if self.n_listed(rank) == 0:
            return False
        sizes = self.phases[0].runs(rank, 0).size
        return bool((sizes != sizes[0]).any())

    def n_listed(self, rank: int) -> int:
        """Runs of one rank where its only phase lists many; 0 elsewhere. None of them is looked at."""
        phase = self.phases[0]
        if len(self.phases) > 1 or not isinstance(phase.offset[0], ListedOffsets):
            return 0
        of = phase.runs(rank, 0)
        if len(of) < _MANY:
            return 0
        return len(fewest(of))


def are_apart(phases: Sequence[Phase]) -> bool:
    """Whether phases are of different ranks, and not all of the same."""
    return any(phase.ph_processid != phases[0].ph_processid for phase in phases[1:])


def ranks_of(phases: Sequence[Phase]) -> list[int]:
    """The ranks of phases on one file, which one run's tasks stand for, ascending."""
    if not are_apart(phases):
        return list(phases[0].ph_processid)
    return sorted({rank for phase in phases for rank in phase.ph_processid})


def phase_groups(kernel: Kernel, series: Sequence[Series]) -> Iterator[Group]:
    """The kernel's phases, each in one group: equal phases of a series, or of files of each rank, together."""
    files = {file.file_id: file for file in kernel.files}
    phases = {phase.ph_id: phase for phase in kernel.phases}
    in_series = {ph_id: one.ph_ids for one in series for ph_id in one.ph_ids}
    per_process = _per_process(kernel, files)
    done: set[int] = set()
    for phase in kernel.phases:
        if phase.ph_id in done:
            continue
        together = in_series.get(phase.ph_id, (phase.ph_id,))
        of = per_process.get(phase.ph_id)
        if of is not None and len(together) == 1:
            members = tuple(phases[ph_id] for ph_id in of)
            done.update(of)
            yield Group(members, tuple(files[member.file_id] for member in members))
            continue
        members = tuple(
            phases[ph_id]
            for ph_id in together
            if ph_id in phases and phases[ph_id].file_id == phase.file_id and ph_id not in done
        )
        done.update(member.ph_id for member in members)
        yield Group(members, (files[phase.file_id],))


def _per_process(kernel: Kernel, files: dict[int, KernelFile]) -> dict[int, tuple[int, ...]]:
    """Phases that are the same on a file of each rank's own, by each of their ids."""
    alike: defaultdict[tuple[object, ...], list[Phase]] = defaultdict(list)
    for phase in kernel.phases:
        if phase.ph_np == 1 and len(phase.pattern) == 1:
            shape = _shape(phase)
            if shape is not None:
                alike[(phase.pattern[0].iop_type, shape)].append(phase)
    result: dict[int, tuple[int, ...]] = {}
    for group in alike.values():
        ranks = {phase.ph_processid[0] for phase in group}
        ids = {phase.file_id for phase in group}
        inputs = all(files[file_id].role == "input" for file_id in ids)
        if len(group) == len(ranks) == len(ids) > (FILES_ON_THEIR_OWN if inputs else 1):
            ordered = sorted(group, key=lambda phase: phase.ph_processid[0])
            for phase in ordered:
                result[phase.ph_id] = tuple(member.ph_id for member in ordered)
    return result


def _shape(phase: Phase) -> object:
    """What is equal where two phases of one rank each do the same; None where offsets are unknown."""
    offsets = phase.offset[0]
    if isinstance(offsets, ListedOffsets) and len(offsets.count) > 1:
        return offsets
    runs = member_runs(phase, 0, phase.ph_processid[0])
    return None if runs is None else tuple(runs)


def refusal(group: Group) -> str | None:
    """Why a benchmark with one request size, count and stride cannot express the phases; None if it can."""
    if (reason := _not_one_call_on_one_file(group)) is not None:
        return reason
    for rank in group.ranks():
        n_runs = group.n_listed(rank)
        if n_runs <= _REGULAR:
            runs = group.runs(rank)
            if runs is None:
                return "its offsets are unknown"
            if len(runs) == 1 or (len(runs) == 2 and runs[1].count == 1 and is_short(runs[1])):
                continue
            n_runs = len(runs)
        return (
            f"rank {rank}'s offsets or sizes are irregular ({n_runs} different stretches); "
            "a benchmark has one size and one stride"
        )
    counts = {sum(run.count for run in group.runs(rank) or []) for rank in group.ranks()}
    if len(counts) > 1:
        return f"its ranks do different numbers of operations ({min(counts)} to {max(counts)})"
    return None


def _not_one_call_on_one_file(group: Group) -> str | None:
    phase = group.phases[0]
    if group.n_files > 1:
        return f"it is on {group.n_files:,} files one after another; a benchmark's task has one"
    if len(phase.pattern) > 1:
        members = ", ".join(member.iop_type for member in phase.pattern)
        return f"it mixes operations ({members}) in one pattern; a benchmark's run writes everything or reads everything"
    return "its operations move nothing" if phase.pattern[0].rs == 0 else None


def other_places(group: Group, theirs: Sequence[Sequence[Run]], size: int) -> str | None:
    """Why a benchmark's operations lie elsewhere than the model's by more than a rounding; None if they do not.

    Args:
        group: phases that ``refusal`` lets pass.
        theirs: the operations of each of the benchmark's tasks.
        size: its request size, bytes; a rounding moves the first operation by up to one of it for each task before.
    """
    ranks = group.ranks()
    wrong = []
    for task, (rank, line) in enumerate(zip(ranks, theirs, strict=True)):
        ours = (group.runs(rank) or [])[0]
        slack = 0 if size == ours.rs and not _is_cut(group, rank) else (task + 1) * size
        if ours.rs != size:  # each operation before it was rounded too
            slack += abs(ours.offset) * abs(size - ours.rs) // ours.rs
        far = abs(ours.offset - line[0].offset) > slack
        strides = min(ours.count, line[0].count) > 1 and ours.disp - ours.rs != line[0].disp - size
        if far or strides:
            wrong.append((rank, ours, line))
    if not wrong:
        return None
    rank, ours, line = wrong[0]
    through = " through the MPI file view" if group.phases[0].offset_view is not None else ""
    return (
        f"{len(wrong)} of {len(ranks)} ranks have offsets{through} that its layout does not have (rank {rank}: "
        f"{_layout([ours])}, not {_layout(line)})"
    )


def _is_cut(group: Group, rank: int) -> bool:
    return is_short((group.runs(rank) or [])[-1])


def is_short(run: Run) -> bool:
    """Whether the last operation moved less than it asked for."""
    return run.moved < run.count * run.rs


def in_a_folder(name: str) -> str:
    """A file's name as MPI libraries take it: Open MPI 4.1 opens no shared file by a name without a directory."""
    return name if "/" in name else f"./{name}"


def stem_of(names: Sequence[str]) -> str:
    """What a benchmark is told of the files of each rank: what IOR made them of, else what they have in common without numbers."""
    name = iors_own(names)
    if name is not None:
        return name
    stem = _common_start(names).rstrip("0123456789.-_")
    return stem or names[0]


def iors_own(names: Sequence[str]) -> str | None:
    """The name of which IOR makes just these, one for each task (-F: eight digits); None where there is none."""
    name = names[0].removesuffix(f".{0:08d}")
    made = [f"{name}.{task:08d}" for task in range(len(names))]
    return name if name and list(names) == made else None


def _common_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    n = 0
    while n < min(len(first), len(last)) and first[n] == last[n]:
        n += 1
    return first[:n]


def approximate(reason: str) -> Note:
    """That a line only comes near its phases, and why."""
    return note("replaced", "layout", "Approximate, because {reason}.", reason=reason)


def changed(ours: Totals, theirs: Totals) -> Iterator[Note]:
    """Where a benchmark's operations and bytes are others than the application's."""
    for name in ("operations", "bytes"):
        before, after = getattr(ours, name), getattr(theirs, name)
        if before != after:
            text = name.capitalize() + ": {before} become {after} ({percent:+.3f} %)."
            percent = 100 * (after - before) / before
            yield note("replaced", name, text, before=before, after=after, percent=percent)


def differences(group: Group, theirs: Sequence[Sequence[Run]]) -> Iterator[Note]:
    """What a benchmark's operations are and the model's are not.

    Args:
        group: the phases.
        theirs: the operations of each of the benchmark's tasks, as many as the group has ranks.
    """
    ranks = group.ranks()
    models = [group.runs(rank) or [] for rank in ranks]
    iors = theirs
    ours, made = (totals(run for runs in each for run in runs) for each in (models, iors))
    yield from changed(ours, made)
    short = [runs[-1] for runs in models if is_short(runs[-1])]
    if short:
        last = short[0].moved - (short[0].count - 1) * short[0].rs
        text = "The last operation, which moves {last} bytes only, is a whole one or missing."
        yield note("replaced", "last operation", text, last=last)
    different = [
        (rank, first)
        for rank, model, line in zip(ranks, models, iors, strict=True)
        if (first := first_difference(model, line)) is not None
    ]
    if different and any(not _same_layout(m, i) for m, i in zip(models, iors, strict=True)):
        rank, _ = different[0]
        where = (
            "" if len(ranks) == 1 else f" on {len(different)} of {len(ranks)} ranks, as rank {rank}"
        )
        at = ranks.index(rank)
        text = f"Offsets{where}: {_layout(models[at])} becomes {_layout(iors[at])}."
        yield note("replaced", "offsets", text)


def _same_layout(model: Sequence[Run], line: Sequence[Run]) -> bool:
    """Whether offsets differ by no more than the end of the sequence."""
    return (
        bool(model)
        and bool(line)
        and model[0].offset == line[0].offset
        and (model[0].disp == line[0].disp or min(model[0].count, line[0].count) == 1)
    )


def _layout(runs: Sequence[Run]) -> str:
    run = runs[0]
    return f"from {run.offset}" + (f" every {run.disp} bytes" if run.count > 1 else "")


def span(phases: Iterable[Phase]) -> tuple[float, float]:
    """When phases ran, in seconds of the run: at any time, for all that is known, where no phase says when."""
    starts = [phase.start_s for phase in phases if phase.start_s is not None]
    ends = [phase.end_s for phase in phases if phase.end_s is not None]
    return (min(starts), max(ends)) if starts and ends else (-math.inf, math.inf)


def overlap(group: Group, other: Group) -> bool:
    """Whether two groups ran at the same time, for all that is known."""
    (begin, end), (their_begin, their_end) = span(group.phases), span(other.phases)
    return begin < their_end and their_begin < end


def some(ranks: Sequence[int]) -> str:
    """The first ranks, for a sentence."""
    shown = ", ".join(map(str, ranks[:6]))
    return shown if len(ranks) <= 6 else f"{shown}, ..."
