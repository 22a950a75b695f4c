"""A JSON document with one thing changed, for everything in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def changed_values(value: Any) -> Iterator[Any]:
    """Other values in the place of one of a JSON document."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield from ("fsync", "pwrite", "MPI_File_write_at_all", "other")
    elif isinstance(value, list):
        for i in range(len(value)):
            yield [*value[:i], *value[i + 1 :]]
            yield [*value[: i + 1], *value[i:]]
        for i in range(len(value) - 1):
            yield [*value[:i], value[i + 1], value[i], *value[i + 2 :]]
    elif value is None:
        yield 1


def mutations(body: Any) -> Iterator[Any]:
    """The document with one thing changed, for everything in it."""
    if isinstance(body, dict):
        for key, value in body.items():
            for other in (*changed_values(value), *mutations(value)):
                yield {**body, key: other}
    elif isinstance(body, list):
        for i, value in enumerate(body):
            own = () if isinstance(value, list) else changed_values(value)
            for other in (*own, *mutations(value)):
                yield [*body[:i], other, *body[i + 1 :]]
