"""Each rank's data operations on a file as one sequence, however phases divide them and programs repeat them.

Reads programs and phases; leaves the first operation that differs between two models. Where phases begin depends on
how a trace was folded, and on pauses and calls between operations; the operations and their order do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.comparison.comparability import Sight
from wavetank.model.comparison.comparison_limits import ComparisonLimits
from wavetank.model.comparison.flat_programs import LaidOut, TooLongError, lay_out
from wavetank.model.document.expansion import Operations, phase_operations
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, Step
from wavetank.trace.schema import UNKNOWN, Int64Array


class TooManyError(Exception):
    """Operations that are too many to be looked at one by one. The text says so."""


class NoOrderError(Exception):
    """Operations of which the model does not tell the order. The text says why."""


@dataclass(frozen=True)
class OtherOperation:
    """The first operation on a file that differs; in words.

    Attributes:
        rank: whose operation.
        number: counted from 1 among its rank's; None where their order is not told, and they are compared by kind and place.
        a: the operation of one model.
        b: that of the other.
    """

    rank: int
    number: int | None
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

    call: Int64Array  # number of the call's name
    size: Int64Array  # bytes asked for
    moved: Int64Array
    offset: Int64Array  # UNKNOWN where the model does not know it
    handle: Int64Array  # which open of the file; 0 where a source does not tell

    def __len__(self) -> int:
        return len(self.call)

    def by_place(self, offsets: bool) -> _Sequence:
        """The operations by kind, place and size, in whatever order they were."""
        keys = [self.handle, self.moved, self.size, self.call]
        order = np.lexsort([*keys[:3], self.offset, keys[3]] if offsets else keys)
        columns = (self.call, self.size, self.moved, self.offset, self.handle)
        return _Sequence(*(column[order] for column in columns))

    def text(self, number: int, names: Sequence[str], offsets: bool) -> str:
        """One operation in words."""
        if number >= len(self):
            return "no further operation"
        size, moved, offset, handle = (
            int(column[number]) for column in (self.size, self.moved, self.offset, self.handle)
        )
        where = f" at {offset}" if offsets and offset != UNKNOWN else ""
        short = f", {moved} of them moved" if moved != size else ""
        through = f" through another open (handle {handle})" if handle else ""
        return f"{names[int(self.call[number])]} of {size} bytes{where}{short}{through}"


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
        self._members = {phase.ph_id: len(phase.pattern) for phase in model.phases}
        self._orders: dict[int, tuple[LaidOut, Int64Array]] = {}

    def of_rank(self, phases: Sequence[Phase], rank: int, *, ordered: bool = True) -> _Sequence:
        """What a rank does in those phases of a file at one level that it takes part in.

        Args:
            phases: these.
            rank: whose operations.
            ordered: in the order of its program; else phase by phase.

        Raises:
            TooManyError: they are not looked at one by one.
            NoOrderError: the program does not tell their order.
        """
        if sum(phase.ph_niop for phase in phases) > self._limits.operations:
            raise TooManyError(f"there are more than {self._limits.operations:,} of rank {rank}")
        some = sorted(phases, key=lambda phase: phase.ph_id)
        parts = [self._columns(phase, phase_operations(phase, rank)) for phase in some]
        if not parts:
            return _Sequence(*(np.empty(0, dtype=np.int64) for _ in range(5)))
        if len(parts) == 1:
            return _Sequence(*parts[0])
        if not ordered:
            return _Sequence(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        places = self._places(some, rank)
        columns = []
        for of_phases in zip(*parts, strict=True):
            column = np.empty(len(places), dtype=np.int64)
            column[places] = np.concatenate(of_phases)
            columns.append(column)
        return _Sequence(*columns)

    def _columns(self, phase: Phase, done: Operations) -> tuple[Int64Array, ...]:
        numbers = [self._number(self._sight.call(member.iop_type)) for member in phase.pattern]
        handles = [member.handle if self._sight.calls else 0 for member in phase.pattern]
        calls, through = np.array(numbers)[done.member], np.array(handles)[done.member]
        return calls, done.size, done.moved, done.offset, through

    def _number(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _places(self, phases: Sequence[Phase], rank: int) -> Int64Array:
        """Places in the rank's sequence of the operations of each phase, one phase after another."""
        order, streams = self._order_of(rank)
        stream = self._stream[phases[0].ph_id]
        low, high = np.searchsorted(streams, [stream, stream + 1])
        which = np.repeat(order.code[low:high], order.n[low:high])
        places = np.argsort(which, kind="stable")
        told = np.repeat([phase.ph_id for phase in phases], [phase.ph_niop for phase in phases])
        if not len(which):
            below = all(phase.level == "posix" for phase in phases)
            raise NoOrderError(
                "the MPI library made them, and programs hold the application's own calls"
                if below
                else f"the program of rank {rank} has none of them"
            )
        if not np.array_equal(which[places], told):
            raise NoOrderError(f"the program of rank {rank} does not have all of them")
        return places

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
        TooManyError: the operations are not looked at one by one.
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
    unequal |= (a.moved[:n] != b.moved[:n]) | (a.handle[:n] != b.handle[:n])
    if offsets:
        unequal |= a.offset[:n] != b.offset[:n]
    if unequal.any():
        return int(unequal.argmax())
    return n if len(a) != len(b) else None
