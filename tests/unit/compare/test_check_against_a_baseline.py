"""A check against a baseline: of campaigns that are the same it calls any configuration slower or faster in 5 % at most."""

from dataclasses import replace

import numpy as np
import pytest
from identical_families import ALLOWED, N_REPORTS, bimodal, in_steps, lognormal
from measure_fakes import PROVENANCE

from wavetank.compare.baseline import Baseline, Kept
from wavetank.compare.check_formats import junit_text, markdown_text
from wavetank.compare.regression import check
from wavetank.measure.rank_test import fewest_repetitions


def baseline(times, **more):
    """Of configurations with these I/O times, shape (k, n)."""
    same = {"application": "a", "mapping": "1PxCN", "kernel_sha256": "k", "performed": "replay", "cluster_sha256": "c",
            "settings": {}, "limits": {}, "ended_early": False} | more  # fmt: skip
    kept = [
        Kept.model_construct(
            cluster=f"c{i}", cluster_title=f"C{i}", io_time_s=tuple(map(float, row)), **same
        )
        for i, row in enumerate(times)
    ]
    return Baseline.model_construct(
        provenance=PROVENANCE, campaign="nightly", measured_utc="", hosts=("h",), versions=("0",), configurations=tuple(kept),
    )  # fmt: skip


def words(*checked, **options):
    return [each.word for each in check(*checked, **options).verdicts]


@pytest.mark.parametrize("noise", [lognormal, bimodal, in_steps])
def test_the_same_twice_alarms_in_5_percent_of_checks_at_most(noise):
    k = 3
    rng = np.random.default_rng(k)
    n = fewest_repetitions(k)
    alarms = 0
    for _ in range(N_REPORTS):
        both = noise(rng, (2 * k, n))
        found = words(baseline(both[:k]), baseline(both[k:]), smallest_difference=0)
        alarms += bool({"slower", "faster"} & set(found))
    assert alarms / N_REPORTS <= ALLOWED


def test_one_slow_configuration_of_six_is_found_and_no_other():
    rng = np.random.default_rng(5)
    exact = 0
    for _ in range(50):
        both = lognormal(rng, (12, 8)) ** 0.3  # noise of 3 %
        both[0] *= 1.2
        exact += words(baseline(both[:6]), baseline(both[6:])) == [
            "slower",
            *["not told apart"] * 5,
        ]
    # 8 against 8 values seldom overlap at 20 %; each of the others is refused with 0.8 % at most.
    assert exact >= 40


def test_fewer_repetitions_because_of_values_are_not_tested():
    slow = np.full((1, 5), 2.0)
    (told,) = check(baseline(slow), baseline(slow / 2, ended_early=True)).verdicts
    assert told.word == "cannot tell" and "Write 'repetitions: N'" in told.reason


def test_what_one_side_lacks_cannot_be_told():
    one, two = np.ones((1, 5)), np.ones((2, 5))
    assert words(baseline(two), baseline(one)) == ["not told apart", "cannot tell"]
    assert words(baseline(one), baseline(two)) == ["not told apart", "cannot tell"]


def test_settings_that_differ_are_said_beside_the_verdict():
    now = baseline(np.full((1, 5), 2.0), settings={"version": "10.4"}, limits={"disk": "80 MB/s"})
    before = baseline(np.ones((1, 5)), settings={"version": "10.3"})
    (told,) = check(now, before).verdicts
    assert told.differs == ("version: 10.3 -> 10.4", "limit disk: none -> 80 MB/s")
    assert "version: 10.3 -&gt; 10.4" in junit_text(check(now, before), undecided_fails=True)


def test_names_cannot_break_the_formats():
    odd = baseline(np.ones((1, 5)), application="<a>|\x00&", mapping="`1`")
    found = check(odd, odd)
    assert "\x00" not in junit_text(found, undecided_fails=False)
    assert "\\<a\\>\\|" in markdown_text(replace(found, notes=("<script>",)))
    assert "<script>" not in markdown_text(replace(found, notes=("<script>",)))
