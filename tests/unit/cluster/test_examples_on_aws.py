"""The cluster files of the tutorial on AWS: planned without an account, within their budgets, with the figures that it names."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from wavetank.campaign.spec import read_campaign
from wavetank.cli.main import cli
from wavetank.cluster.clouds.packages import package_problems
from wavetank.cluster.clouds.price import estimate, over_budget, price_table
from wavetank.cluster.instance_types import aws_instances
from wavetank.cluster.spec import ClusterSpec, read_spec

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "aws"
TUTORIAL = (ROOT / "docs" / "tutorials" / "nfs-or-orangefs-on-aws.md").read_text()
FILES = sorted((FOLDER / "clusters").glob("*.yaml"))


def terms_price(spec: ClusterSpec) -> Decimal:
    assert spec.cloud is not None
    return estimate(spec, price_table(spec.cloud)).at_most


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_file_is_within_its_budget_and_costs_what_the_tutorial_says(file: Path) -> None:
    spec = read_spec(file)
    assert over_budget(spec) == []
    assert package_problems(spec) == []
    row = re.search(rf"^\| \[{file.name}\].*\| (\d+) \| ([0-9.]+) \|$", TUTORIAL, re.MULTILINE)
    assert row is not None, f"the tutorial does not name {file.name}"
    assert int(row[1]) == len(spec.node_names())
    assert Decimal(row[2]) == terms_price(spec)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_plan_prints_the_price_without_an_account(file: Path) -> None:
    done = CliRunner().invoke(cli, ["cluster", "plan", str(file)])
    assert done.exit_code == 0, done.output
    assert "Within the budget" in done.output
    assert str(terms_price(read_spec(file))) in done.output


def test_every_node_of_the_files_does_something() -> None:
    for file in FILES:
        spec = read_spec(file)
        working = {*spec.compute_names(), *spec.server_names(), *spec.metadata_names()}
        assert working == set(spec.node_names()), file.name


def test_the_instances_are_as_the_tutorial_describes_them() -> None:
    old, new = aws_instances()["c3.2xlarge"], aws_instances()["c6id.2xlarge"]
    assert {read_spec(file).instance.name for file in FILES} == {new.name}
    table = price_table(read_spec(FILES[0]).cloud)  # type: ignore[arg-type]
    assert (
        f"{table.instances[new.name]} USD an hour (c3.2xlarge: {table.instances[old.name]})"
        in TUTORIAL
    )
    for each, disks in ((old, "2 x 80 GB SSD"), (new, "474 GB SSD")):
        assert each.vcpus == 8
        assert (
            f'{each.memory_bytes // 2**30} GiB, {disks}, network "{each.network_text}"' in TUTORIAL
        )


def test_the_campaign_names_these_clusters_and_a_model_that_is_there() -> None:
    spec = read_campaign(FOLDER / "campaign.yaml")
    assert {(FOLDER / each).resolve() for each in spec.clusters} == set(FILES)
    models = [(FOLDER / str(each.model)).resolve() for each in spec.applications]
    assert all(model.is_file() for model in models)
    assert spec.prices == "aws-us-east-1-2026-07"
