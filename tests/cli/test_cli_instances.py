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
