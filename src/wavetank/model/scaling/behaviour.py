"""What one rank does, as a shape and numbers: what runs at several process counts have in common, and what scales.

Reads a model; leaves for each rank the tree of its steps without any number (the shape), the numbers in the order of the
tree, the file views that it sets, and where the operations of its phases lie. Files go by the order in which
the rank uses them first. Two ranks of two runs do the same when their shapes are equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.document.access_runs import RunArrays, canonical
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Model, View
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    PauseStep,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.tables.file_table import common_folder
from wavetank.trace.arguments import ARGUMENTS, Argument

Shape = tuple[object, ...]


@dataclass(frozen=True)
class Label:
    """What a number is: a field of the rank's n-th phase, or of a step (phase None)."""

    phase: int | None
    field: str


@dataclass(frozen=True)
class LocalPhase:
    """A rank's part in a phase."""

    ph_id: int
    n_rep: int
    runs: (
        tuple[RunArrays, ...] | None
    )  # by pattern member, in the view where there is one; None: unknown offsets
    rs: tuple[int, ...]
    moved_last: tuple[int, ...] | None
    view: int | None  # index into the behaviour's views


@dataclass(frozen=True)
class Behaviour:
    """One rank of one run."""

    shape: Shape
    numbers: tuple[int, ...]
    labels: tuple[Label, ...]
    views: tuple[View, ...]
    phases: tuple[LocalPhase, ...]
    files: tuple[ModelFile, ...]
    names: tuple[str, ...]  # of the files, below the folder that all files of the run are in
    other_names: tuple[tuple[str, ...], ...]  # of each file, in the order of the model


def file_kind(name: str) -> str:
    """A file's name without its numbers: of all files of a family the same."""
    return re.sub(r"\d+", "#", name)


class Behaviours:
    """The behaviours of a model's ranks."""

    def __init__(self, model: Model, without: Collection[str] = (), joined: bool = False) -> None:
        """Of a model.

        Args:
            model: the model.
            without: kinds of files to leave out, as ``file_kind`` says.
            joined: take phases of one call that follow on each other without anything between as one: where sizes
                or distances separate them, they are separated in other places at other process counts.
        """
        self._model, self._joined = model, joined
        self._phases = {phase.ph_id: phase for phase in model.phases}
        self._places = {
            phase.ph_id: {rank: at for at, rank in enumerate(phase.ph_processid)}
            for phase in model.phases
        }
        folder = common_folder(file.file_name for file in model.files)
        self.folder = folder
        self._names = {
            file.file_id: file.file_name.removeprefix(folder).lstrip("/") for file in model.files
        }
        self._files = {file.file_id: file for file in model.files}
        self._left_out = {
            file_id for file_id, name in self._names.items() if file_kind(name) in without
        }
        self._programs = {rank: program for program in model.programs for rank in program.ranks}

    def of(self, rank: int) -> Behaviour:
        """The behaviour of a rank; of one without a program, an empty one."""
        program = self._programs.get(rank)
        reader = _Reader(
            self._model, rank, self._phases, self._names, self._left_out, self._joined, self._places
        )
        place = program.ranks.index(rank) if program else 0
        shape = reader.steps(program.steps if program else (), place)
        phases = tuple(self._local(number, rank, reader) for number in reader.phase_ids)
        kinds = tuple(
            self._phase_shape(self._phases[number], reader) for number in reader.phase_ids
        )
        links = tuple(
            tuple(name.symlink for name in self._files[file_id].other_names)
            for file_id in reader.file_ids
        )
        return Behaviour(
            shape=(shape, kinds, tuple(phase.view for phase in phases), links),
            numbers=tuple(reader.numbers),
            labels=tuple(reader.labels),
            views=tuple(reader.views),
            phases=phases,
            files=tuple(self._files[file_id] for file_id in reader.file_ids),
            names=tuple(self._names[file_id] for file_id in reader.file_ids),
            other_names=tuple(
                tuple(
                    name.path.removeprefix(self.folder).lstrip("/")
                    for name in self._files[file_id].other_names
                )
                for file_id in reader.file_ids
            ),
        )

    def _phase_shape(self, phase: Phase, reader: _Reader) -> Shape:
        return (
            reader.file_ids.index(phase.file_id),
            phase.level,
            tuple((member.iop_type, member.handle) for member in phase.pattern),
            any(one.function == "unknown" for one in phase.positions),
        )

    def _local(self, ph_id: int, rank: int, reader: _Reader) -> LocalPhase:
        phases = [self._phases[number] for number in (ph_id, *reader.following.get(ph_id, ()))]
        first = phases[0]
        view_id = reader.view_of(first)
        in_view = first.offset_view is not None
        return LocalPhase(
            ph_id=ph_id,
            n_rep=sum(phase.ph_nrep for phase in phases),
            runs=_all_runs(phases, rank),
            rs=tuple(member.rs for member in first.pattern),
            moved_last=phases[-1].moved_last,
            view=reader.view(view_id) if in_view and view_id is not None and view_id >= 0 else None,
        )


def _all_runs(phases: Sequence[Phase], rank: int) -> tuple[RunArrays, ...] | None:
    """The runs of a rank in phases that follow on each other, by pattern member; None where offsets are unknown."""
    of_phases = []
    for phase in phases:
        offsets = phase.positions
        if any(one.function == "unknown" for one in offsets):
            return None
        of_phases.append([phase.runs(rank, member, one) for member, one in enumerate(offsets)])
    if len(of_phases) == 1:
        return tuple(of_phases[0])
    columns = ("count", "size", "moved", "offset", "disp")
    return tuple(
        canonical(*(np.concatenate([getattr(one, name) for one in runs]) for name in columns))
        for runs in zip(*of_phases, strict=True)
    )


class _Reader:
    """Walks the steps of one rank's program."""

    def __init__(
        self,
        model: Model,
        rank: int,
        phases: Mapping[int, Phase],
        names: Mapping[int, str],
        left_out: Collection[int],
        joined: bool,
        places: Mapping[int, Mapping[int, int]],
    ) -> None:
        self._model, self._rank, self._phases = model, rank, phases
        self._names, self._left_out = names, left_out
        self._joined, self._places = joined, places
        self.following: dict[int, list[int]] = {}  # by a phase, those joined to it
        self.numbers: list[int] = []
        self.labels: list[Label] = []
        self.views: list[View] = []
        self._view_ids: list[int] = []
        self.phase_ids: list[int] = []
        self.file_ids: list[int] = []
        self._depth = 0  # of loops

    def view(self, view_id: int) -> int:
        """The rank's number of a view."""
        if view_id not in self._view_ids:
            self._view_ids.append(view_id)
            self.views.append(self._model.views[view_id])
        return self._view_ids.index(view_id)

    def _number(self, value: int, field: str, phase: int | None = None) -> None:
        self.numbers.append(value)
        self.labels.append(Label(phase, field))

    def _local(self, seen: list[int], number: int) -> int:
        if number not in seen:
            seen.append(number)
        return seen.index(number)

    def steps(self, steps: Sequence[Step], place: int) -> Shape:
        """The shape of steps; their numbers are appended. Neighbouring collectives of one communicator are joined."""
        found: list[object] = []
        of_sync: dict[
            object, int
        ] = {}  # of the last step, if it is a collective: place of its count
        for number, step in enumerate(steps):
            if isinstance(step, PauseStep) or self._is_left_out(step):
                continue
            if isinstance(step, SyncStep):
                kind, numbers = self._communicator(step.communicator)
                key = (kind, tuple(numbers))
                if key in of_sync:
                    self.numbers[of_sync[key]] += step.count
                    continue
                of_sync = {key: len(self.numbers)}
                self._number(step.count, "collectives")
                self._ranks(numbers)
                found.append(("sync", kind))
                continue
            of_sync = {}
            if isinstance(step, RepeatStep):
                at = len(self.numbers)
                self._number(step.times, "repetitions")
                self._depth += 1
                inner = self.steps(step.steps, place)
                self._depth -= 1
                if inner:
                    found.append(("repeat", inner))
                else:
                    del self.numbers[at:], self.labels[at:]
            elif isinstance(step, DataStep):
                if found and self._joins(steps, number):
                    self._join(step)
                else:
                    found.append(self._data(step))
            elif isinstance(step, FileStep):
                found.append(self._file(step, place))
            else:
                raise NoFunctionError(
                    f"rank {self._rank} has steps of the kind '{step.step}', of which no function of np is known"
                )
        return tuple(found)

    def _is_left_out(self, step: Step) -> bool:
        if isinstance(step, FileStep):
            return step.file_id in self._left_out
        return isinstance(step, DataStep) and self._phases[step.ph_id].file_id in self._left_out

    def _data(self, step: DataStep) -> Shape:
        self._local(self.file_ids, self._phases[step.ph_id].file_id)
        number = self._local(self.phase_ids, step.ph_id)
        field = "single n" if step.single else "repeated n" if self._depth else "n"
        self._number(step.n, field, number)
        self._number(step.null_seeks, "null seeks", number)
        return ("data", number, step.single, step.handle)

    def _joins(self, steps: Sequence[Step], number: int) -> bool:
        """Whether a step goes on with the calls of the step before, in another phase."""
        before, step = steps[number - 1] if number else None, steps[number]
        if not (self._joined and isinstance(before, DataStep) and isinstance(step, DataStep)):
            return False
        one, other = self._phases[before.ph_id], self._phases[step.ph_id]
        whole = all(
            data.n == phase.ph_nrep and not data.single and not data.null_seeks
            for data, phase in ((before, one), (step, other))
        )
        alike = [
            (
                phase.file_id,
                phase.level,
                tuple((member.iop_type, member.handle) for member in phase.pattern),
                phase.offset_view is None,
                self.view_of(phase),
            )
            for phase in (one, other)
        ]
        parts = self._model.boundaries.split_at_communication.get(one.level, False)
        # Between the ticks of two phases that communication separates lies more than their own calls.
        together = not parts or other.tick_first <= one.tick_last + 1
        return (
            whole
            and self._depth == 0
            and alike[0] == alike[1]
            and len(one.pattern) == 1
            and before.ph_id != step.ph_id
            and together
        )

    def view_of(self, phase: Phase) -> int | None:
        """The model's number of the view that the rank goes through in a phase."""
        if phase.view_ids is None:
            return phase.view_id
        return phase.view_ids[self._places[phase.ph_id][self._rank]]

    def _join(self, step: DataStep) -> None:
        """Add a step to the one before, whose numbers are the last two."""
        self.following.setdefault(self.phase_ids[-1], []).append(step.ph_id)
        self.numbers[-2] += step.n

    def _file(self, step: FileStep, place: int) -> Shape:
        file = self._local(self.file_ids, step.file_id)
        resizes = ARGUMENTS.get(step.iop_type) is Argument.NEW_SIZE
        self._number(step.count, f"{step.iop_type} calls")
        self._number(step.size, f"size of {step.iop_type}")
        if step.offset is not None:
            self._number(step.offset, f"offset of {step.iop_type}")
        if resizes:
            self._number(step.new_size, f"argument of {step.iop_type}")
        info: list[tuple[str, str | None]] = []
        given = None if step.info_id is None else self._model.infos[step.info_id]
        for key, value in given or ():
            is_number = value.isdigit() and (value == "0" or value[0] != "0")
            if is_number:
                self._number(int(value), f"hint {key}")
            info.append((key, None if is_number else value))
        communicator: object = None
        if step.communicator is not None:
            communicator, numbers = self._communicator(step.communicator)
            self._ranks(numbers)
        view_id = step.view_ids[place] if step.view_ids is not None else step.view_id
        view = None if view_id is None else -1 if view_id < 0 else self.view(view_id)
        return (
            "file", step.iop_type, file, step.handle, step.error, None if resizes else step.number,
            step.offset is None, view, step.name, None if given is None else tuple(info), communicator,
        )  # fmt: skip

    def _ranks(self, numbers: Sequence[int]) -> None:
        for value, field in zip(numbers, ("first", "step", "number"), strict=False):
            self._number(value, f"{field} of the ranks of a communicator")

    def _communicator(self, index: int) -> tuple[object, tuple[int, ...]]:
        """Its kind, and the numbers of one that is a part of the ranks."""
        ranks = self._model.communicators[index]
        if len(ranks) == self._model.n_ranks and ranks == tuple(range(len(ranks))):
            return "all", ()
        if ranks == (self._rank,):
            return "self", ()
        step = ranks[1] - ranks[0] if len(ranks) > 1 else 1
        if step > 0 and ranks == tuple(range(ranks[0], ranks[-1] + 1, step)):
            return "range", (ranks[0], step, len(ranks))
        return ("list", ranks), ()
