"""The promise of a report holds after a search: of identical configurations it tells any apart in 5 % of reports at most."""

import numpy as np
import pytest
from identical_families import ALLOWED, N_REPORTS, NOISES, family, lognormal, says_a_difference
from search_fakes import search_plan, walk

from wavetank.campaign.schedule import make_schedule
from wavetank.campaign.strategy import Search


def finals_of(plan, times):
    """Times of the finalists in the final, after a search over clusters with these times, shape (k, repetitions)."""
    rows = {cluster.name: index for index, cluster in enumerate(plan.clusters)}
    selection = Search(plan, lambda application, cluster, time_s: time_s)
    made = walk(plan, selection, lambda run: times[rows[run.cluster], run.repetition])
    finals = {}
    for run in made:
        if selection.is_counted(run):
            finals.setdefault(run.cluster, []).append(times[rows[run.cluster], run.repetition])
    return list(finals.values())


@pytest.mark.parametrize("k", [6, 12])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_finalists_of_identical_configurations_are_told_apart_in_5_percent_at_most(noise, k):
    rng = np.random.default_rng(k)
    _, plan, _ = search_plan(k)
    alarms = sum(
        says_a_difference(family(finals_of(plan, noise(rng, (k, plan.schedule.repetitions)))))
        for _ in range(N_REPORTS)
    )
    assert alarms / N_REPORTS <= ALLOWED


def test_values_that_selected_would_break_the_promise():
    """The best and the worst of ten, tested on the values that made them so. Shows that the counting above can fail."""
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(N_REPORTS):
        times = lognormal(rng, (10, 4))
        ranked = times[np.argsort(np.median(times, axis=1))]
        alarms += says_a_difference(family(ranked[[0, -1]]))
    assert alarms / N_REPORTS > 2 * ALLOWED


def test_a_difference_is_found_and_told():
    rng = np.random.default_rng(8)
    _, plan, _ = search_plan(12)
    told = 0
    for _ in range(100):
        times = np.exp(rng.normal(0, 0.03, (12, plan.schedule.repetitions)))
        times[3] /= 1.3
        told += says_a_difference(family(finals_of(plan, times)))
    assert told >= 90


def test_the_final_has_the_repetitions_that_its_pairs_need():
    found = make_schedule(
        {"app": 12},
        at_most=1 / 3,
        finalists=None,
        grid_repetitions=7,
        final_repetitions=None,
        error=0.05,
    )
    assert found.final >= 4
