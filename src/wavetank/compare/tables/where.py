"""Columns that name a configuration, the same in every table of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import Configuration
from wavetank.tables.table import Column

T = TypeVar("T")


def application_column(of: Callable[[T], str]) -> Column[T]:
    """Of the application's name; people see it where there are several (:func:`hidden`)."""
    return Column("application", "Application", of)


def where(of: Callable[[T], Configuration]) -> tuple[Column[T], ...]:
    """Application, cluster with its title, mapping."""
    return (
        application_column(lambda item: of(item).application),
        Column("cluster", "Cluster's name", lambda item: of(item).cluster, machine=True),
        Column("title", "Cluster", lambda item: of(item).cluster_title, wide=True),
        Column("mapping", "Mapping", lambda item: of(item).mapping, help="process mapping"),
    )


def hidden(applications: Iterable[str], *more: str) -> dict[str, Mapping[str, Any]]:
    """Columns that people need not see: the application where there is one, and others by key."""
    one = ("application",) if len(set(applications)) <= 1 else ()
    return {key: {"machine": True} for key in (*one, *more)}


def of_all(configurations: Sequence[Configuration], *more: str) -> dict[str, Mapping[str, Any]]:
    """The same, by configurations."""
    return hidden((each.application for each in configurations), *more)


def currency_of(comparison: Comparison) -> str:
    """The currency of a comparison; empty without a price table."""
    return comparison.price.currency if comparison.price is not None else ""
