"""Every table of a comparison, a study and a model is as its schema says."""

from __future__ import annotations

import json

import campaign_examples
import pytest
import report_examples
from jsonschema import Draft202012Validator

from wavetank.cli.table_schema import DEFINITIONS, schema
from wavetank.compare.tables.all import comparison_tables
from wavetank.compare.tables.ranking import ranking_tables
from wavetank.model.tables.model_tables import model_tables
from wavetank.report.gather import read_folder
from wavetank.report.page.text_formats import json_text
from wavetank.tables.formats import json_tables


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign")
    campaign_examples.make_campaign(
        folder, [report_examples.abyss()], clusters=("nfs", "gluster-2")
    )
    return read_folder(folder)


def _check(name: str, rows: object) -> None:
    known = schema()["properties"]
    name = "ranking" if name.startswith("ranking-") else name
    Draft202012Validator(known[name]).validate(json.loads(json.dumps(rows)))


def test_names_and_keys_are_unique() -> None:
    assert len({each.name for each in DEFINITIONS}) == len(DEFINITIONS)
    for each in DEFINITIONS:
        assert len({column.key for column in each.columns}) == len(each.columns)


def test_the_tables_of_a_comparison_are_as_the_schema_says(campaign) -> None:
    tables = comparison_tables(campaign.comparison)
    assert {"phase-results", "cost", "effects", "advice"} <= {each.name for each in tables}
    for table in tables:
        _check(table.name, table.records())


def test_applications_whose_names_differ_in_case_have_a_ranking_each(campaign) -> None:
    comparison = campaign.comparison
    (by_time,) = (each for each in comparison.rankings if each.by == comparison.rank_by)
    other = by_time.model_copy(update={"application": by_time.application.lower()})
    both = comparison.model_copy(update={"rankings": (by_time, other)})
    printed = json_tables(ranking_tables(both))
    assert list(printed) == ["ranking_of_abyss_p_by_time", "ranking_of_abyss_p_by_time_2"]


def test_the_tables_of_a_report_are_as_the_schema_says(campaign) -> None:
    body = json.loads(json_text(campaign))
    for application in body["applications"]:
        for name, rows in application["tables"].items():
            _check(name, rows)
    _check("measurements", body["tables"]["measurements"])


def test_the_terminal_and_the_report_have_the_same_rows(campaign) -> None:
    printed = {each.name: each.records() for each in comparison_tables(campaign.comparison)}
    reported = json.loads(json_text(campaign))["applications"][0]["tables"]
    for name in ("phase-results", "cost", "effects", "whole-run", "baseline"):
        order = [json.dumps(row, sort_keys=True) for row in printed[name]]
        assert sorted(order) == sorted(json.dumps(row, sort_keys=True) for row in reported[name])


@pytest.mark.parametrize("model", [report_examples.abyss(), report_examples.bt_io()])
def test_the_tables_of_a_model_are_as_the_schema_says(model) -> None:
    for table in model_tables(model):
        _check(table.name, table.records())


def test_a_phase_has_lists_by_member_and_numbers_as_numbers() -> None:
    phase = json_tables(model_tables(report_examples.bt_io()))["phases"][0]
    (member,) = report_examples.bt_io().phases[0].pattern
    assert (phase["rs"], phase["disp"]) == ([member.rs], [member.disp])
    assert (phase["rs_min"], phase["rs_max"]) == (member.rs, member.rs)
    assert phase["offset"][0]["function"] == "linear"
    assert isinstance(phase["metadata_ops"], dict)
    facts = json_tables(model_tables(report_examples.bt_io()))["application"]
    assert {row["field"]: row["value"] for row in facts}["needs_global_file_system"] is True
