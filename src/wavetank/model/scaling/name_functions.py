"""Files of which each rank has its own, as one: a family, whose names are a function of the rank.

Reads a model; leaves one with a file, phases and programs for each family. So a program with a file for each process
has the same phases at every process count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wavetank.model.document.file import ModelFile
from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.model import Model, own_phases
from wavetank.model.document.offsets import fit_offsets
from wavetank.model.document.phase import (
    LinearOffsets,
    ListedOffsets,
    Offsets,
    Phase,
    UnknownOffsets,
)
from wavetank.model.document.program import DataStep, FileStep, Program, Step
from wavetank.model.document.step_walks import changed_steps, file_steps


@dataclass(frozen=True)
class Number:
    """A number in a name: slope * rank + intercept, in ``width`` digits at least."""

    slope: int
    intercept: int
    width: int

    def __str__(self) -> str:
        """As a format: {rank:03d}."""
        term = {1: "rank"}.get(self.slope, f"{self.slope}*rank")
        term += f"{self.intercept:+d}" if self.intercept else ""
        return f"{{{term}:0{self.width}d}}" if self.width > 1 else f"{{{term}}}"


@dataclass(frozen=True)
class NamePattern:
    """Text and numbers of a name in turn."""

    parts: tuple[str | Number, ...]

    def of(self, rank: int) -> str:
        """The name of one rank's file."""
        return "".join(
            part
            if isinstance(part, str)
            else f"{part.slope * rank + part.intercept:0{part.width}d}"
            for part in self.parts
        )

    def __str__(self) -> str:
        """With the numbers as formats."""
        return "".join(map(str, self.parts))


Families = dict[int, NamePattern]  # by the file_id that stands for all


def name_pattern(names: Mapping[int, str]) -> NamePattern | None:
    """The names of the ranks' files as one function of the rank; None if there is none.

    Args:
        names: by rank, two at least.
    """
    ranks = sorted(names)
    pieces = [re.split(r"(\d+)", names[rank]) for rank in ranks]
    parts: list[str | Number] = []
    for position, column in enumerate(zip(*pieces, strict=True)):
        if len(set(column)) == 1:
            parts.append(column[0])
            continue
        if position % 2 == 0:
            return None
        values = [int(text) for text in column]
        slope, rest = divmod(values[-1] - values[0], ranks[-1] - ranks[0])
        width = min(map(len, column))
        number = Number(slope, values[0] - slope * ranks[0], width if width > 1 else 1)
        if rest or [f"{slope * r + number.intercept:0{number.width}d}" for r in ranks] != list(
            column
        ):
            return None
        parts.append(number)
    return NamePattern(tuple(parts))


def collapse(model: Model) -> tuple[Model, Families]:
    """The model with each family of files as one file; phases of the levels below are left out."""
    phases = own_phases(model)
    by_file: dict[int, list[Phase]] = defaultdict(list)
    for phase in phases:
        by_file[phase.file_id].append(phase)
    families: Families = {}
    file_ids = {file.file_id: file.file_id for file in model.files}
    ph_ids = {phase.ph_id: phase.ph_id for phase in phases}
    merged: dict[int, Phase] = {}
    for members, pattern in _families(model):
        of_ranks = [by_file[file_id] for file_id in members.values()]
        if len({tuple(map(_shape, own)) for own in of_ranks}) > 1:
            continue
        first = next(iter(members.values()))
        families[first] = pattern
        file_ids.update(dict.fromkeys(members.values(), first))
        for same in zip(*of_ranks, strict=True):
            merged[same[0].ph_id] = _merged(same)
            ph_ids.update({phase.ph_id: same[0].ph_id for phase in same})
    kept = tuple(merged.get(p.ph_id, p) for p in phases if ph_ids[p.ph_id] == p.ph_id)
    programs: dict[tuple[Step, ...], list[int]] = {}
    for program in model.programs:
        steps = _renamed(program.steps, file_ids, ph_ids)
        programs.setdefault(steps, []).extend(program.ranks)
    files = tuple(
        file.model_copy(
            update={
                "file_np": len(
                    {r for p in kept if p.file_id == file.file_id for r in p.ph_processid}
                )
                or 1
            }
        )
        if file.file_id in families
        else file
        for file in model.files
        if file_ids[file.file_id] == file.file_id
    )
    return model.model_copy(
        update={
            "files": files,
            "phases": kept,
            "programs": tuple(
                Program(ranks=tuple(sorted(ranks)), steps=steps)
                for steps, ranks in programs.items()
            ),
            "relations": (),
        }
    ), families


def _families(model: Model) -> Iterable[tuple[dict[int, int], NamePattern]]:
    """Files of one rank each, by rank, whose names are one function of it."""
    owners: dict[int, set[int]] = defaultdict(set)
    for phase in model.phases:
        owners[phase.file_id].update(phase.ph_processid)
    for program in model.programs:
        for file_id in _files_of(program.steps):
            owners[file_id].update(program.ranks)
    alike: dict[str, dict[int, list[ModelFile]]] = defaultdict(lambda: defaultdict(list))
    for file in model.files:
        if len(owners[file.file_id]) == 1:
            (rank,) = owners[file.file_id]
            alike[re.sub(r"\d+", "0", file.file_name)][rank].append(file)
    for by_rank in alike.values():
        if len(by_rank) < 2 or len({len(files) for files in by_rank.values()}) > 1:
            continue
        for nth in range(len(next(iter(by_rank.values())))):
            files = {rank: by_rank[rank][nth] for rank in sorted(by_rank)}
            pattern = name_pattern({rank: file.file_name for rank, file in files.items()})
            if pattern is not None:
                yield {rank: file.file_id for rank, file in files.items()}, pattern


def _files_of(steps: Sequence[Step]) -> Iterable[int]:
    return (step.file_id for step in file_steps(steps))


def _shape(phase: Phase) -> object:
    """What phases of a family's files have in common."""
    members = tuple((m.iop_type, m.handle, m.rs, m.disp) for m in phase.pattern)
    lists = tuple(offset.function for offset in phase.offset)
    where = (phase.view_id, phase.memory)
    return (phase.level, members, phase.ph_nrep, where, phase.moved_last, lists)


def _merged(phases: Sequence[Phase]) -> Phase:
    """One phase of phases of one rank each."""
    first = phases[0]
    ranks = tuple(phase.ph_processid[0] for phase in phases)
    offset = tuple(_joined_offsets(phases, member) for member in range(len(first.pattern)))
    return first.model_copy(
        update={
            "ph_processid": ranks,
            "ph_np": len(ranks),
            "ph_weight": sum(phase.ph_weight for phase in phases),
            "offset": offset,
            "offset_view": None,
            "exact": all(isinstance(one, LinearOffsets) for one in offset),
        }
    )


def _joined_offsets(phases: Sequence[Phase], member: int) -> Offsets:
    offsets = [phase.offset[member] for phase in phases]
    if any(isinstance(one, UnknownOffsets) for one in offsets):
        return UnknownOffsets(sizes=_joined_sizes(phases, member))
    if all(isinstance(one, LinearOffsets) for one in offsets):
        linear = [one for one in offsets if isinstance(one, LinearOffsets)]
        ranks = [phase.ph_processid[0] for phase in phases]
        starts = [one.a * rank + one.c for one, rank in zip(linear, ranks, strict=True)]
        fitted = fit_offsets(starts, ranks, linear[0].b)
        if fitted is not None:
            return fitted
    return ListedOffsets.of([phase.runs(phase.ph_processid[0], member) for phase in phases])


def _joined_sizes(phases: Sequence[Phase], member: int) -> ListedSizes | None:
    """Sizes of operations at unknown places; None where all are equal."""
    offsets = [phase.offset[member] for phase in phases]
    equal = len({(p.pattern[member].rs, p.moved_last) for p in phases}) == 1
    if equal and all(isinstance(one, UnknownOffsets) and one.sizes is None for one in offsets):
        return None
    return ListedSizes.of([phase.runs(phase.ph_processid[0], member) for phase in phases])


def _renamed(
    steps: Sequence[Step], file_ids: Mapping[int, int], ph_ids: Mapping[int, int]
) -> tuple[Step, ...]:
    def renamed(step: DataStep | FileStep) -> DataStep | FileStep:
        if isinstance(step, FileStep):
            return step.model_copy(update={"file_id": file_ids[step.file_id]})
        return step.model_copy(update={"ph_id": ph_ids[step.ph_id]})

    return changed_steps(steps, renamed)
