"""Plain rows of kernels beside the application itself: errors of the I/O time, and the order of the configurations."""

from __future__ import annotations

from wavetank.campaign.rows import Cell, Rows
from wavetank.compare.comparison import Comparison
from wavetank.compare.trust_advice import pauses_words, spread_words, tau_words
from wavetank.compare.trust_record import Tau
from wavetank.compare.words import show


def own_time_rows(comparison: Comparison) -> Rows:
    """The kernel's I/O time against the application's own, on every configuration."""
    rows: list[list[Cell]] = []
    shown = []
    for found in comparison.trust:
        for each in found.times:
            kernel, own = each.kernel_s, each.application_s
            rows.append(
                [
                    found.application, found.own, each.configuration, comparison.words_of(each.configuration),
                    kernel.median, kernel.low, kernel.high, own.median, own.low, own.high,
                    each.difference_percent, each.spread_low_percent, each.spread_high_percent,
                    each.beyond_percent,
                ]
            )  # fmt: skip
            shown.append(
                [
                    comparison.words_of(each.configuration), show(kernel, "time"), show(own, "time"),
                    f"{each.difference_percent:+.1f} %", spread_words(each), f"{each.beyond_percent:.1f} %",
                ]
            )  # fmt: skip
    return Rows(
        "Kernel beside the application itself",
        (
            "application", "own", "configuration", "title", "kernel_s", "kernel_low_s", "kernel_high_s",
            "application_s", "application_low_s", "application_high_s", "difference_percent",
            "spread_low_percent", "spread_high_percent", "beyond_percent",
        ),
        rows,
        ("configuration", "kernel", "application", "difference", "the application", "outside of it"),
        shown,
        "I/O times; difference of the medians"
        + "".join(f"; {words}" for words in dict.fromkeys(map(pauses_words, comparison.trust))),
    )  # fmt: skip


def trust_rows(comparison: Comparison) -> Rows:
    """Whether each kernel may be trusted, with the numbers behind it."""
    rows: list[list[Cell]] = []
    shown = []
    for each in comparison.trust:
        rows.append(
            [
                each.application, each.own, each.program, each.pauses, each.verdict,
                each.median_error_percent, each.worst_error_percent, each.worst_beyond_percent,
                *_three(each.tau),
                *_three(each.tau_of_medians),
                each.n_pairs, each.n_apart, len(each.reversed_pairs), each.n_kernel_only, each.n_own_only,
            ]
        )  # fmt: skip
        shown.append(
            [
                each.application, VERDICTS[each.verdict], f"{each.median_error_percent:.1f} %",
                f"{each.worst_error_percent:.1f} %", f"{each.worst_beyond_percent:.1f} %", tau_words(each.tau),
                f"{each.n_apart} of {each.n_pairs}", str(len(each.reversed_pairs)), tau_words(each.tau_of_medians),
            ]
        )  # fmt: skip
    return Rows(
        "Trust in the kernel",
        (
            "application", "own", "program", "pauses", "verdict", "median_error_percent",
            "worst_error_percent", "worst_beyond_percent", "tau", "tau_low", "tau_high",
            "tau_of_medians", "tau_of_medians_low", "tau_of_medians_high", "pairs", "told_apart_by_both",
            "reversed", "kernel_only", "own_only",
        ),
        rows,
        (
            "application", "trusted for", "median error", "worst", "outside of its runs", "tau",
            "pairs", "reversed", "tau of medians",
        ),
        shown,
        "tau: Kendall's, over the pairs that kernel and application both tell apart",
    )  # fmt: skip


def _three(tau: Tau | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if tau is None else (tau.value, tau.low, tau.high)


VERDICTS = {
    "order and times": "order and times",
    "order": "order",
    "times": "times",
    "not": "nothing",
    "unknown": "cannot be told",
}
