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
    assert "memory 4.0 GiB is below 16.0 GiB" in rows["c6i.large"]["ruled_out"]
    assert [why for why in rows["m7i.xlarge"]["ruled_out"] if "memory" in why] == []  # 16 GiB


@pytest.mark.parametrize(
    "arguments",
    [(), ("--processes", 4, "--require", "bogus>=3"), ("--processes", 4, "--prices", "none-such")],
)
def test_what_cannot_be_asked_is_an_error_of_usage(arguments):
    with pytest.raises(UsageError):
        call("find", *arguments)


def found(*arguments):
    said = call("find", "--processes", 16, *arguments, "--format", "json").stdout
    return [row for row in json.loads(said)["instances"] if not row["ruled_out"]]


def test_burstable_foreign_and_old_types_are_found_only_where_they_are_asked_for():
    here = {row["type"] for row in found("--architecture", "x86_64")}
    assert not here & {"t3.large", "m7g.large", "c3.large"} and "m7i.large" in here
    asked = {"--burstable": "t3.large", "--generation any": "c3.large"}
    for option, kind in asked.items():
        more = {row["type"] for row in found("--architecture", "x86_64", *option.split())}
        assert kind in more and more > here
    assert "m7g.large" in {row["type"] for row in found("--architecture", "any")}


def test_the_architecture_that_is_not_named_is_that_of_this_machine(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    types = {row["type"] for row in found()}
    assert "m7g.large" in types and "m7i.large" not in types


def test_network_and_local_disks_are_asked_for_by_options():
    rows = found("--architecture", "any", "--network", "10Gbit/s", "--local-disk", "ssd")
    assert rows and all(row["network"] >= 1_250_000_000 and row["local_storage"] for row in rows)


def test_a_table_says_what_is_hidden_and_how_to_see_it():
    x86 = ("find", "--processes", 16, "--architecture", "x86_64")
    hidden = {
        row["by"]: row["to_see_them"]
        for row in json.loads(call(*x86, "--format", "json").stdout)["ruled_out"]
    }
    assert hidden.pop("price") is None  # nothing shows a type that has no price
    assert hidden == {
        "architecture": "--architecture any",
        "burstable": "--burstable",
        "generation": "--generation any",
    }
    said = call(*x86).stdout
    assert "To see them" in said and "t4g.nano" not in said
    every = ("--burstable", "--generation", "any", "--architecture", "any")
    assert "--" not in call("find", "--processes", 16, *every).stdout


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
