from compare_fakes import configuration
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.compare.decisions import decide
from wavetank.compare.rank import pareto_front, rank


def runs(around, n=5):
    """Repetitions that spread by some per mille: 3 configurations need 5 of them."""
    return [around * (1 + 0.002 * i) for i in range(n)]


def ranked(configurations, application="a", by="time", **how):
    return rank(configurations, application, by, decide(configurations, **how))


CLEAR = [
    configuration("fast", runs(1.0)),
    configuration("slow", runs(3.0)),
    configuration("middle", runs(2.0)),
]


def places(ranking):
    return {
        place.configuration.split(" / ")[1]: (place.best, place.worst) for place in ranking.places
    }


def test_the_shortest_median_comes_first():
    assert places(ranked(CLEAR)) == {"fast": (1, 1), "middle": (2, 2), "slow": (3, 3)}


def test_what_is_not_told_apart_is_a_tie_by_name():
    tied = [configuration("x", runs(1.0)), configuration("y", runs(1.005))]
    ranking = ranked(tied, smallest_difference=0)
    assert places(ranking) == {"x": (1, 2), "y": (1, 2)}
    assert ranking.places[0].ties_with == ("a / y / 1PxCN",)


def test_ranges_of_three_that_do_not_overlap_are_a_tie():
    # Chance alone separates 3 and 3 in 2 of C(6, 3) = 20 cases.
    three = [configuration("x", [1.0, 1.1, 1.2]), configuration("y", [2.0, 2.1, 2.2])]
    assert places(ranked(three)) == {"x": (1, 2), "y": (1, 2)}
    four = [configuration("x", [1.0, 1.1, 1.2, 1.15]), configuration("y", [2.0, 2.1, 2.2, 2.15])]
    assert places(ranked(four)) == {"x": (1, 1), "y": (2, 2)}


def test_ties_are_not_transitive_so_places_are_ranges():
    # x ties with y, y ties with z, and x is told apart from z.
    chain = [
        configuration("x", [1.00, 1.01, 1.02, 1.03, 1.04, 1.10]),
        configuration("y", [1.05, 1.06, 1.07, 1.08, 1.09, 1.02]),
        configuration("z", [1.11, 1.12, 1.13, 1.14, 1.15, 1.055]),
    ]
    found = places(ranked(chain))
    assert found["y"][0] == 1 and found["y"][1] == 3
    assert found == {"x": (1, 2), "y": (1, 3), "z": (2, 3)}


def test_one_repetition_ties_with_everything():
    assert places(ranked([CLEAR[0], configuration("once", [9.0])])) == {
        "fast": (1, 2),
        "once": (1, 2),
    }


def test_a_higher_ratio_is_better_and_a_lower_cost_is():
    two = [
        configuration("cheap", runs(2.0), costs=runs(1.0)),
        configuration("dear", runs(1.0), costs=runs(9.0)),
    ]
    assert places(ranked(two, by="cost")) == {"cheap": (1, 1), "dear": (2, 2)}
    assert places(ranked(two, by="ratio")) == {"cheap": (1, 1), "dear": (2, 2)}
    assert places(ranked(two)) == {"dear": (1, 1), "cheap": (2, 2)}


def test_what_has_no_price_is_not_ranked_by_cost():
    assert ranked(CLEAR, by="cost").places == ()


def test_medians_within_the_smallest_difference_tie_however_they_are_ordered():
    near = [configuration("x", [1.0] * 4), configuration("y", [1.02] * 4)]
    assert places(ranked(near)) == {"x": (1, 2), "y": (1, 2)}
    assert places(ranked(near, smallest_difference=0.01)) == {"x": (1, 1), "y": (2, 2)}


def test_applications_are_ranked_apart():
    other = configuration("fast", runs(0.1), application="b")
    assert len(ranked([*CLEAR, other]).places) == 3


@settings(deadline=None)  # other work on the machine is no failure
@given(st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=9), min_size=1, max_size=6))
def test_places_are_ranges_that_hold_the_order_of_medians(samples):
    configurations = [configuration(f"c{i}", times) for i, times in enumerate(samples)]
    ranking = ranked(configurations)
    for position, place in enumerate(ranking.places, start=1):
        assert place.best <= position <= place.worst
        assert len(place.ties_with) == place.worst - place.best


def test_the_front_holds_what_no_other_beats_in_both():
    four = [
        configuration("fast-dear", [1.0], costs=[9.0]),
        configuration("slow-cheap", [9.0], costs=[1.0]),
        configuration("between", [5.0], costs=[5.0]),
        configuration("beaten", [6.0], costs=[6.0]),
    ]
    assert [name.split(" / ")[1] for name in pareto_front(four)] == [
        "fast-dear",
        "between",
        "slow-cheap",
    ]


def test_equals_are_both_on_the_front():
    twins = [configuration(name, [1.0], costs=[1.0]) for name in ("x", "y")]
    assert len(pareto_front(twins)) == 2


def test_without_prices_the_front_is_the_fastest():
    assert pareto_front(CLEAR) == ("a / fast / 1PxCN",)
    assert pareto_front([]) == ()
