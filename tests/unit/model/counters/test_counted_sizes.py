"""Request sizes out of a histogram and the most frequent sizes: operations and bytes are kept, and every bin."""

from __future__ import annotations

from dataclasses import replace

from counted_records import Call, counted
from hypothesis import given
from hypothesis import strategies as st

from wavetank.model.counters.sizes import STREAM_BUFFER, bin_of, request_sizes
from wavetank.trace.counters import DirectionCounters, FileCounters
from wavetank.trace.schema import Level


def _calls(sizes: list[int], write: bool) -> list[Call]:
    return [Call(0, write, 0, size) for size in sizes]


def test_a_most_frequent_size_is_taken_as_it_is() -> None:
    reads, writes = request_sizes(
        counted([*_calls([4096] * 10, False), *_calls([1000] * 3 + [1 << 20], True)])
    )
    assert reads.runs == ((4096, 10),)
    assert writes.runs == ((1000, 3), (1 << 20, 1))
    assert (reads.n_known, writes.n_known) == (10, 4)


def test_bytes_tell_whether_reads_or_writes_had_a_size() -> None:
    """3000 and 5000 bytes lie in one bin: 2 reads and 3 writes are there, and the bytes read are 6000."""
    reads, writes = request_sizes(counted([*_calls([3000] * 2, False), *_calls([5000] * 3, True)]))
    assert reads.runs == ((3000, 2),)
    assert writes.runs == ((5000, 3),)


def test_sizes_that_are_not_known_lie_in_their_bins_and_add_up() -> None:
    """Eight sizes, of which four are most frequent ones; the others are from 1 KiB to 10 KiB."""
    sizes = [100, 100, 200, 200, 300, 300, 400, 400, 2000, 3000, 5000, 9000]
    _, writes = request_sizes(counted(_calls(sizes, True)))
    assert writes.n_known == 8
    rest = [(size, count) for size, count in writes.runs if size > 1024]
    assert sum(count for _, count in rest) == 4
    assert sum(size * count for size, count in rest) == 2000 + 3000 + 5000 + 9000
    assert all(bin_of(size) == bin_of(2000) for size, _ in rest)


def test_reads_at_the_end_of_a_file_move_nothing() -> None:
    """1000 bytes three times, 137 bytes, and a read of nothing, which is no most frequent size."""
    reads, _ = request_sizes(counted(_calls([1000, 1000, 1000, 137, 0], False)))
    assert reads.runs == ((137, 1), (1000, 3))
    assert reads.n_empty == 1


def test_small_calls_on_a_stream_fill_its_buffer() -> None:
    """100,000 calls of 10 bytes on average are 1,000,000 bytes: 244 buffers and the rest of 576 bytes."""
    record = FileCounters(
        0, Level.POSIX, 0, streams=True, writes=DirectionCounters(100_000, 1_000_000)
    )
    _, writes = request_sizes(record)
    assert writes.runs == ((576, 1), (STREAM_BUFFER, 244))
    _, flushed = request_sizes(replace(record, n_flushes=1000))
    assert flushed.runs == ((1000, 1000),)


def test_each_rank_has_a_stream_of_its_own() -> None:
    """4 ranks write 400 bytes in 10 calls each: a request a rank, not one for all."""
    record = FileCounters(
        0, Level.POSIX, None, streams=True, writes=DirectionCounters(40, 1600)
    )  # fmt: skip
    assert request_sizes(record, 4)[1].runs == ((400, 4),)


def test_large_calls_on_a_stream_are_requests() -> None:
    record = FileCounters(
        0, Level.POSIX, 0, streams=True, reads=DirectionCounters(3, 3 * (1 << 20) + 2)
    )
    assert request_sizes(record)[0].runs == (((1 << 20), 1), ((1 << 20) + 1, 2))


some_sizes = st.lists(
    st.sampled_from([0, 1, 96, 100, 101, 512, 1000, 4096, 8191, 100_000, 1 << 20, 3 << 20, 2 << 30])
    | st.integers(0, 1 << 24),
    max_size=30,
)


@given(some_sizes, some_sizes)
def test_operations_and_bytes_are_always_those_of_the_counters(
    read: list[int], written: list[int]
) -> None:
    if not read and not written:
        return
    record = counted([*_calls(read, False), *_calls(written, True)])
    for sizes, way, real in zip(
        request_sizes(record), (record.reads, record.writes), (read, written), strict=True
    ):
        assert sizes.n + sizes.n_empty == len(real)
        assert sum(size * count for size, count in sizes.runs) == sum(real)
        if sizes.in_bins and real:
            bins = [0] * len(way.by_size)
            bins[0] = sizes.n_empty
            for size, count in sizes.runs:
                bins[bin_of(size)] += count
            assert tuple(bins) == way.by_size
