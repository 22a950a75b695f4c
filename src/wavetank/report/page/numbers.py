"""The numbers of an application as data for the page's scripts: what the explorer filters, draws and takes apart.

Everything is as the comparison has it: medians, intervals and places are computed there alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from markupsafe import Markup
from pydantic import JsonValue

from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import Configuration
from wavetank.compare.io_parts import io_parts
from wavetank.compare.words import place_words
from wavetank.measure.result import Measurement
from wavetank.measure.statistics import Estimate
from wavetank.notes import texts
from wavetank.report.plots import bars
from wavetank.tables.table import Table
from wavetank.tables.words import printable

Show = Literal["s", "B/s", "count", "money", "ratio"]
"""How a script shows a value."""
MOST_PHASES = 40
PHASE_TIMES = 200_000
"""Of all measurements together; of many measurements fewer phases are kept, those with most bytes."""
FEWEST_PHASES = 5


@dataclass(frozen=True)
class Metric:
    """Something to order configurations by.

    Attributes:
        key: "time", "cost"; where a ranking exists, its criterion.
        title: for people.
        show: how values are shown.
        of: its estimate; None where it is not known.
        higher_is_better: else the smallest is first.
        computed: from prices or from other times, not measured itself.
        currency: of an amount.
        prices: name of the price table, where there is one.
    """

    key: str
    title: str
    show: Show
    of: Callable[[Configuration], Estimate | None]
    higher_is_better: bool = False
    computed: bool = False
    currency: str = ""
    prices: str = ""


def numbers(
    comparison: Comparison,
    members: Sequence[Configuration],
    measurements: Sequence[Measurement],
    made_in: Sequence[str],
    phase_times: int = PHASE_TIMES,
) -> Markup:
    """Of one application, as JSON that can stand in an element of the page.

    Args:
        comparison: with places.
        members: the application's configurations, best first.
        measurements: of the application.
        made_in: of each measurement, the name of its surroundings.
        phase_times: times of phases in all measurements; of more, phases with fewer bytes are left out.
    """
    runs = _runs(measurements, made_in)
    phases = _phases(members, phase_times // max(len(measurements), 1))
    ids = [phase[0] for phase in phases]
    found: dict[str, Any] = {
        "configurations": [_configuration(each, comparison) for each in members],
        "metrics": [
            _metric(metric, comparison, members)
            for metric in metrics(comparison, members)
            if any(metric.of(each) is not None for each in members)
        ],
        "phases": phases,
        "n_phases": len({phase.ph_id for each in members for phase in each.phases}),
        "by_phase": [_by_phase(each, ids) for each in members],
        "calls": [
            [[call.call, call.n, *_ends(call.time_s)] for call in each.calls] for each in members
        ],
        "runs": [
            [_run(run, where, ids) for run, where in runs.get((each.cluster, each.mapping), [])]
            for each in members
        ],
    }
    text = json.dumps(_short(found), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "&<>":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - no character of it begins an element or an entity


def names_of_surroundings(measurements: Table) -> list[str]:
    """Of each row of the table of measurements, where it was made: "E1"."""
    at = [column.key for column in measurements.columns].index("surroundings")
    return [row[at].text for row in measurements.rows]


def metrics(comparison: Comparison, members: Sequence[Configuration]) -> Iterator[Metric]:
    """What configurations can be ordered by: the criteria of rankings first."""
    yield Metric("time", "I/O time", "s", bars.IO_TIME.of)
    if any(each.moves_data for each in members):
        yield Metric("rate", "Transfer rate", "B/s", bars.RATE.of, higher_is_better=True)
        yield Metric("read", "Read rate", "B/s", bars.READ_RATE.of, higher_is_better=True)
        yield Metric("write", "Write rate", "B/s", bars.WRITE_RATE.of, higher_is_better=True)
        yield Metric("iops", "I/O operations a second", "count", lambda c: c.iops, higher_is_better=True)  # fmt: skip
    yield Metric("calls", "Calls without data a second", "count", lambda c: c.calls_per_s, higher_is_better=True)  # fmt: skip
    for name in ("data", "metadata", "flush"):
        yield Metric(name, f"I/O time: {name}", "s", _part(name))
    yield Metric("whole-run", "Whole run", "s", lambda c: c.run.whole_s if c.run else None, computed=True)  # fmt: skip
    price = comparison.price
    if price is not None:
        yield from _of_prices(price.table, price.currency, _cost, _ratio)
        yield Metric(
            "run-cost", "Cost of the whole run", "money", lambda c: c.run.cost if c.run else None,
            computed=True, currency=price.currency, prices=price.table,
        )  # fmt: skip
        yield Metric(
            "runs", f"Runs per {price.currency}", "count", lambda c: c.cost.runs_per_unit if c.cost else None,
            higher_is_better=True, computed=True, prices=price.table,
        )  # fmt: skip
    others = {other.table: other.currency for each in members for other in each.other_costs}
    for table, currency in others.items():
        yield from _of_prices(table, currency, _other_cost(table), _other_ratio(table))


_Of = Callable[[Configuration], Estimate | None]


def _of_prices(table: str, currency: str, cost: _Of, ratio: _Of) -> Iterator[Metric]:
    yield Metric("cost", "Cost of the I/O", "money", cost, computed=True, currency=currency, prices=table)  # fmt: skip
    yield Metric(
        "ratio", "Performance-cost ratio", "ratio", ratio, higher_is_better=True, computed=True,
        currency=currency, prices=table,
    )  # fmt: skip


def _part(name: str) -> _Of:
    return lambda c: dict(io_parts(c))[name]


def _cost(c: Configuration) -> Estimate | None:
    return c.cost.cost_tot if c.cost else None


def _ratio(c: Configuration) -> Estimate | None:
    return c.cost.perf_cost if c.cost and c.moves_data else None


def _other_cost(table: str) -> _Of:
    return lambda c: next((o.cost_tot for o in c.other_costs if o.table == table), None)


def _other_ratio(table: str) -> _Of:
    return lambda c: next((o.perf_cost for o in c.other_costs if o.table == table), None)


def _configuration(each: Configuration, comparison: Comparison) -> dict[str, JsonValue]:
    types = each.cost.instances if each.cost else {each.instance_type: each.n_instances}
    return {
        "title": printable(each.cluster_title),
        "mapping": printable(each.mapping),
        "instances": ", ".join(f"{n} x {printable(name)}" for name, n in types.items()),
        "origin": each.origin,
        "best": each.id in comparison.pareto,
    }


def _metric(
    metric: Metric, comparison: Comparison, members: Sequence[Configuration]
) -> dict[str, JsonValue]:
    estimates = [metric.of(each) for each in members]
    first_prices = comparison.price.table if comparison.price is not None else ""
    places = {
        place.configuration: place_words(place)
        for ranking in comparison.rankings
        if members and ranking.application == members[0].application and ranking.by == metric.key
        for place in ranking.places
        if metric.prices in ("", first_prices)
    }
    return {
        "key": metric.key,
        "title": metric.title,
        "show": metric.show,
        "higher": metric.higher_is_better,
        "computed": metric.computed,
        "currency": metric.currency,
        "prices": metric.prices,
        "places": [places.get(each.id) for each in members] if places else None,
        "estimates": [None if each is None else _ends(each) for each in estimates],
        "values": [[] if each is None else list(each.values) for each in estimates],
    }


def _ends(estimate: Estimate) -> list[JsonValue]:
    """Median; with more than one repetition the ends; with few, of how many they are the range."""
    if estimate.low is None or estimate.high is None:
        return [estimate.median]
    ends: list[JsonValue] = [estimate.median, estimate.low, estimate.high]
    return ends if estimate.range_of is None else [*ends, estimate.range_of]


def _phases(members: Sequence[Configuration], n_phases: int) -> list[list[JsonValue]]:
    """Id, file, operation, request size, ranks, bytes of the phases with most bytes, in their order."""
    known = {phase.ph_id: phase for each in members for phase in each.phases}
    most = max(FEWEST_PHASES, min(MOST_PHASES, n_phases))
    largest = sorted(known.values(), key=lambda phase: -phase.weight_bytes)[:most]
    return [
        [p.ph_id, printable(p.file_name), p.operation, p.rs, len(p.ranks), p.weight_bytes]
        for p in sorted(largest, key=lambda phase: phase.ph_id)
    ]


def _by_phase(each: Configuration, ids: Iterable[JsonValue]) -> list[JsonValue]:
    """Of each phase: median, ends of its time."""
    found = {phase.ph_id: _ends(phase.time_s) for phase in each.phases}
    return [found.get(ph_id) if isinstance(ph_id, int) else None for ph_id in ids]


def _runs(
    measurements: Sequence[Measurement], made_in: Sequence[str]
) -> dict[tuple[str, str], list[tuple[Measurement, str]]]:
    found: dict[tuple[str, str], list[tuple[Measurement, str]]] = {}
    pairs = zip(measurements, made_in, strict=True)
    for run, where in sorted(pairs, key=lambda pair: pair[0].repetition):
        found.setdefault((run.cluster, run.mapping), []).append((run, where))
    return found


def _run(run: Measurement, where: str, ids: Iterable[JsonValue]) -> list[JsonValue]:
    """Repetition, order, when and where it was made, I/O time (None: failed), notes, time of each phase."""
    times = {phase.ph_id: phase.time_s for phase in run.result.phases}
    return [
        run.repetition,
        run.order,
        run.provenance.created_utc[:19].replace("T", " "),
        where,
        run.result.io.total_s if run.result.status == "ok" else None,
        [printable(text) for text in texts(run.notes)],
        [times.get(ph_id) if isinstance(ph_id, int) else None for ph_id in ids],
    ]


def _short(value: JsonValue) -> JsonValue:
    """The same with numbers of five digits, which are more than are shown."""
    if isinstance(value, float):
        if not isfinite(value):
            return None
        short = float(f"{value:.5g}")
        return int(short) if short.is_integer() else short
    if isinstance(value, list):
        return [_short(each) for each in value]
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    return value
