"""From a Matplotlib figure to an SVG for the page, or a file of its own.

For the page: no identifiers that two plots could share, no metadata, colours as CSS variables so
that the plot follows the theme, and a ``<title>`` inside each mark that has something to say.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Literal, ParamSpec
from xml.sax.saxutils import escape, quoteattr

import matplotlib as mpl
from matplotlib.figure import Figure

from wavetank.document import write_whole
from wavetank.report.plots.theme import ROLE_OF, matplotlib_settings
from wavetank.tables.words import printable

P = ParamSpec("P")
# Matplotlib knows no tool tips, but it keeps an artist's URL: "tip:12" stands for the 12th text.
_TIP = "tip:"


@dataclass
class Plot:
    """A figure with what it says in words.

    Attributes:
        name: file name without suffix; unique in a report.
        title: what is shown, as a heading.
        caption: how to read it, one or two sentences.
        alt: what is to be seen, for those who cannot see it.
        tips: texts of the marks, see ``tip``.
    """

    name: str
    title: str
    caption: str
    alt: str
    figure: Figure
    tips: list[str] = field(default_factory=list)

    def tip(self, text: str) -> str:
        """Register a mark's text; give the result to the artist's ``set_url`` (or ``urls``)."""
        self.tips.append(printable(text))
        return f"{_TIP}{len(self.tips) - 1}"


def shorten(text: str, length: int) -> str:
    """At most ``length`` characters, cut in the middle: both ends of a name tell files apart."""
    text = printable(text).replace("\n", "\N{REPLACEMENT CHARACTER}")
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def shorten_apart(texts: Sequence[str], length: int) -> list[str]:
    """Shorten names to at most ``length`` characters; to more where different ones would become the same."""
    while True:
        short = [shorten(text, length) for text in texts]
        if len({*short}) == len({*texts}) or length >= max(map(len, texts), default=0):
            return short
        length += 4


def short_name(file_name: str, length: int) -> str:
    """The whole name where it fits, else its last part, cut in the middle."""
    name = file_name if len(file_name) <= length else file_name.rstrip("/").rsplit("/", 1)[-1]
    return shorten(name, length)


def styled(draw: Callable[P, Plot]) -> Callable[P, Plot]:
    """Let a function draw in the report's style, whatever the user's settings are."""

    @wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> Plot:
        with mpl.rc_context(matplotlib_settings()):
            return draw(*args, **kwargs)

    return in_style


def new_figure(width_in: float, height_in: float) -> Figure:
    """An empty figure that belongs to no window."""
    return Figure(figsize=(width_in, height_in), layout="constrained")


def inline_svg(plot: Plot) -> str:
    """The plot as an element for the page."""
    text = _svg_text(plot)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    view_box = re.findall(r'viewBox="([^"]+)"', text)[0]
    head = (
        f'<svg class="plot" role="img" aria-label={quoteattr(printable(plot.alt))} '
        f'viewBox="{view_box}" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    text = head + text[text.index(">") + 1 :]
    used = dict.fromkeys(re.findall(r'(?:url\(|xlink:href=")#([^)"]+)', text))
    named = {name: f"{plot.name}-{number}" for number, name in enumerate(used)}
    text = re.sub(
        r'\sid="([^"]+)"',
        lambda match: f' id="{named[match[1]]}"' if match[1] in named else "",
        text,
    )
    text = re.sub(r"; stroke-line(?:join: miter|cap: butt)", "", text)  # what is so anyway
    text = re.sub(r"font-family: [^;\"]*;? ?", "", text)  # the page's, for all plots
    text = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", text)
    text = re.sub(r"url\(#([^)]+)\)", lambda match: f"url(#{named[match[1]]})", text)
    text = re.sub(r'xlink:href="#([^"]+)"', lambda match: f'href="#{named[match[1]]}"', text)
    text = re.sub(r"#[0-9a-f]{6}\b", _variable, text)
    text = re.sub(r"font: ([0-9.]+px) [^;\"]+", r"font-size: \1", text)
    text = re.sub(r"font: (bold|\d+) ([0-9.]+px) [^;\"]+", r"font-weight: \1; font-size: \2", text)
    text = re.sub(r'style="[^"]*"', lambda match: re.sub(r"([:;]) ", r"\1", match[0]), text)
    text = re.sub(r' (?:d|transform|x|y|width|height)="[^"]*"', _fewer_digits, text)
    return re.sub(r"\s*\n\s*", " ", _with_titles(text, plot))


def save(plot: Plot, path: Path, kind: Literal["svg", "png"]) -> None:
    """Write the plot as a file of its own, on white.

    Raises:
        DocumentError: it cannot be written.
    """
    if kind == "svg":
        write_whole(path, svg_file(plot))
        return
    image = io.BytesIO()
    with _saving():
        plot.figure.savefig(image, format="png", dpi=200, facecolor="#ffffff")
    write_whole(path, image.getvalue())


def svg_file(plot: Plot) -> str:
    """The plot as the text of a file of its own, on white."""
    title = f"<title>{escape(plot.title)}</title><desc>{escape(printable(plot.alt))}</desc>"
    text = _svg_text(plot, facecolor="#ffffff")
    end_of_head = text.index(">", text.index("<svg")) + 1
    return text[:end_of_head] + title + _with_titles(text[end_of_head:], plot)


@contextmanager
def _saving() -> Iterator[None]:
    """The report's style; a glyph that the measuring font lacks is the reader's font's business."""
    with mpl.rc_context(matplotlib_settings()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def _svg_text(plot: Plot, facecolor: str = "none") -> str:
    text = io.StringIO()
    with _saving():
        plot.figure.savefig(
            text, format="svg", facecolor=facecolor, metadata={"Date": None, "Creator": "wavetank"}
        )
    return text.getvalue()


def _variable(match: re.Match[str]) -> str:
    role = ROLE_OF.get(match[0])
    return match[0] if role is None else f"var(--{role})"


def _fewer_digits(attribute: re.Match[str]) -> str:
    """Coordinates to a hundredth of a point: a third of the bytes, nothing to be seen."""
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", attribute[0])


def _with_titles(text: str, plot: Plot) -> str:
    def open_mark(match: re.Match[str]) -> str:
        return f'<g class="mark"><title>{escape(plot.tips[int(match[1])])}</title>'

    text = re.sub(rf'<a xlink:href="{_TIP}(\d+)"[^>]*>', open_mark, text)
    return text.replace("</a>", "</g>")
