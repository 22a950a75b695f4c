"""Kernels judged by the application itself: rates of phases, I/O times, order of the configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import Configuration
from wavetank.compare.tables.where import application_column, hidden, where
from wavetank.compare.trust_advice import (
    order_words,
    pauses_words,
    spread_words,
    tau_words,
    verdict_words,
)
from wavetank.compare.trust_record import OwnTime, Tau, Trust
from wavetank.tables.table import Cell, Column, Definition, Table


@dataclass(frozen=True)
class _Beside:
    trust: Trust
    time: OwnTime
    c: Configuration


OWN_TIMES: Definition[_Beside] = Definition(
    "own-times",
    "Kernel beside the application itself",
    (
        *where(lambda i: i.c),
        Column("own", "The application", lambda i: i.trust.own, machine=True),
        Column("kernel_s", "Kernel", lambda i: i.time.kernel_s, unit="s", spread=True, drawn="time", help="I/O time"),
        Column("application_s", "Application", lambda i: i.time.application_s, unit="s", spread=True, drawn="time",
               help="I/O time of its own runs"),
        Column("difference_percent", "Difference",
               lambda i: Cell(f"{i.time.difference_percent:+.1f} %", i.time.difference_percent, strong=True),
               unit="change %", help="of the medians"),
        Column("spread", "The application's runs", lambda i: spread_words(i.time), help="against their median", people=True),
        Column("spread_low_percent", "Fastest own run", lambda i: i.time.spread_low_percent, unit="change %", machine=True),
        Column("spread_high_percent", "Slowest own run", lambda i: i.time.spread_high_percent, unit="change %", machine=True),
        Column("beyond_percent", "Outside", lambda i: i.time.beyond_percent, unit="%",
               help="how far the kernel's median lies outside of the application's runs"),
    ),
    key="kernel_beside_the_application_itself",
)  # fmt: skip


def own_times_table(comparison: Comparison, configurations: Sequence[Configuration]) -> Table:
    """I/O time of the kernel beside that of the application itself (P15 figure 7)."""
    by_id = {each.id: each for each in configurations}
    items = [
        _Beside(trust, each, by_id[each.configuration])
        for trust in comparison.trust
        for each in trust.times
        if each.configuration in by_id
    ]
    judged = list({item.trust.application: item.trust for item in items}.values())
    return OWN_TIMES.table(
        items,
        caption=" ".join(
            f"{verdict_words(each)} {order_words(each)}; {pauses_words(each)}." for each in judged
        ),
        columns=hidden(each.application for each in judged),
    )


def _tau(key: str, title: str, *, medians: bool = False) -> Column[Trust]:
    def cell(trust: Trust) -> Cell:
        found: Tau | None = trust.tau_of_medians if medians else trust.tau
        if found is None:
            return Cell(tau_words(None), None)
        ends = None if found.low is None or found.high is None else (found.low, found.high)
        return Cell(tau_words(found), found.value, ends=ends)

    return Column(key, title, cell, kind="number", spread=True)


_VERDICTS = {"not": "nothing", "unknown": "cannot be told"}

TRUST: Definition[Trust] = Definition(
    "trust",
    "Trust in the kernel",
    (
        application_column(lambda i: i.application),
        Column("own", "The application", lambda i: i.own, machine=True),
        Column("program", "Program", lambda i: i.program, machine=True),
        Column("pauses", "Pauses", lambda i: i.pauses, machine=True),
        Column("verdict", "Trusted for", lambda i: Cell(_VERDICTS.get(i.verdict, i.verdict), i.verdict)),
        Column("median_error_percent", "Median error", lambda i: i.median_error_percent, unit="%"),
        Column("worst_error_percent", "Worst", lambda i: i.worst_error_percent, unit="%"),
        Column("worst_beyond_percent", "Outside of its runs", lambda i: i.worst_beyond_percent, unit="%"),
        _tau("tau", "tau"),
        Column("told_apart", "Pairs", lambda i: f"{i.n_apart} of {i.n_pairs}", people=True),
        Column("pairs", "Pairs", lambda i: i.n_pairs, kind="integer", machine=True),
        Column("told_apart_by_both", "Told apart by both", lambda i: i.n_apart, kind="integer", machine=True),
        Column("reversed", "Reversed", lambda i: len(i.reversed_pairs), kind="integer"),
        _tau("tau_of_medians", "tau of medians", medians=True),
        Column("kernel_only", "By the kernel only", lambda i: i.n_kernel_only, kind="integer", machine=True),
        Column("own_only", "By the application only", lambda i: i.n_own_only, kind="integer", machine=True),
    ),
    key="trust_in_the_kernel",
)  # fmt: skip


def trust_table(comparison: Comparison) -> Table:
    """Whether each kernel may be trusted, with the numbers behind it."""
    return TRUST.table(
        comparison.trust,
        caption="tau: Kendall's, over the pairs that kernel and application both tell apart.",
    )
