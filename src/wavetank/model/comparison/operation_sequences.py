"""Each rank's data operations on a file as one sequence, however phases divide them and programs repeat them.

Reads programs and phases; leaves the first operation that differs between two models. Where phases begin depends on
how a trace was folded, and on pauses and calls between operations; the operations and their order do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.errors import ModelError
from wavetank.model.comparison.comparability import Sight
from wavetank.model.comparison.comparison_limits import ComparisonLimits
from wavetank.model.comparison.flat_programs import LaidOut, TooLongError, lay_out
from wavetank.model.comparison.memory_words import MemoryWords
from wavetank.model.document.expansion import phase_operations
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, Step
from wavetank.trace.schema import UNKNOWN, Int64Array


class NotUnfoldedError(Exception):
    """Operations that are not looked at one by one. The text says why."""


class NoOrderError(Exception):
    """Operations of which the model does not tell the order. The text says why."""


@dataclass(frozen=True)
class OtherOperation:
    """The first operation on a file that differs; in words.

    Attributes:
        rank: whose operation.
        number: counted from 1 among its rank's; None where their order is not told, and they are compared by kind and place.
        ph_id_a: its phase in one model; None where there is no such operation.
        ph_id_b: that in the other.
        a: the operation of one model.
        b: that of the other.
    """

    rank: int
    number: int | None
    ph_id_a: int | None
    ph_id_b: int | None
    a: str
    b: str


@dataclass(frozen=True)
class Compared:
    """What a comparison found.

    Attributes:
        other: the first operation that differs; None where all are equal.
        no_order: why the order of some rank's operations was not compared; None where it was.
    """

    other: OtherOperation | None
    no_order: str | None


@dataclass(frozen=True)
class _Sequence:
    """Operations of a rank on a file, in order. Columns of equal length."""

    call: Int64Array  # number of the call: its name, the open of the file, the memory that it is given
    size: Int64Array  # bytes asked for
    moved: Int64Array
    offset: Int64Array  # UNKNOWN where the model does not know it
    phase: Int64Array  # that it is in; not compared

    def __len__(self) -> int:
        return len(self.call)

    def by_place(self, offsets: bool) -> _Sequence:
        """The operations by kind, place and size, in whatever order they were."""
        keys = [self.moved, self.size, self.call]
        order = np.lexsort([*keys[:2], self.offset, keys[2]] if offsets else keys)
        columns = (self.call, self.size, self.moved, self.offset, self.phase)
        return _Sequence(*(column[order] for column in columns))

    def phase_at(self, number: int) -> int | None:
        """The phase of one operation; None where there is none."""
        return int(self.phase[number]) if number < len(self) else None

    def text(self, number: int, names: Sequence[str], offsets: bool) -> str:
        """One operation in words."""
        if number >= len(self):
            return "no further operation"
        size, moved, offset = (
            int(column[number]) for column in (self.size, self.moved, self.offset)
        )
        where = f" at {offset}" if offsets and offset != UNKNOWN else ""
        short = f", {moved} of them moved" if moved != size else ""
        return f"{names[int(self.call[number])]} of {size} bytes{where}{short}"


class Sequences:
    """The sequences of one model.

    Args:
        model: with its phases and programs.
        sight: what of calls is compared.
        names: the names of calls, numbered in the order of the list; names that it lacks are added.
        limits: how much is compared one by one.
    """

    def __init__(
        self, model: Model, sight: Sight, names: list[str], limits: ComparisonLimits
    ) -> None:
        self._sight, self.names, self._limits = sight, names, limits
        self._programs = model.programs
        self._program_of = {
            rank: number for number, program in enumerate(model.programs) for rank in program.ranks
        }
        streams: dict[tuple[int, str], int] = {}
        self._stream = {
            phase.ph_id: streams.setdefault((phase.file_id, phase.level), len(streams))
            for phase in model.phases
        }
        self._memory = MemoryWords(model, sight.memory)
        self._members = {phase.ph_id: len(phase.pattern) for phase in model.phases}
        self._orders: dict[int, tuple[LaidOut, Int64Array]] = {}

    def of_rank(self, phases: Sequence[Phase], rank: int, *, ordered: bool = True) -> _Sequence:
        """What a rank does in those phases of a file at one level that it takes part in.

        Args:
            phases: these.
            rank: whose operations.
            ordered: in the order of its program; else phase by phase.

        Raises:
            NotUnfoldedError: they are too many, or a phase does not say all.
            NoOrderError: the program does not tell their order.
        """
        n = sum(phase.ph_nrep * len(phase.pattern) for phase in phases)
        if n > self._limits.operations:
            raise NotUnfoldedError(
                f"there are more than {self._limits.operations:,} of rank {rank}"
            )
        some = sorted(phases, key=lambda phase: phase.ph_id)
        try:
            parts = [self._columns(phase, rank) for phase in some]
        except ModelError as error:
            raise NotUnfoldedError(str(error)) from None
        if not parts:
            return _Sequence(*(np.empty(0, dtype=np.int64) for _ in range(5)))
        if len(parts) == 1:
            return _Sequence(*parts[0])
        if not ordered:
            return _Sequence(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        places = self._places(some, rank, [len(part[0]) for part in parts])
        columns = []
        for of_phases in zip(*parts, strict=True):
            column = np.empty(len(places), dtype=np.int64)
            column[places] = np.concatenate(of_phases)
            columns.append(column)
        return _Sequence(*columns)

    def _columns(self, phase: Phase, rank: int) -> tuple[Int64Array, ...]:
        done = phase_operations(phase, rank)
        numbers = [self._number(self._call(phase, rank, n)) for n in range(len(phase.pattern))]
        calls = np.array(numbers)[done.member]
        of_phase = np.full(len(done), phase.ph_id)
        return calls, done.size, done.moved, done.offset, of_phase

    def _call(self, phase: Phase, rank: int, number: int) -> str:
        member = phase.pattern[number]
        memory = self._memory.of_rank(phase, rank, number)
        handle = member.handle if self._sight.calls else 0
        return (
            self._sight.call(member.iop_type)
            + (f" through another open (handle {handle})" if handle else "")
            + (f" (memory: {memory})" if memory else "")
        )

    def _number(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _places(self, phases: Sequence[Phase], rank: int, lengths: Sequence[int]) -> Int64Array:
        """Places in the rank's sequence of the operations of each phase, so many, one phase after another."""
        order, streams = self._order_of(rank)
        stream = self._stream[phases[0].ph_id]
        low, high = np.searchsorted(streams, [stream, stream + 1])
        if low == high:
            below = all(phase.level == "posix" for phase in phases)
            raise NoOrderError(
                "the MPI library made them, and programs hold the application's own calls"
                if below
                else f"the program of rank {rank} has none of them"
            )
        found, of_code = np.unique(order.code[low:high], return_inverse=True)
        n_done = np.bincount(of_code, weights=order.n[low:high])  # before as many are laid out
        told = {phase.ph_id: n for phase, n in zip(phases, lengths, strict=True)}
        if dict(zip(found.tolist(), n_done.tolist(), strict=True)) != told:
            raise NoOrderError(f"the program of rank {rank} does not have all of them")
        return np.argsort(np.repeat(order.code[low:high], order.n[low:high]), kind="stable")

    def _order_of(self, rank: int) -> tuple[LaidOut, Int64Array]:
        """The order of a rank's data operations, file by file, and the number of each one's file and level."""
        number = self._program_of.get(rank)
        if number is None:
            raise NoOrderError(f"rank {rank} has no program")
        if number not in self._orders:
            try:
                order = lay_out(self._programs[number].steps, self._operations, self._limits.runs)
            except TooLongError:
                raise NoOrderError(
                    f"the program of rank {rank} has more than {self._limits.runs:,} changes"
                ) from None
            found, of_code = np.unique(order.code, return_inverse=True)
            streams = np.array([self._stream[ph_id] for ph_id in found.tolist()], dtype=np.int64)
            streams = streams[of_code]
            by_stream = np.argsort(streams, kind="stable")
            ordered = LaidOut(order.code[by_stream], order.n[by_stream])
            self._orders[number] = ordered, streams[by_stream]
        return self._orders[number]

    def _operations(self, step: Step) -> tuple[int, int] | None:
        if not isinstance(step, DataStep):
            return None
        return step.ph_id, step.operations(self._members[step.ph_id])


def first_other(
    a: Sequences, b: Sequences, on_a: Sequence[Phase], on_b: Sequence[Phase], offsets: bool
) -> Compared:
    """The first operation that differs on a file at one level.

    Args:
        a: of one model.
        b: of the other, with the same list of names.
        on_a: the phases on the file at the level in one model.
        on_b: the same in the other.
        offsets: whether offsets are compared.

    Where a model does not tell the order of a rank's operations they are compared by kind, place and size.

    Raises:
        NotUnfoldedError: the operations are not looked at one by one.
    """
    of_a, of_b = _by_rank(on_a), _by_rank(on_b)
    no_order: str | None = None
    for rank in sorted({*of_a, *of_b}):
        both = (a, of_a.get(rank, [])), (b, of_b.get(rank, []))
        ordered = True
        try:
            one, other = (model.of_rank(phases, rank) for model, phases in both)
        except NoOrderError as error:
            ordered, no_order = False, no_order or str(error)
            one, other = (
                model.of_rank(phases, rank, ordered=False).by_place(offsets)
                for model, phases in both
            )
        number = _first_unequal(one, other, offsets)
        if number is not None:
            found = OtherOperation(
                rank,
                number + 1 if ordered else None,
                one.phase_at(number),
                other.phase_at(number),
                one.text(number, a.names, offsets),
                other.text(number, b.names, offsets),
            )
            return Compared(found, no_order)
    return Compared(None, no_order)


def _by_rank(phases: Sequence[Phase]) -> dict[int, list[Phase]]:
    found: dict[int, list[Phase]] = defaultdict(list)
    for phase in phases:
        for rank in phase.ph_processid:
            found[rank].append(phase)
    return found


def _first_unequal(a: _Sequence, b: _Sequence, offsets: bool) -> int | None:
    n = min(len(a), len(b))
    unequal = (a.call[:n] != b.call[:n]) | (a.size[:n] != b.size[:n])
    unequal |= a.moved[:n] != b.moved[:n]
    if offsets:
        unequal |= a.offset[:n] != b.offset[:n]
    if unequal.any():
        return int(unequal.argmax())
    return n if len(a) != len(b) else None
