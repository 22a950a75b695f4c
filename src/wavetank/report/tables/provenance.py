"""Where every number comes from: each measurement, and the surroundings that it shares."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

from wavetank.document import Provenance
from wavetank.measure.result import Measurement
from wavetank.measure.together_result import TogetherMeasurement
from wavetank.notes import texts
from wavetank.tables.table import Cell, Column, Definition, Table, number
from wavetank.tables.words import DASH, few
from wavetank.units import format_duration, format_rate, format_size

Run = TypeVar("Run", Measurement, TogetherMeasurement)
Facts: TypeAlias = Mapping[tuple[str, str], str]
"""(group, name) -> value."""


@dataclass(frozen=True)
class Surroundings:
    """What all measurements of an application on a cluster share: told once, referred to by name.

    Attributes:
        name: "E1", "E2", ...
        cluster: that they were made on.
        n_measurements: that were made in them.
        facts: group -> name -> value.
    """

    name: str
    cluster: str
    n_measurements: int
    facts: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class _Made(Generic[Run]):
    """A measurement, the surroundings that it shares, and the facts of its own."""

    run: Run
    within: Surroundings
    own: tuple[str, ...]


def _created(run: Measurement | TogetherMeasurement) -> str:
    return run.provenance.created_utc.replace("T", " ").removesuffix("+00:00")


def _about(findings: str) -> tuple[Column[Any], ...]:
    """When a run was made, in what surroundings, and what doubts it raised."""
    return (
        Column("created_utc", "Made (UTC)", lambda i: _created(i.run)),
        Column("surroundings", "Made in", lambda i: Cell(i.within.name, i.within.name, target=i.within.name)),
        Column("findings", "Findings", lambda i: _findings(texts(i.run.notes)), kind="list", help=findings),
    )  # fmt: skip


def _findings(findings: Sequence[str]) -> Cell:
    return Cell(str(len(findings)) if findings else "none", list(findings), lines=tuple(findings))


def _io_time(item: _Made[Measurement]) -> Cell:
    time_s = item.run.result.io.total_s
    return number(time_s, format_duration(time_s) if item.run.result.status == "ok" else "failed")


def _rate(item: _Made[Measurement]) -> Cell:
    result = item.run.result
    time_s = result.io.total_s
    reached = sum(phase.bytes for phase in result.phases) / time_s if time_s > 0 else None
    phases = [
        f"phase {phase.ph_id}: {format_rate(phase.rate_bytes_per_s)}, {format_duration(phase.time_s)}"
        for phase in result.phases
    ]
    others = f"opens, closes, seeks: {format_duration(result.metadata_time_s)}"
    return Cell(
        DASH if reached is None else format_rate(reached),
        reached,
        lines=(*few(phases, 6), others, *item.own),
    )


MEASUREMENTS: Definition[_Made[Measurement]] = Definition(
    "measurements",
    "Measurements",
    (
        Column("order", "Order", lambda i: i.run.order, kind="integer", help="in the randomised plan"),
        Column("application", "Application", lambda i: i.run.application),
        Column("cluster", "Cluster", lambda i: i.run.cluster),
        Column("mapping", "Mapping", lambda i: i.run.mapping),
        Column("repetition", "Run", lambda i: i.run.repetition, kind="integer"),
        Column("io_time_s", "I/O time", _io_time, unit="s"),
        Column("rate_bytes_per_s", "Rate", _rate, unit="B/s"),
        Column("cache", "Cache", lambda i: i.run.cache.found),
        Column("origin", "Origin", lambda i: i.run.origin),
        *_about("doubts that a measurement raised itself"),
    ),
)  # fmt: skip


def _groups(item: _Made[TogetherMeasurement]) -> Cell:
    parties = [
        f"{party.group} on {', '.join(dict.fromkeys(party.nodes))}: {format_size(party.bytes)}, "
        f"{party.operations:,} operations in {format_duration(party.elapsed_s)}"
        for party in item.run.parties
    ]
    names = [party.group for party in item.run.parties]
    return Cell(", ".join(names), names, lines=(*parties, *item.own))


def _window(item: _Made[TogetherMeasurement]) -> float | None:
    window = item.run.window_s
    return None if window is None else window[1] - window[0]


RUNS: Definition[_Made[TogetherMeasurement]] = Definition(
    "study-runs",
    "Runs",
    (
        Column("order", "Order", lambda i: i.run.order, kind="integer", help="in the randomised plan"),
        Column("point", "Run", lambda i: i.run.point),
        Column("cluster", "Cluster", lambda i: i.run.cluster),
        Column("mapping", "Mapping", lambda i: i.run.mapping),
        Column("groups", "Groups", _groups, kind="list", wide=True),
        Column("repetition", "Repetition", lambda i: i.run.repetition, kind="integer"),
        Column("window_s", "Window", _window, unit="s", help="in which all groups are active"),
        Column("alignment_s", "Starts within", lambda i: i.run.alignment_s, unit="s",
               show=lambda value: f"{1e3 * value:.2f} ms", help="spread of the ranks' starts"),
        *_about("doubts that a run raised itself"),
    ),
)  # fmt: skip


def provenance_table(
    measurements: Sequence[Measurement],
) -> tuple[Table, tuple[Surroundings, ...]]:
    """Every measurement as a row, and the surroundings that the rows refer to."""
    facts = [_facts(measurement) for measurement in measurements]
    made_in = _surroundings([(each.application, each.cluster) for each in measurements], facts)
    return MEASUREMENTS.table(_made(measurements, made_in)), _each_once(made_in)


def study_provenance(
    runs: Sequence[TogetherMeasurement],
) -> tuple[Table, tuple[Surroundings, ...]]:
    """Every run of several groups as a row, and the surroundings that the rows of a cluster share."""
    made_in = _surroundings([run.cluster for run in runs], [_study_facts(run) for run in runs])
    return RUNS.table(_made(runs, made_in)), _each_once(made_in)


def told_once(
    surroundings: Sequence[Surroundings],
) -> tuple[Mapping[str, Mapping[str, str]], tuple[Surroundings, ...]]:
    """The facts that all surroundings agree on, and the surroundings without them.

    One alone keeps its facts.
    """
    if len(surroundings) < 2:
        return {}, tuple(surroundings)
    flat = [_flat(each.facts) for each in surroundings]
    common = _shared(flat)
    rest = [{key: value for key, value in facts.items() if key not in common} for facts in flat]
    return _by_group(common), tuple(
        replace(each, facts=_by_group(facts))
        for each, facts in zip(surroundings, rest, strict=True)
    )


def _made(
    runs: Sequence[Run], made_in: Sequence[tuple[Surroundings, tuple[str, ...]]]
) -> list[_Made[Run]]:
    return [_Made(run, within, own) for run, (within, own) in zip(runs, made_in, strict=True)]


def _surroundings(
    keys: Sequence[Hashable], facts: Sequence[Facts]
) -> list[tuple[Surroundings, tuple[str, ...]]]:
    """Of each measurement, what it shares with those of its key, and what it has of its own."""
    groups: dict[Hashable, list[Facts]] = {}
    for key, each in zip(keys, facts, strict=True):
        groups.setdefault(key, []).append(each)
    shared = {key: _shared(members) for key, members in groups.items()}
    within = {
        key: Surroundings(
            f"E{position}",
            shared[key]["Cluster", "name"],
            len(groups[key]),
            _by_group(shared[key]),
        )
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
        "Caches": {measurement.cache.found: measurement.cache.how},
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
        "Caches": {run.cache.found: run.cache.how},
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
