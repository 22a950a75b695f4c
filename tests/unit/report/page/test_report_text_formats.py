"""Markdown, CSV and JSON: the same tables as the page, complete and safe."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from html import escape
from typing import Any

import campaign_examples
import pytest
import report_examples

from wavetank.compare.tables.all import comparison_tables
from wavetank.model.tables.model_tables import model_tables
from wavetank.report.gather import Campaign, read_folder
from wavetank.report.page.content import make_page
from wavetank.report.page.html import render
from wavetank.report.page.text_formats import csv_text, json_text, markdown

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory) -> Campaign:
    folder = tmp_path_factory.mktemp("campaign")
    campaign_examples.make_campaign(
        folder, [report_examples.abyss(report_examples.SCRIPT_NAME)], clusters=("nfs", "gluster-2")
    )
    found = read_folder(folder)
    comparison = found.comparison.model_copy(update={"runs_per_month": 300})
    return replace(found, comparison=comparison)


def tables_of(text: str) -> dict[str, list[dict[str, str]]]:
    """The tables of a CSV report: title -> rows."""
    tables = {}
    for block in text.split("\n# "):
        title, _, body = block.removeprefix("# ").partition("\n")
        tables[title] = list(csv.DictReader(body.splitlines()))
    return tables


def test_json_holds_medians_and_ends_in_base_units(campaign) -> None:
    body = json.loads(json_text(campaign))
    (application,) = body["applications"]
    first = application["tables"]["ranking-time"][0]
    best = min(campaign.comparison.configurations, key=lambda c: c.io_time_s.median)
    assert first["io_time_s"] == best.io_time_s.median
    assert first["io_time_s_low"] == best.io_time_s.low
    assert first["io_time_s_high"] == best.io_time_s.high
    assert (first["origin"], first["cache"]) == ("measured under emulated limits", "cold")


def test_json_holds_the_advice_and_where_it_comes_from(campaign) -> None:
    body = json.loads(json_text(campaign))
    assert body["schema"] == "wavetank.report/1"
    assert body["provenance"]["tool_version"] == "0.1.0"
    sentences = [advice["sentence"] for advice in body["applications"][0]["advice"]]
    assert sentences == [advice.sentence for advice in campaign.comparison.advice]


def test_csv_holds_every_measurement(campaign) -> None:
    # 2 clusters x 2 mappings x 3 repetitions
    rows = tables_of(csv_text(campaign))["Measurements"]
    assert len(rows) == 12
    assert {row["origin"] for row in rows} == {"measured under emulated limits"}


def test_csv_holds_rows_that_the_page_leaves_out() -> None:
    model = report_examples.bt_io().model_copy(update={"series": ()})
    many = tuple(model.phases[0].model_copy(update={"ph_id": n}) for n in range(1, 401))
    table = {each.name: each for each in model_tables(model.model_copy(update={"phases": many}))}[
        "phases"
    ]
    assert len(table.rows) == 400
    assert len(table.shown) + table.n_left_out == 400
    assert table.n_left_out > 0


def test_markdown_says_the_answer_first_and_has_tables(campaign) -> None:
    text = markdown(campaign)
    assert text.startswith("# ABYSS-P: abyss.trace\n")
    assert text.index("Not conclusive: ") < text.index("### ABYSS-P: By I/O time")
    assert "| 1PxCN |" in text
    assert "Measured under emulated limits" in text


def test_markdown_shows_a_name_that_looks_like_markup(campaign) -> None:
    text = markdown(campaign)
    assert r"\<script\>alert(1)\</script\>" in text
    assert "<script>" not in text


def test_no_cell_of_csv_is_a_formula(campaign, tmp_path) -> None:
    campaign_examples.make_campaign(
        tmp_path, [report_examples.abyss("=cmd|' /C calc'!A0")], clusters=("nfs",), n_repetitions=1
    )
    rows = tables_of(csv_text(read_folder(tmp_path)))["ABYSS-P: Files"]
    assert "'=cmd|' /C calc'!A0" in [row["file_name"] for row in rows]


def test_all_formats_call_clusters_the_same(campaign) -> None:
    comparison = campaign.comparison
    titles = {c.cluster_title for c in comparison.configurations}
    application = json.loads(json_text(campaign))["applications"][0]
    csv_tables = tables_of(csv_text(campaign))
    name = application["name"]
    page, text = render(campaign), markdown(campaign).replace("\\", "")
    for table in ("ranking-time", "whole-run", "phase-results", "cost"):
        assert {row["title"] for row in application["tables"][table]} == titles
    assert {row["title"] for row in csv_tables[f"{name}: By I/O time"]} == titles
    for title in titles:
        assert escape(title) in page and title in text
    tables = {each.name: each.records() for each in comparison_tables(comparison)}
    for name, rows in tables.items():
        if name != "not-measured":
            assert {row["title"] for row in rows if "title" in row} <= titles
    assert tables["not-measured"][0]["title"] == "CephFS, 3 data servers" in page


def test_the_baseline_the_whole_run_and_the_month_are_in_all_formats(campaign) -> None:
    application = json.loads(json_text(campaign))["applications"][0]
    compared = [c for c in campaign.comparison.configurations if c.against is not None]
    assert compared and len(application["tables"]["baseline"]) == len(compared)
    assert application["tables"]["baseline"][0]["times_as_fast_low"] is not None
    elapsed_s = application["tables"]["whole-run"][0]["whole_run_s"]
    # The tiny run of the fixture: what is left of it without its I/O, and the kernel's I/O time.
    run = campaign.comparison.configurations[0].run
    assert elapsed_s >= run.traced_elapsed_s - run.traced_io_s
    for text in (render(campaign), markdown(campaign)):
        assert "The whole run, computed" in text
        assert "Against the baseline, NFS" in text
        assert "Cost of a month of 300 runs, computed" in text


def test_the_cost_of_a_month_is_that_of_the_runs_whose_costs_are_shown(campaign) -> None:
    tables = json.loads(json_text(campaign))["applications"][0]["tables"]
    named = next(each for each in comparison_tables(campaign.comparison) if each.name == "month")
    month, cost = by_configuration(tables["month"]), by_configuration(tables["cost"])
    assert month == by_configuration(json.loads(json.dumps(named.records())))
    assert len(month) == len(campaign.comparison.configurations)
    for which, row in month.items():  # all instances for the I/O time alone
        assert row["io_of_runs"] == pytest.approx(300 * cost[which]["cost_var"])


def by_configuration(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["cluster"], row["mapping"]): row for row in rows}


def test_nobody_asked_for_a_month_and_there_is_none(campaign) -> None:
    comparison = campaign.comparison.model_copy(update={"runs_per_month": None})
    page = make_page(replace(campaign, comparison=comparison))
    assert [application.month for application in page.applications] == [None]


def test_effects_of_several_knobs_are_marked(campaign) -> None:
    rows = json.loads(json_text(campaign))["applications"][0]["tables"]["effects"]
    assert {row["separable"] for row in rows} == {True, False}
    assert any(row["knob"].count(" and ") for row in rows if not row["separable"])


def test_what_differs_in_the_mapping_too_is_shown_against_the_fastest_of_the_baseline(
    campaign,
) -> None:
    rows = json.loads(json_text(campaign))["applications"][0]["tables"]["effects"]
    named = "| data servers and file system and mapping | 1; NFS; 1PxCN | 2; GlusterFS; 2PxCN |"
    shown = [line for line in markdown(campaign).splitlines() if " and mapping |" in line]
    of_all = [row for row in rows if row["knob"].endswith(" and mapping")]
    there = [c for c in campaign.comparison.configurations if c.cluster == "nfs"]
    best = min(there, key=lambda each: each.io_time_s.median)
    assert best.mapping == "1PxCN"
    (line,) = shown
    assert line.startswith(named)
    assert "NFS, 1PxCN → GlusterFS, 2 data servers, 2PxCN" in line
    assert "not separable" in line
    assert len(of_all) == 2  # the other: NFS with 2PxCN against GlusterFS with 1PxCN
