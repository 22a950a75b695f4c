import json

import pytest
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.errors import UsageError


def call(*argv):
    return CliRunner().invoke(cli, ["instances", *map(str, argv)], catch_exceptions=False)


def test_every_type_is_judged_and_those_that_suit_come_first():
    rows = json.loads(call("find", "--processes", 4, "--format", "json").stdout)["instances"]
    assert len(rows) == 1395
    ruled_out = [row["ruled_out"] != [] for row in rows]
    assert ruled_out == sorted(ruled_out) and 0 < sum(ruled_out) < len(rows)


def test_a_requirement_rules_out_with_its_reason():
    arguments = ("find", "--processes", 4, "--require", "memory>=16GiB", "--format", "json")
    rows = {row["type"]: row for row in json.loads(call(*arguments).stdout)["instances"]}
    assert "memory 4.0 GiB is below 16.0 GiB" in rows["c5.large"]["ruled_out"]
    assert rows["m5.xlarge"]["ruled_out"] == []  # 16 GiB


@pytest.mark.parametrize(
    "arguments",
    [(), ("--processes", 4, "--require", "bogus>=3"), ("--processes", 4, "--prices", "none-such")],
)
def test_what_cannot_be_asked_is_an_error_of_usage(arguments):
    with pytest.raises(UsageError):
        call("find", *arguments)


def test_a_type_is_shown_with_each_price_and_how_it_is_bought():
    shown = json.loads(call("show", "c5.large", "--format", "json").stdout)["prices"]
    assert {row["purchase"] for row in shown} == {"on-demand", "spot"}
    assert all(row["date"] and row["billing"] for row in shown)


def test_prices_of_storage_have_a_date_and_a_source():
    shown = json.loads(call("storage", "--format", "json").stdout)
    assert {row["storage"] for row in shown["storage"]} >= {"ebs-gp3", "ebs-io2", "ebs-st1", "efs"}
    assert [row["border"] for row in shown["data_transfer"]].count("internet-out") == 5
    for row in shown["storage"] + shown["data_transfer"]:
        assert row["date"] and row["source"]
