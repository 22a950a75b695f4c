"""The whole run around the I/O."""

import pytest
from compare_fakes import configuration

from wavetank.compare.decisions import decide
from wavetank.compare.metrics import Averager
from wavetank.compare.run_advice import run_advice
from wavetank.compare.whole_run import reference_of, with_run, with_savings
from wavetank.model.document.run_times import RunTimes

TRACED = RunTimes(elapsed_s=22.0, io_s=1.1, io_rank=0, with_metadata=True)


def around(each, times=TRACED):
    return with_run(each, times, Averager())


def advised(pair, best, baseline=None):
    found = with_savings(pair, baseline, decide(pair))
    return run_advice(found, found[best])


def four(value):
    return [value, value * 1.01, value * 1.02, value * 1.03]


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


def test_a_choice_that_changes_little_is_said_as_part_of_the_choice():
    pair = [around(configuration("nfs", four(1.6))), around(configuration("gl", four(1.1)))]
    (advice,) = advised(pair, 1, "nfs")
    # 22.5 s on NFS, 22.0 s on gl: 2 % less
    assert advice.about == "choice"
    assert advice.sentence.startswith("The choice changes little: I/O was 5 % of the traced run")
    assert "saves 2 % of the whole run against nfs" in advice.sentence
    assert "computed" in advice.sentence


def test_a_choice_that_changes_much_is_said_with_both_times():
    pair = [around(configuration("nfs", four(20.0))), around(configuration("gl", four(1.1)))]
    (advice,) = advised(pair, 1)
    assert advice.about == "application"
    # 20.9 + 20.3 = 41.2 s against 20.9 + 1.1165 = 22.0 s: 47 % less
    assert "22.02 s in place of 41.20 s" in advice.sentence and "47 % less" in advice.sentence


def test_savings_are_against_the_baselines_fastest_or_the_slowest():
    slow, fast = configuration("nfs", [3.0]), configuration("nfs", [2.0], mapping="2PxCN")
    other = configuration("gl", [9.0])
    assert reference_of([slow, fast, other], "nfs").id == fast.id
    assert reference_of([slow, fast, other], None).id == other.id
    assert reference_of([slow, other], "gone").id == other.id
    assert reference_of([], None) is None
