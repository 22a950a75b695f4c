"""Plot of two campaigns: how the I/O time of each configuration changed, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import FuncFormatter

from wavetank.compare.regression import Verdict
from wavetank.measure.statistics import Estimate
from wavetank.report.plots import axes as ax
from wavetank.report.plots.svg import Plot, new_figure, shorten_apart, styled
from wavetank.report.plots.theme import LIGHT
from wavetank.tables.words import change, estimate_words
from wavetank.units import format_duration

MAX_ROWS = 40
_COLOURS = {"slower": LIGHT["write"], "faster": LIGHT["good"]}


@styled
def changes(verdicts: Sequence[Verdict], name: str) -> Plot:
    """Change of the I/O time from the earlier results to these, those that are told apart first.

    Args:
        verdicts: those without a change are left out.
        name: see ``Plot``.
    """
    known = [(each, each.change) for each in verdicts if each.change is not None]
    known.sort(key=lambda pair: (pair[0].word not in _COLOURS, -abs(pair[1].median)))
    shown = known[:MAX_ROWS]
    figure = new_figure(8.6, 0.7 + 0.26 * max(len(shown), 2))
    axes = figure.add_subplot()
    words = [_words(each, found) for each, found in shown]
    left = f" The first {len(shown)} of {len(known)}." if len(known) > len(shown) else ""
    plot = Plot(
        name=name,
        title="Change of the I/O time",
        caption="From the earlier results to these; lines are intervals. Orange: slower. Green: faster. "
        f"Hollow: not told apart, or cannot be told.{left}",
        alt="; ".join(words),
        figure=figure,
    )
    for row, (each, found) in enumerate(shown):
        colour = _COLOURS.get(each.word, LIGHT["other"])
        if found.low is not None and found.high is not None:
            axes.plot([found.low, found.high], [row, row], color=colour, linewidth=2)
        dot = axes.scatter(
            found.median, row, s=32, linewidths=1.4, edgecolors=colour, zorder=3,
            facecolors=colour if each.word in _COLOURS else LIGHT["paper"],
        )  # fmt: skip
        dot.set_urls([plot.tip(words[row])])
    axes.axvline(0, color=LIGHT["muted"], linewidth=0.9)
    axes.set_yticks(range(len(shown)), shorten_apart([each.title for each, _ in shown], 60))
    axes.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.0f} %"))
    axes.margins(x=0.08)
    ax.no_ticks(axes, "y")
    return plot


def _words(verdict: Verdict, found: Estimate) -> str:
    sides = " to ".join(
        format_duration(side.median) for side in (verdict.before, verdict.after) if side is not None
    )
    return f"{verdict.title}: {verdict.word}, {estimate_words(found, change)}, {sides}"
