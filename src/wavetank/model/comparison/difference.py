"""Compares two models phase by phase: what is the same, what differs and by how much.

Files are matched by name, then by order; on each file phases are matched in order, equal ones first. Where phases
differ, what counts is the sequence of each rank's operations (``sequences``): how they were folded into phases does not.
Times are no part of it: a model is independent of the machine that it was traced on. Of models whose
sources tell different things, what both tell is compared (``comparable``), and the notes say what is not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import blake2b
from itertools import zip_longest
from pathlib import PurePath

from wavetank.model.comparison.comparability import (
    Sight,
    is_race,
    notes_of,
    race_differences,
    same_offsets_known,
    sight_of,
    sizes_key,
    through_views,
    users,
)
from wavetank.model.comparison.comparison_limits import ComparisonLimits
from wavetank.model.comparison.counterparts import FilePairs, matched_files
from wavetank.model.comparison.inherited_files import inherited_files
from wavetank.model.comparison.memory_difference import memory_difference, tells_memory
from wavetank.model.comparison.operation_sequences import (
    Sequences,
    TooManyError,
    first_other,
)
from wavetank.model.comparison.order_difference import (
    Named,
    OrderedModel,
    OrderNotComparedError,
    first_other_step,
)
from wavetank.model.comparison.visit_difference import first_other_visit
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Model, own_levels
from wavetank.model.document.phase import ListedOffsets, Phase
from wavetank.model.tables.phase_table import offset_text
from wavetank.tables.words import numbers_text, ranks_text

Plain = str | int | float | None


@dataclass(frozen=True)
class Difference:
    """One field that differs. ``where`` names the application, a file or a phase."""

    where: str
    ph_id_a: int | None
    ph_id_b: int | None
    field: str
    a: Plain
    b: Plain


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


def compare_models(a: Model, b: Model, limits: ComparisonLimits | None = None) -> ModelDifference:
    """Compare two models: application, files, operations by phases, and the order of everything.

    Args:
        a: one model.
        b: the other one.
        limits: how much is compared one by one; None: the usual ones.
    """
    if a.extrapolation is not None or b.extrapolation is not None:
        a, b = own_levels(a), own_levels(b)  # what the MPI library would do is not extrapolated
    comparison = _Comparison(a, b, limits or ComparisonLimits())
    found = [
        Difference("application", None, None, field, getattr(a, field), getattr(b, field))
        for field in ("n_ranks", "app_np", "app_nfiles", "app_st")
        if getattr(a, field) != getattr(b, field)
    ]
    pairs = matched_files(a.files, b.files)
    for number, (file_a, file_b) in enumerate(pairs):
        if any(file is not None and file.n_operations for file in (file_a, file_b)):
            found += comparison.file(number, file_a, file_b)
    if not found:
        found += comparison.order(pairs)
    notes = (
        *comparison.notes(),
        *notes_of(a, b, comparison.sight, comparison.n_unknown, bool(found)),
    )
    return ModelDifference(comparison.n_equal, len(a.phases), len(b.phases), tuple(found), notes)


class _Comparison:
    """Two models, and what has been found of their phases so far."""

    def __init__(self, a: Model, b: Model, limits: ComparisonLimits) -> None:
        self._a, self._b, self._limits = a, b, limits
        self.sight = sight_of(a, b)
        self.n_equal, self.n_unknown = 0, 0
        calls: list[str] = []
        self._of_a, self._of_b = (Sequences(model, self.sight, calls, limits) for model in (a, b))
        self._named_a: dict[int, Named] = {}
        self._named_b: dict[int, Named] = {}
        self._otherwise_folded: list[int] = []  # phases of a
        self._by_phases_alone: dict[str, list[str]] = {}  # files, by the reason
        self._without_order: dict[str, list[str]] = {}  # files, by the reason
        self._order_unknown: list[str] = []
        self._visits_unknown: list[str] = []

    def file(
        self, number: int, file_a: ModelFile | None, file_b: ModelFile | None
    ) -> list[Difference]:
        """What differs in one file and its operations."""
        name = PurePath((file_a or file_b).file_name).name  # type: ignore[union-attr]
        phases_a, phases_b = _phases_of(self._a, file_a), _phases_of(self._b, file_b)
        rows, folded = [], len(self._otherwise_folded)
        for level in ("mpiio", "posix"):
            on_a = [phase for phase in phases_a if phase.level == level]
            on_b = [phase for phase in phases_b if phase.level == level]
            if level == "posix" and any(map(is_race, (*phases_a, *phases_b))):
                rows += self._race(number, name, on_a, on_b)
            else:
                rows += self._level(number, name, on_a, on_b)
        if self.sight.calls and tells_memory(self._a) and tells_memory(self._b):
            other = memory_difference(self._a, self._b, phases_a, phases_b)
            rows += [Difference(name, None, None, *row) for row in other]
        # The mode of access is of phases.
        left_out = {"file_accessmode"} if len(self._otherwise_folded) > folded else set()
        found = _file_differences(name, (file_a, phases_a), (file_b, phases_b), self.sight)
        return [*(one for one in found if one.field not in left_out), *rows]

    def _race(
        self, number: int, name: str, on_a: Sequence[Phase], on_b: Sequence[Phase]
    ) -> list[Difference]:
        rows = race_differences(on_a, on_b, self.sight)
        self.n_equal += 0 if rows else len(on_a)
        for named, phases in ((self._named_a, on_a), (self._named_b, on_b)):
            for phase in phases:
                calls = self.sight.calls_of(phase)
                named[phase.ph_id] = Named((number, calls), f"{calls} on {name}")
        return [Difference(name, None, None, *row) for row in rows]

    def _level(
        self, number: int, name: str, on_a: Sequence[Phase], on_b: Sequence[Phase]
    ) -> list[Difference]:
        """What differs in the operations of one level on a file: nothing, or the phases that are not the same."""
        known = same_offsets_known(*([p for p in some if not is_race(p)] for some in (on_a, on_b)))
        self.n_unknown += 0 if known else max(len(on_a), len(on_b))
        fields_a = [_fields(phase, self.sight, known) for phase in on_a]
        fields_b = [_fields(phase, self.sight, known) for phase in on_b]
        rows: list[Difference] = []
        n_equal = 0
        for one, other in _matched_phases(fields_a, fields_b):
            differences = _phase_differences(
                name,
                None if one is None else (on_a[one].ph_id, fields_a[one]),
                None if other is None else (on_b[other].ph_id, fields_b[other]),
            )
            n_equal += not differences
            rows += differences
        folded_alike = not rows
        if rows:
            try:
                compared = first_other(self._of_a, self._of_b, on_a, on_b, known)
            except TooManyError as error:
                self._by_phases_alone.setdefault(str(error), []).append(name)
            else:
                if compared.no_order is not None:
                    self._without_order.setdefault(compared.no_order, []).append(name)
                first = compared.other
                if first is None:
                    self._otherwise_folded += {d.ph_id_a for d in rows if d.ph_id_a is not None}
                    rows, n_equal = [], len(on_a)
                else:
                    which = f"operation {first.number}" if first.number else "operations by place"
                    where = f"{which} of rank {first.rank}"
                    rows.insert(0, Difference(name, None, None, where, first.a, first.b))
        self.n_equal += n_equal
        for named, phases, fields in (
            (self._named_a, on_a, fields_a),
            (self._named_b, on_b, fields_b),
        ):
            for phase, own in zip(phases, fields, strict=True):
                key = own if folded_alike else phase.level
                text = f"{self.sight.calls_of(phase)} on {name}"
                named[phase.ph_id] = Named(
                    (number, key), text if folded_alike else f"data of {name}"
                )
        return rows

    def order(self, pairs: FilePairs) -> Iterator[Difference]:
        """The first step that differs, of models whose operations are the same file by file."""
        files_a, files_b = (
            {
                pair[side].file_id: Named(number, PurePath(pair[side].file_name).name or "/")  # type: ignore[union-attr]
                for number, pair in enumerate(pairs)
                if pair[side] is not None
            }
            for side in (0, 1)
        )
        given: set[tuple[int, Hashable]] = set()
        if self.sight.calls:
            given |= {(rank, files_a[file_id].key) for rank, file_id in inherited_files(self._a)}
            given |= {(rank, files_b[file_id].key) for rank, file_id in inherited_files(self._b)}
        one = OrderedModel(self._a, files_a, self._named_a, self._limits.runs)
        other = OrderedModel(self._b, files_b, self._named_b, self._limits.runs)
        try:
            first = first_other_step(one, other, given, self.sight.calls)
        except OrderNotComparedError as error:
            self._order_unknown.append(str(error))
            return
        if first is not None:
            yield Difference("application", None, None, "order of operations", first.a, first.b)
            return
        yield from self._visits(pairs)

    def _visits(self, pairs: FilePairs) -> Iterator[Difference]:
        """The first visit of each family that differs, of models whose steps are the same."""
        for file_a, file_b in pairs:
            if file_a is None or file_b is None or file_a.members is file_b.members is None:
                continue
            name = PurePath(file_a.file_name).name
            if file_a.members is None or file_b.members is None:
                yield Difference(name, None, None, "files", file_a.n_files, file_b.n_files)
            elif (other := first_other_visit(file_a.members, file_b.members)) is None:
                continue
            elif (
                self.sight.calls
                or file_a.members.visits.n_visits.sum() == file_b.members.visits.n_visits.sum()
            ):
                yield Difference(name, None, None, "order of visits", other.a, other.b)
            else:  # visits of calls that one of the sources does not tell
                self._visits_unknown.append(name)

    def notes(self) -> Iterator[str]:
        """What was compared in another way than phase by phase, or not at all."""
        if self._otherwise_folded:
            yield (
                f"phase {numbers_text(sorted(self._otherwise_folded))} of a is folded otherwise in b; "
                f"the operations are the same{'' if self._without_order else ', in the same order'}"
            )
        for reason, files in self._by_phases_alone.items():
            yield f"operations on {_some(files)} were compared by phases alone: {reason}"
        for reason, files in self._without_order.items():
            yield f"operations on {_some(files)} were compared by their places, not in their order: {reason}"
        if self._visits_unknown:
            yield (
                f"the order in which files of {self._visits_unknown[0]} are visited was not compared: "
                "one of the sources does not tell all calls"
            )
        if self._order_unknown:
            yield (
                f"the order of operations of {self._order_unknown[0]} was not compared: it has more than {self._limits.runs:,} changes"
            )


def _some(files: Sequence[str]) -> str:
    return ", ".join([*dict.fromkeys(files)][:3])


def _phases_of(model: Model, file: ModelFile | None) -> list[Phase]:
    """The phases on a file by their ranks, those of the same ranks in order.

    Which of two phases of different ranks has the lower number may be chance; programs say what is ordered.
    """
    found = [phase for phase in model.phases if file is not None and phase.file_id == file.file_id]
    return sorted(found, key=lambda phase: phase.ph_processid)


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
    values: dict[str, list[Plain]] = {
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


_Fields = tuple[tuple[str, Plain], ...]


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
        (
            "rs",
            " + ".join(sizes_key(phase, member, placed=offsets) for member in range(len(members))),
        ),
        *(where if offsets else ()),
        *(
            (("handle", " + ".join(str(member.handle) for member in members)),)
            if sight.calls
            else ()
        ),
        ("ph_nrep", phase.ph_nrep),
        ("ph_niop", phase.ph_niop),
        ("ph_weight", phase.ph_weight),
        ("moved_last", None if phase.moved_last is None else str(phase.moved_last)),
    )


def _offset_key(phase: Phase, member: int) -> str:
    """Offsets in print; a list also by a number that stands for its contents."""
    offset = phase.offset[member]
    text = offset_text(offset)
    return f"{text} #{_fingerprint(offset)}" if offset.function == "list" else text


def _fingerprint(offset: ListedOffsets) -> str:
    """Digits that stand for the contents of a list, the same in every process."""
    found = blake2b(digest_size=5)
    for column in (
        offset.n_runs,
        offset.count,
        offset.rs,
        offset.offset,
        offset.disp,
        offset.moved,
    ):
        found.update(b"-" if column is None else len(column).to_bytes(8, "little"))
        found.update(b"" if column is None else column.tobytes())
    return found.hexdigest()


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
