"""The table of a store's measurements: each with what it was made with."""

from __future__ import annotations

from wavetank.campaign.store import Entry
from wavetank.notes import texts
from wavetank.tables.table import Cell, Column, Definition


def _hash(key: str, title: str) -> Column[Entry]:
    def cell(entry: Entry) -> Cell:
        value: str = getattr(entry.measurement, key)
        return Cell(value[:12], value)

    return Column(key, title, cell)


def _io_time_s(entry: Entry) -> float | None:
    return entry.measurement.result.io.total_s


MEASUREMENTS: Definition[Entry] = Definition(
    "stored-measurements",
    "Measurements",
    (
        Column("number", "Number", lambda i: i.number, kind="integer"),
        Column("application", "Application", lambda i: i.measurement.application),
        Column("cluster", "Cluster", lambda i: i.measurement.cluster),
        Column("mapping", "Mapping", lambda i: i.measurement.mapping),
        Column("repetition", "Repetition", lambda i: i.measurement.repetition, kind="integer"),
        Column("order", "Order", lambda i: i.measurement.order, kind="integer", machine=True),
        Column("cache", "Caches", lambda i: i.measurement.cache.found),
        Column("io_time_s", "I/O time", _io_time_s, unit="s"),
        Column("spent_s", "Spent", lambda i: i.spent_s, unit="s", machine=True),
        Column("finished_utc", "Finished", lambda i: Cell(i.finished_utc[:19], i.finished_utc)),
        Column("origin", "Origin", lambda i: i.measurement.origin, machine=True),
        _hash("kernel_sha256", "Kernel"),
        _hash("cluster_spec_sha256", "Cluster spec."),
        Column("version", "Version", lambda i: i.measurement.provenance.tool_version, machine=True),
        Column("commit", "Commit", lambda i: i.measurement.provenance.tool_commit, machine=True),
        Column("host", "Host", lambda i: i.measurement.provenance.host.hostname, machine=True),
        Column("raw_output", "Raw output", lambda i: i.has_raw_output, kind="boolean"),
        Column("doubts", "Doubts", lambda i: list(texts(i.measurement.notes)), kind="list"),
    ),
    key="measurements",
)
