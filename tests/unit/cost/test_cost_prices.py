from decimal import Decimal

import pytest

from wavetank.cluster.instance_types import aws_instances, find_instance, origin
from wavetank.cost.prices import load_prices, shipped_tables
from wavetank.errors import CostError, SpecError


@pytest.mark.parametrize("name", shipped_tables())
def test_every_shipped_table_says_when_and_where_from(name):
    table = load_prices(name)
    assert table.name == name and table.source and table.region and table.currency == "USD"
    assert all(price > 0 for price in table.instances.values())


@pytest.mark.parametrize(
    ("table", "kind", "price"),
    [
        ("papers-2015-virginia", "m1.small", "0.044"),  # P15 table III
        ("papers-2015-ireland", "m1.small", "0.047"),
        ("papers-2015-virginia", "m1.large", "0.175"),
        ("papers-2015-ireland", "m1.large", "0.190"),
        ("papers-2015-virginia", "c3.xlarge", "0.210"),
        ("papers-2015-ireland", "c3.xlarge", "0.239"),
        ("papers-2016", "t2.medium", "0.052"),  # P16 table 3
        ("papers-2016", "c3.2xlarge", "0.42"),
    ],
)
def test_the_papers_prices(table, kind, price):
    assert load_prices(table).price_per_h(kind) == Decimal(price)


def test_the_papers_billed_started_hours_and_aws_bills_seconds_now():
    assert str(load_prices("papers-2016").billing) == "per started hour"
    assert str(load_prices("aws-us-east-1-2026-07").billing) == "per second, at least 60 s"


def test_a_table_of_the_user_is_read_relative_to_the_campaign(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ndate: 2026-01-01\nsource: me\nregion: here\ncurrency: EUR\n"
        "billing: {rule: started-hour}\ninstances: {node: '1.5'}\n"
    )
    assert load_prices("mine.yaml", tmp_path).price_per_h("node") == Decimal("1.5")


def test_no_such_table_names_those_there_are(tmp_path):
    with pytest.raises(CostError, match="papers-2016"):
        load_prices("papers-2061", tmp_path)


def test_a_misspelt_key_is_found(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ndate: 2026-01-01\nsource: me\nregion: here\ncurrency: EUR\n"
        "biling: {rule: started-hour}\ninstances: {node: '1.5'}\n"
    )
    with pytest.raises(SpecError, match="biling: no such key"):
        load_prices("mine.yaml", tmp_path)


def test_money_keeps_its_digits():
    assert sum([load_prices("papers-2015-ireland").price_per_h("m1.small")] * 10) == Decimal("0.47")


def test_c3_2xlarge_has_what_the_papers_say():
    # P16 table 3: 8 vCPUs, 15 GiB, 2 x 80 GB SSD.
    kind = find_instance("c3.2xlarge")
    assert kind.vcpus == 8 and kind.memory_bytes == 15 * 2**30
    assert (kind.n_local_disks, kind.local_disk_bytes, kind.local_disk_type) == (
        2,
        80 * 10**9,
        "ssd",
    )


def test_t2_medium_has_no_disk_of_its_own():
    kind = find_instance("t2.medium")
    assert kind.local_storage_bytes == 0 and kind.local_disk_type is None and kind.burstable


def test_there_are_hundreds_of_types_and_the_file_says_where_from():
    assert len(aws_instances()) > 1000
    assert any("DescribeInstanceTypes" in line for line in origin())


def test_an_unknown_type_is_refused():
    with pytest.raises(CostError, match="misspelt"):
        find_instance("c3.2xlage")


def test_spot_prices_are_dated_and_below_the_prices_on_demand():
    spot, asked = load_prices("aws-us-east-1-spot-2025-05"), load_prices("aws-us-east-1-2026-07")
    assert spot.purchase == "spot" and asked.purchase == "on-demand"
    both = spot.instances.keys() & asked.instances.keys()
    assert len(both) > 800
    below = [kind for kind in both if spot.instances[kind] <= asked.instances[kind]]
    assert len(below) > 0.9 * len(both)  # a few were dearer that day


def test_storage_has_the_minimum_capacities_of_its_provider():
    storage = load_prices("aws-us-east-1-2026-07").storage
    assert (storage["fsx-lustre-scratch-2"].minimum_gb, storage["ebs-st1"].minimum_gb) == (
        1200,
        125,
    )
    assert all(price.date is not None and price.source for price in storage.values())
