"""Steps of programs that interleavings represent: the operations of several substreams in the order of the run.

Reads the rows of interleavings and the parts of phases that they lie in; leaves numbers of steps, neighbours joined.
Work for an operation is a look-up of a small number and a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavetank.model.compression.folded_table import interleavings_of
from wavetank.model.compression.interleavings import places
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import FileStep
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.native.orders import join_steps, lay_symbols, narrow, tally, translated
from wavetank.model.phases.activity import Activity
from wavetank.model.programs.file_steps import distinct_steps
from wavetank.model.programs.step_table import StepRow, StepTable
from wavetank.model.programs.tokens import TokenKind
from wavetank.trace.schema import BoolArray, Int64Array

_LEFT_OUT, _SEVERAL = (
    0,
    -1,
)  # symbols that are none: of rows in no program, of substreams with more than one


class InterleavedSteps:
    """Steps of the interleavings of one trace.

    A symbol is twice the number of a phase, or twice that of a file step and one more.
    """

    def __init__(
        self,
        activity: Activity,
        ph_id: Int64Array,
        keep: BoolArray,
        phases: Sequence[Phase],
        file_steps: list[FileStep],
    ) -> None:
        rows, data, table = activity.rows, activity.data, activity.rows.table
        self._interleavings = table.lists.interleavings
        self._row = np.flatnonzero(table.substream >= 0)
        self._members = np.array([0, *(len(phase.pattern) for phase in phases)], dtype=np.int64)
        if not len(self._row):
            self.broken = self._row
            return
        self._substream = table.substream[self._row]
        self._count = table.count[self._row]
        self._first, self._step = places(table)
        self._lows = np.array([part.low for part in activity.parts], dtype=np.int64)
        self._ph_id = ph_id
        first_op = np.full(len(table), -1, dtype=np.int64)
        first_op[data.row] = data.first_op
        members = np.ones(len(table), dtype=np.int64)
        members[data.row] = data.members
        self._low = first_op[self._row]
        self._members_of_row = members[self._row]
        kind = rows.kind[self._row]
        moves = (kind == RowKind.DATA) & keep[self._row]
        part = self._part(self._low)
        last = self._part(self._low + (self._count - 1) * self._members_of_row)
        symbol = np.where(moves, 2 * ph_id[part], _LEFT_OUT)
        symbol[moves & (part != last)] = _SEVERAL
        calls = np.flatnonzero((kind != RowKind.DATA) & keep[self._row])
        symbol[calls] = 2 * distinct_steps(activity, self._row[calls], file_steps) + 1
        self._kind, self._symbol = kind, symbol
        self._kind_of_call = dict(zip(symbol[calls].tolist(), kind[calls].tolist(), strict=True))
        touched = np.unique(symbol[moves & (symbol > 0)] // 2)
        self.broken = touched[self._members[touched] > 1]
        """Phases of several operations whose repetitions interleavings may break: their steps count single operations."""
        interleaving = interleavings_of(table)[self._row]
        self._edges = np.searchsorted(interleaving, np.arange(len(self._interleavings) + 1))

    def _part(self, operation: Int64Array) -> Int64Array:
        found: Int64Array = np.searchsorted(self._lows, operation, side="right") - 1
        return found

    def numbers(self, interleaving: int, table: StepTable) -> np.ndarray:
        """Numbers of an interleaving's steps, in order, neighbours joined where they are the same."""
        one = self._interleavings[interleaving]
        rows = slice(int(self._edges[interleaving]), int(self._edges[interleaving + 1]))
        n_substreams = len(one.apart)
        substream, symbol = self._substream[rows] - one.first, self._symbol[rows]
        start = np.flatnonzero(np.diff(substream, prepend=-1))
        least = np.minimum.reduceat(symbol, start)
        of_substream = np.full(n_substreams, _LEFT_OUT, dtype=np.int64)
        of_substream[substream[start]] = np.where(
            least == np.maximum.reduceat(symbol, start), least, _SEVERAL
        )
        several = np.flatnonzero(of_substream == _SEVERAL)
        found = {
            number: self._of_substream(rows, substream == number) for number in several.tolist()
        }
        symbols = np.unique(
            np.concatenate(
                [of_substream[of_substream != _SEVERAL], *(own for own, _ in found.values())]
            )
        )
        # Symbol 0, of what is left out, is number 0 to C; others follow.
        left_out = int(symbols[0] == _LEFT_OUT) if len(symbols) else 0
        if not len(several):
            place_of = np.searchsorted(symbols, of_substream) + 1 - left_out
            return self._steps(one.order, place_of.astype(np.uint32), symbols[left_out:], table)
        counts = tally(one.order, n_substreams)
        laid = [
            found.get(number, (of_substream[number : number + 1], counts[number : number + 1]))
            for number in range(n_substreams)
        ]
        sequence = lay_symbols(
            one.order, [(np.searchsorted(symbols, own), n) for own, n in laid], len(symbols)
        )
        place_of = np.arange(len(symbols)) + 1 - left_out
        return self._steps(sequence, place_of.astype(np.uint32), symbols[left_out:], table)

    def _of_substream(self, rows: slice, mine: BoolArray) -> tuple[Int64Array, Int64Array]:
        """Symbols of a substream's operations, and how many operations in order each is of."""
        index = np.flatnonzero(mine) + rows.start
        if (self._step[index] == 1).all():
            return self._in_order(index)
        found = np.zeros(int(self._count[index].sum()), dtype=np.int64)
        for row in index.tolist():
            first, step, count = int(self._first[row]), int(self._step[row]), int(self._count[row])
            own: int | Int64Array = int(self._symbol[row])
            if own == _SEVERAL:
                operation = self._low[row] + np.arange(count) * self._members_of_row[row]
                own = 2 * self._ph_id[self._part(operation)]
            found[first : first + step * count : step] = own
        return found, np.ones(len(found), dtype=np.int64)

    def _in_order(self, index: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The same of rows in sequence; where several phases share a row, piece by piece."""
        symbol, count = self._symbol[index], self._count[index]
        low, members = self._low[index], self._members_of_row[index]
        shared = symbol == _SEVERAL
        begin = np.where(shared, self._part(low), 0)
        end = np.where(shared, self._part(low + (count - 1) * members), 0)
        n = end - begin + 1
        row = np.repeat(np.arange(len(index)), n)
        piece = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
        part = begin[row] + piece
        # The first operation of each piece within its row.
        first = -((low[row] - self._lows[part]) // members[row])
        first = np.where(piece > 0, first, 0)
        last = np.append(first[1:], 0)
        ends = np.append(row[1:] != row[:-1], True)
        length = np.where(ends, count[row], last) - first
        return np.where(shared[row], 2 * self._ph_id[part], symbol[row]), length

    def _steps(
        self, order: np.ndarray, place_of: np.ndarray, symbols: Int64Array, table: StepTable
    ) -> np.ndarray:
        """Numbers of the steps that operations make: ``place_of`` each number a symbol's place from 1, or 0."""
        base = len(table)
        found, place, times = join_steps(order, place_of, base)
        number = [
            table.number(self._row_of(int(symbols[which - 1]), n))
            for which, n in zip(place.tolist(), times.tolist(), strict=True)
        ]
        if number == list(range(base, base + len(number))):
            return found
        given = np.array([*range(base), *number])
        return translated(found, given, narrow(int(given.max())))

    def _row_of(self, symbol: int, n: int) -> StepRow:
        what, is_call = divmod(symbol, 2)
        if is_call:
            return StepRow(self._kind_of_call[symbol], what, n, 0, 0)
        return StepRow(int(TokenKind.DATA), what, n, 0, int(self._members[what] > 1))
