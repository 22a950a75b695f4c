"""Tables of what the choice changes beside the I/O: the whole run, and the comparison with the baseline."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.campaign.run_tables import NOT_KNOWN, saved_words, shown_saving, traced_words
from wavetank.compare.against import price_words, speed_words
from wavetank.compare.comparison import Comparison, Configuration
from wavetank.report.tables.table import Cell, Column, ReportTable, estimated, number, text
from wavetank.report.text.words import change, money, origins_words
from wavetank.units import format_duration


def whole_run_table(
    comparison: Comparison, configurations: Sequence[Configuration]
) -> ReportTable | None:
    """The application's whole run on each configuration, computed; None in earlier comparisons."""
    currency = comparison.price.currency if comparison.price is not None else ""
    told = [c for c in configurations if c.run is not None]
    if not told:
        return None
    rows = []
    for c in told:
        run = c.run
        if run is None:
            continue
        whole, cost = run.whole_s, run.cost
        rows.append(
            (
                text(c.cluster_title),
                text(c.mapping),
                estimated(c.io_time_s, format_duration),
                Cell(NOT_KNOWN, None) if whole is None else estimated(whole, format_duration),
                _percent(run.io_percent),
                Cell(shown_saving(c), run.saved_percent),
                Cell("yes" if run.told_apart else "no", run.told_apart),
                number(None)
                if c.cost is None
                else estimated(c.cost.cost_tot, lambda v: money(v, currency)),
                number(None) if cost is None else estimated(cost, lambda v: money(v, currency)),
            )
        )
    return ReportTable(
        name="whole-run",
        title="The whole run, computed",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("io_time_s", "I/O time", numeric=True),
            Column("whole_run_s", "Whole run", numeric=True, help="computed"),
            Column("io_percent", "I/O", numeric=True, help="of the whole run"),
            Column("saved_percent", "Saved", numeric=True, help=saved_words(comparison)),
            Column("saved_told_apart", "Told apart", machine=True),
            Column("cost_tot", "Cost of the I/O", numeric=True),
            Column("cost_of_run", "Cost of the whole run", numeric=True),
        ),
        rows=tuple(rows),
        caption="; ".join(dict.fromkeys(_sentence(traced_words(c)) for c in told))
        + ". Whole run: the rest of the traced run + I/O time of the kernel, which was "
        + f"{origins_words(told).lower()}. Saved: {saved_words(comparison)}.",
        filterable=len(rows) > 12,
    )


def baseline_table(
    comparison: Comparison, configurations: Sequence[Configuration]
) -> ReportTable | None:
    """Each configuration against the baseline; None without one."""
    rows = []
    for c in configurations:
        against = c.against
        if against is None:
            continue
        apart = against.told_apart
        rows.append(
            (
                text(c.cluster_title),
                text(c.mapping),
                text(comparison.words_of(against.configuration)),
                Cell(speed_words(against), against.told_apart),
                number(None)
                if against.times_as_fast is None
                else estimated(against.times_as_fast, lambda v: f"{v:.2f}"),
                Cell(price_words(against), against.more_instances),
                number(against.price_change_percent, _change(against.price_change_percent)),
                number(
                    against.cost_change_percent,
                    _change(against.cost_change_percent if apart else None),
                ),
                number(
                    against.whole_run_change_percent,
                    _change(against.whole_run_change_percent if apart else None),
                ),
            )
        )
    if not rows or comparison.baseline is None:
        return None
    return ReportTable(
        name="baseline",
        title=f"Against the baseline, {comparison.title_of(comparison.baseline)}",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("against", "Against", wide=True),
            Column("told_apart", "I/O time"),
            Column("times_as_fast", "Times as fast", numeric=True, machine=True),
            Column("more_instances", "Instances and price"),
            Column("price_change_percent", "Price an hour", numeric=True, machine=True),
            Column("cost_change_percent", "Cost of the I/O", numeric=True),
            Column("whole_run_change_percent", "Whole run", numeric=True, help="computed"),
        ),
        rows=tuple(rows),
        caption="Medians, the same mapping on the baseline where it was measured. Costs and the whole run are "
        f"computed; I/O times were {origins_words(configurations).lower()}. Changes are shown where I/O times "
        "are told apart; CSV and JSON hold all.",
        filterable=len(rows) > 12,
    )


def _percent(value: float | None) -> Cell:
    return Cell(NOT_KNOWN, None) if value is None else number(value, f"{value:.1f} %")


def _change(percent: float | None) -> str:
    return "\N{EN DASH}" if percent is None else change(percent)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
