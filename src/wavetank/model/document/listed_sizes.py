"""Request sizes without offsets: of operations whose source does not say where they went, and which differ in size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from pydantic import Field, model_validator

from wavetank.document import Record
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.columnar import Column, ListColumn, as_column, different, fill
from wavetank.trace.schema import UNKNOWN, Int64Array


class _Listed(Protocol):
    @property
    def n_runs(self) -> Int64Array: ...
    @property
    def count(self) -> Int64Array: ...
    @property
    def rs(self) -> Int64Array: ...


def put_in_step(listed: _Listed, columns: Sequence[str]) -> None:
    """Let these columns of listed runs hold a number for each run; one number stands for all.

    Raises:
        ValueError: a column is of another length, or a run cannot be.
    """
    if (listed.n_runs < 1).any():
        raise ValueError("n_runs must be above 0")
    fill(listed, columns, int(listed.n_runs.sum()), "runs")
    if (different(listed.count) < 1).any() or (different(listed.rs) < 0).any():
        raise ValueError("a run has no repetition, or a negative request size")


class ListedSizes(Record):
    """For each rank of the phase (same order as ``ph_processid``) runs of requests of one size, as columns.

    The columns hold the runs of all ranks one after another, of each rank ``n_runs``. One number instead of
    a list stands for a column of equal numbers.
    """

    n_runs: ListColumn = Field(description="runs of each rank")
    count: Column = Field(description="repetitions of each run")
    rs: Column = Field(description="request size, bytes")
    moved: Column | None = Field(
        default=None, description="bytes moved by each run; None: count * rs throughout"
    )

    @model_validator(mode="after")
    def _in_step(self) -> Self:
        put_in_step(self, ("count", "rs", "moved"))
        return self

    @classmethod
    def of(cls, ranks: Sequence[RunArrays]) -> ListedSizes:
        """From the runs of each rank; their offsets are not looked at."""

        def column(name: str) -> Int64Array:
            joined: Int64Array = np.concatenate([getattr(runs, name) for runs in ranks])
            joined.setflags(write=False)
            return joined

        count, rs, moved = column("count"), column("size"), column("moved")
        full = np.array_equal(moved, count * rs)
        # Arrays of our own: nothing to validate.
        return cls.model_construct(
            n_runs=as_column([len(runs) for runs in ranks]),
            count=count,
            rs=rs,
            moved=None if full else moved,
        )

    def of_rank(self, position: int) -> RunArrays:
        """The runs of one rank, by its place in ``ph_processid``; offsets are UNKNOWN."""
        start = int(self.n_runs[:position].sum())
        at = slice(start, start + int(self.n_runs[position]))
        count, rs = self.count[at], self.rs[at]
        moved = count * rs if self.moved is None else self.moved[at]
        return RunArrays(count, rs, moved, np.full_like(rs, UNKNOWN), np.zeros_like(rs))

    def _values(self) -> tuple[bytes | None, ...]:
        columns = (self.n_runs, self.count, self.rs, self.moved)
        return tuple(None if column is None else column.tobytes() for column in columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListedSizes) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())
