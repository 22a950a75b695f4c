"""Where every number comes from: each measurement, and the surroundings that it shares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wavetank.compare.metrics import io_time_s
from wavetank.measure.result import Measurement
from wavetank.report.tables import Cell, Column, ReportTable, few, number, text
from wavetank.report.words import rate
from wavetank.units import format_duration, format_size


@dataclass(frozen=True)
class Surroundings:
    """Facts that many measurements share: told once, referred to by name.

    Attributes:
        name: "E1", "E2", ...
        n_measurements: that were made in them.
        facts: group -> name -> value.
    """

    name: str
    n_measurements: int
    facts: Mapping[str, Mapping[str, str]]


def provenance_table(
    measurements: Sequence[Measurement],
) -> tuple[ReportTable, tuple[Surroundings, ...]]:
    """Every measurement as a row, and the surroundings that the rows refer to."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    facts: dict[str, Mapping[str, Mapping[str, str]]] = {}
    rows = []
    for measurement in measurements:
        found = _facts(measurement)
        key = json.dumps(found, sort_keys=True)
        name = names.setdefault(key, f"E{len(names) + 1}")
        facts[name] = found
        counts[name] = counts.get(name, 0) + 1
        rows.append(_row(measurement, name))
    table = ReportTable(
        name="measurements",
        title="Measurements",
        columns=(
            Column("order", "Order", numeric=True, help="in the randomised plan"),
            Column("application", "Application"),
            Column("cluster", "Cluster"),
            Column("mapping", "Mapping"),
            Column("repetition", "Run", numeric=True),
            Column("io_time_s", "I/O time", numeric=True),
            Column("rate_bytes_per_s", "Rate", numeric=True),
            Column("cache", "Cache"),
            Column("origin", "Origin"),
            Column("created_utc", "Made (UTC)"),
            Column("surroundings", "Made in"),
            Column("findings", "Findings", help="doubts that a measurement raised itself"),
        ),
        rows=tuple(rows),
        filterable=True,
    )
    return table, tuple(Surroundings(name, counts[name], facts[name]) for name in facts)


def _row(measurement: Measurement, surroundings: str) -> tuple[Cell, ...]:
    result = measurement.result
    time_s = io_time_s(result.phases)
    moved = sum(phase.bytes for phase in result.phases)
    reached = moved / time_s if time_s > 0 else None
    phases = [
        f"phase {phase.ph_id}: {rate(phase.rate_bytes_per_s)}, {format_duration(phase.time_s)}"
        for phase in result.phases
    ]
    others = f"opens, closes, seeks: {format_duration(result.metadata_time_s)}"
    return (
        number(measurement.order),
        text(measurement.application),
        text(measurement.cluster),
        text(measurement.mapping),
        number(measurement.repetition),
        number(time_s, format_duration(time_s) if result.status == "ok" else "failed"),
        Cell(
            "\N{EN DASH}" if reached is None else rate(reached),
            reached,
            lines=(*few(phases, 6), others),
        ),
        text(measurement.cache.state),
        text(measurement.origin),
        text(measurement.provenance.created_utc.replace("T", " ").removesuffix("+00:00")),
        Cell(surroundings, surroundings, target=surroundings),
        Cell(
            str(len(measurement.findings)) if measurement.findings else "none",
            len(measurement.findings),
            lines=measurement.findings,
        ),
    )


def _facts(measurement: Measurement) -> dict[str, dict[str, str]]:
    made = measurement.provenance
    host = made.host
    return {
        "Tool": {
            "version": made.tool_version,
            "commit": made.tool_commit or "not a source checkout",
            "command": made.command,
            **({} if made.seed is None else {"seed": str(made.seed)}),
        },
        "Host": {
            "name": host.hostname,
            "kernel": f"{host.kernel} {host.machine}",
            "processor": host.cpu_model or "unknown",
            "CPUs": str(host.n_cpus),
            "memory": format_size(host.memory_bytes),
        },
        "Inputs": {
            "kernel SHA-256": measurement.kernel_sha256,
            "cluster SHA-256": measurement.cluster_spec_sha256,
            **{f"{given.path} SHA-256": given.sha256 for given in made.inputs},
        },
        "Cluster": {
            "name": measurement.cluster,
            "instances": f"{measurement.n_instances} x {measurement.instance_type}",
        },
        "File system, in force": measurement.fs_settings,
        "Caches": {measurement.cache.state: measurement.cache.how},
        "Limits": measurement.limits,
        "Files": measurement.file_placement,
        "Versions": measurement.versions,
        "Replay": measurement.result.settings,
    }
