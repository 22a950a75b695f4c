"""Phases on each configuration, and calls that move no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from wavetank.cluster.guests.hypervisors import INCOMPARABLE
from wavetank.compare.configuration import CallEstimate, Configuration, PhaseEstimate
from wavetank.compare.tables.where import of_all, where
from wavetank.compare.words import origins_words
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import ranks_words
from wavetank.units import exact_size

SMALL_SHARE = 0.01
"""In a terminal people see phases with at least this share of the bytes, and calls with this share of the I/O time."""
MAX_ROWS = 400

T = TypeVar("T")


def _comparable(of: Callable[[T], bool]) -> Column[T]:
    """Whether a number is comparable with hardware; people see it where some are not."""
    return Column(
        "comparable", "With hardware", lambda i: Cell("comparable" if of(i) else INCOMPARABLE, of(i)), kind="boolean",
        help="not comparable: of guests, whose system calls decide",
    )  # fmt: skip


def _columns(
    pairs: Sequence[tuple[Configuration, PhaseEstimate | CallEstimate]],
) -> dict[str, Mapping[str, Any]]:
    """What people need not see of these."""
    unmarked = all(each.comparable for _, each in pairs)
    return of_all([each for each, _ in pairs], *(["comparable"] if unmarked else []))


PHASES: Definition[tuple[Configuration, PhaseEstimate]] = Definition(
    "phase-results",
    "Phases on each configuration",
    (
        *where(lambda i: i[0]),
        Column("ph_id", "Phase", lambda i: i[1].ph_id, kind="integer"),
        Column("file", "File", lambda i: i[1].file_name, wide=True),
        Column("operation", "Operations", lambda i: i[1].operation),
        Column("rs", "rs", lambda i: i[1].rs, unit="B", show=exact_size, help="request size"),
        Column("ranks", "Ranks", lambda i: Cell(ranks_words(i[1].ranks), list(i[1].ranks)), kind="list"),
        Column("weight_bytes", "Weight", lambda i: i[1].weight_bytes, unit="B"),
        Column("rate_bytes_per_s", "Rate", lambda i: i[1].rate_bytes_per_s, unit="B/s", spread=True, help="BW_CH: weight / time"),
        Column("iops", "IOPS", lambda i: i[1].iops, unit="1/s", spread=True, brief=True),
        Column("time_s", "Time", lambda i: i[1].time_s, unit="s", spread=True),
        Column("usage_percent", "Usage", lambda i: i[1].usage_percent, unit="%", spread=True, brief=True,
               show=lambda value: f"{value:.0f} %", help="of the file system's peak"),
        _comparable(lambda i: i[1].comparable),
        Column("origin", "Origin", lambda i: i[0].origin, machine=True),
    ),
    key="phases",
)  # fmt: skip

CALLS: Definition[tuple[Configuration, CallEstimate]] = Definition(
    "call-results",
    "Calls that move no data, on each configuration",
    (
        *where(lambda i: i[0]),
        Column("call", "Call", lambda i: i[1].call),
        Column("calls", "Calls", lambda i: i[1].n, kind="integer", help="of all ranks"),
        Column("calls_per_s", "Calls/s", lambda i: i[1].per_s, unit="1/s", spread=True),
        Column("time_s", "Time", lambda i: i[1].time_s, unit="s", spread=True, help="in which a rank was at such a call"),
        _comparable(lambda i: i[1].comparable),
        Column("origin", "Origin", lambda i: i[0].origin, machine=True),
    ),
    key="calls_that_move_no_data",
)  # fmt: skip


def phase_results_table(configurations: Sequence[Configuration], *, small: bool = True) -> Table:
    """Rate, IOPS and time of each phase; without ``small`` people see those with most of the bytes."""
    pairs = [(each, phase) for each in configurations for phase in each.phases]
    people = [
        (each, phase)
        for each, phase in pairs
        if small or phase.weight_bytes >= SMALL_SHARE * each.weight_bytes
    ]
    rest = {(each.application, phase.ph_id) for each, phase in pairs}
    rest -= {(each.application, phase.ph_id) for each, phase in people}
    left = f" {len(rest)} phases with less than 1 % of the bytes are in --format json and csv."
    return PHASES.table(
        pairs,
        people=people,
        caption=f"{origins_words(configurations)}. Median (interval).{left if rest else ''}",
        max_rows=MAX_ROWS,
        columns=_columns(pairs),
    )


def call_results_table(configurations: Sequence[Configuration], *, small: bool = True) -> Table:
    """Calls a second by kind; without ``small`` people see those with most of the I/O time."""
    pairs = [(each, call) for each in configurations for call in each.calls]
    people = [
        (each, call)
        for each, call in pairs
        if small or call.time_s.median >= SMALL_SHARE * each.io_time_s.median
    ]
    n_left = len(pairs) - len(people) if people else 0
    left = (
        f" {n_left} kinds of calls with less than 1 % of the I/O time are in --format json and csv."
    )
    return CALLS.table(
        pairs,
        people=people,
        caption=f"{origins_words(configurations)}. Median (interval).{left if n_left else ''}",
        max_rows=MAX_ROWS,
        columns=_columns(pairs),
    )
