"""The cost of a month."""

import pytest
from compare_fakes import configuration

from wavetank.compare.metrics import Averager
from wavetank.compare.month import month_of
from wavetank.compare.whole_run import with_run
from wavetank.model.document.run_times import RunTimes

TRACED = RunTimes(elapsed_s=4000.0, io_s=400.0, io_rank=0, with_metadata=True)
PER_H = 6 * 0.42


def costed(times=TRACED, **costs):
    """I/O of one hour beside 3600 s of the rest; two of six instances stay."""
    each = configuration("nfs", [3600.0], costs=[PER_H])
    cost = each.cost.model_copy(update={"staying_per_h": 2 * each.cost.price_inst_per_h} | costs)
    return with_run(each.model_copy(update={"cost": cost}), times, Averager())


def test_a_month_of_runs_by_hand():
    month = month_of(costed(), 100)
    assert month.io.median == pytest.approx(100 * PER_H)
    assert month.runs_alone.median == pytest.approx(100 * 2 * PER_H)
    # Two instances for 730 h, and four for 200 h.
    assert month.servers_up.median == pytest.approx(730 * 2 * 0.42 + 200 * 4 * 0.42)
    assert float(month.all_up) == pytest.approx(730 * PER_H)
    assert month.busy_percent.median == pytest.approx(100 * 200 / 730) and month.fits


def test_storage_stays_with_the_servers():
    month = month_of(costed(storage_per_h=costed().cost.price_inst_per_h), 100)
    assert month.servers_up.median == pytest.approx(730 * 3 * 0.42 + 200 * 4 * 0.42)
    assert month.runs_alone.median == pytest.approx(200 * 7 * 0.42)


def test_one_unit_of_the_currency_pays_for_so_many_runs():
    runs = configuration("nfs", [1.0, 2.0, 4.0], costs=[0.1, 0.2, 0.4]).cost.runs_per_unit
    assert (runs.median, runs.low, runs.high) == pytest.approx((5.0, 2.5, 10.0))
