"""A kernel beside the application itself, in the page, Markdown and JSON."""

import html
import json
import re
from pathlib import Path

import campaign_examples
import pytest

from wavetank.compare.trust_advice import verdict_words
from wavetank.compare.trust_record import OwnTime, Tau, Trust
from wavetank.measure.statistics import estimate
from wavetank.report.gather import read_folder
from wavetank.report.page import text_formats
from wavetank.report.page.content import make_page
from wavetank.report.page.html import render

pytestmark = pytest.mark.usefixtures("undrawn")


def judged(comparison):
    """The first application of a campaign, as the application itself a tenth slower everywhere."""
    name = comparison.configurations[0].application
    times = tuple(
        OwnTime(
            configuration=each.id,
            own_configuration=each.id.replace(name, f"{name} itself"),
            kernel_s=each.io_time_s,
            application_s=estimate([1.1 * value for value in each.io_time_s.values]),
            difference_percent=-9.1,
            spread_low_percent=-2.0,
            spread_high_percent=3.0,
            beyond_percent=7.1,
        )
        for each in comparison.configurations
        if each.application == name
    )
    return Trust(
        application=name, own=f"{name} itself", program="replay", pauses="keep", times=times,
        median_error_percent=9.1, worst_error_percent=9.1, worst_beyond_percent=7.1,
        tau=Tau(value=1.0, low=0.5, high=1.0), tau_of_medians=None, n_pairs=3, n_apart=2,
        n_kernel_only=1, n_own_only=0, reversed_pairs=(), verdict="order",
    )  # fmt: skip


def test_the_report_judges_the_kernel_by_the_application_itself(tmp_path: Path) -> None:
    comparison = campaign_examples.make_campaign(tmp_path)
    found = judged(comparison)
    comparison.model_copy(update={"trust": (found,)}).write(tmp_path / "comparison.json")
    campaign = read_folder(tmp_path)
    text = html.unescape(re.sub(r"<[^>]*>", "", render(campaign)))
    assert "Kernel beside the application itself" in text
    assert verdict_words(found) in text.replace("\u2019", "'")
    assert "-9.1 %" in text.replace("\N{MINUS SIGN}", "-")
    assert "its own runs -2.0 to +3.0 %" in text
    assert "kept the application's pauses" in text.replace("\u2019", "'")
    markdown = text_formats.markdown(campaign)
    assert "Kernel beside the application itself" in markdown and "1.00 [0.50 to 1.00]" in markdown.replace("\\", "")  # fmt: skip
    parts = json.loads(text_formats.json_text(campaign))["applications"]
    rows = [row for part in parts for row in part["tables"].get("own-times", [])]
    assert [row["beyond_percent"] for row in rows] == [7.1] * len(found.times)
    figures = [
        draw() for part in make_page(campaign).applications for figure in part.performance
        for _, draw in figure.variants
    ]  # fmt: skip
    assert any(plot.title == "Kernel and the application itself" for plot in figures)


def test_without_runs_of_it_nothing_is_judged(tmp_path: Path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    page = make_page(read_folder(tmp_path))
    assert all(part.own_times is None for part in page.applications)
