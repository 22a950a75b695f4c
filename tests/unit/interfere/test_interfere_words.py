"""Words of a study: of start offsets that change nothing they tell any apart in 5 % of studies at most."""

import numpy as np
import pytest
from interfere_fakes import spec

from wavetank.compare.interference import Slowdown
from wavetank.interfere.advice import _offsets, _worst
from wavetank.measure.statistics import Estimate

N_STUDIES = 400
ALLOWED = 0.05 + 3 * (0.05 * 0.95 / N_STUDIES) ** 0.5
OFFSETS = (-1.0, 0.0, 1.0, 2.0)
SAID = spec(start_offsets={"group": "bg", "values": list(OFFSETS)})
TITLES = {"a": "A"}


def slowdowns(values):
    """Of fg and bg beside each other at each offset, values of shape (offsets, groups, repetitions)."""
    return [
        Slowdown(
            cluster="a",
            mapping="1PxCN",
            object_bytes=None,
            group=group,
            beside=("bg" if group == "fg" else "fg",),
            offset_s=offset,
            slowdown=Estimate(
                median=float(np.median(row)), low=None, high=None, values=tuple(map(float, row))
            ),
            measured_by="run",
            alone=1.0,
            together=float(np.median(row)),
        )
        for offset, groups in zip(OFFSETS, values, strict=True)
        for group, row in zip(("fg", "bg"), groups, strict=True)
    ]


def sentence(values):
    (advice,) = _offsets(SAID, slowdowns(values), TITLES)
    return advice.sentence


def doubted(said):
    return "little difference" in said or "cannot be told apart" in said


@pytest.mark.parametrize("n", [2, 3, 7])
def test_offsets_that_change_nothing_are_told_apart_in_few_studies(n):
    rng = np.random.default_rng(n)
    told = sum(
        not doubted(sentence(1.5 * np.exp(rng.normal(0, 0.3, (len(OFFSETS), 2, n)))))
        for _ in range(N_STUDIES)
    )
    assert told / N_STUDIES <= ALLOWED


def test_an_offset_that_helps_is_told_with_enough_repetitions():
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(0, 0.02, (len(OFFSETS), 2, 7)))
    values[:3] *= 2.0
    said = sentence(values)
    assert not doubted(said)
    assert "with bg starting 2.00 s later the greatest slowdown measured is 1." in said
    few = sentence(values[:, :, :2])
    assert "cannot be told apart with 2 repetitions (" in few


def test_the_greatest_slowdown_is_a_measured_number_and_no_claim_of_others():
    rng = np.random.default_rng(1)
    (advice,) = _worst(SAID, slowdowns(1.5 + rng.random((len(OFFSETS), 2, 3))), TITLES)
    assert "the greatest slowdown measured is that of" in advice.sentence
    assert "most" not in advice.sentence.split("greatest")[1]
