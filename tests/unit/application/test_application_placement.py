"""Where the ranks of the user's own program run."""

from __future__ import annotations

import pytest

from wavetank.application.perform import place
from wavetank.errors import MeasurementError, UsageError

NODES = ("c1", "c2", "c3")


def test_a_mapping_fills_all_compute_nodes_one_after_the_other() -> None:
    assert place(NODES, "1PxCN") == NODES
    assert place(NODES, "1PxCN", "2PxCN") == ("c1", "c1", "c2", "c2", "c3", "c3")


def test_a_number_of_ranks_fills_the_mapping_s_places_in_order() -> None:
    assert place(NODES, "1PxCN", "2PxCN", 3) == ("c1", "c1", "c2")
    assert place(NODES, "2PxCN", None, 3) == ("c1", "c1", "c2")


def test_a_number_alone_puts_as_many_on_a_node_as_it_takes() -> None:
    # 4 ranks on 3 nodes: two places on each, block by block
    assert place(NODES, "1PxCN", None, 4) == ("c1", "c1", "c2", "c2")
    assert place(NODES, "1PxCN", None, 2) == ("c1", "c2")


def test_too_many_ranks_for_a_mapping_are_refused_with_what_would_do() -> None:
    with pytest.raises(UsageError, match="7 ranks by 2PxCN need 4 compute nodes, and there are 3"):
        place(NODES, "1PxCN", "2PxCN", 7)
    with pytest.raises(UsageError, match="Ask for 6 ranks, or for --mapping 3PxCN"):
        place(NODES, "1PxCN", "2PxCN", 7)


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(MeasurementError, match="kPxCN"):
        place(NODES, "1PxCN", "two")
