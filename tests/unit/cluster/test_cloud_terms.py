"""The key cloud of a cluster file, and what a cluster may cost on its terms."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from wavetank.cluster.clouds.packages import packages_of_node
from wavetank.cluster.clouds.price import estimate, over_budget, price_table
from wavetank.cluster.notes import notes
from wavetank.cluster.spec import ClusterSpec

CLOUD = {"region": "us-east-1", "ttl": "2 h", "budget": "5 USD"}


def spec(cloud: dict[str, Any] | None = None, **changes: Any) -> ClusterSpec:
    body = {
        "name": "lab",
        "provider": "aws",
        "instance": {"name": "c5.large"},
        "nodes": {"compute": 2, "io": 1},
        "file_system": {"kind": "glusterfs"},
        "storage": {"size": "20 GiB"},
        "cloud": CLOUD if cloud is None else cloud,
        **changes,
    }
    return ClusterSpec.model_validate({k: v for k, v in body.items() if v is not None})


def test_a_time_and_an_amount_have_no_default() -> None:
    with pytest.raises(ValidationError) as caught:
        spec({"region": "us-east-1"})
    missing = {error["loc"][-1] for error in caught.value.errors() if error["type"] == "missing"}
    assert missing == {"ttl", "budget"}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("ttl", "5 min", "not between 10 min and 7 d"),
        ("ttl", "8 d", "not between 10 min and 7 d"),
        ("budget", "5", "no amount of US dollars"),
        ("budget", 5, "no amount of US dollars"),
        ("budget", "5 EUR", "no amount of US dollars"),
        ("budget", "0 USD", "greater than 0"),
        ("zone", "eu-west-1a", "zone eu-west-1a is not in region us-east-1"),
        ("ssh_from", "0.0.0.0/0", "would let the world reach port 22"),
        ("ssh_from", "somewhere", "no IPv4 network"),
        ("clients_from", ["0.0.0.0/0"], "would let the world reach the nodes"),
        ("clients_from", ["somewhere"], "no IPv4 network"),
        ("packages", ["-o=Dir::Etc"], "write a package's name"),
        ("image", "windows", "write debian-12, ubuntu-24.04"),
        ("subnet", "mine", "write default, or subnet-"),
        ("bastion", "-oProxyCommand=id", "write USER@HOST or USER@HOST:PORT"),
        ("reaper", "role", "write a role's ARN"),
        ("instance_profile", "x", "Extra inputs"),
    ],
)
def test_wrong_terms_are_refused_with_the_reason(key: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec({**CLOUD, key: value})
    assert said.lower() in str(caught.value).lower()


def test_packages_go_onto_images_whose_packages_are_known() -> None:
    asked = {**CLOUD, "packages": ["htop"]}
    assert "htop" in packages_of_node(spec(asked), "c1")
    with pytest.raises(
        ValidationError, match="what image ami-12c6146b has is not known here: have htop in it"
    ):
        spec({**asked, "image": "ami-12c6146b"})


def test_a_cloud_and_its_terms_go_together() -> None:
    with pytest.raises(ValidationError, match="provider aws needs the key cloud"):
        ClusterSpec.model_validate({**spec().model_dump(mode="json"), "cloud": None})
    with pytest.raises(ValidationError, match="no meaning with provider null"):
        spec(provider="null")


def test_the_same_file_is_emulated_with_the_same_limits_by_provider_local() -> None:
    emulated, made = spec(provider="local"), spec()
    assert emulated.instance == made.instance
    assert made.instance.vcpus == 2
    assert made.instance.memory == 4 * 2**30
    assert "no limit that is written for c5.large is emulated" in notes(made)[0]


def test_terms_are_the_same_after_writing_and_reading_them() -> None:
    found = spec({**CLOUD, "budget": "2.50 USD", "ssh_from": "192.0.2.7/24"})
    assert ClusterSpec.model_validate_json(found.model_dump_json()) == found
    assert (
        ClusterSpec.model_validate(yaml.safe_load(yaml.safe_dump(found.model_dump(mode="json"))))
        == found
    )
    assert found.cloud is not None
    assert found.cloud.budget == Decimal("2.50")
    assert found.cloud.ssh_from == "192.0.2.0/24"


def test_the_price_is_that_of_the_whole_time_and_a_margin() -> None:
    found = estimate(spec(), price_table(spec().cloud))  # type: ignore[arg-type]
    # c5.large costs 0.085 USD an hour; 2 h and 10 min are 7800 s
    # volumes: 20 GiB and 3 x 30 GiB of gp3 at 0.08 USD a month of 730 h; three addresses at 0.005 USD an hour
    hours = Decimal(7800) / 3600
    instances = 3 * Decimal("0.085") * hours
    volumes = 110 * Decimal("0.08") / 730 * hours
    addresses = 3 * Decimal("0.005") * hours
    exact = instances + volumes + addresses
    assert exact <= found.at_most < exact + Decimal("0.01")
    assert found.missing == ()
    assert "2026-07-06" in found.table


def test_a_budget_that_is_just_enough_is_kept_and_a_cent_less_is_refused() -> None:
    most = estimate(spec(), price_table(spec().cloud)).at_most  # type: ignore[arg-type]
    assert over_budget(spec({**CLOUD, "budget": f"{most} USD"})) == []
    (finding,) = over_budget(spec({**CLOUD, "budget": f"{most - Decimal('0.01')} USD"}))
    assert f"may cost {most} USD until they end themselves" in finding
    assert "shorter ttl" in finding


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"cloud": {**CLOUD, "region": "eu-west-1"}},
            "no shipped price table is of region eu-west-1",
        ),
        ({"instance": {"name": "zz9.huge"}}, "the budget cannot be kept: price table"),
        (
            {"cloud": {**CLOUD, "prices": "papers-2015-ireland"}},
            "take one of us-east-1 in USD, on-demand",
        ),
        ({"cloud": {**CLOUD, "prices": "mine.yaml"}}, "neither a shipped price table"),
    ],
)
def test_what_has_no_price_is_refused(changes: dict[str, Any], said: str) -> None:
    assert said in "\n".join(over_budget(spec(**changes)))


def test_bought_operations_and_other_volumes_are_in_the_price() -> None:
    plain = estimate(spec(), price_table(spec().cloud)).per_h  # type: ignore[arg-type]
    storage = {"on": "ebs", "size": "20 GiB", "iops": 6000}
    faster = spec(storage=storage)
    # 3000 IOPS beyond those included, at 0.005 USD a month each
    more = estimate(faster, price_table(faster.cloud)).per_h - plain  # type: ignore[arg-type]
    assert round(more, 12) == round(3000 * Decimal("0.005") / 730, 12)


def test_the_table_of_another_region_in_the_documentation_is_one(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "a-campaign-on-aws.md"
    text = page.read_text().partition("### Another region")[2].partition("```yaml\n")[2]
    table = tmp_path / "ireland.yaml"
    table.write_text(text.partition("```")[0])
    elsewhere = {**CLOUD, "region": "eu-west-1", "prices": str(table)}
    assert over_budget(spec(elsewhere)) == []
    faster = {"on": "ebs", "size": "20 GiB", "iops": 6000, "throughput": "250 MiB/s"}
    assert over_budget(spec(elsewhere, storage=faster)) == []
    (finding,) = over_budget(spec(elsewhere, instance={"name": "c5.xlarge"}))
    assert "my-eu-west-1" in finding and "c5.xlarge" in finding
    (finding,) = over_budget(spec({**elsewhere, "region": "eu-west-2"}))
    assert "is of eu-west-1" in finding and "eu-west-2" in finding


def test_a_table_of_ones_own_is_taken(tmp_path: Path) -> None:
    table = tmp_path / "mine.yaml"
    table.write_text(
        "{name: mine, date: 2026-11-01, source: me, region: eu-west-1, currency: USD, billing: {rule: per-second}, "
        "instances: {c5.large: '1'}, storage: {ebs-gp3: {per_gb_month: '0.1', included_iops: 3000, included_mib_per_s: 125}}}"
    )
    (finding,) = over_budget(spec({**CLOUD, "region": "eu-west-1", "prices": str(table)}))
    assert "price table mine" in finding  # 3 USD an hour for more than two hours
