"""The table that judges a kernel by the application itself, configuration by configuration (P15 figure 7)."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.comparison import Comparison, Configuration
from wavetank.compare.trust_advice import order_words, pauses_words, spread_words, verdict_words
from wavetank.report.tables.table import Column, ReportTable, estimated, number, text
from wavetank.units import format_duration


def own_times_table(
    comparison: Comparison, configurations: Sequence[Configuration]
) -> ReportTable | None:
    """I/O time of the kernel beside that of the application itself; None where the campaign did not run it."""
    by_id = {c.id: c for c in configurations}
    found = next(
        (one for one in comparison.trust if any(each.configuration in by_id for each in one.times)),
        None,
    )
    if found is None:
        return None
    scale = max(
        (
            of.high or of.median
            for each in found.times
            for of in (each.kernel_s, each.application_s)
        ),
        default=0.0,
    )
    rows = tuple(
        (
            text(by_id[each.configuration].cluster_title),
            text(by_id[each.configuration].mapping),
            estimated(each.kernel_s, format_duration, scale),
            estimated(each.application_s, format_duration, scale),
            number(each.difference_percent, f"{each.difference_percent:+.1f} %", strong=True),
            text(spread_words(each)),
            number(each.beyond_percent, f"{each.beyond_percent:.1f} %"),
        )
        for each in found.times
        if each.configuration in by_id
    )
    return ReportTable(
        name="own-times",
        title="Kernel beside the application itself",
        columns=(
            Column("cluster", "Cluster", wide=True),
            Column("mapping", "Mapping"),
            Column("kernel_s", "Kernel", numeric=True, help="I/O time"),
            Column("application_s", "Application", numeric=True, help="I/O time of its own runs"),
            Column("difference_percent", "Difference", numeric=True, help="of the medians"),
            Column("spread", "The application's runs", help="against their median"),
            Column(
                "beyond_percent",
                "Outside",
                numeric=True,
                help="how far the kernel's median lies outside of the application's runs",
            ),
        ),
        rows=rows,
        caption=f"{verdict_words(found)} {order_words(found)}; {pauses_words(found)}.",
        filterable=len(rows) > 12,
    )
