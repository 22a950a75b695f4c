from datetime import date
from decimal import Decimal

import pytest
from measure_fakes import (
    MB,
    FakeCluster,
    FakePerformer,
    abyss_kernel,
    abyss_result,
    phase_result,
    replay_result,
)

from wavetank.compare.metrics import (
    Averager,
    describe,
    phase_time_s,
    usage_percent,
)
from wavetank.compare.run_cost import StandingTime
from wavetank.cost.prices import Billing, PriceTable, StoragePrice
from wavetank.cost.storage import StorageUse
from wavetank.kernel.results.io_time import phases_time_s
from wavetank.kernel.results.result import IoTime
from wavetank.measure.run import measure, set_up

KERNEL = abyss_kernel(weight=100 * MB)
PRICES = PriceTable(
    name="t",
    date=date(2026, 1, 1),
    source="a test",
    region="here",
    currency="USD",
    billing=Billing(rule="started-hour"),
    instances={"c3.2xlarge": Decimal("0.36")},
)


def measured(*read_times_s, cluster=None):
    cluster = cluster or FakeCluster()
    bench = set_up(KERNEL, cluster)
    performer = FakePerformer(*[abyss_result(KERNEL, read_s=time) for time in read_times_s])
    return [
        measure(bench, "1PxCN", performer, repetition=i, order=i) for i in range(len(read_times_s))
    ]


def described(*read_times_s, prices=PRICES, **more):
    more.setdefault("instances", {"c3.2xlarge": 6})
    return describe(
        measured(*read_times_s), KERNEL, title="NFS", prices=prices, over_runs=Averager(), **more
    )


# P15 table VII: BT-IO on cluster 3. Weights 1600 MB (class B) and 6480 MB (class C).
@pytest.mark.parametrize(
    ("weight_mb", "rate_mb_per_s", "printed_s"),
    [
        (1600, 104, 15.5), (1600, 91, 17.7), (1600, 96, 16.9), (1600, 73, 22.6), (1600, 74, 22.2),
        (6480, 87, 74.5), (6480, 83, 77.8), (6480, 84, 77.2), (6480, 82, 79.0), (6480, 78, 82.9),
    ],
)  # fmt: skip
def test_table_vii_of_p15_is_weight_over_rate(weight_mb, rate_mb_per_s, printed_s):
    # The printed rates have two or three digits: half a unit of 73 is 0.7 %; the sizes of table V
    # are rounded as well (1.62 MB * 25 * 40 = 1620 MB).
    time_s = phase_time_s(weight_mb * MB, rate_mb_per_s * MB)
    assert time_s == pytest.approx(printed_s, rel=0.035)


# P15 table IX: S3D-IO on cluster 4. Five phases of np * rs (table VIII).
@pytest.mark.parametrize(
    ("np", "rs_mb", "rate_mb_per_s", "printed_s"),
    [
        (8, 122, 541, 9.0), (16, 61, 474, 10.4), (32, 30.5, 411, 11.9),
        (8, 977, 398, 98.1), (16, 488, 431, 90.6), (32, 244, 425, 91.7),
    ],
)  # fmt: skip
def test_table_ix_of_p15_is_the_sum_over_five_phases(np, rs_mb, rate_mb_per_s, printed_s):
    total_s = sum(phase_time_s(np * rs_mb * MB, rate_mb_per_s * MB) for _ in range(5))
    # The sizes of table VIII are rounded to three digits, the rates and times to the last one.
    assert total_s == pytest.approx(printed_s, rel=0.015)


def test_phases_that_follow_each_other_take_the_sum_of_their_times():
    phases = [phase_result(1, MB, 0.0, 2.0), phase_result(2, MB, 5.0, 6.0)]
    assert phases_time_s(phases) == 3.0


def test_phases_at_the_same_time_count_once():
    phases = [phase_result(1, MB, 0.0, 2.0), phase_result(2, MB, 1.0, 4.0)]
    assert phases_time_s(phases) == 4.0


def test_a_phase_inside_another_adds_nothing():
    phases = [phase_result(1, MB, 0.0, 4.0), phase_result(2, MB, 1.0, 2.0)]
    assert phases_time_s(phases) == 4.0


def test_usage_is_percent_of_the_peak():
    assert usage_percent(50.0, 200.0) == 25.0


def test_two_readers_at_once_are_paid_for_once():
    each = described(0.9)
    # Reads 0 to 0.9 s at once, writes 0.9 to 1.0 s at once: 1 s. The sum over phases counts
    # 2 readers and 4 writers: 2 * 0.9 + 4 * 0.1 = 2.2 s.
    assert each.io_time_s.median == pytest.approx(1.0)
    assert each.phase_time_sum_s.median == pytest.approx(2.2)
    # 200 MB and 4 * 20 kB in one second.
    assert each.rate_bytes_per_s.median == pytest.approx(200.08 * MB)


def test_the_cost_of_a_second_on_six_instances():
    cost = described(0.9).cost
    # 6 * 0.36 USD/h * 1 s / 3600 = 0.0006 USD; the bill is for six started hours: 2.16 USD.
    assert cost.cost_tot.median == pytest.approx(0.0006)
    assert cost.billed == Decimal("2.16")
    assert cost.perf_cost.median == pytest.approx(200.08 / 0.0006)


def test_fixed_cost_is_added_and_shown_apart():
    cost = described(0.9, cost_fix=Decimal("0.01")).cost
    assert cost.cost_tot.median == pytest.approx(0.0106)
    assert cost.cost_var.median == pytest.approx(0.0006)


def test_storage_costs_while_instances_do_and_is_shown_apart():
    # 7300 GB x 0.36 / 730 = 3.60 an hour: 0.001 a second; the started hour is billed.
    prices = PRICES.model_copy(
        update={"storage": {"ebs-gp2": StoragePrice(per_gb_month=Decimal("0.36"))}}
    )
    storage = (StorageUse("ebs-gp2", 1, 7300 * 2**30),)
    cost = described(0.9, prices=prices, storage=storage, standing=StandingTime(10.0, None)).cost
    assert cost.storage_per_h == Decimal("3.6")
    assert cost.cost_storage.median == pytest.approx(0.001)
    assert cost.cost_var.median == pytest.approx(0.0006)
    assert cost.cost_tot.median == pytest.approx(0.0016)
    assert cost.billed == Decimal("2.16") + Decimal("3.6")
    assert cost.deployment == Decimal("0.016")
    assert cost.perf_cost.median == pytest.approx(200.08 / 0.0016)


def test_storage_without_a_price_leaves_no_cost_and_a_reason():
    each = described(0.9, storage=(StorageUse("ebs-gp2", 1, 2**30),))
    assert each.cost is None and "no storage 'ebs-gp2'" in each.cost_missing


def test_a_cluster_without_priced_storage_costs_as_before():
    cost = described(0.9).cost
    assert cost.cost_storage is None and cost.storage_per_h == 0


def test_deployment_and_idle_time_are_rows_of_their_own_and_not_in_the_total():
    cost = described(0.9, standing=StandingTime(10.0, 2.0)).cost
    assert cost.deployment == Decimal("0.006")
    assert cost.idle == Decimal("0.0012")
    assert cost.cost_tot.median == pytest.approx(0.0006)


def test_deployment_and_idle_time_are_in_the_total_where_that_is_asked_for():
    standing = StandingTime(10.0, 2.0, ("idle",))
    cost = described(0.9, standing=standing).cost
    assert cost.cost_tot.median == pytest.approx(0.0006 + 0.0012)
    assert cost.counted == ("idle",)
    both = described(0.9, standing=StandingTime(10.0, 2.0, ("deployment", "idle"))).cost
    assert both.cost_tot.median == pytest.approx(0.0006 + 0.0012 + 0.006)


def test_other_price_tables_give_costs_beside_the_first():
    spot = PRICES.model_copy(
        update={
            "name": "spot",
            "purchase": "spot",
            "instances": {kind: price / 4 for kind, price in PRICES.instances.items()},
        }
    )
    lacking = PRICES.model_copy(update={"name": "lacking", "instances": {}})
    found = described(0.9, other_prices=(spot, lacking))
    assert found.cost.cost_tot.median == pytest.approx(0.0006)
    assert [each.table for each in found.other_costs] == ["spot", "lacking"]
    assert found.other_costs[0].purchase == "spot"
    assert found.other_costs[0].cost_tot.median == pytest.approx(0.0006 / 4)
    assert found.other_costs[0].perf_cost.median == pytest.approx(4 * found.cost.perf_cost.median)
    assert found.other_costs[1].cost_tot is None
    assert "lacking" in found.other_costs[1].missing


def test_other_io_instances_count_at_their_own_price():
    prices = PRICES.model_copy(
        update={"instances": {"c3.2xlarge": Decimal("0.36"), "i3.large": Decimal("0.72")}}
    )
    cost = described(0.9, prices=prices, instances={"c3.2xlarge": 2, "i3.large": 1}).cost
    assert cost.cost_tot.median == pytest.approx((2 * 0.36 + 0.72) / 3600)


def test_an_instance_without_a_price_leaves_the_rates_and_says_why():
    each = described(0.9, instances={"unheard.of": 1})
    assert each.cost is None and "unheard.of" in each.cost_missing
    assert each.rate_bytes_per_s.median > 0


def test_no_price_table_is_said():
    assert described(0.9, prices=None).cost_missing == "no price table was given"


def test_repetitions_make_medians_and_intervals():
    each = described(0.9, 1.9, 1.4)
    assert each.n_repetitions == 3
    assert (each.io_time_s.low, each.io_time_s.median, each.io_time_s.high) == pytest.approx(
        (1.0, 1.5, 2.0)
    )


def test_read_and_write_rates_count_phases_at_the_same_time_once():
    # Two phases of 100 MB at once in 0.5 s: 400 MB/s. Four of 20 kB at once in 0.1 s: 0.8 MB/s.
    each = described(0.5)
    assert each.read_bytes_per_s.median == pytest.approx(400 * MB)
    assert each.write_bytes_per_s.median == pytest.approx(0.8 * MB)
    # 200.08 MB in 0.6 s: between the two, as the whole must be.
    assert each.write_bytes_per_s.median < each.rate_bytes_per_s.median
    assert each.rate_bytes_per_s.median < each.read_bytes_per_s.median


def test_rates_of_phases_in_a_row_are_their_harmonic_mean():
    # 100 MB in 1 s (100 MB/s), then 100 MB in 0.25 s (400 MB/s): 2 / (1 / 100 + 1 / 400) = 160.
    def in_a_row(kernel):
        first, second, *rest = abyss_result(kernel).phases
        first = phase_result(first.ph_id, 100 * MB, 0.0, 1.0)
        second = phase_result(second.ph_id, 100 * MB, 1.0, 1.25)
        return replay_result(first, second, *rest)

    runs = [
        measure(
            set_up(KERNEL, FakeCluster()), "1PxCN", FakePerformer(in_a_row), repetition=0, order=0
        )
    ]
    each = describe(runs, KERNEL, title="NFS", prices=None, instances={}, over_runs=Averager())
    assert each.read_bytes_per_s.median == pytest.approx(160 * MB)


def test_caches_of_one_measurement_that_nobody_could_empty_are_those_of_the_configuration():
    first, second = measured(0.5, 0.5)
    left = second.cache.model_copy(update={"how": "caches of this machine not emptied: why"})
    runs = [first, second.model_copy(update={"cache": left})]
    for some, found in (([first], "cold"), (runs, "not emptied")):
        each = describe(some, KERNEL, title="NFS", prices=None, instances={}, over_runs=Averager())
        assert each.cache == found


def test_usage_is_shown_where_the_peak_is_known():
    each = described(0.5, peaks={"read": 400.0 * MB})
    assert each.usage_percent.median == pytest.approx(100 * (200.08 / 0.6) / 400)
    usage = {phase.ph_id: phase.usage_percent for phase in each.phases}
    assert usage[1].median == pytest.approx(50.0)
    assert usage[3] is None


def test_findings_are_named_once():
    runs = measured(0.5, 0.6, cluster=FakeCluster(limits={}, health=["a daemon died"]))
    each = describe(
        runs, KERNEL, title="NFS", instances={"c3.2xlarge": 1}, prices=None, over_runs=Averager()
    )
    assert [str(note) for note in each.notes] == ["a daemon died"]


def split_runs(*parts):
    """Repetitions whose I/O took so long in data, metadata and flush calls, seconds."""
    runs = measured(*[0.5] * len(parts))
    return [
        run.model_copy(
            update={
                "result": run.result.model_copy(
                    update={
                        "io": IoTime(
                            total_s=sum(part), data_s=part[0], metadata_s=part[1], flush_s=part[2],
                            not_on_disk_bytes=number * MB,
                        )
                    }
                )
            }
        )
        for number, (run, part) in enumerate(zip(runs, parts, strict=True))
    ]  # fmt: skip


def described_runs(runs, prices=None):
    instances = {"c3.2xlarge": 1}
    return describe(
        runs, KERNEL, title="NFS", instances=instances, prices=prices, over_runs=Averager()
    )


def test_time_rate_and_cost_are_of_all_io_calls():
    # 54.08 MB are moved; data 1 s, metadata 0.5 s, flush 2.5 s.
    each = described_runs(split_runs((1.0, 0.5, 2.5)), PRICES)
    assert each.io_time_s.median == pytest.approx(4.0)
    assert each.rate_bytes_per_s.median == pytest.approx(each.weight_bytes / 4)
    assert each.cost.cost_var.median == pytest.approx(4.0 * 0.36 / 3600)
    parts = (each.data_time_s, each.metadata_time_s, each.flush_time_s)
    assert [part.median for part in parts] == pytest.approx([1.0, 0.5, 2.5])


def test_the_most_that_any_repetition_left_in_caches_is_told():
    assert described_runs(split_runs((1, 0, 0), (1, 0, 0), (1, 0, 0))).not_on_disk_bytes == 2 * MB


def test_a_part_that_is_not_told_apart_is_missing():
    each = described_runs(without_flush())
    assert each.flush_time_s is None and each.data_time_s.median == pytest.approx(1.0)


def without_flush():
    (run,) = split_runs((1.0, 0.5, 0.0))
    io = run.result.io.model_copy(update={"flush_s": None})
    return [run.model_copy(update={"result": run.result.model_copy(update={"io": io})})]
