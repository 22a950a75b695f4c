"""The whole run around the I/O."""

import pytest
from compare_fakes import configuration

from wavetank.compare.metrics import Averager
from wavetank.compare.whole_run import reference_of, with_run
from wavetank.model.document.run_times import RunTimes

TRACED = RunTimes(elapsed_s=22.0, io_s=1.1, io_rank=0, with_metadata=True)


def around(each, times=TRACED):
    return with_run(each, times, Averager())


def test_the_whole_run_is_the_rest_of_the_traced_run_and_the_io_there():
    run = around(configuration("nfs", [2.0, 2.2, 2.4])).run
    # 22 - 1.1 + 2.2
    assert run.whole_s.median == pytest.approx(23.1)
    assert run.whole_s.values == pytest.approx((22.9, 23.1, 23.3))
    assert run.io_percent == pytest.approx(100 * 2.2 / 23.1)
    assert run.traced_io_percent == pytest.approx(5.0)


def test_the_cost_of_the_whole_run_counts_all_instances_for_all_of_it():
    run = around(configuration("nfs", [1.1], costs=[0.001], n_instances=6)).run
    # 22 s of 6 instances of 0.42 an hour
    assert run.cost.median == pytest.approx(22 * 6 * 0.42 / 3600)
    assert around(configuration("nfs", [1.1])).run.cost is None


def test_savings_are_against_the_baselines_fastest_or_the_slowest():
    slow, fast = configuration("nfs", [3.0]), configuration("nfs", [2.0], mapping="2PxCN")
    other = configuration("gl", [9.0])
    assert reference_of([slow, fast, other], "nfs").id == fast.id
    assert reference_of([slow, fast, other], None).id == other.id
    assert reference_of([slow, other], "gone").id == other.id
    assert reference_of([], None) is None
