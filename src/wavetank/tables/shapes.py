"""Definitions of tables of a common shape: facts by name, sentences."""

from __future__ import annotations

from typing import TypeAlias

from wavetank.tables.table import Column, Definition, Value
from wavetank.tables.words import plain_words

Fact: TypeAlias = tuple[str, Value]


def facts(
    name: str,
    title: str,
    what: str = "field",
    value: str = "value",
    *,
    command: str = "",
    key: str | None = None,
) -> Definition[Fact]:
    """A row for each fact: what it is, and its value, of whatever kind."""
    return Definition(
        name,
        title,
        (
            Column(what, what.capitalize(), lambda i: i[0]),
            Column(value, value.replace("_", " ").capitalize(), lambda i: i[1], kind="any", show=plain_words),
        ),
        key=key,
        command=command,
    )  # fmt: skip


def sentences(
    name: str, title: str, what: str = "what", *, command: str = "", key: str | None = None
) -> Definition[str]:
    """A row for each sentence."""
    columns = (Column[str](what, what.capitalize(), lambda i: i, wide=True),)
    return Definition(name, title, columns, key=key, command=command)
