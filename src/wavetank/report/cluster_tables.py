"""Clusters side by side (P16 table 4): components, settings in force, limits, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.report.gather import Campaign
from wavetank.report.tables import Cell, Column, ReportTable, text

MAX_COLUMNS = 8  # clusters side by side
# Prefixes of a row's name, by where the value comes from.
GROUPS = ("as specified", "in force", "emulated limit", "version", "file on")


def cluster_tables(campaign: Campaign) -> tuple[ReportTable, ReportTable]:
    """What differs between the clusters, a column each; and what is the same on all of them."""
    properties = {cluster: _properties(campaign, cluster) for cluster in _titles(campaign)}
    titles = _titles(campaign)
    names = list(dict.fromkeys(name for values in properties.values() for name in values))
    different, same = [], []
    for group, key in names:
        values = [properties[cluster].get((group, key)) for cluster in titles]
        if len(set(values)) > 1:
            cells = [
                text(value) if value is not None else Cell("\N{EN DASH}", None) for value in values
            ]
            different.append((text(key), text(group), *cells))
        elif values[0] is not None:
            same.append((text(key), text(group), text(values[0])))
    head = (Column("component", "Component"), Column("kind", "Known from"))
    return (
        _side_by_side(_in_groups(different), titles),
        ReportTable(
            name="clusters-same",
            title="The same on every cluster",
            columns=(*head, Column("value", "Value")),
            rows=tuple(_in_groups(same)),
        ),
    )


def _side_by_side(rows: Sequence[tuple[Cell, ...]], titles: Mapping[str, str]) -> ReportTable:
    """A column for each cluster; where there are many, a row for each cluster instead."""
    columns: tuple[Column, ...]
    if len(titles) <= MAX_COLUMNS:
        columns = (
            Column("component", "Component"),
            Column("kind", "Known from"),
            *(Column(cluster, title or cluster) for cluster, title in titles.items()),
        )
    else:
        columns = (
            Column("cluster", "Cluster", wide=True),
            *(
                Column(f"{row[1].text} {row[0].text}", row[0].text, help=row[1].text)
                for row in rows
            ),
        )
        rows = [
            (text(title or cluster), *(row[2 + position] for row in rows))
            for position, (cluster, title) in enumerate(titles.items())
        ]
    return ReportTable(
        name="clusters",
        title="What differs between the clusters",
        columns=columns,
        rows=tuple(rows),
        caption="As specified; in force, as read back from the system; limits, as emulated.",
        filterable=len(titles) > MAX_COLUMNS,
    )


def _property_column(name: str, group: str) -> Column:
    return Column(f"{group} {name}", name, help=group)


def _titles(campaign: Campaign) -> dict[str, str]:
    return {c.cluster: c.cluster_title for c in campaign.comparison.configurations}


def _properties(campaign: Campaign, cluster: str) -> dict[tuple[str, str], str]:
    """(group, name) -> value, of the cluster's first measurement and its specification."""
    specified = dict(campaign.cluster_specs.get(cluster, {}))
    specified.pop("name", None)
    specified.pop("title", None)
    found = {(GROUPS[0], key): value for key, value in specified.items()}
    configuration = next(c for c in campaign.comparison.configurations if c.cluster == cluster)
    found.setdefault((GROUPS[0], "instance type"), configuration.instance_type)
    found[GROUPS[0], "number of instances"] = str(configuration.n_instances)
    found |= _grouped(GROUPS[1], configuration.settings)
    found |= _grouped(GROUPS[2], configuration.limits)
    first = next((m for m in campaign.measurements if m.cluster == cluster), None)
    if first is not None:
        found |= _grouped(GROUPS[3], first.versions)
        found |= _grouped(GROUPS[4], first.file_placement)
    return found


def _grouped(group: str, values: Mapping[str, str]) -> dict[tuple[str, str], str]:
    return {(group, key): value for key, value in values.items()}


def _in_groups(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    return sorted(rows, key=lambda row: GROUPS.index(row[1].text))
