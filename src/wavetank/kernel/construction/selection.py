"""Which phases and steps of a model a replay performs, and sentences on those that it leaves out or changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from wavetank.kernel.construction.failures import Failures
from wavetank.kernel.construction.overlaps import without_overlaps
from wavetank.kernel.construction.own_calls import OwnCalls
from wavetank.kernel.construction.places import needs_places
from wavetank.kernel.construction.unopened import unopened_files, with_opens
from wavetank.kernel.document import calls
from wavetank.kernel.ordering.process_order import own_programs
from wavetank.model.comparison.inherited_files import inherited_files
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.file_views import programs_by_view
from wavetank.model.document.model import Model
from wavetank.model.document.phase import ListedOffsets, Phase, UnknownOffsets
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.document.step_walks import Around, changed_among, file_steps
from wavetank.notes import Note, notes_of
from wavetank.tables.words import phases_text

_LARGEST_REQUEST = 1 << 30
"""bytes: a request of more needs as much memory; if it moved less, it is made that much smaller"""

_CUT = "Requests far beyond what they moved ask for that much only: {}."
_MAPPED = (
    "Files are mapped into memory as the application did, but what it read and wrote through the mappings is not in the "
    "model, and is left out."
)
_OWNERS = "chown and fchown give files to the replay's own user and group."
_TIMES = "utime gives other times than the application did."
_SEEKS = (
    "Seeks that move nothing ({}) are spread evenly among the operations; the model does not keep before which of them each "
    "came."
)


class Selection:
    """The phases and steps of a model that a replay performs.

    Attributes:
        phases, programs: those that are performed; a program's steps name these phases alone.
        touched: files of steps that move no data.
        unplaced: whether phases were left out because their offsets are not known.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._own = OwnCalls(model)
        self._names = {file.file_id: file.file_name for file in model.files}
        self._cut: list[str] = []
        self.unplaced = False  # phases were left out because their offsets are not known
        fitting = [self._fitting(phase) for phase in model.phases if self._performs(phase)]
        self.phases = [without_overlaps(phase) for phase in fitting]
        self._moved_apart = [
            new.ph_id for new, old in zip(self.phases, fitting, strict=True) if new is not old
        ]
        self._ph_ids = {phase.ph_id for phase in self.phases}
        self.touched: set[int] = set()
        self._unknown_calls: Counter[str] = Counter()
        self._file_calls: set[str] = set()
        self._failures = Failures()
        self._gives_times = False
        self._null_seeks = 0
        self.programs = [
            Program(
                ranks=program.ranks,
                steps=changed_among(program.steps, self._kept, len(program.ranks)),
            )
            for program in programs_by_view(model.programs)
        ]
        self.programs = own_programs(self.programs)
        self._unopened = unopened_files(self.phases, self.programs)
        self.programs = with_opens(self.phases, self.programs)

    def _performs(self, phase: Phase) -> bool:
        names = [member.iop_type for member in phase.pattern]
        if phase.by_library:
            return False
        if any(calls.performed(name) is None for name in names):
            return False
        if needs_places(phase):
            self.unplaced = True
            return False
        return self._own.is_stored(phase.file_id)

    def _fitting(self, phase: Phase) -> Phase:
        """Requests for far more than there was (copy_file_range asks for all that may come) cut to what moved."""
        if phase.ph_nrep > 1:
            return phase
        if any(isinstance(offsets, ListedOffsets) for offsets in phase.offset):
            return self._fitting_lists(phase)
        if phase.moved_last is None:
            return phase
        pattern = list(phase.pattern)
        for index, (member, moved) in enumerate(zip(phase.pattern, phase.moved_last, strict=True)):
            if member.rs > _LARGEST_REQUEST and moved < member.rs:
                pattern[index] = member.model_copy(update={"rs": moved})
                self._cut.append(f"{member.iop_type} of {member.rs} bytes that moved {moved}")
        return phase.model_copy(update={"pattern": tuple(pattern)})

    def _fitting_lists(self, phase: Phase) -> Phase:
        def cut(runs: RunArrays) -> RunArrays:
            wrong = (runs.count == 1) & (runs.size > _LARGEST_REQUEST) & (runs.moved < runs.size)
            if not wrong.any():
                return runs
            self._cut += [
                f"{size} bytes that moved {moved}"
                for size, moved in zip(runs.size[wrong], runs.moved[wrong], strict=True)
            ]
            size = np.where(wrong, runs.moved, runs.size)
            return RunArrays(runs.count, size, runs.moved, runs.offset, runs.disp)

        offsets = tuple(
            ListedOffsets.of([cut(one.of_rank(position)) for position in range(len(one.n_runs))])
            if isinstance(one, ListedOffsets)
            else one
            for one in phase.offset
        )
        return phase.model_copy(update={"offset": offsets})

    def _kept(self, step: DataStep | FileStep, around: Around) -> DataStep | FileStep | None:
        if isinstance(step, DataStep):
            if step.ph_id not in self._ph_ids:
                return None
            self._null_seeks += around.times * step.null_seeks
            return step
        return step if self._performs_step(step, around) else None

    def _performs_step(self, step: FileStep, around: Around) -> bool:
        if not self._own.has(step):
            return False
        if not self._own.is_known(step, around):
            self._unknown_calls[step.iop_type] += around.times * step.count
            return False
        self.touched.add(step.file_id)
        if not self._failures.takes(step, around.times):
            return False
        self._file_calls.add(step.iop_type)
        self._gives_times |= step.times_given != 0
        return True

    def notes(self) -> tuple[Note, ...]:
        """What the replay leaves out or changes."""
        own = self._file_calls & {"chown", "fchown"}
        return (
            *notes_of("omitted", "phases", self._left_out_phases()),
            *notes_of("replaced", "calls", self._substituted()),
            *notes_of(
                "replaced",
                "request sizes",
                [_CUT.format("; ".join(self._cut))] if self._cut else [],
            ),
            *notes_of("omitted", "calls", self._unknown()),
            *notes_of(
                "omitted", "mapped files", [_MAPPED] if self._file_calls & calls.MAPPED else []
            ),
            *notes_of("omitted", "failed calls", self._failures.sentences()),
            *notes_of("replaced", "owners", [_OWNERS] if own else []),
            *notes_of("replaced", "times of files", [_TIMES] if self._gives_times else []),
            *notes_of("replaced", "opens", (*self._communicators(), *self._inherited())),
            *notes_of("replaced", "offsets", self._overlapping()),
            *notes_of(
                "replaced", "seeks", [_SEEKS.format(self._null_seeks)] if self._null_seeks else []
            ),
        )

    def _unknown(self) -> Iterator[str]:
        for name, count in sorted(self._unknown_calls.items()):
            why = "a replay of them is not known."
            if name in calls.ON_TWO_NAMES:
                why = "one of their two names is not a stored file of the model."
            yield f"{count} {name} calls are left out: {why}"

    def _overlapping(self) -> Iterator[str]:
        if self._moved_apart:
            yield (
                f"The collective calls of {phases_text(self._moved_apart)} overlap between ranks: the trace keeps the first "
                "offset of each, not the file view. The replay lays the ranks' parts one after another in the region that "
                "they share."
            )

    def _inherited(self) -> list[str]:
        names = sorted(
            {
                self._names[file_id]
                for _, file_id in inherited_files(self._model)
                if file_id in self.touched
            }
        )
        if not names:
            return []
        return [
            f"Processes were given {', '.join(names)} open by others: the replay's ranks open what they use themselves."
        ]

    def _left_out_phases(self) -> list[str]:
        sentences = []
        for phase in self._model.phases:
            if phase.ph_id in self._ph_ids:
                continue
            names = sorted({member.iop_type for member in phase.pattern})
            what = f"Phase {phase.ph_id} ({', '.join(names)}, {phase.ph_weight} bytes) is left out"
            if phase.by_library:
                continue  # the MPI library does it again when its call is replayed: nothing is lost
            if not self._own.is_stored(phase.file_id):
                sentences.append(f"{what}: {self._names[phase.file_id]} is not a stored file.")
            elif unknown := [name for name in names if calls.performed(name) is None]:
                sentences.append(f"{what}: a replay of {', '.join(unknown)} is not known.")
            else:
                sentences.append(f"{what}: the trace does not know its offsets.")
        return sentences

    def _substituted(self) -> list[str]:
        sentences = []
        seen = {
            member.iop_type for phase in self.phases for member in phase.pattern
        } | self._file_calls
        for name in sorted(seen):
            stand_in = calls.substitute(name)
            if stand_in is not None:
                sentences.append(f"{name} is replayed as {stand_in.name}: {stand_in.reason}.")
        vectors = sorted(seen & {"readv", "writev", "preadv", "pwritev"})
        if vectors:
            sentences.append(
                f"{', '.join(vectors)} are replayed with one piece of the whole size: the lengths of the pieces "
                "are not in the model."
            )
        unplaced = [
            phase.ph_id
            for phase in self.phases
            if any(
                isinstance(offsets, UnknownOffsets) and member.iop_type not in calls.SHARED_POINTER
                for member, offsets in zip(phase.pattern, phase.offset, strict=True)
            )
            and phase.offset_view is None
        ]
        if unplaced:
            sentences.append(
                f"The offsets of {phases_text(unplaced)} are not known: the replay goes on where the file "
                "pointer is."
            )
        return sentences

    def _communicators(self) -> list[str]:
        guessed = sorted(
            {
                self._names[step.file_id]
                for program in self.programs
                for step in file_steps(program.steps)
                if step.iop_type == "MPI_File_open"
                and step.communicator is None
                and step.file_id not in self._unopened
            }
        )
        unopened = [
            f"When {', '.join(self._names[file_id] for file_id in self._unopened)} was opened is not in the trace: "
            "the replay opens each file at its start, with all ranks that use it, and closes it at its end."
        ]
        if not guessed:
            return unopened if self._unopened else []
        return [
            *(unopened if self._unopened else []),
            f"The communicator that opened {', '.join(guessed)} is not in the model: the replay opens each file "
            "with all ranks that open it.",
        ]
