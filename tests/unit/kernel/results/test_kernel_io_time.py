"""The union of all ranks' I/O, and its split by kind of call. Numbers are derived in comments; times in seconds."""

import pytest

from wavetank.kernel.results.io_time import call_rates, io_time

S = 1_000_000_000


def data(gap_s, length_s):
    """A span of data calls: time since the last span's end, and its length."""
    return [round(gap_s * S), round(length_s * S), round(length_s * S), 0, 0]


def metadata(gap_s, length_s):
    return [round(gap_s * S), round(length_s * S), 0, round(length_s * S), 0]


def flush(gap_s, length_s):
    return [round(gap_s * S), round(length_s * S), 0, 0, round(length_s * S)]


def split(of):
    return (of.data_s, of.metadata_s, of.flush_s)


def test_opens_writes_and_flushes_of_one_rank_are_its_io_time():
    of = io_time([[metadata(1, 0.5), data(0, 2), flush(0, 3), metadata(0, 0.5)]], 0)
    assert of.total_s == pytest.approx(6.0)  # 0.5 + 2 + 3 + 0.5; the first second is none of it
    assert split(of) == pytest.approx((2.0, 1.0, 3.0))


def test_ranks_at_the_same_time_count_once():
    of = io_time([[data(0, 4)], [data(1, 4)]], 0)
    assert of.total_s == pytest.approx(5.0)  # 0..4 and 1..5


def test_ranks_that_wait_for_each_other_take_the_sum():
    # The second rank begins when the first has ended, as after a message.
    of = io_time([[data(0, 2)], [data(2, 3)]], 0)
    assert of.total_s == pytest.approx(5.0)


def test_time_in_which_no_rank_is_at_io_counts_for_none():
    of = io_time([[data(0, 1), data(9, 1)], [data(0.5, 1)]], 0)
    assert of.total_s == pytest.approx(2.5)  # 0..1.5 and 10..11


def test_a_moment_is_shared_by_the_kinds_of_the_ranks_that_are_at_io_then():
    # 0..1: three ranks write and one flushes; 1..5: only the one that flushes.
    of = io_time([[flush(0, 5)], [data(0, 1)], [data(0, 1)], [data(0, 1)]], 0)
    assert of.total_s == pytest.approx(5.0)
    assert split(of) == pytest.approx((0.75, 0.0, 4.25))


def test_a_merged_span_counts_by_its_share_of_io_where_it_is_alone():
    # 10 s of which 2 s were reads and 1 s opens: when is not known, how much is.
    of = io_time([[[0, 10 * S, 2 * S, 1 * S, 0]]], 0)
    assert of.total_s == pytest.approx(3.0)
    assert split(of) == pytest.approx((2.0, 1.0, 0.0))
    assert (of.at_least_s, of.at_most_s) == pytest.approx((3.0, 3.0))


def test_merged_spans_of_two_ranks_are_told_with_bounds():
    # Each is at I/O for half of 10 s: together at least 5 s, at most 10 s; if independent, 7.5 s.
    half = [0, 10 * S, 5 * S, 0, 0]
    of = io_time([[half], [half]], 0)
    assert of.total_s == pytest.approx(7.5)
    assert (of.at_least_s, of.at_most_s) == pytest.approx((5.0, 10.0))


def test_what_is_not_merged_is_exact():
    of = io_time([[data(0, 1), metadata(0.5, 1)], [flush(0.25, 3)]], 0)
    assert of.at_least_s == pytest.approx(of.total_s) == pytest.approx(of.at_most_s)


def test_the_parts_add_up_to_the_whole_with_many_spans():
    ranks = [[[100 + 7 * rank, 1000 + n, 400, 300, 100] for n in range(1000)] for rank in range(20)]
    of = io_time(ranks, 0)
    assert sum(split(of)) == pytest.approx(of.total_s)
    assert of.at_least_s <= of.total_s <= of.at_most_s


def test_without_a_call_there_is_no_io_time():
    of = io_time([[], []], 7)
    assert of.total_s == 0 and of.not_on_disk_bytes == 7


RATES = {"0": ("create", 10), "3": ("stat", 20)}


def test_calls_a_second_are_by_the_time_in_which_a_rank_is_at_such_calls():
    # one rank: 1 s of creates and 3 s of stats in a span of 4 s
    span = [0, 4 * S, 0, 4 * S, 0, 0, 1 * S, 3, 3 * S]
    create, stat = call_rates([[span]], [RATES])
    assert (create.call, create.n, create.time_s) == ("create", 10, pytest.approx(1.0))
    assert create.per_s == pytest.approx(10.0)
    assert (stat.time_s, stat.per_s) == (pytest.approx(3.0), pytest.approx(20 / 3))


def test_ranks_at_once_count_once_for_a_kind_of_call():
    # both create for 2 s at the same time: 20 calls in 2 s
    span = [0, 2 * S, 0, 2 * S, 0, 0, 2 * S]
    rates = {"0": ("create", 10)}
    (create,) = call_rates([[span], [span]], [rates, rates])
    assert (create.n, create.time_s, create.per_s) == (20, pytest.approx(2.0), pytest.approx(10.0))


def test_ranks_one_after_another_add_up():
    first, second = [0, 1 * S, 0, 1 * S, 0, 0, 1 * S], [1 * S, 1 * S, 0, 1 * S, 0, 0, 1 * S]
    rates = {"0": ("create", 10)}
    (create,) = call_rates([[first], [second]], [rates, rates])
    assert (create.time_s, create.per_s) == (pytest.approx(2.0), pytest.approx(10.0))


def test_calls_that_took_no_time_have_no_rate():
    (create,) = call_rates([[]], [{"0": ("create", 1)}])
    assert (create.time_s, create.per_s) == (0.0, None)
