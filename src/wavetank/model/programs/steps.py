"""The steps of programs as a model has them, of orders that are folded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from wavetank.model.columns import different, numbered
from wavetank.model.document.phase import PatternMember, Phase
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    PauseStep,
    ProcessStep,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.events.file_identity import NAME_CHANGES
from wavetank.model.programs.orders import Orders
from wavetank.model.programs.tokens import TokenKind, Tokens
from wavetank.trace.schema import BoolArray, Int64Array

_COLUMN = 256
"""Steps in a row without a loop from which on a document has them as a column of numbers, not as records."""


class Steps:
    """The steps of some orders.

    Args:
        orders: of all ranks.
        symbols: what each symbol is; its count is in the orders.
        phases: that its data are of.
        file_steps: by number.
    """

    def __init__(
        self,
        orders: Orders,
        symbols: Tokens,
        phases: Sequence[Phase],
        file_steps: Sequence[FileStep],
    ) -> None:
        symbol, times = orders.entries
        self._orders = orders
        self._number, first = numbered(symbol, times)
        # Entries that are bodies have no step of their own until it is made of the body's.
        self._step: list[Step | None] = [None] * len(first)
        self._symbol, self._times = symbol[first], times[first]
        plain = np.flatnonzero(self._symbol < orders.n_symbols)
        self._plain: BoolArray = self._symbol < orders.n_symbols
        kind = np.zeros(len(first), dtype=np.int64)
        kind[plain] = symbols.kind[self._symbol[plain]]
        self._alternates = self._plain & np.isin(
            kind, (TokenKind.DATA, TokenKind.EMPTY, TokenKind.SEEK, TokenKind.NULL_SEEK)
        )
        data = np.flatnonzero(kind == TokenKind.DATA)
        self._make_data(data, symbols, phases)
        for number in plain[kind[plain] != TokenKind.DATA].tolist():
            at, n = int(self._symbol[number]), int(self._times[number])
            what, of_kind = int(symbols.what[at]), int(kind[number])
            step = _step(of_kind, what, n, file_steps)
            self._step[number] = step
            if of_kind == TokenKind.FILE and isinstance(step, FileStep):
                name = step.iop_type
                self._alternates[number] = not (name.startswith("MPI_") or name in NAME_CHANGES)
        self._laid: dict[int, Int64Array | None] = {}

    def of_sequence(self, number: int) -> tuple[Step, ...]:
        """The steps of a sequence."""
        root = self._orders.root
        return self._of(self._number[root[number] : root[number + 1]])

    def _make_data(self, some: Int64Array, symbols: Tokens, phases: Sequence[Phase]) -> None:
        """The steps that move data. ``single`` are those of phases that any step ends inside a repetition of."""
        phase = symbols.what[self._symbol[some]]
        n, nulls = self._times[some], symbols.null_seeks[self._symbol[some]]
        period = np.array([len(one.pattern) for one in phases], dtype=np.int64)[phase]
        odd = np.zeros(len(phases), dtype=bool)
        odd[phase[n % period != 0]] = True
        single = odd[phase]
        made = DataStep.of_columns(
            step=["data"] * len(some),
            ph_id=(phase + 1).tolist(),
            n=np.where(single, n, n // period).tolist(),
            single=single.tolist(),
            null_seeks=nulls.tolist(),
            handle=[_common_handle(phases[number].pattern) for number in phase.tolist()],
        )
        for number, step in zip(some.tolist(), made, strict=True):
            self._step[number] = step

    def _of(self, numbers: Int64Array) -> tuple[Step, ...]:
        """The steps of some entries in order.

        Of many those that are in no loop, or in one of a few steps, are a column.
        """
        if len(numbers) < _COLUMN:
            return tuple([self._one(number) for number in numbers.tolist()])
        can = self._alternates[numbers]
        for number in different(numbers[~self._plain[numbers]]).tolist():
            can[numbers == number] = self._few_steps(number) is not None
        edges = np.flatnonzero(np.diff(can, prepend=not can[0], append=not can[-1])).tolist()
        found: list[Step] = []
        for a, z in pairwise(edges):
            if can[a] and z - a >= _COLUMN:
                found.append(self._column(numbers[a:z]))
            else:
                found += [self._one(number) for number in numbers[a:z].tolist()]
        return tuple(found)

    def _body(self, number: int) -> Int64Array:
        """The entries of a loop's body."""
        start, n = self._orders.bodies[:, self._symbol[number] - self._orders.n_symbols].tolist()
        return self._number[start : start + n]

    def _few_steps(self, number: int) -> Int64Array | None:
        """The entries of a loop laid out, if they are few and may be in a column."""
        if number not in self._laid:
            self._laid[number] = self._laid_out(number)
        return self._laid[number]

    def _laid_out(self, number: int) -> Int64Array | None:
        laid: list[Int64Array] = []
        for entry in self._body(number).tolist():
            one = np.array([entry]) if self._alternates[entry] else None
            if not self._plain[entry]:
                one = self._few_steps(entry)
            if one is None:
                return None
            laid.append(one)
        times = int(self._times[number])
        if times * sum(map(len, laid)) >= _COLUMN:
            return None
        return np.tile(np.concatenate(laid), times)

    def _one(self, number: int) -> Step:
        step = self._step[number]
        if step is None:
            body = self._of(self._body(number))
            step = RepeatStep.model_construct(times=int(self._times[number]), steps=body)
            self._step[number] = step
        return step

    def _column(self, numbers: Int64Array) -> IrregularOrderStep:
        if not self._plain[numbers].all():
            few = [
                numbers[at : at + 1] if self._plain[number] else self._laid[number]
                for at, number in enumerate(numbers.tolist())
            ]
            numbers = np.concatenate([one for one in few if one is not None])
        order, first = numbered(numbers)
        width = np.uint8 if len(first) <= 256 else np.uint32
        steps = tuple([self._one(number) for number in numbers[first].tolist()])
        return IrregularOrderStep.model_construct(steps=steps, order=order.astype(width))  # type: ignore[arg-type]


def _step(kind: int, what: int, n: int, file_steps: Sequence[FileStep]) -> Step:
    if kind == TokenKind.SYNC_RANKS:
        return SyncStep.model_construct(communicator=what, count=n)
    if kind == TokenKind.PAUSE:
        return PauseStep.model_construct(seconds=what * n / 1e6)
    if kind in (TokenKind.BEGINS, TokenKind.ENDED):
        event: Literal["begins", "ended"] = "begins" if kind == TokenKind.BEGINS else "ended"
        return ProcessStep.model_construct(rank=what, event=event)
    step = file_steps[what]
    return step if n == step.count else step.model_copy(update={"count": n})


def _common_handle(pattern: Sequence[PatternMember]) -> int | None:
    """The handle of all members; None where they differ."""
    handle = pattern[0].handle
    if len(pattern) > 1 and [member for member in pattern if member.handle != handle]:
        return None
    return handle
