"""What the choice changes beside the I/O, computed: the whole run, and each configuration against the baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wavetank.compare.against import price_words, speed_words
from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import Against, Configuration, Run
from wavetank.compare.tables.where import currency_of, of_all, where
from wavetank.compare.words import origins_words
from wavetank.tables.table import Amount, Cell, Column, Definition, Table
from wavetank.tables.words import DASH, change
from wavetank.units import format_duration

NOT_KNOWN = "not known"
_UNKNOWN = Cell(NOT_KNOWN, None)
SMALLEST_SHOWN = 0.05
"""Per cent; less would be told as 0.0 %."""


@dataclass(frozen=True)
class _Ran:
    c: Configuration
    run: Run
    currency: str


def _io_cost(item: _Ran) -> Amount | None:
    return None if item.c.cost is None else Amount(item.c.cost.cost_tot, item.currency)


def _run_cost(item: _Ran) -> Amount | None:
    return None if item.run.cost is None else Amount(item.run.cost, item.currency)


WHOLE_RUN: Definition[_Ran] = Definition(
    "whole-run",
    "The whole run, computed",
    (
        *where(lambda i: i.c),
        Column("io_time_s", "I/O time", lambda i: i.c.io_time_s, unit="s", spread=True),
        Column("traced_elapsed_s", "Traced run", lambda i: i.run.traced_elapsed_s, unit="s", machine=True),
        Column("traced_io_s", "Traced run's I/O", lambda i: i.run.traced_io_s, unit="s", machine=True),
        Column("traced_io_percent", "Traced run's I/O", lambda i: i.run.traced_io_percent, unit="%", machine=True),
        Column("traced_io_with_metadata", "With metadata", lambda i: i.run.with_metadata, kind="boolean", machine=True,
               help="whether the traced I/O has calls that move no data too"),
        Column("whole_run_s", "Whole run", lambda i: i.run.whole_s or _UNKNOWN, unit="s", spread=True, help="computed"),
        Column("io_percent", "I/O", lambda i: _UNKNOWN if i.run.io_percent is None else i.run.io_percent, unit="%",
               help="of the whole run"),
        Column("saved_percent", "Saved", lambda i: Cell(shown_saving(i.c), i.run.saved_percent), unit="%"),
        Column("saved_told_apart", "Told apart", lambda i: i.run.told_apart, kind="boolean", machine=True),
        Column("cost_tot", "Cost of the I/O", _io_cost, unit="currency", spread=True),
        Column("cost_of_run", "Cost of the whole run", _run_cost, unit="currency", spread=True),
    ),
)  # fmt: skip


def whole_run_table(comparison: Comparison, configurations: Sequence[Configuration]) -> Table:
    """The application's whole run on each configuration, computed, beside its I/O."""
    currency = currency_of(comparison)
    ran = [_Ran(each, each.run, currency) for each in configurations if each.run is not None]
    several = len({item.c.application for item in ran}) > 1
    traced = [
        f"{item.c.application}: {traced_words(item.c)}"
        if several
        else _sentence(traced_words(item.c))
        for item in ran
    ]
    return WHOLE_RUN.table(
        ran,
        caption="; ".join(dict.fromkeys(traced))
        + ". Whole run: the rest of the traced run + I/O time of the kernel, which was "
        f"{origins_words(item.c for item in ran).lower()}. Saved: {saved_words(comparison)}.",
        columns=of_all([item.c for item in ran]),
    )


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def traced_words(each: Configuration) -> str:
    """Of the traced run: "traced run 22.00 s, 5 % of it I/O (1.10 s)"."""
    run = each.run
    if run is None or run.traced_elapsed_s is None:
        return "elapsed time of the traced run not known"
    words = f"traced run {format_duration(run.traced_elapsed_s)}"
    if run.traced_io_s is None:
        return f"{words}, its I/O time not known"
    metadata = "" if run.with_metadata else ", calls that move data only"
    share = NOT_KNOWN if run.traced_io_percent is None else _percent(run.traced_io_percent)
    return f"{words}, {share} of it I/O ({format_duration(run.traced_io_s)}{metadata})"


def _percent(value: float) -> str:
    """With one decimal place, or with the first digit that means something: "4.5 %", "0.02 %"."""
    return f"{value:.1f} %" if value >= SMALLEST_SHOWN or value == 0 else f"{value:.1g} %"


def shown_saving(each: Configuration) -> str:
    """What a configuration saves of the whole run, where it is told apart from what it is compared with."""
    run = each.run
    if run is None or run.saved_percent is None:
        return NOT_KNOWN
    if run.reference == each.id:
        return "-"
    return f"{run.saved_percent:.1f} %" if run.told_apart else "cannot be told"


def saved_words(comparison: Comparison) -> str:
    """What savings are against."""
    if comparison.baseline in {each.cluster for each in comparison.configurations}:
        return f"against {comparison.title_of(str(comparison.baseline))}, its fastest mapping"
    return "against the slowest configuration"


@dataclass(frozen=True)
class _Compared:
    c: Configuration
    against: Against
    baseline: str  # its words


def _changed(key: str, title: str, of: Callable[[Against], float | None]) -> Column[_Compared]:
    """A change that people see where the I/O times are told apart."""
    return Column(
        key,
        title,
        lambda i: Cell(
            DASH if (value := of(i.against)) is None or not i.against.told_apart else change(value),
            value,
        ),
        unit="change %",
    )


BASELINE: Definition[_Compared] = Definition(
    "baseline",
    "Against the baseline",
    (
        *where(lambda i: i.c),
        Column("baseline", "Against", lambda i: i.against.configuration, machine=True),
        Column("baseline_title", "Against", lambda i: i.baseline, wide=True),
        Column("same_mapping", "Same mapping", lambda i: i.against.same_mapping, kind="boolean", machine=True),
        Column("told_apart", "I/O time", lambda i: Cell(speed_words(i.against), i.against.told_apart), kind="boolean"),
        Column("times_as_fast", "Times as fast", lambda i: i.against.times_as_fast, kind="number",
               show=lambda v: f"{v:.2f}", spread=True, machine=True),
        Column("more_instances", "Instances and price", lambda i: Cell(price_words(i.against), i.against.more_instances),
               kind="integer"),
        Column("price_change_percent", "Price an hour", lambda i: i.against.price_change_percent, unit="change %", machine=True),
        _changed("cost_change_percent", "Cost of the I/O", lambda a: a.cost_change_percent),
        _changed("whole_run_change_percent", "Whole run", lambda a: a.whole_run_change_percent),
    ),
)  # fmt: skip


def baseline_table(comparison: Comparison, configurations: Sequence[Configuration]) -> Table:
    """Each configuration against the baseline; without rows where there is none."""
    compared = [
        _Compared(each, each.against, comparison.words_of(each.against.configuration))
        for each in configurations
        if each.against is not None and comparison.baseline is not None
    ]
    return BASELINE.table(
        compared,
        title=f"Against the baseline, {comparison.title_of(comparison.baseline or '')}",
        caption="Medians, the same mapping on the baseline where it was measured. Costs and the whole run are "
        f"computed; I/O times were {origins_words(item.c for item in compared).lower()}. Changes are shown where "
        "I/O times are told apart; CSV and JSON hold all.",
        columns=of_all([item.c for item in compared]),
    )
