from datetime import date
from decimal import Decimal

import pytest

from wavetank.cost.estimate import (
    bill,
    cluster_per_h,
    performance_cost,
    phase_cost,
    standing_cost,
    storage_cost,
    total_cost,
    variable_cost,
)
from wavetank.cost.prices import Billing, PriceTable, StoragePrice
from wavetank.errors import CostError


def table(billing, **instances):
    return PriceTable(
        name="t",
        date=date(2026, 1, 1),
        source="a test",
        region="here",
        currency="EUR",
        billing=billing,
        instances={kind.replace("_", "."): Decimal(price) for kind, price in instances.items()},
    )


HOURLY = Billing(rule="started-hour")
SECONDS = Billing(rule="per-second", minimum_s=60)


def test_equation_7_a_phase_of_half_an_hour_costs_half_the_hourly_price():
    assert phase_cost(1800.0, Decimal("0.42")) == Decimal("0.21")


def test_equation_6_counts_every_instance_and_every_phase():
    # P15 table IV: virtual cluster 3 has 11 instances. Two phases of 0.01 and 0.02 USD.
    assert variable_cost(11, [Decimal("0.01"), Decimal("0.02")]) == Decimal("0.33")


def test_equations_6_and_7_hold_for_time_in_which_nothing_moves():
    # 10 minutes on 4 instances at 0.42 an hour: 4 * 0.42 / 6 = 0.28.
    assert standing_cost(4, 600.0, Decimal("0.42")) == Decimal("0.28")


def test_equation_5_adds_the_fixed_cost():
    assert total_cost(Decimal("0.33"), Decimal("4.00")) == Decimal("4.33")


def test_equation_8_is_megabytes_per_second_over_the_total_cost():
    # 104 MB/s (P15 table VII) at a total of 4.16 USD: 25 MB/s per USD.
    assert performance_cost(104e6, Decimal("4.16")) == pytest.approx(25.0)


def test_no_cost_has_no_ratio():
    assert performance_cost(1e6, Decimal(0)) is None


def test_p15_cluster_3_reading_and_writing_class_b_at_np_4_worked_by_hand():
    # 1600 MB at 104 MB/s: 15.3846... s; 0.210 USD/h; 11 instances:
    # 15.3846 * 0.21 / 3600 * 11 = 0.00987179 USD.
    cost = variable_cost(11, [phase_cost(1600 / 104, Decimal("0.210"))])
    assert float(cost) == pytest.approx(1600 / 104 * 0.21 / 3600 * 11, rel=1e-12)
    assert round(cost, 5) == Decimal("0.00987")


@pytest.mark.parametrize("time_s", [-1.0, float("nan"), float("inf")])
def test_an_impossible_time_is_refused(time_s):
    with pytest.raises(CostError):
        phase_cost(time_s, Decimal(1))


@pytest.mark.parametrize(
    ("used_s", "billed_s"), [(0, 0), (0.1, 3600), (3600, 3600), (3600.5, 7200)]
)
def test_a_started_hour_is_a_whole_hour(used_s, billed_s):
    assert HOURLY.billed_s(used_s) == billed_s


@pytest.mark.parametrize(("used_s", "billed_s"), [(0, 0), (1, 60), (60, 60), (61.2, 62)])
def test_seconds_are_billed_from_a_minimum(used_s, billed_s):
    assert SECONDS.billed_s(used_s) == billed_s


def test_a_bill_of_six_instances_for_a_minute():
    # 6 * 0.42 / 60 = 0.042; the started hour: 6 * 0.42 = 2.52.
    prices = {"c3_2xlarge": "0.42"}
    assert bill({"c3.2xlarge": 6}, 60.0, table(SECONDS, **prices)) == Decimal("0.042")
    assert bill({"c3.2xlarge": 6}, 60.0, table(HOURLY, **prices)) == Decimal("2.52")


def test_a_cluster_of_two_types_costs_the_sum():
    prices = table(HOURLY, a_x="1", b_x="0.1")
    assert cluster_per_h({"a.x": 2, "b.x": 3}, prices) == Decimal("2.3")


def test_an_unknown_type_is_refused_with_the_tables_name():
    with pytest.raises(CostError, match=r"price table t .* no instance type 'q\.x'"):
        bill({"q.x": 1}, 1.0, table(HOURLY, a_x="1"))


def test_storage_is_billed_in_steps_from_a_minimum():
    # 35 GB in steps of 10 GB: 40 GB; at 0.1 for 2 months: 8.0.
    price = StoragePrice(per_gb_month=Decimal("0.1"), minimum_gb=20, step_gb=10)
    assert storage_cost(35 * 10**9, price, Decimal(2)) == Decimal("8.0")
    assert storage_cost(1, price, Decimal(1)) == Decimal("2.0")


@pytest.mark.parametrize(("used_gb", "billed_gb"), [(1, 1200), (1201, 2400), (2401, 4800)])
def test_fsx_for_lustre_comes_in_its_own_sizes(used_gb, billed_gb):
    price = StoragePrice(per_gb_month=Decimal(1), minimum_gb=1200, step_gb=2400)
    assert storage_cost(used_gb * 10**9, price, Decimal(1)) == billed_gb
