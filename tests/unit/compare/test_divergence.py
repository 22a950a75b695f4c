"""Where two curves part, on curves whose point is known."""

import numpy as np
import pytest

from wavetank.compare.divergence import find_change

X = [0, 0.05, 0.1, 0.2, 0.5, 1, 2]


def find(gap, noise=0.02, seed=3, x=X):
    rng = np.random.default_rng(seed)
    measured = np.asarray(gap, dtype=float) + rng.normal(0, noise, len(gap))
    resampled = measured + rng.normal(0, noise, (1000, len(gap)))
    return find_change(x, measured, resampled, confidence=0.95, smallest=0.03)


def ramp(start, end, x=X):
    return np.clip((np.asarray(x, dtype=float) - start) / (end - start), 0, 1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("start", "end"), [(0.1, 0.5), (0.2, 1.0), (0.05, 2.0)])
def test_the_start_of_a_ramp_lies_in_its_interval(start, end, seed):
    found = find(ramp(start, end), seed=seed, noise=0.01)
    assert found.low <= start + 0.05
    assert found.high >= start - 0.05
    assert found.change == pytest.approx(1, abs=0.1)


def test_curves_without_noise_part_where_they_do():
    x = [0, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 2]  # three values on the ramp: one line fits them
    gap = ramp(0.2, 1.0, x)
    found = find_change(x, gap, np.tile(gap, (100, 1)), confidence=0.95, smallest=0.03)
    assert found.at == pytest.approx(0.2)
    assert found.change == pytest.approx(1)


def test_a_jump_may_be_anywhere_between_two_values():
    found = find([0, 0, 0, 1, 1, 1, 1], noise=0)
    assert found.low <= 0.1 + 1e-9  # the value before the jump
    assert 0.1 <= found.at <= 0.2
    assert found.high >= 0.175


def test_level_gaps_do_not_part_but_in_one_case_of_twenty():
    wrong = sum(find(np.zeros(7), noise=0.05, seed=seed) is not None for seed in range(100))
    assert wrong <= 12  # of 100 at 5 %: more than 12 has a probability below 0.1 %


def test_a_change_below_the_smallest_is_none():
    assert find(0.02 * ramp(0.1, 0.5), noise=0.0001) is None
