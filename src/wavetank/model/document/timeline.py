"""The timeline of a model: its points, kept as columns from the extraction to the file.

Of thousands of points an extraction would spend more time on the records than on what is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isnan
from typing import Annotated, Any, overload

import numpy.typing as npt
from pydantic import Field, WrapSerializer, WrapValidator

from wavetank.document import Record
from wavetank.trace.schema import UNKNOWN


class TimelinePoint(Record):
    """A stretch of one rank's operations on one file, for the temporal pattern."""

    rank: int
    file_id: int
    iop_type: str
    rs: int
    tick_first: int
    tick_last: int
    start_s: float | None
    end_s: float | None
    offset_first: int | None
    offset_last: int | None
    count: int
    ph_id: int = Field(description="the phase that it is a part of")
    scattered: bool = Field(
        default=False,
        description="True: the offsets follow no order, and offset_first is that of the first operation only",
    )


class PointColumns(Sequence[TimelinePoint]):
    """Points of which each is made when it is asked for.

    Args:
        columns: one for each field of ``TimelinePoint``, in the order of the fields, all of one length. Times that
            are not known are NaN, and offsets UNKNOWN.
    """

    def __init__(self, **columns: npt.NDArray[Any]) -> None:
        self._columns = columns

    def rows(self) -> Iterator[dict[str, object]]:
        """The fields of each point."""
        columns = {name: column.tolist() for name, column in self._columns.items()}
        for name in ("start_s", "end_s"):
            columns[name] = [None if isnan(time) else time for time in columns[name]]
        for name in ("offset_first", "offset_last"):
            columns[name] = [None if place == UNKNOWN else place for place in columns[name]]
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def __len__(self) -> int:
        return len(self._columns["rank"])

    def __iter__(self) -> Iterator[TimelinePoint]:
        return (TimelinePoint.model_construct(**row) for row in self.rows())  # type: ignore[arg-type]

    @overload
    def __getitem__(self, at: int) -> TimelinePoint: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[TimelinePoint]: ...
    def __getitem__(self, at: int | slice) -> TimelinePoint | Sequence[TimelinePoint]:
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def _validated(value: object, check: Callable[[object], Sequence[TimelinePoint]]) -> object:
    return value if isinstance(value, PointColumns) else tuple(check(value))


def _serialized(value: Sequence[TimelinePoint], each: Callable[[object], Any]) -> Any:  # noqa: ANN401
    return list(value.rows()) if isinstance(value, PointColumns) else each(value)


Timeline = Annotated[
    Sequence[TimelinePoint], WrapValidator(_validated), WrapSerializer(_serialized)
]
