import pytest
from compare_fakes import configuration

from table_texts import texts
from wavetank.compare.comparison import Comparison
from wavetank.compare.decisions import decide
from wavetank.compare.effects import effects as effects_of
from wavetank.compare.effects import single_effects, turn_words
from wavetank.compare.knobs import Knobs
from wavetank.compare.tables.effects import knobs_table
from wavetank.document import provenance

KNOBS = {
    name: Knobs({"file system": kind, "data servers": servers, "layout": layout})
    for name, kind, servers, layout in (
        ("one", "GlusterFS", "1", "striped"),
        ("two", "GlusterFS", "2", "striped"),
        ("own", "GlusterFS", "2", "1DFx1F"),
        ("nfs", "NFS", "1", "striped"),
    )
}


def effects(configurations, knobs, **how):
    return effects_of(configurations, knobs, decide(configurations, **how))


def comparison_of(configurations, turned):
    return Comparison(
        provenance=provenance(), campaign="c", confidence=0.95, rank_by="time", price=None,
        configurations=tuple(configurations), rankings=(), pareto=(), effects=turned, advice=(),
        not_measured=(), notes=(),
    )  # fmt: skip


def test_clusters_that_differ_in_one_knob_show_its_effect():
    # 200 MB/s before, 400 MB/s after: +100 %.
    (effect,) = effects([configuration("one", [1.0] * 4), configuration("two", [0.5] * 4)], KNOBS)
    assert (effect.knob, effect.before, effect.after) == ("data servers", "1", "2")
    assert effect.rate_change_percent.median == pytest.approx(100.0)
    assert effect.clear


def test_numbers_are_shown_in_ascending_order():
    (effect,) = effects([configuration("two", [0.5] * 4), configuration("one", [1.0] * 4)], KNOBS)
    assert (effect.before, effect.after) == ("1", "2")
    assert effect.rate_change_percent.median == pytest.approx(100.0)


def test_clusters_that_differ_in_two_knobs_are_shown_as_such():
    pair = [configuration("one", [1.0] * 4), configuration("own", [0.5] * 4)]
    (effect,) = effects(pair, KNOBS)
    assert turn_words(effect) == ("data servers 1 -> 2 and layout striped -> 1DFx1F, not separable")
    assert effect.rate_change_percent.median == pytest.approx(100.0)
    assert single_effects([effect]) == ()


def test_a_pair_of_several_knobs_begins_at_the_baseline():
    pair = [configuration("own", [1.0]), configuration("one", [2.0])]
    (effect,) = effects_of(pair, KNOBS, decide(pair), baseline="one")
    assert (effect.first, effect.before) == ("a / one / 1PxCN", "1; striped")
    assert effect.rate_change_percent.median == pytest.approx(100.0)


def test_clusters_that_differ_in_nothing_have_no_effect():
    assert effects([configuration("a", [1.0]), configuration("b", [1.0])], {}) == ()


def test_the_mapping_is_a_knob_on_the_same_cluster():
    (effect,) = effects(
        [
            configuration("one", [1.0] * 4, mapping="2PxCN"),
            configuration("one", [1.0, 1.1, 0.9, 1.05], mapping="1PxCN"),
        ],
        KNOBS,
    )
    assert (effect.knob, effect.before, effect.after) == ("mapping", "1PxCN", "2PxCN")
    assert not effect.clear


def test_clusters_that_differ_in_the_mapping_too_are_shown_as_such():
    pair = [configuration("nfs", [1.0]), configuration("one", [0.5], mapping="2PxCN")]
    (effect,) = effects(pair, KNOBS)
    assert turn_words(effect) == (
        "file system NFS -> GlusterFS and mapping 1PxCN -> 2PxCN, not separable"
    )
    assert effect.rate_change_percent.median == pytest.approx(100.0)
    assert single_effects([effect]) == ()


def test_clusters_that_are_the_same_have_their_own_pairs_of_mappings():
    same = [
        configuration(name, [1.0] * 4, mapping=each) for name in "ab" for each in ("1PxCN", "2PxCN")
    ]
    found = effects(same, {})
    assert [turn_words(effect) for effect in found] == ["mapping 1PxCN -> 2PxCN"] * 2
    of = {each.id: each.cluster for each in same}
    assert [(of[effect.first], of[effect.second]) for effect in found] == [("a", "a"), ("b", "b")]


def test_the_file_system_is_a_knob():
    (effect,) = effects([configuration("nfs", [1.0]), configuration("one", [1.0])], KNOBS)
    assert (effect.knob, effect.before, effect.after) == ("file system", "NFS", "GlusterFS")
    assert not effect.clear  # one repetition tells nothing


def test_applications_are_not_compared_with_each_other():
    pair = [configuration("one", [1.0]), configuration("two", [1.0], application="b")]
    assert effects(pair, KNOBS) == ()


def test_an_effect_below_the_smallest_difference_is_not_clear():
    pair = [configuration("one", [1.0] * 4), configuration("two", [0.99] * 4)]
    assert not effects(pair, KNOBS)[0].clear
    assert effects(pair, KNOBS, smallest_difference=0.005)[0].clear


def test_what_only_one_of_two_has_is_told_with_its_value():
    servers = {"a": ("1", "any"), "b": ("2", "sharded"), "c": ("2", "1DFx1F"), "d": ("3", "1DFx1F")}
    knobs = {name: Knobs({"data servers": n, "layout": how}) for name, (n, how) in servers.items()}
    found = effects([configuration(name, [1.0]) for name in "bacd"], knobs)
    assert [(e.knob, e.before, e.after) for e in found] == [
        ("data servers", "1", "2, sharded"),
        ("layout", "sharded", "1DFx1F"),
        ("data servers and layout", "2; sharded", "3; 1DFx1F"),
        ("data servers", "1", "2, 1DFx1F"),
        ("data servers", "1", "3, 1DFx1F"),
        ("data servers", "2", "3"),
    ]


def test_a_change_is_told_the_same_way_by_every_pair():
    types = {"a": "c5.large", "b": "c5.xlarge", "c": "c5.large"}
    knobs = {name: Knobs({"instance type": kind}) for name, kind in types.items()}
    found = effects([configuration(name, [1.0]) for name in "abc"], knobs)
    assert {(e.before, e.after) for e in found} == {("c5.large", "c5.xlarge")}
    assert [(e.first[4], e.second[4]) for e in found] == [("a", "b"), ("c", "b")]


def test_a_layout_that_only_one_of_two_has_is_told_once():
    one = Knobs({"file system": "NFS", "data servers": "1", "layout": "any", "instance type": "s"})
    two = Knobs(
        {"file system": "GlusterFS", "data servers": "2", "layout": "sharded", "instance type": "l"}
    )
    pair = [configuration("one", [1.0]), configuration("two", [1.0])]
    (effect,) = effects(pair, {"one": one, "two": two})
    assert turn_words(effect) == (
        "file system NFS -> GlusterFS and data servers 1 -> 2, sharded and instance type s -> l, not separable"
    )


def test_a_table_of_knobs_has_a_row_for_each_change_with_its_pairs_together():
    # 1 -> 2 servers doubles the rate with one mapping and triples it with the other.
    configurations = [
        configuration("one", [1.0] * 6),
        configuration("two", [0.5] * 6),
        configuration("one", [3.0] * 6, mapping="2PxCN"),
        configuration("two", [1.0] * 6, mapping="2PxCN"),
    ]
    found = comparison_of(configurations, effects(configurations, KNOBS))
    by_knob = {row["knob"]: row for row in texts(knobs_table(found, "a"))}
    assert by_knob["data servers"]["rate_change_percent"] == "+100 to +200 %"
    assert by_knob["data servers"]["clear"] == "in 2 of 2 pairs"
    assert by_knob["mapping"]["before"] == "1PxCN"
