"""The plot that judges a kernel by the application itself (P15 figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.compare.comparison import Configuration
from wavetank.compare.trust_advice import spread_words
from wavetank.compare.trust_record import OwnTime
from wavetank.measure.statistics import Estimate
from wavetank.report import axes as ax
from wavetank.report.bar_plots import label
from wavetank.report.svg import Plot, new_figure, shorten_apart, styled
from wavetank.report.theme import LIGHT
from wavetank.report.words import origins_words
from wavetank.units import format_duration

MAX_ROWS = 30


@styled
def own_times(found: Sequence[OwnTime], by_id: Mapping[str, Configuration], name: str) -> Plot:
    """I/O time of the kernel beside that of the application itself on each configuration.

    Source: P15 figure 7.
    """
    shown = found[:MAX_ROWS]
    words = [
        f"{label(by_id[each.configuration])}: kernel {format_duration(each.kernel_s.median)}, application "
        f"{format_duration(each.application_s.median)}, {each.difference_percent:+.1f} % ({spread_words(each)})"
        for each in shown
    ]
    figure = new_figure(8.6, 0.75 + 0.4 * len(shown))
    axes = figure.add_subplot()
    plot = Plot(
        name=name,
        title="Kernel and the application itself",
        caption="I/O time on the same cluster, in the same rounds; the percentage is the kernel's difference. Lines: all "
        f"repetitions. Blue: kernel; grey: application. {origins_words(list(by_id.values()))}."
        + (f" The first {len(shown)} of {len(found)}." if len(found) > len(shown) else ""),
        alt="; ".join(words),
        figure=figure,
    )
    for row, (each, said) in enumerate(zip(shown, words, strict=True)):
        for offset, of, role in (
            (-0.18, each.kernel_s, "accent"),
            (0.18, each.application_s, "other"),
        ):
            bar = axes.barh(row + offset, of.median, 0.34, color=LIGHT[role])[0]
            bar.set_url(plot.tip(said))
            low, high = _ends(of)
            axes.plot([low, high], [row + offset] * 2, color=LIGHT["ink"], linewidth=0.8)
        axes.annotate(
            f"{each.difference_percent:+.1f} %",
            (max(_ends(each.kernel_s)[1], _ends(each.application_s)[1]), row),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    ticks = [label(by_id[each.configuration]) for each in shown]
    axes.set_yticks(range(len(shown)), shorten_apart(ticks, 48))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel("s")
    axes.margins(x=0.12)
    ax.no_ticks(axes, "y")
    return plot


def _ends(of: Estimate) -> tuple[float, float]:
    return min(of.values), max(of.values)
