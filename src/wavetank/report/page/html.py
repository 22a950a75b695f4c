"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wavetank import __version__
from wavetank.findings.all_findings import all_findings
from wavetank.findings.answer import what_it_is, why_slow
from wavetank.model.document.model import Model
from wavetank.report.gather import Campaign
from wavetank.report.page.content import make_page, model_part
from wavetank.report.plots.svg import Plot, inline_svg
from wavetank.report.plots.theme import FONTS, css_variables
from wavetank.tables.table import Interval
from wavetank.tables.words import printable

SCRIPTS = (
    "base.js", "amounts.js", "tables.js", "takeapart.js", "explore.js", "behaviour.js"
)  # fmt: skip
"""In the order in which they are joined to one."""
WATCH_SCRIPT = "watch.js"
"""Of a page that is served while its campaign runs."""
LAZY_ROWS = 60
"""A table with more rows is text until it is seen, so that a browser makes only the rows that are shown."""


@dataclass(frozen=True)
class Watched:
    """What a page says that is served while its campaign runs.

    Attributes:
        version: of the results in it; the page asks the server for that of the results there are.
        sentence: how far the campaign is.
    """

    version: str
    sentence: str


def render(campaign: Campaign, watched: Watched | None = None) -> str:
    """A campaign's report as the text of an HTML file.

    Text from traces is escaped wherever it is shown, and the page's own policy lets a browser run
    no script but the one whose hash it names.

    Args:
        campaign: what it is about.
        watched: where the page is served by ``wavetank report --watch``, and renews itself.
    """
    scripts = (*SCRIPTS, WATCH_SCRIPT) if watched is not None else SCRIPTS
    template = _environment().get_template("report.html.j2")
    return template.render(page=make_page(campaign), watched=watched, **_parts(scripts))


def render_model(model: Model) -> str:
    """A model's tables and figures as the text of an HTML file."""
    template = _environment().get_template("model.html.j2")
    title = f"{model.application}: why its I/O takes as long as it does"
    return template.render(
        title=title,
        lines=[why_slow(model, all_findings(model)), *what_it_is(model)],
        model=model_part(model, "model"),
        watched=None,
        **_parts(SCRIPTS[:3]),
    )


def render_waiting(title: str, why: str, watched: Watched) -> str:
    """The page before there is a result to show, as text; it renews itself when there is one.

    Args:
        title: of the page.
        why: there is nothing to show yet.
        watched: how far the campaign is.
    """
    template = _environment().get_template("waiting.html.j2")
    parts = _parts((SCRIPTS[0], WATCH_SCRIPT))
    return template.render(title=title, why=why, watched=watched, **parts)


def _parts(scripts: Sequence[str]) -> dict[str, str]:
    """What each page has beside its content."""
    templates = files("wavetank.report.page") / "templates"
    script = "".join((templates / name).read_text(encoding="utf-8") for name in scripts)
    style = (templates / "style.css").read_text(encoding="utf-8")
    return {
        "version": __version__,
        # The files are this package's own; nothing of a trace is in them.
        "script": Markup(script),  # noqa: S704
        "style": Markup(_themes() + style),  # noqa: S704
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("wavetank.report.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.globals["LAZY_ROWS"] = LAZY_ROWS
    environment.filters["svg"] = _svg
    environment.filters["strip"] = _strip
    environment.filters["plain"] = _plain
    return environment


def _themes() -> str:
    light, dark = css_variables(0), css_variables(1)
    fonts = ",".join(f'"{font}"' for font in FONTS)
    return (
        f":root{{color-scheme:light dark;--fonts:{fonts},system-ui,sans-serif;{light}}}\n"
        '@media screen and (prefers-color-scheme:dark){:root:not([data-theme="light"])'
        f"{{{dark}}}}}\n"
        f'@media screen{{:root[data-theme="dark"]{{color-scheme:dark;{dark}}}'
        ':root[data-theme="light"]{color-scheme:light}}\n'
    )


def _svg(plot: Plot) -> Markup:
    return Markup(inline_svg(plot))  # noqa: S704 - escaped by inline_svg


def _strip(interval: Interval) -> Markup:
    """A small drawing of an interval: a line from end to end, a mark at the median."""
    return Markup('<i class="strip" style="--l:{:.0f}%;--m:{:.0f}%;--h:{:.0f}%"></i>').format(
        100 * interval.low, 100 * interval.median, 100 * interval.high
    )


def _plain(value: object) -> str:
    """What a cell is sorted by."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
