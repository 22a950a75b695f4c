"""Where the time goes: use of resources in each part of each configuration's time, and what took it."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.comparison import Configuration
from wavetank.compare.use_parts import Part, calls_words, parts_of, share
from wavetank.measure.bottleneck import percent
from wavetank.measure.use import Kind, Resource
from wavetank.report.tables import Cell, Column, Interval, ReportTable, number, text
from wavetank.report.words import origins_words
from wavetank.units import format_duration

MAX_USE_ROWS = 120
NODES: tuple[Kind, ...] = ("compute", "io")

_SHARES: tuple[tuple[str, str, str, Resource, tuple[Kind, ...]], ...] = (
    ("client_cpu", "Client CPU", "of the compute nodes' cores", "processors", ("compute",)),
    ("client_network_in", "Net to clients", "of the limit", "network in", ("compute",)),
    ("client_network_out", "Net from clients", "of the limit", "network out", ("compute",)),
    ("server_cpu", "Server CPU", "of the other nodes' cores", "processors", ("io",)),
    ("server_network_in", "Net to servers", "of the limit", "network in", ("io",)),
    ("server_network_out", "Net from servers", "of the limit", "network out", ("io",)),
    ("disk_read", "Disk read", "of the limit, bytes or requests", "disk read", NODES),
    ("disk_write", "Disk write", "of the limit, bytes or requests", "disk write", NODES),
    ("disk_busy", "Disk busy", "time with a request under way", "disk busy", NODES),
    ("machine_cpu", "This machine's CPU", "all of its cores", "processors", ("machine",)),
)


def use_table(configurations: Sequence[Configuration]) -> ReportTable | None:
    """A row for each part of each configuration's time; None where nothing is known of any.

    Args:
        configurations: of one application, best first.
    """
    if all(each.use is None for each in configurations):
        return None
    parts = [(each, part) for each in configurations for part in parts_of(each)]
    shown = [pair for pair in parts if pair[1].shown]
    rest = [pair for pair in parts if not pair[1].shown]
    rows = [_row(each, part) for each, part in (*shown, *rest)]
    return ReportTable(
        name="use",
        title="Where the time goes",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("part", "Part"),
            Column("ph_id", "Phase", numeric=True, machine=True),
            Column("time_s", "Time", numeric=True),
            Column("bottleneck", "What took the time", wide=True),
            Column("sentence", "In words", machine=True),
            Column("also", "Also full", machine=True),
            *(Column(key, title, numeric=True, help=f"share {of}, busiest node") for key, title, of, *_ in _SHARES),
            Column("waiting", "Waiting", numeric=True, help="share of the time that no limit explains"),
            Column("calls", "Calls", help="under way, and the mean time of each"),
            Column("in_flight", "Calls at a time", numeric=True, machine=True),
            Column("call_s", "Time of a call", numeric=True, machine=True),
            Column("other_cores", "Other work", numeric=True, machine=True),
            Column("cpu_wait", "Waited for a processor", numeric=True, machine=True),
        ),
        rows=tuple(rows),
        caption="Shares of the limit in force, of the busiest node of its kind, while the part was under way; median over "
        f"repetitions, {origins_words(configurations).lower()}. A resource used to 80 % or more is what took the time; "
        "with none, ranks waited for single requests. Phases of less than 5 % of the time are in the CSV and JSON output.",
        filterable=len(shown) > 12,
        max_rows=min(len(shown), MAX_USE_ROWS),
    )  # fmt: skip


def _row(each: Configuration, part: Part) -> tuple[Cell, ...]:
    use = part.use
    also = () if part.of is None else part.of.bottleneck.also
    return (
        text(each.cluster_title),
        text(each.mapping),
        text(part.words),
        number(part.ph_id),
        number(part.time_s, None if part.time_s is None else format_duration(part.time_s)),
        Cell(_words(part, also), part.bottleneck_name, strong=part.ph_id is None and bool(use)),
        text(part.bottleneck),
        text("; ".join(also)),
        *(_share(share(use, resource, *kinds)) for *_, resource, kinds in _SHARES),
        _share(None if use is None else use.waiting),
        text(calls_words(use).replace("-", "\N{EN DASH}") if use is None else calls_words(use)),
        number(None if use is None else use.in_flight),
        number(None if use is None else use.call_s),
        number(None if use is None else use.other_cores),
        number(None if use is None else use.cpu_wait),
    )


def _words(part: Part, also: Sequence[str]) -> str:
    return f"{part.bottleneck}; also {', '.join(also)}" if also else part.bottleneck


def _share(value: float | None) -> Cell:
    """A share of 1 in percent, with a bar as long as it is."""
    if value is None:
        return number(None)
    full = min(max(value, 0.0), 1.0)
    return Cell(percent(value), value, interval=Interval(0.0, full, full), lines=("",))
