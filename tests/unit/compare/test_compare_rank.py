from compare_fakes import configuration, of
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.compare.rank import pareto_front, rank

CLEAR = [
    configuration("fast", [1.0, 1.1, 1.2]),
    configuration("slow", [3.0, 3.1, 3.2]),
    configuration("middle", [2.0, 2.1, 2.2]),
]


def places(ranking):
    return {
        place.configuration.split(" / ")[1]: (place.best, place.worst) for place in ranking.places
    }


def test_the_shortest_median_comes_first():
    assert places(rank(CLEAR, "a", "time")) == {"fast": (1, 1), "middle": (2, 2), "slow": (3, 3)}


def test_overlapping_intervals_are_a_tie_by_name():
    tied = [configuration("x", [1.0, 1.1, 1.2]), configuration("y", [1.1, 1.2, 1.3])]
    ranking = rank(tied, "a", "time")
    assert places(ranking) == {"x": (1, 2), "y": (1, 2)}
    assert ranking.places[0].ties_with == ("a / y / 1PxCN",)


def test_ties_are_not_transitive_so_places_are_ranges():
    # x ties with y, y ties with z, and x is certainly better than z.
    chain = [
        configuration("x", [1.0, 1.1, 1.2]),
        configuration("y", [1.15, 1.3, 1.45]),
        configuration("z", [1.4, 1.5, 1.6]),
    ]
    assert places(rank(chain, "a", "time")) == {"x": (1, 2), "y": (1, 3), "z": (2, 3)}


def test_one_repetition_ties_with_everything():
    ranking = rank([CLEAR[0], configuration("once", [9.0])], "a", "time")
    assert places(ranking) == {"fast": (1, 2), "once": (1, 2)}


def test_a_higher_ratio_is_better_and_a_lower_cost_is():
    two = [
        configuration("cheap", [2.0, 2.1, 2.2], costs=[1.0, 1.01, 1.02]),
        configuration("dear", [1.0, 1.1, 1.2], costs=[9.0, 9.01, 9.02]),
    ]
    assert places(rank(two, "a", "cost")) == {"cheap": (1, 1), "dear": (2, 2)}
    assert places(rank(two, "a", "ratio")) == {"cheap": (1, 1), "dear": (2, 2)}
    assert places(rank(two, "a", "time")) == {"dear": (1, 1), "cheap": (2, 2)}


def test_what_has_no_price_is_not_ranked_by_cost():
    assert rank(CLEAR, "a", "cost").places == ()


def test_medians_within_the_smallest_difference_tie_however_narrow_their_intervals():
    near = [configuration("x", [1.0, 1.0, 1.0]), configuration("y", [1.02, 1.02, 1.02])]
    assert places(rank(near, "a", "time")) == {"x": (1, 2), "y": (1, 2)}
    assert places(rank(near, "a", "time", 0.01)) == {"x": (1, 1), "y": (2, 2)}


def test_applications_are_ranked_apart():
    other = configuration("fast", [0.1, 0.1, 0.1], application="b")
    assert len(rank([*CLEAR, other], "a", "time").places) == 3


@settings(deadline=None)  # other work on the machine is no failure
@given(st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=1, max_size=6))
def test_places_are_ranges_that_hold_the_order_of_medians(samples):
    configurations = [configuration(f"c{i}", times) for i, times in enumerate(samples)]
    ranking = rank(configurations, "a", "time")
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


def test_an_interval_that_touches_another_overlaps_it():
    assert of(1.0, 2.0, 3.0).overlaps(of(3.0, 4.0, 5.0))
    assert not of(1.0, 2.0, 2.9).overlaps(of(3.0, 4.0, 5.0))
