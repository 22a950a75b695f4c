import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.errors import MeasurementError
from wavetank.measure.statistics import (
    change_percent,
    coverage,
    estimate,
    intervals_words,
    relative_width,
)

positive = st.floats(min_value=1e-3, max_value=1e9)


def test_one_repetition_has_a_median_and_no_interval():
    only = estimate([3.0])
    assert (only.median, only.low, only.high) == (3.0, None, None)


def test_three_repetitions_have_a_range_and_are_not_called_an_interval():
    of = estimate([5.0, 1.0, 3.0])
    assert (of.low, of.median, of.high, of.range_of) == (1.0, 3.0, 5.0, 3)


def test_an_interval_is_of_the_order_statistics_that_reach_the_confidence():
    # All of 6 on one side of the median: 2/64, so the range holds it in 96.9 %; the second of each end
    # would hold it in 1 - 2 * 7/64 = 78 %. Of 9 the second of each end holds it in 1 - 2 * 10/512 = 96.1 %.
    six, nine = estimate([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), estimate([float(n) for n in range(9)])
    assert (six.low, six.high, six.range_of) == (1.0, 6.0, None)
    assert (nine.low, nine.high, nine.range_of) == (1.0, 7.0, None)
    assert estimate([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], confidence=0.99).range_of == 6


def test_an_interval_at_95_percent_holds_the_median_about_as_often():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(200):
        of = estimate(list(rng.normal(100, 10, 15)))
        hits += of.low <= 100 <= of.high
    # Of 15 the 4th of each end holds the median in 96.5 %: 193 of 200, standard deviation 2.6.
    assert 183 <= hits <= 200


@settings(deadline=None)  # other work on the machine is no failure
@given(st.lists(positive, min_size=2, max_size=9))
def test_an_interval_lies_within_the_values_and_holds_the_median(values):
    of = estimate(values)
    assert min(values) <= of.low <= of.median <= of.high <= max(values)


def test_nothing_has_no_estimate():
    with pytest.raises(MeasurementError):
        estimate([])


def test_a_doubled_rate_is_a_change_of_100_percent():
    change = change_percent([10.0, 10.0, 10.0], [20.0, 20.0, 20.0])
    assert (change.median, change.low, change.high) == (100.0, 100.0, 100.0)


def test_a_change_within_the_noise_has_an_interval_that_holds_zero():
    change = change_percent([9.0, 10.0, 11.0], [9.5, 10.1, 10.9])
    assert change.low < 0 < change.high


def test_a_change_of_three_repetitions_has_a_range():
    assert change_percent([9.0, 10.0, 11.0], [9.5, 10.1, 10.9]).range_of == 3
    assert change_percent([9.0, 10.0, 11.0, 12.0], [9.5, 10.1, 10.9, 11.0]).range_of is None


def test_three_repetitions_hold_the_median_in_three_of_four_cases():
    assert coverage(3) == 0.75  # 1 - 2/8
    assert coverage(6) == pytest.approx(0.96875)  # 1 - 2/64
    assert coverage(1) == 0


def test_width_is_relative_to_the_median():
    assert relative_width(estimate([9.0, 10.0, 11.0])) == pytest.approx(0.2)
    assert relative_width(estimate([9.0])) is None


def test_intervals_are_not_called_95_percent_where_repetitions_cannot_hold_them():
    # All of n on one side of the median: 2 * 0.5**n, 25 % of 3, 3.1 % of 6.
    assert "95" not in intervals_words([3, 3])
    assert "of 3 repetitions it holds the true median in 75 % of cases" in intervals_words([3, 3])
    assert "75 % of cases" in intervals_words([3, 6])
    assert intervals_words([6, 1]) == "95 % intervals (order statistics)"
    assert intervals_words([1, 1]) == "no intervals (one repetition)"
