"""What tests of the report share."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

import pytest

from wavetank.report.page import html
from wavetank.report.plots.svg import Plot


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have of their plots what these say, and nothing drawn, which takes most of a page's time."""

    def empty(plot: Plot) -> str:
        tips = "".join(f"<title>{escape(tip)}</title>" for tip in plot.tips)
        return f'<svg class="plot" role="img" aria-label={quoteattr(plot.alt)}>{tips}</svg>'

    monkeypatch.setattr(html, "inline_svg", empty)
