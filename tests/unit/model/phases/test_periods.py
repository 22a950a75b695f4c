"""The patterns that a sequence repeats, against their definition taken literally."""

from __future__ import annotations

import numpy as np
import pytest

from wavetank.model.phases.periods import Found, find_periods
from wavetank.model.rules import Rules


def by_definition(symbols: list[int], sizes: list[int], rules: Rules) -> Found:
    """From left to right: four alike or more, or else the period up to 16 that covers most."""

    def matched(low: int, period: int) -> int:
        at = low
        while at + period < len(symbols) and (
            symbols[at] == symbols[at + period] and rules.alike(sizes[at], sizes[at + period])
        ):
            at += 1
        return at - low

    found, low = [], 0
    while low < len(symbols):
        best, period = 1 + matched(low, 1), 1
        for candidate in range(2, 17) if best < 4 else ():
            covered = (matched(low, candidate) // candidate + 1) * candidate
            if covered > candidate and covered > best:
                best, period = covered, candidate
        found.append((low, low + best, period))
        low += best
    return found


@pytest.mark.parametrize("rules", [Rules(), Rules(similarity=None)])
def test_patterns_are_those_of_the_definition(rules: Rules) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        # Repeated bodies, short and longer than what is looked at in one piece (256 operations).
        parts = [
            np.tile(rng.integers(0, 3, rng.integers(1, 20)), rng.integers(1, 80)) for _ in range(5)
        ]
        symbols = np.concatenate(parts)
        sizes = rng.choice([10, 11, 13, 30], len(symbols), p=[0.97, 0.01, 0.01, 0.01])
        found = find_periods(symbols, sizes, rules, len(symbols))
        assert found == by_definition(symbols.tolist(), sizes.tolist(), rules)


def test_more_patterns_than_asked_for_are_none() -> None:
    symbols = np.arange(10)
    assert find_periods(symbols, np.ones(10, dtype=np.int64), Rules(), 9) is None
    assert find_periods(symbols, np.ones(10, dtype=np.int64), Rules(), 10) is not None
