"""A measurement and a characterisation as tables."""

from __future__ import annotations

from wavetank.cluster.guests.hypervisors import INCOMPARABLE
from wavetank.kernel.results.result import PhaseResult
from wavetank.measure.characterisation import (
    TESTS,
    Characterisation,
    LimitCheck,
    MetadataRate,
    NetworkRate,
    StorageRate,
)
from wavetank.measure.result import Measurement
from wavetank.notes import texts
from wavetank.tables.table import Cell, Column, Definition, Fact, Table, facts, sentences

_HOLDS: dict[bool | None, str] = {
    True: "yes",
    False: "NO",
    None: "not known: give a larger --file-size",
}

MEASUREMENT = facts("measurement", "Measurement", command="summary")


def _origin(measurement: Measurement, phase: PhaseResult) -> Cell:
    marked = phase.ph_id in measurement.incomparable_phases
    mark = f", {INCOMPARABLE}" if marked else ""
    return Cell(measurement.origin + mark, measurement.origin)


PHASES: Definition[tuple[Measurement, PhaseResult]] = Definition(
    "measured-phases",
    "Phases",
    (
        Column("ph_id", "Phase", lambda i: i[1].ph_id, kind="integer"),
        Column("bytes", "Bytes", lambda i: i[1].bytes, unit="B"),
        Column("operations", "Operations", lambda i: i[1].operations, kind="integer"),
        Column("time_s", "Time", lambda i: i[1].time_s, unit="s"),
        Column("rate_bytes_per_s", "Rate", lambda i: i[1].rate_bytes_per_s, unit="B/s"),
        Column("iops", "IOPS", lambda i: i[1].iops, unit="1/s"),
        Column("origin", "Origin", lambda i: _origin(*i)),
    ),
    key="phases",
)

STORAGE: Definition[StorageRate] = Definition(
    "storage",
    "Storage",
    (
        Column("node", "Node", lambda i: i.node),
        Column("where", "Where", lambda i: i.where),
        Column("rs", "Request size", lambda i: i.rs, unit="B"),
        Column("test", "Test", lambda i: i.test),
        Column("bytes_per_s", "Rate", lambda i: i.bytes_per_s, unit="B/s"),
        Column("iops", "IOPS", lambda i: i.iops, unit="1/s"),
    ),
    command="characterise",
)

PEAK: Definition[tuple[str, float | None]] = Definition(
    "peak-bw-pk",
    "Peak BW_PK",
    (
        Column("test", "Test", lambda i: i[0]),
        Column("bytes_per_s", "Rate", lambda i: i[1], unit="B/s"),
    ),
    command="characterise",
)

NETWORK: Definition[NetworkRate] = Definition(
    "network",
    "Network",
    (
        Column("sender", "Sender", lambda i: i.sender),
        Column("receiver", "Receiver", lambda i: i.receiver),
        Column("bytes_per_s", "Rate", lambda i: i.bytes_per_s, unit="B/s"),
    ),
    command="characterise",
)

METADATA: Definition[MetadataRate] = Definition(
    "metadata-rates",
    "Metadata",
    (
        Column("node", "Node", lambda i: i.node),
        Column("where", "Where", lambda i: i.where),
        Column("creates_per_s", "Files created per second", lambda i: i.creates_per_s, unit="1/s"),
    ),
    key="metadata",
    command="characterise",
)

LIMITS: Definition[LimitCheck] = Definition(
    "limits-measured",
    "Limits",
    (
        Column("node", "Node", lambda i: i.node),
        Column("limit", "Limit", lambda i: i.what),
        Column("asked_bytes_per_s", "Asked", lambda i: i.asked_bytes_per_s, unit="B/s"),
        Column("measured_bytes_per_s", "Measured", lambda i: i.measured_bytes_per_s, unit="B/s"),
        Column("holds", "Holds", lambda i: Cell(_HOLDS[i.within], i.within), kind="boolean", help="null: not known"),
    ),
    key="limits",
    command="characterise",
)  # fmt: skip

NOTES = sentences("notes", "Notes", "note", command="characterise")
DEFINITIONS = (MEASUREMENT, PHASES, STORAGE, PEAK, NETWORK, METADATA, LIMITS, NOTES)


def measurement_table(measurement: Measurement) -> Table:
    """What was measured, and how it went."""
    result = measurement.result
    rows: list[Fact] = [
        ("application", measurement.application),
        ("cluster", measurement.cluster),
        ("mapping", measurement.mapping),
        ("repetition", measurement.repetition),
        ("cache", measurement.cache.found),
        (
            "status",
            result.status if result.failure is None else f"{result.status}: {result.failure}",
        ),
        ("elapsed_s", result.elapsed_s),
        *(("note", text) for text in texts(measurement.notes)),
    ]
    return MEASUREMENT.table(rows)


def phase_table(measurement: Measurement) -> Table:
    """Rates of the phases, with what was found on the way."""
    phases = ((measurement, phase) for phase in measurement.result.phases)
    return PHASES.table(phases, caption="; ".join(texts(measurement.notes)))


def characterisation_tables(found: Characterisation) -> list[Table]:
    """What the storage and the network of a cluster can do; tables without rows are left out."""
    tables = [
        STORAGE.table(
            found.storage,
            title=f"Storage of {found.cluster} ({found.instance_type}, {found.origin})",
        ),
        PEAK.table(
            [(test, found.peak(test)) for test in TESTS],
            caption=f"sum over the local file systems of {', '.join(found.storage_nodes())}",
        ),
        NETWORK.table(found.network),
        METADATA.table(found.metadata),
        LIMITS.table(found.limits),
        NOTES.table(found.notes),
    ]
    return [table for table in tables if table.rows]
