"""Where the time goes: use of resources in each part of each configuration's time, and what took it."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.configuration import Configuration
from wavetank.compare.tables.where import of_all, where
from wavetank.compare.use_parts import Part, calls_words, parts_of, share, shares_words
from wavetank.compare.words import origins_words
from wavetank.measure.use import FULL, Kind, Resource, Use
from wavetank.tables.table import Cell, Column, Definition, Table, number, text

MAX_ROWS = 120
NODES: tuple[Kind, ...] = ("compute", "io")
_Item = tuple[Configuration, Part]

_SHARES: dict[str, tuple[str, Resource, tuple[Kind, ...]]] = {
    "client_cpu": ("Client CPU", "processors", ("compute",)),
    "client_network_in": ("Network into clients", "network in", ("compute",)),
    "client_network_out": ("Network out of clients", "network out", ("compute",)),
    "server_cpu": ("Server CPU", "processors", ("io",)),
    "server_network_in": ("Network into servers", "network in", ("io",)),
    "server_network_out": ("Network out of servers", "network out", ("io",)),
    "disk_read": ("Disk read", "disk read", NODES),
    "disk_write": ("Disk write", "disk write", NODES),
    "disk_busy": ("Disk busy", "disk busy", NODES),
    "machine_cpu": ("This machine's CPU", "processors", ("machine",)),
}
"""For programs: a share of 1 in each column."""
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


def _share(use: Use | None, key: str) -> float | None:
    _, resource, kinds = _SHARES[key]
    return share(use, resource, *kinds)


def _shown(key: str, title: str, of: str, keys: tuple[str, ...]) -> Column[_Item]:
    return Column(
        key, title, lambda i: _percents([_share(i[1].use, name) for name in keys]), kind="number",
        help=f"{of}; busiest node", people=True,
    )  # fmt: skip


def _percents(shares: Sequence[float | None]) -> Cell:
    """Shares in percent, side by side; sorted by the largest."""
    largest = max((value for value in shares if value is not None), default=None)
    if largest is None:
        return number(None)
    return Cell(shares_words(*shares), largest, strong=largest >= FULL)


def _of_share(key: str) -> Column[_Item]:
    return Column(key, _SHARES[key][0], lambda i: _share(i[1].use, key), unit="share", machine=True)


def _of_use(key: str, title: str, help: str = "", name: str | None = None) -> Column[_Item]:
    return Column(
        key, title, lambda i: None if i[1].use is None else getattr(i[1].use, name or key),
        kind="number", help=help, machine=True,
    )  # fmt: skip


def _also(part: Part) -> tuple[str, ...]:
    return () if part.of is None else part.of.bottleneck.also


def _bottleneck(item: _Item) -> Cell:
    part = item[1]
    told = (part.bottleneck, *(f"also full: {other}" for other in _also(part))) if part.use else ()
    return text(part.bottleneck_name, told)


USE: Definition[_Item] = Definition(
    "use",
    "Where the time goes",
    (
        *where(lambda i: i[0]),
        Column("part", "Part", lambda i: i[1].words, wide=True),
        Column("ph_id", "Phase", lambda i: i[1].ph_id, kind="integer", machine=True),
        Column("time_s", "Time", lambda i: i[1].time_s, unit="s"),
        Column("bottleneck", "What took the time", _bottleneck, wide=True),
        Column("sentence", "In words", lambda i: i[1].bottleneck, machine=True),
        Column("also", "Also full", lambda i: list(_also(i[1])), kind="list", machine=True),
        Column("calls", "Calls", lambda i: calls_words(i[1].use), help="under way, and the mean time of each", wide=True,
               people=True),
        Column("waiting", "Waiting", lambda i: _percents([None if i[1].use is None else i[1].use.waiting]), unit="share",
               help="share of the time that no limit explains"),
        *(_shown(*each) for each in _SHOWN),
        *map(_of_share, _SHARES),
        _of_use("in_flight", "Calls at a time"),
        _of_use("call_s", "Time of a call", "seconds"),
        _of_use("other_cores", "Other work", "cores of this machine"),
        _of_use("cpu_wait", "Waited for a processor"),
        _of_use("readings", "Readings", name="n_readings"),
    ),
    key="where_the_time_goes",
)  # fmt: skip


def use_table(
    configurations: Sequence[Configuration], *, unknown: bool = True, whole: bool = False
) -> Table:
    """A row for each part of each configuration's time; without rows where nothing is known of any.

    Args:
        configurations: best first.
        unknown: whether configurations of which nothing is known have rows; they are counted in the caption.
        whole: whether people see all of the I/O alone, and not its parts.
    """
    known = [each for each in configurations if each.use is not None]
    pairs = [
        (each, part)
        for each in (configurations if unknown and known else known)
        for part in parts_of(each)
    ]
    n_unknown = len(configurations) - len(known)
    return USE.table(
        pairs,
        people=[pair for pair in pairs if pair[1].shown and (pair[1].is_whole or not whole)],
        caption="Shares of the limit in force, of the busiest node of its kind, while the part was under way; median over "
        f"repetitions, {origins_words(configurations).lower()}. A resource used to 80 % or more is what took the time; "
        "with none, ranks waited for single requests. Phases of less than 5 % of the time are in the CSV and JSON output."
        + (f" Not known of {n_unknown} configurations." if n_unknown else ""),
        max_rows=MAX_ROWS,
        columns=of_all(configurations, *(("part", "waiting") if whole else ())),
    )
