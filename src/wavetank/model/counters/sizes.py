"""Request sizes of a record out of its histogram and its most frequent sizes.

Reads the counters of a record; leaves, for reads and for writes, how many operations are of which size. Operations and
bytes are always those of the counters. A most frequent size is exact; where it is not known whether reads or writes
had it, it goes to where the histogram and the bytes leave room. All other operations lie within their bins, at the
same relative place in each, such that the bytes come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from wavetank.trace.counters import SIZE_BINS, DirectionCounters, FileCounters

STREAM_BUFFER = 4096
"""bytes: glibc's buffer of a C stream where the file system does not ask for a larger one (st_blksize)"""

Runs = tuple[tuple[int, int], ...]
"""(bytes of a request, operations), ascending by bytes."""


@dataclass(frozen=True)
class Sizes:
    """Request sizes of the reads or the writes of a record.

    Attributes:
        runs: of operations that move bytes.
        n_empty: operations that move none.
        n_known: operations of ``runs`` whose size the counters state.
        in_bins: whether all sizes lie in their bins; False also where there is no histogram.
    """

    runs: Runs = ()
    n_empty: int = 0
    n_known: int = 0
    in_bins: bool = True

    @property
    def n(self) -> int:
        """Operations that move bytes."""
        return sum(count for _, count in self.runs)


def request_sizes(record: FileCounters, n_ranks: int = 1) -> tuple[Sizes, Sizes]:
    """The sizes of a record's reads, and those of its writes.

    Args:
        record: the counters.
        n_ranks: that move its bytes.
    """
    ways = (record.reads, record.writes)
    if record.streams or not any(way.by_size for way in ways):
        return _means(record.reads, record, n_ranks), _means(record.writes, record, n_ranks)
    shares = _shares(ways, record.common_sizes)
    reads, writes = (
        _filled(
            way,
            [(size, share[index]) for (size, _), share in zip(record.common_sizes, shares, strict=True)],
        )
        for index, way in enumerate(ways)
    )  # fmt: skip
    return reads, writes


def bin_of(size: int) -> int:
    """The number of the bin that a size lies in."""
    return next(
        number for number, most in enumerate(SIZE_BINS) if most is None or size <= most
    )  # fmt: skip


# --- without a histogram ----------------------------------------------------------------------------


def _means(way: DirectionCounters, record: FileCounters, n_ranks: int) -> Sizes:
    """Requests of one size; of streams those that reach the file, as their buffers join smaller ones."""
    if way.moved == 0:
        return Sizes(n_empty=0 if record.streams else way.n, in_bins=False)
    n = way.n
    if record.streams and way.moved < n * STREAM_BUFFER:
        buffered = _buffered(way.moved, n_ranks)
        buffers = sum(count for _, count in buffered)
        # A flush writes what the buffer holds.
        n = min(n, max(buffers, record.n_flushes if way is record.writes else 0))
        if n == buffers:
            return Sizes(buffered, in_bins=False)
    return Sizes(mean_sizes(way.moved, min(n, way.moved)), max(n - way.moved, 0), in_bins=False)


def _buffered(moved: int, n_ranks: int) -> Runs:
    """What reaches the file of streams that move ``moved`` bytes, equally many on each rank."""
    each, more = divmod(moved, n_ranks)
    whole, rest = divmod(each, STREAM_BUFFER)
    return _joined([(STREAM_BUFFER, whole * n_ranks), (rest, n_ranks - more), (rest + 1, more)])


def mean_sizes(moved: int, n: int) -> Runs:
    """``n`` requests that move ``moved`` bytes, as equal as can be."""
    size, more = divmod(moved, n)
    return _joined([(size, n - more), (size + 1, more)])


# --- most frequent sizes: how many of them are reads ---------------------------------------------------


def _shares(
    ways: tuple[DirectionCounters, DirectionCounters], common: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """How often each of the most frequent sizes was read, and how often written.

    Of all ways to share them that the histogram allows at the ends and in proportion, the one whose rest of bytes fits
    the rest of operations best.
    """
    best: tuple[float, list[tuple[int, int]]] | None = None
    # 0: as few reads as possible, 1: as many, 2: in proportion to the bin's operations.
    for choice in product((2, 0, 1), repeat=len(common)) if common else [()]:
        shares, ambiguous = _shared_out(ways, common, choice)
        wrong = sum(
            _misfit(way, [(size, share[i]) for (size, _), share in zip(common, shares, strict=True)])
            for i, way in enumerate(ways)
        )  # fmt: skip
        if best is None or wrong < best[0]:
            best = wrong, shares
        if wrong == 0 or not ambiguous:
            break
    assert best is not None  # noqa: S101 - the product above has at least one choice
    return best[1]


def _shared_out(
    ways: tuple[DirectionCounters, DirectionCounters],
    common: Sequence[tuple[int, int]],
    choice: Sequence[int],
) -> tuple[list[tuple[int, int]], bool]:
    left = [list(way.by_size or (0,) * len(SIZE_BINS)) for way in ways]
    shares, ambiguous = [], False
    for (size, count), how in zip(common, choice, strict=True):
        at = bin_of(size)
        reads, writes = left[0][at], left[1][at]
        n = min(count, reads + writes)
        least, most = max(0, n - writes), min(n, reads)
        ambiguous = ambiguous or least < most
        even = round(n * reads / (reads + writes)) if n else 0
        of_reads = (least, most, min(max(even, least), most))[how]
        left[0][at] -= of_reads
        left[1][at] -= n - of_reads
        shares.append((of_reads, n - of_reads))
    return shares, ambiguous


def _misfit(way: DirectionCounters, known: Sequence[tuple[int, int]]) -> float:
    """By how many bytes the rest of a direction is outside of what its bins allow."""
    rest = way.moved - sum(size * count for size, count in known)
    least, most = 0, 0.0
    for low, high, count in _open_bins(way, known):
        least += low * count
        most += (high if high is not None else float("inf")) * count
    return max(least - rest, rest - most, 0)


def _open_bins(
    way: DirectionCounters, known: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int | None, int]]:
    """Bins with operations of unknown size: least and most bytes, operations."""
    counts = list(way.by_size)
    for size, count in known:
        if counts:
            counts[bin_of(size)] -= count
    low = 0
    for high, count in zip(SIZE_BINS, counts, strict=False):
        if count > 0:
            yield low, high, count
        low = 0 if high is None else high + 1


# --- all others, within their bins ---------------------------------------------------------------------


def _filled(way: DirectionCounters, known: Sequence[tuple[int, int]]) -> Sizes:
    """All operations of a direction, with sizes that add up to its bytes."""
    n_known = sum(count for _, count in known)
    rest = way.moved - sum(size * count for size, count in known)
    bins = list(_open_bins(way, known))
    if way.n == 0:
        return Sizes()
    if _misfit(way, known) > 0 or n_known + sum(count for _, _, count in bins) != way.n:
        # Counters that contradict each other.
        n = min(way.n, way.moved)
        return Sizes(mean_sizes(way.moved, n) if n else (), way.n - n, in_bins=False)
    n_empty = 0
    if bins and bins[0][0] == 0 and (len(bins) == 1 or not rest):
        # What is left of the least sizes moved less than a byte each: most of it moved none (ends of files).
        count = bins[0][2]
        if rest < count:
            some = -(-rest // (SIZE_BINS[0] or 1))
            n_empty, bins[0] = count - some, (1, bins[0][1], some)
    runs = [*known, *_within(bins, rest)]
    n_empty += sum(count for size, count in runs if size == 0)
    return Sizes(_joined(runs), n_empty, n_known)


def _within(bins: Sequence[tuple[int, int | None, int]], moved: int) -> list[tuple[int, int]]:
    """Sizes of operations in bins, at the same relative place in each, that add up to ``moved``."""
    least = sum(low * count for low, _, count in bins)
    ends = [(low, low + moved - least if high is None else high, n) for low, high, n in bins]
    span = sum((high - low) * count for low, high, count in ends)
    sizes = [low + (high - low) * (moved - least) // span if span else low for low, high, _ in ends]
    rest = moved - sum(size * count for size, (_, _, count) in zip(sizes, ends, strict=True))
    found = []
    for size, (_, high, count) in zip(sizes, ends, strict=True):
        more = min(rest // count, high - size) if count else 0
        rest -= more * count
        found.append([size + more, high, count])
    runs: list[tuple[int, int]] = []
    for size, high, count in found:
        extra = min(rest, count) if size < high else 0
        rest -= extra
        runs += [(size, count - extra), (size + 1, extra)]
    return runs


def _joined(runs: Sequence[tuple[int, int]]) -> Runs:
    """Runs in ascending order, equal sizes together, those of nothing left out."""
    found: dict[int, int] = {}
    for size, count in runs:
        if size > 0 and count > 0:
            found[size] = found.get(size, 0) + count
    return tuple(sorted(found.items()))
