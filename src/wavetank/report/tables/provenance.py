"""Where every number comes from: each measurement, and the surroundings that it shares."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from wavetank.document import Provenance
from wavetank.kernel.results.io_time import io_time_s
from wavetank.measure.result import Measurement
from wavetank.measure.together_result import TogetherMeasurement
from wavetank.report.tables.table import Cell, Column, ReportTable, few, number, text
from wavetank.report.text.words import rate
from wavetank.units import format_duration, format_size

Facts: TypeAlias = Mapping[tuple[str, str], str]
"""(group, name) -> value."""


@dataclass(frozen=True)
class Surroundings:
    """What all measurements of an application on a cluster share: told once, referred to by name.

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
    facts = [_facts(measurement) for measurement in measurements]
    made_in = _surroundings([(each.application, each.cluster) for each in measurements], facts)
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
        rows=tuple(
            _row(measurement, within.name, own)
            for measurement, (within, own) in zip(measurements, made_in, strict=True)
        ),
        filterable=True,
    )
    return table, _each_once(made_in)


def study_provenance(
    runs: Sequence[TogetherMeasurement],
) -> tuple[ReportTable, tuple[Surroundings, ...]]:
    """Every run of several groups as a row, and the surroundings that the rows of a cluster share."""
    made_in = _surroundings([run.cluster for run in runs], [_study_facts(run) for run in runs])
    table = ReportTable(
        name="measurements",
        title="Runs",
        columns=(
            Column("order", "Order", numeric=True, help="in the randomised plan"),
            Column("point", "Run"),
            Column("cluster", "Cluster"),
            Column("mapping", "Mapping"),
            Column("groups", "Groups", wide=True),
            Column("repetition", "Repetition", numeric=True),
            Column("window_s", "Window", numeric=True, help="in which all groups are active"),
            Column(
                "alignment_s", "Starts within", numeric=True, help="spread of the ranks' starts"
            ),
            Column("created_utc", "Made (UTC)"),
            Column("surroundings", "Made in"),
            Column("findings", "Findings", help="doubts that a run raised itself"),
        ),
        rows=tuple(
            _study_row(run, within.name, own)
            for run, (within, own) in zip(runs, made_in, strict=True)
        ),
        filterable=True,
    )
    return table, _each_once(made_in)


def _study_row(
    run: TogetherMeasurement, surroundings: str, own: tuple[str, ...]
) -> tuple[Cell, ...]:
    window_s = None if run.window_s is None else run.window_s[1] - run.window_s[0]
    parties = [
        f"{party.group} on {', '.join(dict.fromkeys(party.nodes))}: {format_size(party.bytes)}, "
        f"{party.operations:,} operations in {format_duration(party.elapsed_s)}"
        for party in run.parties
    ]
    return (
        number(run.order),
        text(run.point),
        text(run.cluster),
        text(run.mapping),
        text(", ".join(party.group for party in run.parties), (*parties, *own)),
        number(run.repetition),
        number(window_s, None if window_s is None else format_duration(window_s)),
        number(run.alignment_s, f"{1e3 * run.alignment_s:.2f} ms"),
        text(run.provenance.created_utc.replace("T", " ").removesuffix("+00:00")),
        Cell(surroundings, surroundings, target=surroundings),
        Cell(
            str(len(run.findings)) if run.findings else "none",
            len(run.findings),
            lines=run.findings,
        ),
    )


def _surroundings(
    keys: Sequence[Hashable], facts: Sequence[Facts]
) -> list[tuple[Surroundings, tuple[str, ...]]]:
    """Of each measurement, what it shares with those of its key, and what it has of its own."""
    groups: dict[Hashable, list[Facts]] = {}
    for key, each in zip(keys, facts, strict=True):
        groups.setdefault(key, []).append(each)
    shared = {key: _shared(members) for key, members in groups.items()}
    within = {
        key: Surroundings(f"E{position}", len(groups[key]), _by_group(shared[key]))
        for position, key in enumerate(groups, 1)
    }
    return [(within[key], _own(each, shared[key])) for key, each in zip(keys, facts, strict=True)]


def _each_once(
    made_in: Iterable[tuple[Surroundings, tuple[str, ...]]],
) -> tuple[Surroundings, ...]:
    return tuple({within.name: within for within, _ in made_in}.values())


def _shared(members: Sequence[Facts]) -> Facts:
    """The facts that all of them agree on."""
    first, *others = members
    return {
        key: value
        for key, value in first.items()
        if all(other.get(key) == value for other in others)
    }


def _own(facts: Facts, shared: Facts) -> tuple[str, ...]:
    """The facts of one measurement that its surroundings do not tell."""
    return tuple(
        f"{group}, {name}: {value}"
        for (group, name), value in facts.items()
        if (group, name) not in shared
    )


def _by_group(facts: Facts) -> dict[str, dict[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    for (group, name), value in facts.items():
        groups.setdefault(group, {})[name] = value
    return groups


def _row(measurement: Measurement, surroundings: str, own: tuple[str, ...]) -> tuple[Cell, ...]:
    result = measurement.result
    time_s = io_time_s(result)
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
            lines=(*few(phases, 6), others, *own),
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


def _facts(measurement: Measurement) -> Facts:
    made = measurement.provenance
    groups: dict[str, Mapping[str, str]] = {
        **_origin_facts(made),
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
    return _flat(groups)


def _study_facts(run: TogetherMeasurement) -> Facts:
    groups: dict[str, Mapping[str, str]] = {
        **_origin_facts(run.provenance),
        "Inputs": {
            "cluster SHA-256": run.cluster_spec_sha256,
            **{f"kernel of {party.group} SHA-256": party.kernel_sha256 for party in run.parties},
        },
        "Cluster": {
            "name": run.cluster,
            "instances": f"{run.n_instances} x {run.instance_type}",
        },
        "File system, in force": run.fs_settings,
        "Caches": {run.cache.state: run.cache.how},
        "Limits": run.limits,
        "Files": run.file_placement,
        "Versions": run.versions,
        **{f"Replay of {party.group}": party.settings for party in run.parties},
    }
    return _flat(groups)


def _flat(groups: Mapping[str, Mapping[str, str]]) -> Facts:
    return {
        (group, name): value for group, facts in groups.items() for name, value in facts.items()
    }


def _origin_facts(made: Provenance) -> dict[str, Mapping[str, str]]:
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
    }
