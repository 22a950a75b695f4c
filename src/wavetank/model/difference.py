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
    for file_a, file_b in _matched_files(a.files, b.files):
        name = PurePath((file_a or file_b).file_name).name  # type: ignore[union-attr]
        found += _file_differences(name, file_a, file_b)
        phases_a = [p for p in a.phases if file_a is not None and p.file_id == file_a.file_id]
        phases_b = [p for p in b.phases if file_b is not None and p.file_id == file_b.file_id]
        for phase_a, phase_b in _matched_phases(phases_a, phases_b):
            differences = _phase_differences(name, phase_a, phase_b)
            n_equal += not differences
            found += differences
    if not found and _orders(a) != _orders(b):
        found.append(
            Difference("application", None, None, "order of operations", "as recorded", "another")
        )
    return ModelDifference(n_equal, len(a.phases), len(b.phases), tuple(found))


def _orders(model: Model) -> object:
    """Programs without the numbers that two equal models may give differently."""
    names = {file.file_id: PurePath(file.file_name).name for file in model.files}
    ids = {
        phase.ph_id: (names[phase.file_id], _shape(phase), phase.tick_first)
        for phase in model.phases
    }
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
    """Steps with files by name and phases by shape. Pauses and null seeks are left out."""
    if isinstance(steps, list):
        return (
            "[" + ", ".join(filter(None, (_steps_text(step, names, ids) for step in steps))) + "]"
        )
    assert isinstance(steps, dict)  # noqa: S101 - a step of a model that was validated
    if steps["step"] == "pause":
        return ""
    if steps["step"] == "repeat":
        return f"{steps['times']} x {_steps_text(steps['steps'], names, ids)}"
    if steps["step"] == "data":
        shape = ids[steps["ph_id"]]
        return f"{steps['n']} of {shape[:2] if isinstance(shape, tuple) else shape}"
    if steps["step"] == "file":
        return f"{steps['count']} {steps['iop_type']} {names[steps['file_id']]} {steps['handle']} {steps['offset']}"
    return f"{steps['count']} sync {steps['communicator']}"


def _matched_files(
    a: Sequence[ModelFile], b: Sequence[ModelFile]
) -> list[tuple[ModelFile | None, ModelFile | None]]:
    used_a, used_b = [f for f in a if f.n_operations], [f for f in b if f.n_operations]
    by_name = {PurePath(file.file_name).name: file for file in used_b}
    pairs: list[tuple[ModelFile | None, ModelFile | None]] = []
    rest = []
    for file in used_a:
        other = by_name.pop(PurePath(file.file_name).name, None)
        if other is None:
            rest.append(file)
        else:
            pairs.append((file, other))
    others = [file for file in used_b if PurePath(file.file_name).name in by_name]
    return [*pairs, *zip_longest(rest, others)]


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
