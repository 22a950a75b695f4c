from itertools import combinations

import numpy as np
from campaign_fakes import APPLICATION, facts, spec

from wavetank.campaign.futility import Futility
from wavetank.campaign.plan import make_plan
from wavetank.campaign.strategy import Grid
from wavetank.measure.rank_test import fewest_repetitions, p_value


def all_pairs(names):
    return {frozenset(pair): True for pair in combinations(names, 2)}


def test_two_that_overlap_need_no_further_repetition():
    # Of 4 and 4 one pair in the wrong order leaves 2 * 2/70 = 5.7 % at best.
    futility = Futility(all_pairs("ab"), 4, error=0.05)
    assert [futility.learn(*each) for each in (("a", 1.0), ("b", 1.1), ("a", 1.2), ("b", 1.3))] == [
        (), (), (), (),
    ]  # fmt: skip
    assert futility.learn("a", 1.0) == ("a",)  # b has two repetitions, and three are the fewest
    assert set(futility.learn("b", 1.0)) == {"a", "b"}


def test_two_that_do_not_overlap_go_on():
    futility = Futility(all_pairs("ab"), 4, error=0.05)
    for n in range(4):
        assert futility.learn("a", 1.0 + n / 100) == ()
        assert futility.learn("b", 2.0 + n / 100) == ()


def test_one_that_is_apart_from_a_third_goes_on_with_it():
    futility = Futility(all_pairs("abc"), 5, error=0.05)
    done = ()
    for n in range(4):
        for name, time in (("a", 1.0), ("b", 1.0 + n % 2 / 10 - 0.05), ("c", 9.0 + n / 100)):
            done = futility.learn(name, time)
    assert done == ()  # a and b overlap, and each may still be told apart from c


def test_a_pair_that_costs_decide_too_is_never_decided_by_its_times():
    futility = Futility({frozenset("ab"): False}, 4, error=0.05)
    for n in range(4):
        assert futility.learn("a", 1.0 + n % 2) == futility.learn("b", 1.0 + n % 3) == ()


def told_apart(times, error=0.05):
    """Holm's steps over all pairs, on what was measured."""
    ordered = sorted(
        (p_value(times[a], times[b]), (a, b)) for a, b in combinations(sorted(times), 2)
    )
    found = set()
    for settled, (p, pair) in enumerate(ordered):
        if p * (len(ordered) - settled) > error:
            break
        found.add(pair)
    return found


def test_stopping_early_tells_the_same_apart_as_all_repetitions():
    """Families of five, some of them different; stopped by rounds as a campaign does."""
    rng = np.random.default_rng(5)
    n = fewest_repetitions(10)
    saved = 0
    for _ in range(200):
        means = rng.choice([1.0, 1.0, 1.0, 1.3], 5)
        whole = {
            name: list(rng.normal(mean, 0.1, n)) for name, mean in zip("abcde", means, strict=True)
        }
        futility = Futility(all_pairs(whole), n, error=0.05)
        seen, over = {name: [] for name in whole}, set()
        for repetition in range(n):
            for name in whole:
                if name not in over:
                    seen[name].append(whole[name][repetition])
                    over.update(futility.learn(name, whole[name][repetition]))
        saved += sum(len(whole[name]) - len(seen[name]) for name in whole)
        assert told_apart(seen) == told_apart(whole)
    assert saved > 0


def rules(**more):
    asked = spec(**({"mappings": ("1PxCN",), "repetitions": None} | more))
    plan = make_plan(asked, [APPLICATION], [facts("a"), facts("b", n_compute=3)])
    return plan, Grid(asked, plan)


def learn_all(plan, stop):
    """The same time again and again: nothing can be told apart."""
    for run in plan.runs:
        stop.learn(run.key, 1.0)


def test_a_campaign_that_chose_its_repetitions_stops_what_is_futile():
    plan, stop = rules()
    learn_all(plan, stop)
    assert stop.not_needed == {run.key for run in plan.runs}


def test_repetitions_that_were_asked_for_are_all_made():
    plan, stop = rules(repetitions=4)
    learn_all(plan, stop)
    assert stop.not_needed == set()


def test_other_prices_are_another_question_than_times():
    plan, stop = rules(prices="papers-2016")  # 3 and 4 instances
    learn_all(plan, stop)
    assert stop.not_needed == set()
