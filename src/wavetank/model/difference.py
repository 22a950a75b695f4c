"""Compares two models phase by phase: what is the same, what differs and by how much.

Files are matched by name, then by order; on each file phases are matched in order, equal ones first.
Times are no part of it: a model is independent of the machine that it was traced on. Of models whose
sources tell different things, what both tell is compared (``comparable``), and the notes say what is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from operator import itemgetter
from pathlib import PurePath
from typing import Any, cast

from wavetank.model.application import Model
from wavetank.model.comparable import (
    Sight,
    data_orders,
    is_race,
    notes_of,
    race_differences,
    same_offsets_known,
    sight_of,
    through_views,
    users,
)
from wavetank.model.file import ModelFile
from wavetank.model.inherited import AROUND, inherited_files
from wavetank.model.own_level import own_levels
from wavetank.model.phase import Phase, Step, SyncStep
from wavetank.model.plain_names import plain_name
from wavetank.model.tables import Cell, offset_text, ranks_text

_MOST_COMPARED = 5_000_000  # runs of equal operations of a rank


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
    notes: tuple[str, ...] = ()  # what was not compared, and what may explain differences

    @property
    def same(self) -> bool:
        """Whether the models stand for the same I/O."""
        return not self.differences


def compare_models(a: Model, b: Model) -> ModelDifference:
    """Compare two models: application, files, phases, and the order of operations."""
    if a.extrapolation is not None or b.extrapolation is not None:
        a, b = own_levels(a), own_levels(b)  # what the MPI library would do is not extrapolated
    found = [
        Difference("application", None, None, field, getattr(a, field), getattr(b, field))
        for field in ("n_ranks", "app_np", "app_nfiles", "app_st")
        if getattr(a, field) != getattr(b, field)
    ]
    n_equal, n_unknown, sight = 0, 0, sight_of(a, b)
    names: dict[tuple[str, int], object] = {}
    pairs = _matched_files(a.files, b.files)
    for file_a, file_b in pairs:
        if not any(file is not None and file.n_operations for file in (file_a, file_b)):
            continue
        name = PurePath((file_a or file_b).file_name).name  # type: ignore[union-attr]
        phases_a, phases_b = _phases_of(a, file_a), _phases_of(b, file_b)
        found += _file_differences(name, (file_a, phases_a), (file_b, phases_b), sight)
        for level in ("mpiio", "posix"):
            on_a = [phase for phase in phases_a if phase.level == level]
            on_b = [phase for phase in phases_b if phase.level == level]
            known = same_offsets_known(
                *([p for p in some if not is_race(p)] for some in (on_a, on_b))
            )
            n_unknown += 0 if known else max(len(on_a), len(on_b))
            if level == "posix" and any(map(is_race, (*phases_a, *phases_b))):
                rows = race_differences(on_a, on_b, sight)
                n_equal += 0 if rows else len(on_a)
                found += [Difference(name, None, None, *row) for row in rows]
                for side, phases in (("a", on_a), ("b", on_b)):
                    names.update({(side, p.ph_id): (name, sight.calls_of(p)) for p in phases})
                continue
            fields_a = [_fields(phase, sight, known) for phase in on_a]
            fields_b = [_fields(phase, sight, known) for phase in on_b]
            names.update({("a", p.ph_id): (name, f) for p, f in zip(on_a, fields_a, strict=True)})
            names.update({("b", p.ph_id): (name, f) for p, f in zip(on_b, fields_b, strict=True)})
            for one, other in _matched_phases(fields_a, fields_b):
                differences = _phase_differences(
                    name,
                    None if one is None else (on_a[one].ph_id, fields_a[one]),
                    None if other is None else (on_b[other].ph_id, fields_b[other]),
                )
                n_equal += not differences
                found += differences
    if not found and not _same_order(a, b, pairs, names, sight):
        found.append(
            Difference("application", None, None, "order of operations", "as recorded", "another")
        )
    notes = notes_of(a, b, sight, n_unknown, bool(found))
    return ModelDifference(n_equal, len(a.phases), len(b.phases), tuple(found), notes)


def _same_order(
    a: Model,
    b: Model,
    pairs: _FilePairs,
    names: Mapping[tuple[str, int], object],
    sight: Sight,
) -> bool:
    """Whether both programs do the same phases in the same order. ``names``: of phases that are equal, the same."""
    if sight.calls:
        files_a = {file.file_id: str(n) for n, (file, _) in enumerate(pairs) if file is not None}
        files_b = {file.file_id: str(n) for n, (_, file) in enumerate(pairs) if file is not None}
        phases_a = {phase.ph_id: names["a", phase.ph_id] for phase in a.phases}
        phases_b = {phase.ph_id: names["b", phase.ph_id] for phase in b.phases}
        given = {(rank, files_a[file_id]) for rank, file_id in inherited_files(a)}
        given |= {(rank, files_b[file_id]) for rank, file_id in inherited_files(b)}
        if _orders(a, files_a, phases_a, given) == _orders(b, files_b, phases_b, given):
            return True
        # One order may be written in several ways: repeated steps, or a mix of them.
        return _same_operations(
            _operations(a, files_a, phases_a, given), _operations(b, files_b, phases_b, given)
        )
    order_a = data_orders(a, lambda ph_id: names["a", ph_id])
    order_b = data_orders(b, lambda ph_id: names["b", ph_id])
    return order_a is None or order_b is None or order_a == order_b


def _phases_of(model: Model, file: ModelFile | None) -> list[Phase]:
    """The phases on a file by their ranks, those of the same ranks in order.

    Which of two phases of different ranks has the lower number may be chance; programs say what is ordered.
    """
    found = [phase for phase in model.phases if file is not None and phase.file_id == file.file_id]
    return sorted(found, key=lambda phase: phase.ph_processid)


def _operations(
    model: Model, names: dict[int, str], ids: Mapping[int, object], given: Set[tuple[int, str]]
) -> dict[int, Iterator[tuple[str, int]]]:
    """By rank its program as runs of equal operations, without regard to how repetitions are written."""
    return {
        rank: _runs(_leaves(steps, names, ids, files))
        for steps, rank, files in _programs_of_ranks(model, given)
    }


def _programs_of_ranks(
    model: Model, given: Set[tuple[int, str]]
) -> Iterator[tuple[list[dict[str, object]], int, frozenset[str]]]:
    """Each rank's steps that order something, and the files that it was given open."""
    of_all = {
        number for number, ranks in enumerate(model.communicators) if len(ranks) == model.n_ranks
    }
    for program in model.programs:
        steps = _between(program.steps, of_all)
        for rank in program.ranks:
            yield steps, rank, frozenset(name for other, name in given if other == rank)


def _leaves(
    steps: Sequence[dict[str, object]],
    names: dict[int, str],
    ids: Mapping[int, object],
    given: Set[str],
) -> Iterator[tuple[str, int]]:
    for step in steps:
        inner: Any = step.get("steps")
        if step["step"] == "repeat":
            for _ in range(cast("int", step["times"])):
                yield from _leaves(inner, names, ids, given)
        elif step["step"] == "mix":
            for number in cast("Iterable[int]", step["order"]):
                yield from _leaves([inner[number]], names, ids, given)
        elif step["step"] == "data":
            yield f"{ids[cast('int', step['ph_id'])]}", cast("int", step["n"])
        elif text := _steps_text(step, names, ids, given):
            yield text, 1


def _runs(leaves: Iterator[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    for text, equal in groupby(leaves, key=itemgetter(0)):
        yield text, sum(count for _, count in equal)


def _same_operations(
    a: dict[int, Iterator[tuple[str, int]]], b: dict[int, Iterator[tuple[str, int]]]
) -> bool:
    """Compared as they come; programs that still are the same after very many are taken to differ somewhere."""
    for rank in a.keys() | b.keys():
        pairs = zip_longest(a.get(rank, iter(())), b.get(rank, iter(())))
        for number, (one, other) in enumerate(pairs):
            if one != other or number == _MOST_COMPARED:
                return False
    return True


def _orders(
    model: Model,
    names: dict[int, str],
    ids: Mapping[int, object],
    given: Set[tuple[int, str]],
) -> object:
    """By rank the program without the numbers that two equal models may give differently.

    Files and phases are by the given names. ``given``: rank and file that the rank was given open in one of the
    models; opening and closing it is left out.
    """
    texts: dict[int, str] = {}
    last: tuple[list[dict[str, object]], frozenset[str], str] | None = None
    for steps, rank, files in _programs_of_ranks(model, given):
        if last is None or last[0] is not steps or last[1] != files:  # ranks share programs
            last = steps, files, _steps_text(steps, names, ids, files)
        texts[rank] = last[2]
    return {rank: text for rank, text in texts.items() if text != "[]"}


def _between(steps: Sequence[Step], of_all: Set[int]) -> list[dict[str, object]]:
    """Steps without collectives of all ranks before the first and behind the last other one.

    Those order nothing. MPI_Init and MPI_Finalize are such.
    """
    kept = [isinstance(step, SyncStep) and step.communicator in of_all for step in steps]
    first = kept.index(False) if False in kept else len(kept)
    last = len(kept) - (kept[::-1].index(False) if False in kept else len(kept))
    return [step.model_dump(mode="json") for step in steps[first:last]]


def _steps_text(
    steps: object, names: dict[int, str], ids: Mapping[int, object], given: Set[str]
) -> str:
    """Steps with files by name and phases by shape. Pauses, processes and null seeks are left out."""
    if isinstance(steps, list):
        return (
            "["
            + ", ".join(filter(None, (_steps_text(step, names, ids, given) for step in steps)))
            + "]"
        )
    assert isinstance(steps, dict)  # noqa: S101 - a step of a model that was validated
    kind, text = steps["step"], ""
    if kind == "repeat":
        text = f"{steps['times']} x {_steps_text(steps['steps'], names, ids, given)}"
    elif kind == "mix":
        different = [_steps_text(step, names, ids, given) for step in steps["steps"]]
        text = ", ".join(different[number] for number in steps["order"])
    elif kind == "data":
        text = f"{steps['n']} of {ids[steps['ph_id']]}"
    elif kind == "file" and not (names[steps["file_id"]] in given and steps["iop_type"] in AROUND):
        text = f"{steps['count']} {steps['iop_type']} {names[steps['file_id']]} {steps['name']} {steps['handle']} {steps['offset']}"
    elif kind == "sync":
        text = f"{steps['count']} sync {steps['communicator']}"
    return text  # none of pauses; whole processes are ordered by a replay's barriers


_FilePairs = list[tuple[ModelFile | None, ModelFile | None]]


def _matched_files(a: Sequence[ModelFile], b: Sequence[ModelFile]) -> _FilePairs:
    used_a, used_b = list(a), list(b)
    pairs: _FilePairs = []
    for length in range(_longest_name((*used_a, *used_b)), 0, -1):
        # Of several files with one name, one in the other's place, the first first.
        first_b = used_b[::-1]
        by_name = {name: file for file in first_b if (name := _name(file, length)) is not None}
        by_base = {PurePath(file.file_name).name: file for file in first_b}
        for file in list(used_a):
            name, flat = _name(file, length), _flat_name(file, length)
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


def _name(file: ModelFile, length: int) -> str | None:
    """The last parts of a file's path; None where it has fewer."""
    parts = PurePath(file.file_name).parts
    return "/".join(parts[-length:]) if len(parts) >= length else None


def _flat_name(file: ModelFile, length: int) -> str | None:
    """The same in a replay, which has one folder: "dir-f_3" below its root stands for "dir/f 3"."""
    parts = PurePath(file.file_name).parts
    return "-".join(map(plain_name, parts[-length:])) if len(parts) >= length else None


def _longest_name(files: Sequence[ModelFile]) -> int:
    """The most parts that a path has."""
    return max((len(PurePath(file.file_name).parts) for file in files), default=0)


_FILE_FIELDS = (
    "file_size", "file_np", "file_accessmode", "file_fileaccesstype", "file_accesstype", "n_operations",
)  # fmt: skip


def _file_differences(
    name: str,
    a: tuple[ModelFile | None, Sequence[Phase]],
    b: tuple[ModelFile | None, Sequence[Phase]],
    sight: Sight,
) -> list[Difference]:
    if a[0] is None or b[0] is None:
        sides = ("missing", "there") if a[0] is None else ("there", "missing")
        return [Difference(name, None, None, "file", *sides)]
    sides_ = [(a[0], a[1]), (b[0], b[1])]
    values: dict[str, list[Cell]] = {
        field: [getattr(file, field) for file, _ in sides_] for field in _FILE_FIELDS
    }
    if not sight.calls:
        ranks = [users(file, phases) for file, phases in sides_]
        values["file_np"] = [len(some) for some in ranks]
        values["file_accesstype"] = ["shared" if len(some) > 1 else "unique" for some in ranks]
        if "unknown" in values["file_accessmode"] or any(
            through_views(file, phases) for file, phases in sides_
        ):
            del values["file_accessmode"]
    return [
        Difference(name, None, None, field, one, other)
        for field, (one, other) in values.items()
        if one != other
    ]


def _matched_phases(
    a: Sequence[_Fields], b: Sequence[_Fields]
) -> list[tuple[int | None, int | None]]:
    """Pairs of places in both lists; None: nothing stands for it in the other."""
    pairs: list[tuple[int | None, int | None]] = []
    for _, a_low, a_high, b_low, b_high in SequenceMatcher(
        None, a, b, autojunk=False
    ).get_opcodes():
        pairs.extend(zip_longest(range(a_low, a_high), range(b_low, b_high)))
    return pairs


_Fields = tuple[tuple[str, Cell], ...]


def _fields(phase: Phase, sight: Sight, offsets: bool) -> _Fields:
    """The fields that are compared, as printed; without ``offsets`` where those are not known."""
    members = phase.pattern
    where = (
        ("disp", " + ".join(str(member.disp) for member in members)),
        ("offset", "; ".join(_offset_key(phase, member) for member in range(len(members)))),
    )
    return (
        ("ph_processid", ranks_text(phase.ph_processid)),
        ("iop_type", sight.calls_of(phase)),
        ("rs", " + ".join(str(member.rs) for member in members)),
        *(where if offsets else ()),
        ("ph_nrep", phase.ph_nrep),
        ("ph_niop", phase.ph_niop),
        ("ph_weight", phase.ph_weight),
        ("moved_last", None if phase.moved_last is None else str(phase.moved_last)),
    )


def _offset_key(phase: Phase, member: int) -> str:
    """Offsets in print; a list also by a number that stands for its contents."""
    offset = phase.offset[member]
    text = offset_text(offset)
    return f"{text} #{hash(offset) & 0xFFFFFF:06x}" if offset.function == "list" else text


def _phase_differences(
    name: str, a: tuple[int, _Fields] | None, b: tuple[int, _Fields] | None
) -> list[Difference]:
    """Of two phases, each by its number and fields."""
    if a is None or b is None:
        sides = ("missing", "there") if a is None else ("there", "missing")
        return [Difference(name, a and a[0], b and b[0], "phase", *sides)]
    return [
        Difference(name, a[0], b[0], field, value_a, value_b)
        for (field, value_a), (_, value_b) in zip(a[1], b[1], strict=True)
        if value_a != value_b
    ]
