"""Columns of numbers in a document: arrays in memory; in a file a list, or one number where all are equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

from wavetank.trace.schema import Int64Array


def as_column(value: object) -> object:
    """A column of runs: one number for all, or a list."""
    if isinstance(value, np.ndarray) and value.dtype == np.int64:
        column = value.view()  # lists of many millions are not copied
        column.setflags(write=False)
        return column
    try:
        found = np.array(value)
        column = np.atleast_1d(found.astype(np.int64))
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError("must be a whole number or a list of such") from error
    if column.ndim > 1 or (
        found.size and (found.dtype.kind not in "iu" or (column != found).any())
    ):
        raise ValueError("must be a whole number or a list of such")
    column.setflags(write=False)
    return column


def fill(record: object, names: Iterable[str], n: int, of: str) -> None:
    """Let columns of a record hold ``n`` numbers each; one number stands for all, and None for no column.

    Raises:
        ValueError: a column holds another number of them; ``of``: what they are.
    """
    for name in names:
        column = getattr(record, name)
        if column is None:
            continue
        if len(column) == 1 and n > 1:
            record.__dict__[name] = column = np.broadcast_to(column, n)
        if len(column) != n:
            raise ValueError(f"{name} holds {len(column)} numbers for {n} {of}")


def different(column: Int64Array) -> Int64Array:
    """A column's numbers; once, where one number stands for all."""
    return column[:1] if column.strides == (0,) else column


def _of_column(column: Int64Array) -> int | list[int]:
    """A column as a file holds it: one number where all are equal."""
    if len(column) > 1 and (different(column) == column[0]).all():
        return int(column[0])
    values: list[int] = column.tolist()
    return values


Column = Annotated[
    Any,
    BeforeValidator(as_column),
    PlainSerializer(_of_column),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}
    ),
]

ListColumn = Annotated[
    Any,
    BeforeValidator(as_column),
    PlainSerializer(lambda column: column.tolist()),
    WithJsonSchema({"type": "array", "items": {"type": "integer"}}),
]
"""A column that a file holds as a list always."""


def at_least(least: int, message: str) -> AfterValidator:
    """Refuses a column with a smaller number, with this message."""

    def check(column: Int64Array) -> Int64Array:
        if column.size and column.min() < least:
            raise ValueError(message)
        return column

    return AfterValidator(check)
