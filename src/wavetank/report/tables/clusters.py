"""Clusters side by side (P16 table 4): components, settings in force, limits, versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from wavetank.report.gather import Campaign
from wavetank.tables.table import Cell, Column, Table, column_at, distinct, text
from wavetank.tables.words import DASH

MAX_COLUMNS = 8  # clusters side by side
MAX_ROWS = 60  # clusters of the table of settings, where each is a row
# Where a value comes from. The first two are the components of a cluster; the others tell how it was.
GROUPS = ("as specified", "emulated limit", "in force", "version", "file on")
COMPONENTS = frozenset(GROUPS[:2])

Key: TypeAlias = tuple[str, str]
"""(group, name)."""


def cluster_tables(campaign: Campaign) -> tuple[Table, ...]:
    """Components side by side, then settings in force, then what is the same everywhere.

    A part without rows is left out.
    """
    titles = _titles(campaign)
    properties = {cluster: _properties(campaign, cluster) for cluster in titles}
    keys = dict.fromkeys(key for values in properties.values() for key in values)
    values = {key: [properties[cluster].get(key) for cluster in titles] for key in _in_groups(keys)}
    same = {key for key in values if len(titles) > 1 and len(set(values[key])) == 1}
    tables = (
        _side_by_side(
            "clusters",
            "Components" if len(titles) == 1 else "Components that differ",
            {k: v for k, v in values.items() if k not in same and k[0] in COMPONENTS},
            titles,
        ),
        _side_by_side(
            "clusters-settings",
            "Settings in force, versions and files",
            {k: v for k, v in values.items() if k not in same and k[0] not in COMPONENTS},
            titles,
        ),
        Table(
            name="clusters-same",
            title="The same on every cluster",
            columns=(*_HEAD, column_at("value", "Value")),
            rows=tuple(
                (text(name), text(group), _cell(values[group, name][0]))
                for group, name in values
                if (group, name) in same
            ),
        ),
    )
    return tuple(table for table in tables if table.rows)


_HEAD = (column_at("component", "Component"), column_at("kind", "Known from"))


def _side_by_side(
    name: str,
    title: str,
    values: Mapping[Key, Sequence[str | None]],
    titles: Mapping[str, str],
) -> Table:
    """A column for each cluster; where there are many, a row for each cluster instead."""
    columns: tuple[Column[Any], ...]
    rows: list[tuple[Cell, ...]]
    many = len(titles) > MAX_COLUMNS
    if many:
        columns = (
            column_at("cluster", "Cluster", wide=True),
            *(_property_column(key, group) for group, key in values),
        )
        rows = [
            (text(title or cluster), *(_cell(found[position]) for found in values.values()))
            for position, (cluster, title) in enumerate(titles.items())
        ]
    else:
        keys = distinct([*(column.key for column in _HEAD), *titles])[len(_HEAD) :]
        columns = (
            *_HEAD,
            *(
                column_at(key, title or cluster)
                for key, (cluster, title) in zip(keys, titles.items(), strict=True)
            ),
        )
        rows = [
            (text(key), text(group), *(_cell(value) for value in found))
            for (group, key), found in values.items()
        ]
    return Table(
        name=name,
        title=title,
        columns=columns,
        rows=tuple(rows) if values else (),
        caption="As specified; in force, as read back from the system; limits, as emulated.",
        max_rows=MAX_ROWS if many and name != "clusters" else None,
    )


def _cell(value: str | None) -> Cell:
    return Cell(DASH, None) if value is None else text(value)


def _property_column(name: str, group: str) -> Column[Any]:
    return column_at(f"{group} {name}", name, help=group)


def _titles(campaign: Campaign) -> dict[str, str]:
    return {c.cluster: c.cluster_title for c in campaign.comparison.configurations}


def _properties(campaign: Campaign, cluster: str) -> dict[Key, str]:
    """What is known of a cluster: from its specification, and from its first measurement."""
    specified = dict(campaign.cluster_specs.get(cluster, {}))
    specified.pop("name", None)
    specified.pop("title", None)
    specified = {"name of the cluster": cluster} | specified
    configuration = next(c for c in campaign.comparison.configurations if c.cluster == cluster)
    specified["number of instances"] = str(configuration.n_instances)
    if configuration.instance_type not in specified.values():
        specified["instance type"] = configuration.instance_type
    parts = [specified, configuration.limits, configuration.settings]
    first = next((m for m in campaign.measurements if m.cluster == cluster), None)
    if first is not None:
        parts += [first.versions, first.file_placement]
    return {
        (group, name): value
        for group, values in zip(GROUPS, parts, strict=False)
        for name, value in values.items()
    }


def _in_groups(keys: Iterable[Key]) -> list[Key]:
    return sorted(keys, key=lambda key: GROUPS.index(key[0]))
