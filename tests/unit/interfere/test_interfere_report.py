"""A study in the report: every plot is drawn, every table is there for people and for machines."""

import re

import pytest
from interfere_fakes import FairPerformer, plan_of, run, spec

from wavetank.campaign.database import COMPARISON
from wavetank.campaign.results_folder import write_store
from wavetank.interfere.load import LoadedStudy, keep_copies
from wavetank.report.gather import read_folder
from wavetank.report.page import text_formats
from wavetank.report.page.html import render
from wavetank.report.page.study_part import study_part
from wavetank.report.plots.svg import inline_svg


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("study")
    said = spec(
        groups=[{"name": name, "clients": 1, "objects": {}} for name in ("fg", "bg")],
        intervals={"group": "bg", "values": [0, 0.05, 0.2, 1, 2]},
        start_offsets={"group": "bg", "values": [-0.5, 0, 0.5]},
        pairs=True,
        object_sizes=[10**5, 10**6],
    )
    plan = plan_of(said)
    _, comparison, *_ = run(said, plan, path, FairPerformer())
    with write_store(path) as store:
        keep_copies(LoadedStudy(said, plan.groups, plan.clusters), store)
        comparison.write(path / COMPARISON)
    return path


def test_every_figure_can_be_drawn_and_tells_what_it_shows(folder):
    comparison = read_folder(folder).comparison
    part = study_part(comparison, comparison.interference)
    plots = [draw() for figure in part.figures for _, draw in figure.variants]
    # Bandwidth in four ways and object times; a matrix and an offset graph for each of two sizes.
    assert len(plots) == 4 + 1 + 2 + 2
    assert len({plot.name for plot in plots}) == len(plots)
    for plot in plots:
        assert plot.alt
        assert plot.tips
        assert inline_svg(plot).startswith("<svg")


def test_the_page_holds_sentences_plots_and_every_run(folder):
    page = render(read_folder(folder))
    campaign = read_folder(folder)
    assert "What the groups do to each other" in page
    assert page.count("<svg") == 9
    assert f"All {len(campaign.together)} " in page
    for advice in campaign.comparison.advice:
        assert advice.sentence.split(":")[0] in page


def test_machines_get_plain_values(folder):
    text = text_formats.csv_text(read_folder(folder))
    assert "slowdown,slowdown_low,slowdown_high" in text
    assert re.search(r"^together,a,a,1PxCN,100000,0\.2,", text, re.MULTILINE)
    body = text_formats.json_text(read_folder(folder))
    for name in ("slowdowns", "partings", "rates", "object-times"):
        assert f'"study-{name}"' in body


def test_markdown_holds_what_the_page_shows(folder):
    text = text_formats.markdown(read_folder(folder))
    assert "## What the groups do to each other" in text
    assert "### Slowdown" in text
