"""The operations of two models and their order, file by file: one comparison for two runs, and for a model and its kernel.

On each file phases are matched in order, equal ones first. Where phases differ, what counts is the sequence of each rank's
operations (``operation_sequences``): how they were folded into phases does not. Equal phases and programs are not unfolded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import blake2b
from itertools import zip_longest
from pathlib import PurePath

from wavetank.model.comparison.comparability import (
    Sight,
    is_race,
    race_differences,
    same_offsets_known,
    sight_of,
    sizes_key,
)
from wavetank.model.comparison.comparison_limits import ComparisonLimits
from wavetank.model.comparison.counterparts import FilePairs
from wavetank.model.comparison.inherited_files import inherited_files
from wavetank.model.comparison.memory_words import MemoryWords
from wavetank.model.comparison.operation_sequences import (
    NotUnfoldedError,
    Sequences,
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
from wavetank.model.document.model import Model
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


class ProgramComparison:
    """Two models, and what has been found of their phases so far.

    Args:
        a: one model.
        b: the other one.
        pairs: which files of them are the same.
        limits: how much is compared one by one.
    """

    def __init__(self, a: Model, b: Model, pairs: FilePairs, limits: ComparisonLimits) -> None:
        self._a, self._b, self._pairs, self._limits = a, b, pairs, limits
        self.sight = sight_of(a, b)
        self.n_equal, self.n_unknown = 0, 0
        calls: list[str] = []
        self._of_a, self._of_b = (Sequences(model, self.sight, calls, limits) for model in (a, b))
        self._memory_a, self._memory_b = (MemoryWords(one, self.sight.memory) for one in (a, b))
        self._phases_a, self._phases_b = _by_file(a), _by_file(b)
        self._named_a: dict[int, Named] = {}
        self._named_b: dict[int, Named] = {}
        self.otherwise_folded: list[int] = []  # phases of a
        self._by_phases_alone: dict[str, list[str]] = {}  # files, by the reason
        self._without_order: dict[str, list[str]] = {}  # files, by the reason
        self._order_unknown: list[str] = []
        self._visits_unknown: list[str] = []

    def phases(self, number: int) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """The phases on a pair of files, in each model, by their ranks, those of the same ranks in order.

        Which of two phases of different ranks has the lower number may be chance; programs say what is ordered.
        """
        one, other = (None if file is None else file.file_id for file in self._pairs[number])
        return self._phases_a[one], self._phases_b[other]

    def file(self, number: int) -> list[Difference]:
        """What differs in the operations on a pair of files."""
        name = name_of(self._pairs[number])
        phases_a, phases_b = self.phases(number)
        rows = []
        for level in ("mpiio", "posix"):
            on_a = [phase for phase in phases_a if phase.level == level]
            on_b = [phase for phase in phases_b if phase.level == level]
            if level == "posix" and any(map(is_race, (*phases_a, *phases_b))):
                rows += self._race(number, name, on_a, on_b)
            else:
                rows += self._level(number, name, on_a, on_b)
        return rows

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
        known = self.sight.everything or same_offsets_known(
            *([p for p in some if not is_race(p)] for some in (on_a, on_b))
        )
        self.n_unknown += 0 if known else max(len(on_a), len(on_b))
        fields_a = [_fields(phase, self.sight, self._memory_a, known) for phase in on_a]
        fields_b = [_fields(phase, self.sight, self._memory_b, known) for phase in on_b]
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
            except NotUnfoldedError as error:
                self._by_phases_alone.setdefault(str(error), []).append(name)
            else:
                if compared.no_order is not None:
                    self._without_order.setdefault(compared.no_order, []).append(name)
                first = compared.other
                if first is None:
                    self.otherwise_folded += {d.ph_id_a for d in rows if d.ph_id_a is not None}
                    rows, n_equal = [], len(on_a)
                else:
                    which = f"operation {first.number}" if first.number else "operations by place"
                    where = f"{which} of rank {first.rank}"
                    which_phases = first.ph_id_a, first.ph_id_b
                    rows.insert(0, Difference(name, *which_phases, where, first.a, first.b))
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

    def order(self) -> Iterator[Difference]:
        """The first step that differs, of models whose operations are the same file by file."""
        files_a, files_b = (
            {
                pair[side].file_id: Named(number, PurePath(pair[side].file_name).name or "/")  # type: ignore[union-attr]
                for number, pair in enumerate(self._pairs)
                if pair[side] is not None
            }
            for side in (0, 1)
        )
        given: set[tuple[int, Hashable]] = set()
        if self.sight.calls and not self.sight.everything:
            given |= {(rank, files_a[file_id].key) for rank, file_id in inherited_files(self._a)}
            given |= {(rank, files_b[file_id].key) for rank, file_id in inherited_files(self._b)}
        one = OrderedModel(self._a, files_a, self._named_a, self._limits.runs)
        other = OrderedModel(self._b, files_b, self._named_b, self._limits.runs)
        try:
            first = first_other_step(one, other, given, self.sight)
        except OrderNotComparedError as error:
            self._order_unknown.append(str(error))
            return
        if first is not None:
            yield Difference("application", None, None, "order of operations", first.a, first.b)
            return
        yield from self._visits()

    def _visits(self) -> Iterator[Difference]:
        """The first visit of each family that differs, of models whose steps are the same."""
        for file_a, file_b in self._pairs:
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
        if self.otherwise_folded:
            yield (
                f"phase {numbers_text(sorted(self.otherwise_folded))} of a is folded otherwise in b; "
                f"the operations are the same{'' if self._without_order else ', in the same order'}"
            )
        yield from self.not_compared()

    def not_compared(self) -> Iterator[str]:
        """What was not compared, although both models tell it or should."""
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


def _by_file(model: Model) -> dict[int | None, list[Phase]]:
    found: dict[int | None, list[Phase]] = defaultdict(list)
    for phase in sorted(model.phases, key=lambda phase: phase.ph_processid):
        found[phase.file_id].append(phase)
    return found


def name_of(pair: tuple[ModelFile | None, ModelFile | None]) -> str:
    """What a pair of files is called in differences."""
    return PurePath((pair[0] or pair[1]).file_name).name  # type: ignore[union-attr]


def _some(files: Sequence[str]) -> str:
    return ", ".join([*dict.fromkeys(files)][:3])


def _matched_phases(
    a: Sequence[_Fields], b: Sequence[_Fields]
) -> list[tuple[int | None, int | None]]:
    """Pairs of places in both lists; None: nothing stands for it in the other."""
    if a == b:
        return [(place, place) for place in range(len(a))]
    pairs: list[tuple[int | None, int | None]] = []
    for _, a_low, a_high, b_low, b_high in SequenceMatcher(
        None, a, b, autojunk=False
    ).get_opcodes():
        pairs.extend(zip_longest(range(a_low, a_high), range(b_low, b_high)))
    return pairs


_Fields = tuple[tuple[str, Plain], ...]


def _fields(phase: Phase, sight: Sight, memory: MemoryWords, offsets: bool) -> _Fields:
    """The fields that are compared, as printed; without ``offsets`` where those are not known."""
    members = phase.pattern
    where = (
        ("disp", " + ".join(str(_disp(phase, member)) for member in range(len(members)))),
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
        ("memory", memory.of_phase(phase)),
        ("ph_nrep", phase.ph_nrep),
        ("ph_niop", phase.ph_niop),
        ("ph_weight", phase.ph_weight),
        ("moved_last", None if phase.moved_last is None else str(phase.moved_last)),
    )


def _disp(phase: Phase, member: int) -> int | None:
    """Bytes between repetitions: by the function of the offsets, where there is one."""
    offset = phase.offset[member]
    if offset.function == "linear" and phase.ph_nrep > 1:
        return offset.b
    return phase.pattern[member].disp


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
