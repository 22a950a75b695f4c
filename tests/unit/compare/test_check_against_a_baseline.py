"""A check against a baseline: of campaigns that are the same it calls any configuration slower or faster in 5 % at most."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from identical_families import ALLOWED, N_REPORTS, bimodal, in_steps, lognormal
from measure_fakes import PROVENANCE

from wavetank.compare.baseline import Baseline, Kept
from wavetank.compare.check_formats import junit_text, markdown_text
from wavetank.compare.regression import baseline_notes, check
from wavetank.measure.rank_test import ERROR, fewest_repetitions, p_value, repetitions_for


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
    assert told.word == "cannot tell" and "Write 'repetitions: 4'" in told.reason
    assert "about 4 tell a slowdown of 10 %" in told.reason


@pytest.mark.parametrize(("sigma", "change", "k"), [(0.03, 0.1, 1), (0.08, 0.1, 1), (0.08, 0.2, 6)])
def test_the_number_of_repetitions_that_is_named_tells_the_change_in_nine_of_ten_checks(
    sigma, change, k
):
    rng = np.random.default_rng(7)
    normal = NormalDist(0, sigma)
    seen = [math.exp(normal.inv_cdf((i + 0.5) / 200)) for i in range(200)]
    n = repetitions_for(change, [seen], k)

    def told(repetitions):
        pairs = rng.lognormal(0, sigma, (400, 2, repetitions)).tolist()
        return sum(
            p_value(before, [each * (1 + change) for each in after]) <= ERROR / k
            for before, after in pairs
        )

    assert (
        told(n) / 400 >= 0.86
    )  # 90 % and the chance of 400 draws: three standard deviations are 4.5 %
    assert told(max(2 * n // 3, 1)) / 400 < 0.86


def test_noise_that_hides_a_change_has_no_number_of_repetitions():
    rng = np.random.default_rng(3)
    wide = [rng.lognormal(0, 1.5, 50).tolist()]
    assert repetitions_for(0.01, wide, 1) is None
    assert repetitions_for(0.1, [[1.0, 1.0]], 1) is None  # no spread is known
    assert repetitions_for(0.1, [[0.0, 1.0, 1.0]], 1) is None
    assert repetitions_for(0.1, [[1.0, 1.0, 1.0]], 20) == fewest_repetitions(20)


def test_too_few_repetitions_are_said_with_the_number_that_tells_a_change():
    rng = np.random.default_rng(11)
    few = lognormal(rng, (2, 4)) ** 0.5
    first, second = check(baseline(few), baseline(few), tell=0.2).verdicts
    assert first.word == second.word == "cannot tell"
    assert "4 repetitions against 4 cannot show any difference. 5 of each can" in first.reason
    assert first.to_tell is not None and first.to_tell >= 5
    assert f"about {first.to_tell} tell a slowdown of 20 %" in first.reason


def test_a_slowdown_that_may_go_unseen_is_a_note():
    rng = np.random.default_rng(12)
    noisy, quiet = rng.lognormal(0, 0.3, (1, 5)), np.ones((1, 5))
    (note,) = check(baseline(noisy), baseline(noisy)).notes
    assert note.startswith("A slowdown of 10 % may go unseen in 1 of 1 configurations.")
    assert check(baseline(quiet), baseline(quiet)).notes == ()
    assert "rule it out where nothing changed" in check(
        baseline(noisy), baseline(noisy), rule_out=0.1
    ).verdicts[0].reason  # fmt: skip


def test_a_baseline_with_which_no_check_can_tell_anything_says_so_when_it_is_made():
    (note,) = baseline_notes(baseline(np.ones((2, 4))))
    assert "can tell nothing of 2 of 2 configurations" in note
    assert "Write 'repetitions: 5'" in note
    (note,) = baseline_notes(baseline(np.ones((1, 8)), ended_early=True))
    assert "ended because of their values" in note
    noisy = np.random.default_rng(12).lognormal(0, 0.3, (1, 5))
    (note,) = baseline_notes(baseline(noisy))
    assert "may go unseen in 1 of 1" in note
    assert baseline_notes(baseline(np.ones((2, 5)))) == []
    (note,) = baseline_notes(baseline(np.ones((1, 2))))
    assert "how many tell a slowdown of 10 % cannot be said from these" in note


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
