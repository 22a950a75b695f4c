import pytest
from measure_fakes import abyss_kernel

from wavetank.errors import MeasurementError
from wavetank.measure.mapping import (
    as_placement_hosts,
    io_ranks,
    most_ranks_on_a_node,
    parse_mapping,
    place_ranks,
)


def test_the_io_processes_of_abyss_are_the_two_readers_whatever_np_is():
    for n_ranks in (4, 32):
        assert io_ranks(abyss_kernel(n_ranks)) == (0, 1)


def test_1pxcn_puts_the_readers_on_different_nodes():
    placed = place_ranks(abyss_kernel(), ["c1", "c2", "c3", "c4"], "1PxCN")
    assert placed[0] != placed[1]


def test_2pxcn_puts_the_readers_on_one_node():
    placed = place_ranks(abyss_kernel(), ["c1", "c2", "c3", "c4"], "2PxCN")
    assert placed[0] == placed[1]


def test_ranks_without_io_go_where_fewest_ranks_are():
    assert place_ranks(abyss_kernel(), ["c1", "c2"], "2PxCN") == ("c1", "c1", "c2", "c2")
    assert place_ranks(abyss_kernel(), ["c1", "c2"], "1PxCN") == ("c1", "c2", "c1", "c2")


def test_too_few_compute_nodes_are_refused_with_both_numbers():
    with pytest.raises(MeasurementError, match="needs 2 compute nodes and the cluster has 1"):
        place_ranks(abyss_kernel(), ["c1"], "1PxCN")


@pytest.mark.parametrize("text", ["", "PxCN", "0PxCN", "1pxcn", "1PxCN ", "-1PxCN"])
def test_what_is_no_mapping_is_refused(text):
    with pytest.raises(MeasurementError, match="kPxCN"):
        parse_mapping(text)


def test_placement_keeps_rank_order_when_a_node_comes_back():
    assert as_placement_hosts(("a", "a", "b", "a")) == (("a", 2), ("b", 1), ("a", 1))


def test_the_fullest_node_counts_all_its_ranks():
    assert most_ranks_on_a_node(("a", "b", "a", "a")) == 3
