"""The key cloud.openstack of a cluster file, and what a cluster may cost by the prices of a site."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openstack_account import PRICES, body_of, spec_of
from pydantic import ValidationError

from wavetank.cluster.clouds.price import estimate, over_budget, price_table
from wavetank.cluster.notes import notes
from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.bills import Bill


def bill(**changes: Any) -> Bill:
    spec = spec_of(**changes)
    assert spec.cloud is not None
    return estimate(spec, price_table(spec.cloud))


def test_the_price_is_that_of_flavors_volumes_and_one_address_by_the_sites_file() -> None:
    found = bill()
    # four m1.large at 0.04, four volumes of 20 GB at 0.05 a month of 730 h, one address at 0.002; for 2 h and a margin of 10 min
    an_hour = 4 * Decimal("0.04") + 80 * Decimal("0.05") / 730 + Decimal("0.002")
    assert abs(found.per_h - an_hour) < Decimal("1e-9")
    assert abs(found.total - an_hour * 7800 / 3600) < Decimal("1e-6")
    assert found.table == "lab-cloud (RegionOne, 2026-11-01)" and found.missing == ()
    # by a bastion there is no address
    less = bill(cloud={"bastion": "me@gate"}).per_h
    assert abs(found.per_h - less - Decimal("0.002")) < Decimal("1e-9")
    # a flavor's own disk is in its price
    own = bill(storage={"on": "instance"}, instance={"name": "i1.large"})
    assert [line.resource for line in own.lines] == ["i1.large", "public IPv4 address"]
    # a root on a volume is paid by its size: four of 20 GB
    rooted = bill(openstack={"root_size": "20 GiB"}).per_h
    assert abs(rooted - found.per_h - 80 * Decimal("0.05") / 730) < Decimal("1e-9")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance": {"name": "m9.huge"}}, "has no instance type 'm9.huge'"),
        ({"openstack": {"volume_type": "nvme"}}, "cinder-nvme"),
        ({"cloud": {"region": "Other"}}, "is of region RegionOne: take one of Other"),
        ({"cloud": {"prices": "/no/such/file.yaml"}}, "/no/such/file.yaml: there is no such file"),
        ({"cloud": {"budget": "0.30 USD"}}, "may cost 0.37 USD until they end themselves"),
    ],
)
def test_what_has_no_price_or_costs_too_much_is_refused(changes: dict[str, Any], said: str) -> None:
    assert said in "\n".join(over_budget(spec_of(**changes)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cloud": {"prices": None}}, "write the absolute path of a file of the site's prices"),
        ({"cloud": {"ssh_from": "caller"}}, "does not tell this machine's address"),
        ({"cloud": {"spot": True}}, "spot is of AWS"),
        ({"cloud": {"image": "amazon-linux-2023"}}, "with openstack write debian-12, ubuntu-24.04 or own"),
        ({"openstack": {"external": None}}, "openstack.external is needed"),
        ({"openstack": {"external": None, "network": "lab-net"}}, "openstack.external is needed"),
        ({"openstack": {"image": "a/b"}}, "write a name or an id"),
        ({"openstack": {"root_size": "20.5 GiB"}}, "volumes of cinder have whole gib"),
        ({"openstack": {"share_type": "cephfs"}}, "only has a meaning with file_system manila-share"),
        ({"file_system": {"kind": "manila-share"}}, "file_system.capacity is needed"),
        ({"storage": {"on": "ebs"}}, "storage.on: ebs is of AWS"),
        ({"file_system": {"kind": "efs"}, "nodes": {"compute": 2}}, "file_system efs is run by AWS"),
        ({"provider": "aws"}, "the key cloud.openstack has no meaning with provider aws"),
        ({"cloud": {"openstack": None, "region": "us-east-1"}}, "provider openstack needs the key cloud.openstack"),
    ],
)  # fmt: skip
def test_terms_that_do_not_fit_an_openstack_cloud_are_refused(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        spec_of(**changes)
    assert said.lower() in str(caught.value).lower()


def test_terms_are_the_same_after_writing_and_reading_them_and_are_emulated_by_provider_local() -> (
    None
):
    found = spec_of()
    assert ClusterSpec.model_validate_json(found.model_dump_json()) == found
    emulated = ClusterSpec.model_validate(body_of(provider="local"))
    assert emulated.cloud == found.cloud
    # AWS has a type of the same name, with 7.5 GiB: a flavor's limits are those that are written, and else those of any instance
    assert emulated.instance.memory == found.instance.memory == 2 * 2**30
    assert notes(emulated)[0].startswith("limits of flavors are those that are written")


def test_prices_of_a_site_are_refused_with_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(PRICES.read_text().replace("currency: USD", "currency: EUR"))
    (finding,) = over_budget(spec_of(cloud={"prices": str(file)}))
    assert "prices of a site" in finding and "Give the rate as exchange" in finding


def test_prices_of_a_site_in_another_currency_are_taken_by_the_rate_that_it_names(
    tmp_path: Path,
) -> None:
    file = tmp_path / "prices.yaml"
    rate = 'currency: EUR\nexchange: {of: EUR, to: USD, rate: "1.25", date: 2026-11-20, source: the bank}'
    file.write_text(PRICES.read_text().replace("currency: USD", rate))
    found, plain = bill(cloud={"prices": str(file)}), bill()
    assert found.currency == plain.currency == "USD"
    assert abs(found.total - plain.total * Decimal("1.25")) < Decimal("1e-9")
    assert found.table.endswith("2026-11-01, 1 EUR = 1.25 USD (2026-11-20, the bank))")


def test_the_prices_in_the_how_to_are_taken(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "a-university-cloud.md"
    text = page.read_text().partition("## Prices")[2].partition("```yaml\n")[2].partition("```")[0]
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    assert over_budget(spec_of(cloud={"prices": str(file)})) == []
