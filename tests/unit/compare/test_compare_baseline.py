"""Each configuration against the baseline."""

import pytest
from compare_fakes import configuration

from wavetank.compare.against import against_baseline, price_words, speed_words
from wavetank.compare.decisions import decide


def compared(configurations, baseline="nfs"):
    found = against_baseline(configurations, baseline, decide(configurations))
    return {each.id: each.against for each in found}


def four(value):
    return [value, value * 1.01, value * 1.02, value * 1.03]


NFS = configuration("nfs", four(1.9), costs=four(0.01), n_instances=3, title="NFS")


def test_a_faster_cluster_says_how_many_times_and_what_it_needs():
    # 3 -> 4 instances of one price: +33 % an hour. 1.9 s -> 1 s: 1.9 times as fast.
    gluster = configuration("gl", four(1.0), costs=four(0.007), n_instances=4)
    against = compared([NFS, gluster])["a / gl / 1PxCN"]
    assert speed_words(against) == "1.9 times as fast"
    assert price_words(against) == "one instance more, +33 % an hour"
    assert against.times_as_fast.median == pytest.approx(1.9)
    assert against.times_as_fast.low <= 1.9 <= against.times_as_fast.high
    assert against.cost_change_percent == pytest.approx(-30)


def test_a_slower_cluster_takes_so_many_times_as_long():
    slow = configuration("slow", four(3.8), n_instances=2)
    against = compared([NFS, slow])["a / slow / 1PxCN"]
    assert speed_words(against) == "takes 2 times as long"
    assert price_words(against) == "one instance fewer"
    assert against.price_change_percent is None


def test_what_is_not_told_apart_is_not_called_faster():
    # Separated, but with two repetitions of each nothing is significant.
    few = [configuration("nfs", [1.9, 1.9]), configuration("gl", [1.0, 1.0])]
    assert speed_words(compared(few)["a / gl / 1PxCN"]) == "cannot be told apart"


def test_the_same_mapping_of_the_baseline_counts_and_else_its_fastest():
    configurations = [
        NFS,
        configuration("nfs", four(1.0), mapping="2PxCN"),
        configuration("gl", four(1.0)),
        configuration("gl", four(1.0), mapping="4PxCN"),
    ]
    found = compared(configurations)
    assert found["a / gl / 1PxCN"].configuration == "a / nfs / 1PxCN"
    assert found["a / gl / 4PxCN"].configuration == "a / nfs / 2PxCN"
    assert not found["a / gl / 4PxCN"].same_mapping
    assert found["a / nfs / 1PxCN"] is None and found["a / nfs / 2PxCN"] is None


def test_a_baseline_that_was_not_measured_is_compared_with_nothing():
    assert set(compared([NFS], "gone").values()) == {None}
    other = configuration("gl", [1.0], application="b")
    assert compared([NFS, other])["b / gl / 1PxCN"] is None
