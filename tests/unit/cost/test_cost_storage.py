"""Storage that is paid for beside instances, and computed bills: each amount worked out by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.bills import (
    Beside,
    InstanceTime,
    StorageTime,
    Transfer,
    Used,
    beside,
    bill_of,
)
from wavetank.cost.estimate import bill, cluster_per_h
from wavetank.cost.prices import (
    HOURS_PER_MONTH,
    Billing,
    PriceTable,
    StoragePrice,
    TransferPrice,
    TransferTier,
    load_prices,
)
from wavetank.cost.storage import (
    StorageUse,
    billed_gb,
    says_storage,
    storage_of,
    storage_per_h,
    storage_per_month,
)
from wavetank.errors import CostError, SpecError

GIB = 2**30
MIB = 2**20
SHIPPED = "aws-us-east-1-2026-07"


def table(**more: Any) -> PriceTable:
    return PriceTable(
        name="t",
        date=date(2026, 1, 1),
        source="a test",
        region="here",
        currency="USD",
        billing=more.pop("billing", Billing(rule="per-second", minimum_s=60)),
        instances={"a.x": Decimal("3.60")},
        storage={
            "ebs-gp3": StoragePrice(
                per_gb_month=Decimal("0.08"), included_iops=3000, per_iops_month=Decimal("0.005"),
                included_mib_per_s=125, per_mib_per_s_month=Decimal("0.04"),
            ),
            "efs": StoragePrice(
                per_gb_month=Decimal("0.30"), per_gb_read=Decimal("0.03"), per_gb_written=Decimal("0.06")
            ),
            "fsx-lustre-scratch-2": StoragePrice(
                per_gb_month=Decimal("0.14"), minimum_gb=1200, step_gb=2400
            ),
        },
        transfer={"between-zones": TransferPrice(tiers=(TransferTier(per_gb=Decimal("0.01")),))},
        **more,
    )  # fmt: skip


def cluster(storage: dict[str, Any] | None = None, **more: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "lab",
            "instance": {"name": "c5.large"},
            "nodes": {"compute": 4, "io": 2},
            "file_system": {"kind": "glusterfs"},
            "storage": storage or {},
            **more,
        }
    )


def test_a_volume_costs_capacity_and_what_is_bought_beyond_what_is_included() -> None:
    # 500 GiB x 0.08 + 3000 IOPS x 0.005 + 375 MiB/s x 0.04 = 40 + 15 + 15; two of them
    use = StorageUse("ebs-gp3", 2, 500 * GIB, 6000, 500 * MIB)
    assert storage_per_month(use, table().storage["ebs-gp3"]) == 140
    assert storage_per_h([use], table()) == Decimal(140) / HOURS_PER_MONTH
    plain = StorageUse("ebs-gp3", 1, 500 * GIB, 3000, 125 * MIB)
    assert storage_per_month(plain, table().storage["ebs-gp3"]) == 40


@pytest.mark.parametrize(("gib", "billed"), [(1, 1200), (1200, 1200), (2400, 2400), (4800, 4800)])
def test_capacity_is_billed_in_gib_by_the_sizes_that_can_be_had(gib: int, billed: int) -> None:
    assert billed_gb(gib * GIB, table().storage["fsx-lustre-scratch-2"]) == billed


def test_what_a_cluster_has_of_storage_follows_from_its_specification() -> None:
    assert storage_of(cluster({"on": "ebs", "devices": 2, "volume_size": "100 GiB"})) == (
        StorageUse("ebs-gp3", 4, 100 * GIB, 3000, 125 * MIB),
    )
    assert storage_of(cluster()) == ()
    assert not says_storage(cluster())
    on_disks = cluster({"on": "instance"}, io_instance={"name": "i3.large"})
    assert storage_of(on_disks) == () and says_storage(on_disks)
    lustre = {"kind": "fsx-lustre", "deployment": "PERSISTENT_2", "capacity": "2400 GiB"}
    assert storage_of(cluster(file_system=lustre)) == (
        StorageUse("fsx-lustre-persistent-2-125", 1, 2400 * GIB),
    )
    efs = cluster(file_system={"kind": "efs", "throughput": "10 MiB/s"})
    assert storage_of(efs) == (StorageUse("efs", 1, None, None, 10 * MIB),)
    scratch = cluster(temporary={"on": "ebs", "volume_type": "st1", "volume_size": "125 GiB"})
    assert storage_of(scratch) == (StorageUse("ebs-st1", 4, 125 * GIB),)


def test_an_hour_and_a_bill_of_a_cluster_have_its_storage() -> None:
    use = StorageUse("ebs-gp3", 1, 9125 * GIB)  # 9125 x 0.08 / 730 = 1.00 an hour
    assert cluster_per_h({"a.x": 2}, table(), [use]) == Decimal("8.2")
    assert bill({"a.x": 2}, 1800.0, table(), [use]) == Decimal("4.1")
    assert bill({"a.x": 2}, 1800.0, table()) == Decimal("3.6")


def test_what_has_no_price_is_refused_and_never_zero() -> None:
    with pytest.raises(CostError, match="no storage 'ebs-io2'"):
        storage_per_h([StorageUse("ebs-io2", 1, GIB)], table())
    with pytest.raises(CostError, match="no price of provisioned throughput of efs"):
        storage_per_h([StorageUse("efs", 1, None, None, MIB)], table())
    with pytest.raises(CostError, match="no price of provisioned IOPS of fsx"):
        storage_per_h([StorageUse("fsx-lustre-scratch-2", 1, GIB, 100)], table())
    with pytest.raises(CostError, match="known up to 32,000 IOPS, not of 40,000"):
        storage_per_h([StorageUse("ebs-io2", 1, 100 * GIB, 40_000)], load_prices(SHIPPED))


def test_shipped_prices_of_storage_and_transfer_are_dated_and_have_a_source() -> None:
    shipped = load_prices(SHIPPED)
    for price in (*shipped.storage.values(), *shipped.transfer.values()):
        assert price.date is not None and price.source
    # 100 GiB x 0.125 + 2000 x 0.065
    io2 = StorageUse("ebs-io2", 1, 100 * GIB, 2000)
    assert storage_per_month(io2, shipped.storage["ebs-io2"]) == Decimal("142.5")
    assert load_prices("aws-us-east-1-spot-2025-05").storage == shipped.storage


@pytest.mark.parametrize(
    ("per_tib", "per_month"),
    # 1200 GiB at 0.145, 0.210, 0.340 and 0.600 USD a GiB-month: AWS's price list of us-east-1, SSD
    [(125, "174"), (250, "252"), (500, "408"), (1000, "720")],
)
def test_every_throughput_that_can_be_bought_with_lustre_has_a_price(
    per_tib: int, per_month: str
) -> None:
    asked = {"kind": "fsx-lustre", "deployment": "PERSISTENT_2", "throughput_per_tib": per_tib}
    (use,) = storage_of(cluster(file_system=asked))
    price = load_prices(SHIPPED).storage_price(use.name)
    assert storage_per_month(use, price) == Decimal(per_month)


@pytest.mark.parametrize(
    ("gb", "cost"),
    [
        (0, "0"),
        (100, "0"),
        (1100, "90"),
        # 10,140 x 0.09 + 10 x 0.085
        (10_250, "913.45"),
    ],
)
def test_data_that_leaves_is_priced_by_tiers(gb: int, cost: str) -> None:
    assert load_prices(SHIPPED).transfer_price("internet-out").cost(gb * 10**9) == Decimal(cost)


@pytest.mark.parametrize(
    "tiers",
    [
        [{"to_gb": 100, "per_gb": 1}],
        [{"per_gb": 1}, {"per_gb": 2}],
        [{"to_gb": 100, "per_gb": 1}, {"to_gb": 50, "per_gb": 1}, {"per_gb": 1}],
    ],
)
def test_tiers_that_do_not_ascend_are_refused(tiers: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="tiers must ascend"):
        TransferPrice.model_validate({"tiers": tiers})


USED: tuple[Used, ...] = (
    InstanceTime("a.x", 3, 600.0),
    StorageTime(StorageUse("ebs-gp3", 1, 9125 * GIB), 720.0),
    StorageTime(StorageUse("efs", 1, 0), 600.0, read_bytes=10**10, written_bytes=5 * 10**9),
    Transfer("between-zones", 2 * 10**9),
)


def test_a_computed_bill_has_a_line_for_each_resource() -> None:
    found = bill_of(USED, table())
    amounts = {line.resource: line.amount for line in found.lines}
    assert amounts == {
        "a.x": Decimal("1.8"),  # 3 x 3.60 / 6
        "ebs-gp3 of 9,125 GiB": Decimal("0.2"),  # 1.00 an hour for 12 minutes
        "efs of 0 B": Decimal("0.6"),  # 10 GB x 0.03 + 5 GB x 0.06
        "between-zones": Decimal("0.02"),
    }
    assert found.total == Decimal("2.62")
    assert found.missing == ()


def test_the_shortest_time_on_a_bill_is_that_of_the_table() -> None:
    (line,) = bill_of([InstanceTime("a.x", 1, 1.0)], table()).lines
    assert line.amount == Decimal("0.06")  # 60 s
    hourly = table(billing=Billing(rule="started-hour"))
    (line,) = bill_of([InstanceTime("a.x", 1, 1.0)], hourly).lines
    assert line.amount == Decimal("3.60")


def test_a_resource_without_a_price_is_a_line_without_an_amount() -> None:
    used = [*USED, InstanceTime("q.x", 1, 10.0), Transfer("internet-out", 10**9)]
    found = bill_of(used, table())
    assert found.total == Decimal("2.62")
    assert [line.resource for line in found.lines if line.amount is None] == ["q.x", "internet-out"]
    assert len(found.missing) == 2 and "no instance type 'q.x'" in found.missing[0]


def test_the_estimate_stands_beside_the_bill_of() -> None:
    estimate = bill_of([InstanceTime("a.x", 3, 3600.0)], table())
    # one of three ran for a time of its own
    measured = bill_of(
        [InstanceTime("a.x", 2, 1800.0), InstanceTime("a.x", 1, 900.0), Transfer("between-zones", 10**9)],
        table(),
    )  # fmt: skip
    instances, moved = beside(estimate, measured)
    assert instances.estimated is not None and instances.computed is not None
    assert instances.estimated.amount == Decimal("10.8")
    assert instances.computed.amount == Decimal("4.5")
    assert (instances.computed.number, instances.computed.seconds) == (3, 2 * 1800.0 + 900.0)
    assert instances.difference == Decimal("-6.3")
    assert moved.estimated is None and moved.difference == Decimal("0.01")


def test_a_line_without_an_amount_has_no_difference() -> None:
    known, unknown = (
        bill_of(USED, table()),
        bill_of([InstanceTime("q.x", 1, 1.0)], table()),
    )
    (without,) = [each for each in beside(known, unknown) if each.resource == "q.x"]
    assert isinstance(without, Beside) and without.difference is None


def test_bills_in_two_currencies_are_not_compared() -> None:
    euro = table().model_copy(update={"currency": "EUR"})
    with pytest.raises(CostError, match="an estimate in USD"):
        beside(bill_of(USED, table()), bill_of(USED, euro))


def test_a_negative_price_is_no_price_table(tmp_path: Any) -> None:
    (tmp_path / "t.yaml").write_text(
        "name: t\ndate: 2026-01-01\nsource: s\nregion: r\ncurrency: USD\nbilling: {rule: per-second}\n"
        "instances: {}\nstorage: {x: {per_gb_month: 1, per_iops_month: -1}}\n"
    )
    with pytest.raises(SpecError, match="per_iops_month"):
        load_prices(tmp_path / "t.yaml")
