"""Compares two models phase by phase: what is the same, what differs and by how much.

Files are matched by name, then by order; on each file phases are matched in order, equal ones first.
Times are no part of it: a model is independent of the machine that it was traced on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import PurePath

from wavetank.model.application import Model
from wavetank.model.file import ModelFile
from wavetank.model.phase import Phase, Step, SyncStep
from wavetank.model.tables import Cell, offset_text, ranks_text


@dataclass(frozen=True)
class Difference:
    """One field that differs. ``where`` names the application, a file or a phase."""

    where: str
    ph_id_a: int | None
    ph_id_b: int | None
    field: str
    a: Cell
    b: Cell


@dataclass(frozen=True)
class ModelDifference:
    """All differences of two models."""

    n_equal_phases: int
    n_phases_a: int
    n_phases_b: int
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether the models stand for the same I/O."""
        return not self.differences


def compare_models(a: Model, b: Model) -> ModelDifference:
    """Compare two models: application, files, phases, and the order of operations."""
    found = [
        Difference("application", None, None, field, getattr(a, field), getattr(b, field))
        for field in ("n_ranks", "app_np", "app_nfiles", "app_st")
        if getattr(a, field) != getattr(b, field)
    ]
    n_equal = 0
    pairs = _matched_files(a.files, b.files)
    for file_a, file_b in pairs:
        if not any(file is not None and file.n_operations for file in (file_a, file_b)):
            continue
        name = PurePath((file_a or file_b).file_name).name  # type: ignore[union-attr]
        found += _file_differences(name, file_a, file_b)
        phases_a, phases_b = _phases_of(a, file_a), _phases_of(b, file_b)
        for phase_a, phase_b in _matched_phases(phases_a, phases_b):
            differences = _phase_differences(name, phase_a, phase_b)
            n_equal += not differences
            found += differences
    names_a = {file.file_id: str(n) for n, (file, _) in enumerate(pairs) if file is not None}
    names_b = {file.file_id: str(n) for n, (_, file) in enumerate(pairs) if file is not None}
    if not found and _orders(a, names_a) != _orders(b, names_b):
        found.append(
            Difference("application", None, None, "order of operations", "as recorded", "another")
        )
    return ModelDifference(n_equal, len(a.phases), len(b.phases), tuple(found))


def _phases_of(model: Model, file: ModelFile | None) -> list[Phase]:
    """The phases on a file by their ranks, those of the same ranks in order.

    Which of two phases of different ranks has the lower number may be chance; programs say what is ordered.
    """
    found = [phase for phase in model.phases if file is not None and phase.file_id == file.file_id]
    return sorted(found, key=lambda phase: phase.ph_processid)


def _orders(model: Model, names: dict[int, str]) -> object:
    """Programs without the numbers that two equal models may give differently; files by the given names."""
    ids = {phase.ph_id: (names[phase.file_id], _shape(phase)) for phase in model.phases}
    of_all = {
        number for number, ranks in enumerate(model.communicators) if len(ranks) == model.n_ranks
    }
    text = sorted(
        (program.ranks, _steps_text(_between(program.steps, of_all), names, ids))
        for program in model.programs
    )
    return text


def _between(steps: Sequence[Step], of_all: Set[int]) -> list[dict[str, object]]:
    """Steps without collectives of all ranks before the first and behind the last other one.

    Those order nothing. MPI_Init and MPI_Finalize are such.
    """
    kept = [isinstance(step, SyncStep) and step.communicator in of_all for step in steps]
    first = kept.index(False) if False in kept else len(kept)
    last = len(kept) - (kept[::-1].index(False) if False in kept else len(kept))
    return [step.model_dump(mode="json") for step in steps[first:last]]


def _steps_text(steps: object, names: dict[int, str], ids: Mapping[int, object]) -> str:
    """Steps with files by name and phases by shape. Pauses, processes and null seeks are left out."""
    if isinstance(steps, list):
        return (
            "[" + ", ".join(filter(None, (_steps_text(step, names, ids) for step in steps))) + "]"
        )
    assert isinstance(steps, dict)  # noqa: S101 - a step of a model that was validated
    kind, text = steps["step"], ""
    if kind == "repeat":
        text = f"{steps['times']} x {_steps_text(steps['steps'], names, ids)}"
    elif kind == "data":
        text = f"{steps['n']} of {ids[steps['ph_id']]}"
    elif kind == "file":
        text = f"{steps['count']} {steps['iop_type']} {names[steps['file_id']]} {steps['handle']} {steps['offset']}"
    elif kind == "sync":
        text = f"{steps['count']} sync {steps['communicator']}"
    return text  # none of pauses; whole processes are ordered by a replay's barriers


def _matched_files(
    a: Sequence[ModelFile], b: Sequence[ModelFile]
) -> list[tuple[ModelFile | None, ModelFile | None]]:
    used_a, used_b = list(a), list(b)
    pairs: list[tuple[ModelFile | None, ModelFile | None]] = []
    for length in range(_longest_name((*used_a, *used_b)), 0, -1):
        by_name = {name: file for file in used_b if (name := _name(file, length)) is not None}
        by_base = {PurePath(file.file_name).name: file for file in used_b}
        for file in list(used_a):
            # A replay has one folder: "dir-f3" below its root stands for "dir/f3".
            name, flat = _name(file, length), _name(file, length, "-")
            other = by_name.get(name or "") or by_base.get(flat or "")
            if other is not None and other in used_b:
                pairs.append((file, other))
                used_a.remove(file)
                used_b.remove(other)
    first = {file.file_id: number for number, file in enumerate(a)}
    pairs.sort(key=lambda pair: first[pair[0].file_id])  # type: ignore[union-attr]
    return [
        *pairs,
        *zip_longest(
            (file for file in used_a if file.n_operations),
            (file for file in used_b if file.n_operations),
        ),
        *((file, None) for file in used_a if not file.n_operations),
        *((None, file) for file in used_b if not file.n_operations),
    ]


def _name(file: ModelFile, length: int, between: str = "/") -> str | None:
    """The last parts of a file's path; None where it has fewer."""
    parts = PurePath(file.file_name).parts
    return between.join(parts[-length:]) if len(parts) >= length else None


def _longest_name(files: Sequence[ModelFile]) -> int:
    """The most parts that a path has."""
    return max((len(PurePath(file.file_name).parts) for file in files), default=0)


_FILE_FIELDS = (
    "file_size", "file_np", "file_accessmode", "file_fileaccesstype", "file_accesstype", "n_operations",
)  # fmt: skip


def _file_differences(name: str, a: ModelFile | None, b: ModelFile | None) -> list[Difference]:
    if a is None or b is None:
        sides = ("missing", "there") if a is None else ("there", "missing")
        return [Difference(name, None, None, "file", *sides)]
    return [
        Difference(name, None, None, field, getattr(a, field), getattr(b, field))
        for field in _FILE_FIELDS
        if getattr(a, field) != getattr(b, field)
    ]


def _shape(phase: Phase) -> tuple[object, ...]:
    """What makes two phases the same."""
    return (phase.level, *(value for _, value in _fields(phase)))


def _matched_phases(
    a: Sequence[Phase], b: Sequence[Phase]
) -> list[tuple[Phase | None, Phase | None]]:
    shapes_a = [_shape(phase) for phase in a]
    shapes_b = [_shape(phase) for phase in b]
    pairs: list[tuple[Phase | None, Phase | None]] = []
    for _, a_low, a_high, b_low, b_high in SequenceMatcher(
        None, shapes_a, shapes_b, autojunk=False
    ).get_opcodes():
        pairs.extend(zip_longest(a[a_low:a_high], b[b_low:b_high]))
    return pairs


def _fields(phase: Phase) -> list[tuple[str, Cell]]:
    """The fields that are compared, as printed."""
    members = phase.pattern
    return [
        ("ph_processid", ranks_text(phase.ph_processid)),
        ("iop_type", " + ".join(member.iop_type for member in members)),
        ("rs", " + ".join(str(member.rs) for member in members)),
        ("disp", " + ".join(str(member.disp) for member in members)),
        ("offset", "; ".join(_offset_key(phase, member) for member in range(len(members)))),
        ("ph_nrep", phase.ph_nrep),
        ("ph_niop", phase.ph_niop),
        ("ph_weight", phase.ph_weight),
        ("moved_last", None if phase.moved_last is None else str(phase.moved_last)),
    ]


def _offset_key(phase: Phase, member: int) -> str:
    """Offsets in print; a list also by a number that stands for its contents."""
    offset = phase.offset[member]
    text = offset_text(offset)
    return f"{text} #{hash(offset) & 0xFFFFFF:06x}" if offset.function == "list" else text


def _phase_differences(name: str, a: Phase | None, b: Phase | None) -> list[Difference]:
    id_a, id_b = (a.ph_id if a else None), (b.ph_id if b else None)
    if a is None or b is None:
        sides = ("missing", "there") if a is None else ("there", "missing")
        return [Difference(name, id_a, id_b, "phase", *sides)]
    return [
        Difference(name, id_a, id_b, field, value_a, value_b)
        for (field, value_a), (_, value_b) in zip(_fields(a), _fields(b), strict=True)
        if value_a != value_b
    ]
