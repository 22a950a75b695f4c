"""A figure as users of Python get it: shown by notebooks, saved as a file, changed by Matplotlib."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wavetank.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

    from wavetank.report.plots.svg import Plot


@dataclass(frozen=True)
class Figure:
    """A plot with what it says in words.

    Attributes:
        name: among the figures of what it is of.
        title: what is shown.
        caption: how to read it.
        alt: what is to be seen, for those who cannot see it.
        matplotlib: the figure itself, for changes of your own.
    """

    name: str
    title: str
    caption: str
    alt: str
    matplotlib: MatplotlibFigure
    _tips: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<wavetank.Figure {self.name}: {self.title}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure on white, as what the name ends in: ``.svg`` or ``.png``.

        Raises:
            UsageError: the name ends in something else.
            DocumentError: it cannot be written; what was there before stays.
        """
        from wavetank.report.plots.svg import save

        target = Path(path)
        kinds: dict[str, Literal["svg", "png"]] = {".svg": "svg", ".png": "png"}
        if target.suffix not in kinds:
            raise UsageError(
                f"{target} does not say what to write. End the name in .svg or .png, or take the figure's "
                "matplotlib.savefig for other formats"
            )
        save(self._plot(), target, kinds[target.suffix])

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        from wavetank.report.plots.svg import svg_file

        return svg_file(self._plot())

    def _plot(self) -> Plot:
        from wavetank.report.plots.svg import Plot

        return Plot(
            self.name, self.title, self.caption, self.alt, self.matplotlib, list(self._tips)
        )


def public(plot: Plot, name: str | None = None) -> Figure:
    """A report's plot as a public figure."""
    return Figure(
        name or plot.name, plot.title, plot.caption, plot.alt, plot.figure, tuple(plot.tips)
    )
