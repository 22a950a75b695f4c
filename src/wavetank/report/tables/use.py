"""Where the time goes: use of resources in each part of each configuration's time, and what took it."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.comparison import Configuration
from wavetank.compare.use_parts import Part, calls_words, parts_of, share, shares_words
from wavetank.measure.use import FULL, Kind, Resource
from wavetank.report.tables.table import Cell, Column, ReportTable, number, text
from wavetank.report.text.words import origins_words
from wavetank.units import format_duration

MAX_USE_ROWS = 120
NODES: tuple[Kind, ...] = ("compute", "io")

_SHARES: tuple[tuple[str, str, Resource, tuple[Kind, ...]], ...] = (
    ("client_cpu", "Client CPU", "processors", ("compute",)),
    ("client_network_in", "Network into clients", "network in", ("compute",)),
    ("client_network_out", "Network out of clients", "network out", ("compute",)),
    ("server_cpu", "Server CPU", "processors", ("io",)),
    ("server_network_in", "Network into servers", "network in", ("io",)),
    ("server_network_out", "Network out of servers", "network out", ("io",)),
    ("disk_read", "Disk read", "disk read", NODES),
    ("disk_write", "Disk write", "disk write", NODES),
    ("disk_busy", "Disk busy", "disk busy", NODES),
    ("machine_cpu", "This machine's CPU", "processors", ("machine",)),
)
"""For machines: a share of 1 in each column."""
_SHOWN: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("clients_shown", "Client CPU", "of the compute nodes' cores", ("client_cpu",)),
    ("clients_network_shown", "net in / out", "of the compute nodes' limit", ("client_network_in", "client_network_out")),
    ("servers_shown", "Server CPU", "of the other nodes' cores", ("server_cpu",)),
    ("servers_network_shown", "net in / out", "of the other nodes' limit", ("server_network_in", "server_network_out")),
    ("disk_shown", "Disk read / write", "of the limit, by bytes or requests", ("disk_read", "disk_write")),
    ("busy_shown", "busy", "time in which the disk had a request under way", ("disk_busy",)),
    ("machine_shown", "This machine", "of all its cores", ("machine_cpu",)),
)  # fmt: skip
"""For people: several side by side."""


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
            Column("part", "Part", wide=True),
            Column("ph_id", "Phase", numeric=True, machine=True),
            Column("time_s", "Time", numeric=True),
            Column("bottleneck", "What took the time", wide=True),
            Column("sentence", "In words", machine=True),
            Column("also", "Also full", machine=True),
            Column("calls", "Calls", help="under way, and the mean time of each", wide=True),
            Column("waiting", "Waiting", numeric=True, help="share of the time that no limit explains"),
            *(Column(key, title, numeric=True, help=f"{of}; busiest node") for key, title, of, _ in _SHOWN),
            *(Column(key, title, numeric=True, machine=True) for key, title, *_ in _SHARES),
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
    found = {key: share(use, resource, *kinds) for key, _, resource, kinds in _SHARES}
    words = (part.bottleneck, *(f"also full: {other}" for other in also)) if use else ()
    return (
        text(each.cluster_title),
        text(each.mapping),
        text(part.words),
        number(part.ph_id),
        number(part.time_s, None if part.time_s is None else format_duration(part.time_s)),
        text(part.bottleneck_name, words),
        text(part.bottleneck),
        text("; ".join(also)),
        text("\N{EN DASH}" if use is None else calls_words(use)),
        _shown([None if use is None else use.waiting]),
        *(_shown([found[key] for key in keys]) for *_, keys in _SHOWN),
        *(number(found[key]) for key, *_ in _SHARES),
        number(None if use is None else use.in_flight),
        number(None if use is None else use.call_s),
        number(None if use is None else use.other_cores),
        number(None if use is None else use.cpu_wait),
    )


def _shown(shares: Sequence[float | None]) -> Cell:
    """Shares in percent, side by side; sorted by the largest."""
    largest = max((value for value in shares if value is not None), default=None)
    if largest is None:
        return number(None)
    return Cell(shares_words(*shares), largest, strong=largest >= FULL)
