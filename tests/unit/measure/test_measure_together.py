"""What counts of groups that run together: the window, and what is moved in it."""

import pytest

from wavetank.kernel.execution.session import RankProgress
from wavetank.measure.together import moved_between
from wavetank.measure.together_files import rounds_apart


def rank(*bins, bin_s=0.1):
    return RankProgress(
        begun_s=0, ended_s=len(bins) * bin_s, bin_s=bin_s, bins=tuple(bins), loops=()
    )


def test_bins_are_cut_where_the_window_cuts_them():
    # 10 bytes and 0.1 s of I/O in each 0.1 s; from 0.05 to 0.25 s: half, one, half.
    (block,) = moved_between([rank((10, 0.1), (10, 0.1), (10, 0.1))], [0.05, 0.25])
    assert block.bytes == 20
    assert block.io_time_s == pytest.approx(0.2)


def test_ranks_add_up_and_what_is_beyond_their_bins_is_nothing():
    first, second = moved_between([rank((10, 0.05)), rank((30, 0.1))], [0, 0.1, 0.2])
    assert (first.bytes, second.bytes) == (40, 0)
    assert first.io_time_s == pytest.approx(0.15)


def test_a_rank_without_operations_counts_as_none():
    (block,) = moved_between([rank()], [0, 1])
    assert (block.bytes, block.io_time_s) == (0, 0)


def test_each_kernel_has_servers_of_its_own():
    rounds = rounds_apart([{"a1": 1, "a2": 2, "a3": 3}, {"b1": 4}], 2)
    at = [(path, server) for each in rounds for server, path in enumerate(each)]
    assert [server for path, server in at if path[0] == "a"] == [0, 0, 0]
    assert [server for path, server in at if path[0] == "b"] == [1]
    assert {path: size for each in rounds for path, size in each.items() if path[0] in "ab"} == {
        "a1": 1, "a2": 2, "a3": 3, "b1": 4,
    }  # fmt: skip


def test_servers_are_dealt_out_when_there_are_more_of_them():
    rounds = rounds_apart([{"a1": 1, "a2": 1}, {"b1": 1, "b2": 1}], 4)
    assert [list(each) for each in rounds] == [["a1", "b1", "a2", "b2"]]
