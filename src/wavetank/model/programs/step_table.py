"""The different steps of programs: by numbers while loops and irregular orders are looked for, then as a model has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

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
from wavetank.model.programs.irregular_orders import IrregularOrder, in_order
from wavetank.model.programs.loops import Loop, Node, settle
from wavetank.model.programs.tokens import TokenKind, Tokens
from wavetank.trace.schema import BoolArray, Int64Array


class Part(NamedTuple):
    """Steps of a program in order. ``loop`` and ``times`` are empty where no step is in a loop that is known."""

    ids: Int64Array
    loop: Int64Array  # differences of the numbers of the loops that steps are in, -1 for none, from -1 on
    times: Int64Array  # repetitions of the loop


class StepRow(NamedTuple):
    """A step by its numbers: equal ones are one step."""

    kind: int  # TokenKind
    what: int  # which one of its kind, see TokenKind
    n: int  # of data: operations; of a pause: times its length; else: calls
    null_seeks: int  # among these operations
    inside: int  # 1: it begins or ends inside a repetition of its phase's pattern, else 0

    def goes_on(self, behind: StepRow) -> bool:
        """Whether a step behind it is of the same, so that both may be one."""
        return self.kind == behind.kind and self.what == behind.what


class StepTable:
    """The different steps by their numbers."""

    def __init__(
        self, rows: list[StepRow], phases: Sequence[Phase], file_steps: Sequence[FileStep]
    ) -> None:
        self._rows = rows
        self._numbers = {row: number for number, row in enumerate(rows)}
        self._phases, self._file_steps = phases, file_steps
        self._made: dict[int, Step] = {}
        self._may_alternate: list[bool] = []

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, row: StepRow) -> int:
        """The number of a step."""
        found = self._numbers.setdefault(row, len(self._rows))
        if found == len(self._rows):
            self._rows.append(row)
        return found

    def may_alternate(self) -> BoolArray:
        """By number, whether a step may be part of an irregular order: data, and POSIX calls on what a file is, not its names."""
        plain = (TokenKind.DATA, TokenKind.EMPTY, TokenKind.SEEK, TokenKind.NULL_SEEK)
        for row in self._rows[len(self._may_alternate) :]:
            can = row.kind in plain
            if row.kind == TokenKind.FILE:
                name = self._file_steps[row.what].iop_type
                can = not name.startswith("MPI_") and name not in NAME_CHANGES
            self._may_alternate.append(can)
        return np.array(self._may_alternate, dtype=bool)

    def nodes(self, parts: Sequence[Part], candidates: int) -> list[Node]:
        """Loops that are known, and between them arrays of numbers; neighbours that are the same step joined.

        Args:
            parts: of a program.
            candidates: of loops in loops, see ``compress``.
        """
        found: list[Node] = []
        for part in parts:
            if len(part.loop):
                loops = np.cumsum(part.loop) - 1
                nodes = self._of_loops(part.ids.tolist(), loops.tolist(), part.times.tolist())
                found += settle(nodes, candidates)
            elif len(part.ids):
                found.append(part.ids)
        for at in range(1, len(found)):
            before, node = found[at - 1], found[at]
            if isinstance(before, Loop) or isinstance(node, Loop):
                continue
            last = before if isinstance(before, int) else int(before[-1])
            first = node if isinstance(node, int) else int(node[0])
            if self._rows[last].goes_on(self._rows[first]):
                both = self.joined(last, first)
                found[at - 1] = (
                    before[:-1] if isinstance(before, np.ndarray) else np.zeros(0, dtype=np.int64)
                )
                found[at] = (
                    np.concatenate([[both], node[1:]]) if isinstance(node, np.ndarray) else both
                )
        return [node for node in found if not isinstance(node, np.ndarray) or len(node)]

    def _of_loops(self, ids: list[int], loops: list[int], times: list[int]) -> list[Node]:
        """Numbers, and loops of them where tokens are in the body of one."""
        found: list[Node] = []
        at = 0
        while at < len(ids):
            stop = at + 1
            if loops[at] < 0:
                self._append(found, ids[at])
            else:
                while stop < len(ids) and loops[stop] == loops[at]:
                    stop += 1
                for node in self._loop(ids[at:stop], times[at]):
                    self._append(found, node)
            at = stop
        return found

    def _append(self, found: list[Node], node: Node) -> None:
        """Append a node; joined with the one before it where both are the same step."""
        if not found or not isinstance(node, int) or not isinstance(found[-1], int):
            found.append(node)
        elif self._rows[found[-1]].goes_on(self._rows[node]):
            found[-1] = self.joined(found[-1], node)
        else:
            found.append(node)

    def joined(self, first: int, second: int) -> int:
        """The number of the step that two steps of the same kind are."""
        a, b = self._rows[first], self._rows[second]
        inside = max(a.inside, b.inside)
        return self.number(StepRow(a.kind, a.what, a.n + b.n, a.null_seeks + b.null_seeks, inside))

    def _loop(self, body: list[int], times: int) -> list[Node]:
        """A loop; where a repetition ends with the step that the next one begins with, they are one step."""
        if len(body) < 2 or not self._rows[body[-1]].goes_on(self._rows[body[0]]):
            return [Loop(times, tuple(body))]
        number = self.joined(body[-1], body[0])
        inner = body[1:-1]
        return [body[0], Loop(times - 1, (*inner, number)), *inner, body[-1]]

    def expand(self, node: Node) -> Step:
        """The step of a number or a loop."""
        if isinstance(node, Loop):
            return RepeatStep.model_construct(times=node.times, steps=self.expanded(node.body))
        if isinstance(node, IrregularOrder):
            different, order = in_order(node)
            steps = self.expanded(different.tolist())
            return IrregularOrderStep.model_construct(steps=steps, order=order)  # type: ignore[arg-type]
        if node not in self._made:
            self._made[node] = _step(self._rows[node], self._phases, self._file_steps)
        return self._made[node]

    def expanded(self, nodes: Sequence[Node]) -> tuple[Step, ...]:
        """The steps of numbers and loops; those that move data are made at once."""
        made, rows = self._made, self._rows
        numbers = {node for node in nodes if isinstance(node, int)}
        new = [number for number in numbers - made.keys() if rows[number].kind == TokenKind.DATA]
        made.update(zip(new, _data_steps([rows[number] for number in new], self._phases)))  # noqa: B905
        return tuple(
            [
                made[node] if isinstance(node, int) and node in made else self.expand(node)
                for node in nodes
            ]
        )


def inside_repetitions(tokens: Tokens, phases: Sequence[Phase]) -> Int64Array:
    """Whether a data token begins or ends inside a repetition (1) or not (0)."""
    period = np.array([1, *[len(phase.pattern) for phase in phases]], dtype=np.int64)
    is_data = tokens.kind == TokenKind.DATA
    what = np.where(is_data, tokens.what, 0)
    if not (period > 1).any():
        return np.zeros(len(what), dtype=np.int64)
    n = np.where(is_data, tokens.n * tokens.times, 0)
    key = tokens.rank * len(period) + what
    order = np.argsort(key, kind="stable")
    total = np.cumsum(n[order])
    begin = np.flatnonzero(np.diff(key[order], prepend=-1))
    base = np.repeat((total - n[order])[begin], np.diff(begin, append=len(order)))
    consumed = np.empty(len(order), dtype=np.int64)
    consumed[order] = total - base
    inside: BoolArray = (consumed % period[what] != 0) | ((consumed - n) % period[what] != 0)
    # In a loop single operations are counted, unless each repetition is whole repetitions of the pattern.
    looped = (tokens.loop >= 0) & is_data
    if looped.any():
        key = tokens.loop[looped] * len(period) + what[looped]
        groups, inverse = np.unique(key, return_inverse=True)
        odd = np.zeros(len(groups), dtype=bool)
        np.logical_or.at(odd, inverse, tokens.n[looped] % period[what[looped]] != 0)
        inside[looped] |= odd[inverse]
    result: Int64Array = (inside & is_data).astype(np.int64)
    return result


def _step(row: StepRow, phases: Sequence[Phase], file_steps: Sequence[FileStep]) -> Step:
    kind, what, n = row.kind, row.what, row.n
    if kind == TokenKind.SYNC_RANKS:
        return SyncStep.model_construct(communicator=what, count=n)
    if kind == TokenKind.PAUSE:
        return PauseStep.model_construct(seconds=what * n / 1e6)
    if kind in (TokenKind.BEGINS, TokenKind.ENDED):
        event: Literal["begins", "ended"] = "begins" if kind == TokenKind.BEGINS else "ended"
        return ProcessStep.model_construct(rank=what, event=event)
    if kind == TokenKind.DATA:
        return _data_steps([row], phases)[0]
    step = file_steps[what]
    return step if n == step.count else step.model_copy(update={"count": n})


def _data_steps(rows: Sequence[StepRow], phases: Sequence[Phase]) -> Sequence[DataStep]:
    """The steps of rows that move data."""
    patterns = [phases[row.what - 1].pattern for row in rows]
    return DataStep.of_columns(
        step=["data"] * len(rows),
        ph_id=[row.what for row in rows],
        n=[
            row.n if row.inside else row.n // len(pattern)
            for row, pattern in zip(rows, patterns, strict=True)
        ],
        single=[bool(row.inside) for row in rows],
        null_seeks=[row.null_seeks for row in rows],
        handle=[_common_handle(pattern) for pattern in patterns],
    )


def _common_handle(pattern: Sequence[PatternMember]) -> int | None:
    """The handle of all members; None where they differ."""
    handle = pattern[0].handle
    if len(pattern) > 1 and [member for member in pattern if member.handle != handle]:
        return None
    return handle
