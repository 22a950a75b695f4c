"""The plots that judge a kernel by the application itself (P15 figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wavetank.compare.configuration import Configuration
from wavetank.compare.trust_advice import spread_words
from wavetank.compare.trust_record import OwnTime
from wavetank.compare.words import origins_words
from wavetank.measure.statistics import Estimate
from wavetank.report.plots import axes as ax
from wavetank.report.plots.bars import label
from wavetank.report.plots.svg import Plot, new_figure, shorten_apart, styled
from wavetank.report.plots.theme import LIGHT
from wavetank.units import format_duration

MAX_ROWS = 30


@dataclass(frozen=True)
class _Pair:
    """The two bars of a row: I/O times in seconds, each with the ends of its line."""

    label: str
    said: str
    percent: str
    kernel: tuple[float, float, float]
    application: tuple[float, float, float]


@styled
def own_times(found: Sequence[OwnTime], by_id: Mapping[str, Configuration], name: str) -> Plot:
    """I/O time of the kernel beside that of the application itself on each configuration.

    Source: P15 figure 7.
    """
    pairs = [
        _Pair(
            label(by_id[each.configuration]),
            f"{label(by_id[each.configuration])}: kernel {format_duration(each.kernel_s.median)}, application "
            f"{format_duration(each.application_s.median)}, {each.difference_percent:+.1f} % ({spread_words(each)})",
            f"{each.difference_percent:+.1f} %",
            _with_ends(each.kernel_s),
            _with_ends(each.application_s),
        )
        for each in found[:MAX_ROWS]
    ]
    caption = (
        "I/O time on the same cluster, in the same rounds; the percentage is the kernel's difference. Lines: all "
        f"repetitions. Blue: kernel; grey: application. {origins_words(list(by_id.values()))}."
        + (f" The first {len(pairs)} of {len(found)}." if len(found) > len(pairs) else "")
    )
    return _plot(pairs, name, "Kernel and the application itself", caption)


def _with_ends(of: Estimate) -> tuple[float, float, float]:
    return of.median, min(of.values), max(of.values)


def _plot(pairs: Sequence[_Pair], name: str, title: str, caption: str) -> Plot:
    figure = new_figure(8.6, 0.75 + 0.4 * len(pairs))
    axes = figure.add_subplot()
    alt = "; ".join(pair.said for pair in pairs)
    plot = Plot(name=name, title=title, caption=caption, alt=alt, figure=figure)
    for row, pair in enumerate(pairs):
        for offset, (time, low, high), role in (
            (-0.18, pair.kernel, "accent"),
            (0.18, pair.application, "other"),
        ):
            bar = axes.barh(row + offset, time, 0.34, color=LIGHT[role])[0]
            bar.set_url(plot.tip(pair.said))
            if low < high:
                axes.plot([low, high], [row + offset] * 2, color=LIGHT["ink"], linewidth=0.8)
        ax.write_beside(axes, pair.percent, (max(*pair.kernel, *pair.application), row))
    axes.set_yticks(range(len(pairs)), shorten_apart([pair.label for pair in pairs], 48))
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.set_xlabel("s")
    axes.margins(x=0.12)
    ax.no_ticks(axes, "y")
    return plot
