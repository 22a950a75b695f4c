"""Calls that move no data on every configuration: how many a second, by their kind."""

from __future__ import annotations

from wavetank.campaign.rows import Cell, Rows
from wavetank.compare.comparison import Comparison
from wavetank.compare.words import show
from wavetank.measure.statistics import Estimate

SMALL_SHARE = 0.01
"""People see the kinds of calls with at least this share of the I/O time; JSON and CSV hold all."""


def call_rows(comparison: Comparison) -> Rows:
    """A row for each kind of call on each configuration."""
    rows: list[list[Cell]] = []
    shown = []
    n_left_out = 0
    for each in comparison.configurations:
        for call in each.calls:
            per_s = call.per_s
            rows.append(
                [
                    each.application, each.cluster, each.cluster_title, each.mapping, call.call, call.n,
                    *([None] * 3 if per_s is None else [per_s.median, per_s.low, per_s.high]),
                    call.time_s.median, each.origin,
                ]
            )  # fmt: skip
            if call.time_s.median < SMALL_SHARE * each.io_time_s.median:
                n_left_out += 1
                continue
            shown.append(
                [
                    each.application, each.cluster_title, each.mapping, call.call, f"{call.n:,}",
                    "-" if per_s is None else show_calls(per_s), show(call.time_s, "time"),
                ]
            )  # fmt: skip
    if not shown:
        n_left_out = 0
    return Rows(
        "Calls that move no data",
        (
            "application", "cluster", "title", "mapping", "call", "calls", "calls_per_s", "calls_per_s_low",
            "calls_per_s_high", "time_s", "origin",
        ),
        rows,
        ("application", "cluster", "mapping", "call", "calls", "calls/s", "time"),
        shown,
        f"{n_left_out} kinds of calls with less than 1 % of the I/O time are in --format json and csv"
        if n_left_out
        else None,
    )  # fmt: skip


def show_calls(of: Estimate) -> str:
    """Calls a second with their interval."""
    if of.low is None or of.high is None:
        return f"{of.median:,.0f}"
    return f"{of.median:,.0f} [{of.low:,.0f} to {of.high:,.0f}]"
