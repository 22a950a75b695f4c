"""Plain rows of what the choice changes beside the I/O: the whole run, and each configuration against the baseline."""

from __future__ import annotations

from wavetank.campaign.rows import Cell, Rows
from wavetank.compare.against import price_words, speed_words
from wavetank.compare.comparison import Comparison, Configuration
from wavetank.compare.words import three_digits
from wavetank.measure.statistics import Estimate
from wavetank.units import format_duration

NOT_KNOWN = "not known"


def run_rows(comparison: Comparison) -> Rows:
    """The application's whole run on every configuration, computed, beside its I/O."""
    rows: list[list[Cell]] = []
    shown = []
    currency = comparison.price.currency if comparison.price else ""
    traced = []
    for each in comparison.configurations:
        run = each.run
        if run is None:
            continue
        rows.append(
            [
                each.application, each.cluster, each.cluster_title, each.mapping,
                run.traced_elapsed_s, run.traced_io_s, run.traced_io_percent, run.with_metadata,
                *_three(run.whole_s), run.io_percent, run.saved_percent, run.told_apart,
                each.cost.cost_tot.median if each.cost else None, *_three(run.cost),
            ]
        )  # fmt: skip
        shown.append(
            [
                *named(comparison, each), format_duration(each.io_time_s.median),
                format_duration(run.whole_s.median) if run.whole_s else NOT_KNOWN,
                _percent(run.io_percent), shown_saving(each),
                _money(each.cost.cost_tot if each.cost else None, currency),
                _money(run.cost, currency),
            ]
        )  # fmt: skip
        traced.append(f"{each.application}: {traced_words(each)}")
    return Rows(
        "Whole run (computed)",
        (
            "application", "cluster", "title", "mapping", "traced_elapsed_s", "traced_io_s",
            "traced_io_percent", "traced_io_with_metadata", "whole_run_s", "whole_run_low_s",
            "whole_run_high_s", "io_percent", "saved_percent", "saved_told_apart", "cost_of_io", "cost_of_run",
            "cost_of_run_low", "cost_of_run_high",
        ),
        rows,
        (
            *names(comparison), "I/O time", "whole run", "I/O", "saved", "cost of I/O", "of whole run",
        ),
        shown,
        "; ".join(dict.fromkeys(traced))
        + f". Whole run: the rest of the traced run + I/O time. Saved: {saved_words(comparison)}.",
    )  # fmt: skip


def traced_words(each: Configuration) -> str:
    """Of the traced run: "traced run 22.00 s, 5 % of it I/O (1.10 s)"."""
    run = each.run
    if run is None or run.traced_elapsed_s is None:
        return "elapsed time of the traced run not known"
    words = f"traced run {format_duration(run.traced_elapsed_s)}"
    if run.traced_io_s is None:
        return f"{words}, its I/O time not known"
    metadata = "" if run.with_metadata else ", calls that move data only"
    return f"{words}, {_percent(run.traced_io_percent)} of it I/O ({format_duration(run.traced_io_s)}{metadata})"


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


def baseline_rows(comparison: Comparison) -> Rows:
    """Every configuration against the baseline."""
    rows: list[list[Cell]] = []
    shown = []
    for each in comparison.configurations:
        against = each.against
        if against is None:
            continue
        rows.append(
            [
                each.application, each.cluster, each.cluster_title, each.mapping,
                against.configuration, comparison.words_of(against.configuration),
                against.same_mapping, against.told_apart, *_three(against.times_as_fast),
                against.more_instances, against.price_change_percent, against.cost_change_percent,
                against.whole_run_change_percent,
            ]
        )  # fmt: skip
        apart = against.told_apart
        shown.append(
            [
                *named(comparison, each), _unusual(comparison, each), price_words(against),
                _signed(against.cost_change_percent if apart else None),
                _signed(against.whole_run_change_percent if apart else None),
            ]
        )  # fmt: skip
    return Rows(
        f"Against the baseline, {comparison.title_of(comparison.baseline or '')}",
        (
            "application", "cluster", "title", "mapping", "baseline", "baseline_title",
            "same_mapping", "told_apart", "times_as_fast", "times_as_fast_low",
            "times_as_fast_high", "more_instances", "price_change_percent", "cost_change_percent",
            "whole_run_change_percent",
        ),
        rows,
        (
            *names(comparison), "I/O", "instances and price", "cost of I/O", "whole run",
        ),
        shown,
        "with the same mapping, or the one named; changes are shown where I/O times are told apart",
    )  # fmt: skip


def names(comparison: Comparison) -> tuple[str, ...]:
    """Columns that name a configuration to people: its application only where there are several."""
    return ("application", "cluster", "mapping")[_first(comparison) :]


def named(comparison: Comparison, each: Configuration) -> list[str]:
    """A configuration in these columns."""
    return [each.application, each.cluster_title, each.mapping][_first(comparison) :]


def _first(comparison: Comparison) -> int:
    return int(len({each.application for each in comparison.configurations}) == 1)


def _unusual(comparison: Comparison, each: Configuration) -> str:
    """How fast, and against which configuration where that has another mapping."""
    if each.against is None:
        return ""
    words = speed_words(each.against)
    if each.against.same_mapping:
        return words
    return f"{words} ({comparison.words_of(each.against.configuration)})"


def _money(of: Estimate | None, currency: str) -> str:
    return "-" if of is None else f"{three_digits(of.median)} {currency}"


def _three(of: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if of is None else (of.median, of.low, of.high)


def _percent(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:.1f} %"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"
