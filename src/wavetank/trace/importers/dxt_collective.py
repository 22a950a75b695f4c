"""Which MPI-IO operations of a Darshan log were collective, and which had a file view of their own.

Reads the counters of module MPI-IO and the segments of DXT_MPIIO, which do not say of which call they are; leaves an
answer for each segment. Operations for which nothing decides stay independent, and their file is named.
Source: docs/decisions/collectives-in-darshan-logs.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from wavetank.trace.importers.counter_table import CounterRecord
from wavetank.trace.importers.dxt import Segments
from wavetank.trace.schema import BoolArray, Int64Array

_WAYS = {True: "WRITES", False: "READS"}
COUNTERS = (
    *(f"MPIIO_{kind}_{way}" for kind in ("COLL", "SPLIT", "INDEP", "NB") for way in _WAYS.values()),
    "MPIIO_VIEWS",
)
"""Counters that decide."""
_OF_WAY = {
    is_write: tuple(f"MPIIO_{kind}_{way}" for kind in ("COLL", "SPLIT", "INDEP", "NB"))
    for is_write, way in _WAYS.items()
}


@dataclass(frozen=True)
class Calls:
    """What is known of the MPI-IO calls of a log.

    Attributes:
        collective: shape (segments of DXT_MPIIO,), whether the operation was collective.
        own_view: shape (segments of DXT_MPIIO,), whether a file view was set for this operation alone.
        undecided: by kind (write: True), shape (files,): whether some operations may have been collective, and it is
            not known which; all of them count as independent.
        concluded: shape (files,), whether collective and independent operations of one kind were told apart.
        viewed: shape (files,), whether some operations had a view of their own.
    """

    collective: BoolArray
    own_view: BoolArray
    undecided: Mapping[bool, BoolArray]
    concluded: BoolArray
    viewed: BoolArray


class _Counts(NamedTuple):
    """Operations of one kind on one file; rank -1 stands for all ranks together."""

    rank: int
    collective: int  # split collective ones among them
    blocking: int  # independent ones
    nonblocking: int  # collective and independent ones: Darshan has one counter for both

    @property
    def alone(self) -> int:
        return self.blocking + self.nonblocking


class _Stream(NamedTuple):
    """One rank's operations of one kind on one file, in the order in which they ended."""

    rank: int
    at: slice  # of the segments
    n: int  # of them


class _Columns(NamedTuple):
    """Segments, looked up by column: a column of a view on records takes much longer for each stream."""

    start: np.ndarray  # seconds
    end: np.ndarray
    length: Int64Array

    @classmethod
    def of(cls, segments: Segments | None) -> _Columns:
        """Views on the segments."""
        if segments is None:
            return cls(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
        segment = segments.segment
        return cls(segment["start_s"], segment["end_s"], segment["length"])


def calls_of(
    segments: Segments | None,
    records: Sequence[CounterRecord],
    numbers: Mapping[int, int],
    n_ranks: int,
) -> Calls:
    """Tell collective operations from independent ones.

    Args:
        segments: of DXT_MPIIO; None: the log has none.
        records: counters of module MPI-IO, ``COUNTERS`` among them.
        numbers: a file's number by Darshan's id.
        n_ranks: processes of the run.
    """
    n = 0 if segments is None else len(segments)
    calls = Calls(
        collective=np.zeros(n, dtype=bool),
        own_view=np.zeros(n, dtype=bool),
        undecided={way: np.zeros(len(numbers), dtype=bool) for way in _WAYS},
        concluded=np.zeros(len(numbers), dtype=bool),
        viewed=np.zeros(len(numbers), dtype=bool),
    )
    of_file: dict[int, list[CounterRecord]] = defaultdict(list)
    for record in records:
        of_file[record.file].append(record)
    streams: dict[int, dict[bool, list[_Stream]]] = {}
    for file, is_write, stream in () if segments is None else _streams(segments):
        streams.setdefault(file, {True: [], False: []})[is_write].append(stream)
    columns = _Columns.of(segments)
    for file in {*of_file, *streams}:
        number = numbers[file]
        for is_write in _WAYS:
            counts = [_counts(record, is_write) for record in of_file.get(file, ())]
            mine = streams[file][is_write] if file in streams else []
            if segments is None or not mine:
                calls.undecided[is_write][number] = segments is None and _both(counts)
                continue
            found = _decide(mine, counts, n_ranks, columns)
            calls.undecided[is_write][number] = found is None
            calls.concluded[number] |= found is not None and _both(counts)
            for stream, which in zip(mine, found or (), strict=bool(found)):
                calls.collective[stream.at] = which
    for file, by_way in streams.items():
        mine = [stream for of_way in by_way.values() for stream in of_way]
        calls.viewed[numbers[file]] = _mark_views(calls, of_file.get(file, ()), mine)
    return calls


def _streams(segments: Segments) -> Iterator[tuple[int, bool, _Stream]]:
    """(file, whether they are writes, operations) of each record; writes lie before reads."""
    at = 0
    columns = (segments.file, segments.rank, segments.n_writes, segments.n_reads)
    for file, rank, *counts in zip(*(column.tolist() for column in columns), strict=True):
        for is_write, n in zip(_WAYS, counts, strict=True):
            if n:
                yield file, is_write, _Stream(rank, slice(at, at + n), n)
            at += n


def _counts(record: CounterRecord, is_write: bool) -> _Counts:
    collective, split, blocking, nonblocking = map(record.counters.__getitem__, _OF_WAY[is_write])
    return _Counts(record.rank, collective + split, blocking, nonblocking)


def _both(counts: Sequence[_Counts]) -> bool:
    """Whether some operations were collective and some were not."""
    return bool([1 for one in counts if one.collective] and [1 for one in counts if one.alone])


def _decide(
    streams: Sequence[_Stream], counts: Sequence[_Counts], n_ranks: int, columns: _Columns
) -> list[BoolArray | bool] | None:
    """Of each stream which operations were collective, True or False for all of them; None where that is not decided."""
    if not counts or _maybe_collective(counts, n_ranks):
        return None
    collective = sum([one.collective for one in counts])
    if not collective or not sum([one.alone for one in counts]):
        return [collective > 0] * len(streams)
    each = _collective_by_rank(streams, counts, n_ranks)
    if each is None:
        return None
    if not [s for s in streams if each[s.rank] not in (0, s.n)]:
        return [each[stream.rank] > 0 for stream in streams]
    return _by_order(streams, each, columns)


def _by_order(
    streams: Sequence[_Stream], each: Mapping[int, int], columns: _Columns
) -> list[BoolArray | bool] | None:
    """The same, where some ranks made both: their collective operations are the calls of ranks that made no others.

    A collective call is one for all ranks of its communicator: they make the same ones in the same order.
    """
    whole = [s for s in streams if each[s.rank] == s.n]
    if not whole or len({n for n in each.values() if n}) > 1:
        return None
    reference = _reference(whole, columns)
    found: list[BoolArray | bool] = []
    for stream in streams:
        which: BoolArray | bool = each[stream.rank] > 0
        if 0 < each[stream.rank] < stream.n:
            places = _places(columns, stream, reference)
            if places is None:
                return None
            which = np.zeros(stream.n, dtype=bool)
            which[places] = True
        found.append(which)
    return found


def _maybe_collective(counts: Sequence[_Counts], n_ranks: int) -> bool:
    """Whether nonblocking operations may have been collective ones: all ranks made equally many."""
    each = {one.nonblocking for one in counts}
    if counts[0].rank < 0:
        return n_ranks > 1 and any(n > 0 and n % n_ranks == 0 for n in each)
    return len(counts) > 1 and len(each) == 1 and each != {0}


def _collective_by_rank(
    streams: Sequence[_Stream], counts: Sequence[_Counts], n_ranks: int
) -> dict[int, int] | None:
    """How many collective operations each rank made; None where counters and segments do not tell."""
    n = {stream.rank: stream.n for stream in streams}
    if len(n) < len(streams):
        return None
    if counts[0].rank >= 0:
        total = {
            one.rank: one.collective + one.alone for one in counts if one.collective + one.alone
        }
        return {one.rank: one.collective for one in counts} if total == n else None
    # One record for all ranks: all of them opened the file, together, and made equally many collective calls.
    each, rest = divmod(counts[0].collective, n_ranks)
    if len(counts) > 1 or rest or sum(n.values()) != counts[0].collective + counts[0].alone:
        return None
    if [rank for rank in range(n_ranks) if n.get(rank, 0) < each]:
        return None
    return dict.fromkeys(range(n_ranks), each)


_Embeddings = tuple[list[int], list[int]]
_Matches = Callable[[int, int], bool]  # whether operation i may be call c


@dataclass(frozen=True)
class _Reference:
    """The collective calls one after another, as ranks show them that made no other calls.

    Attributes:
        shared: from when to when all of these ranks were in each call, seconds; where one left it before another came, from
            when to when any was.
        any: from when to when any of them was in each call.
        size: bytes of each call; -1 where these ranks differ, or gave nothing.
    """

    shared: list[tuple[float, float]]
    any: list[tuple[float, float]]
    size: list[int]


def _reference(whole: Sequence[_Stream], columns: _Columns) -> _Reference:
    """The calls of ranks that made nothing but collective ones."""
    start, end, size = (column[whole[0].at].copy() for column in columns)
    first_start, last_end = start.copy(), end.copy()
    for stream in whole[1:]:
        np.maximum(start, columns.start[stream.at], out=start)
        np.minimum(end, columns.end[stream.at], out=end)
        np.minimum(first_start, columns.start[stream.at], out=first_start)
        np.maximum(last_end, columns.end[stream.at], out=last_end)
        size[size != columns.length[stream.at]] = -1
    size[size == 0] = -1  # ranks without data take part, too: another one's size may be any
    together = start <= end
    shared = np.where(together, start, first_start), np.where(together, end, last_end)
    return _Reference(
        list(zip(*(side.tolist() for side in shared), strict=True)),
        list(zip(first_start.tolist(), last_end.tolist(), strict=True)),
        size.tolist(),
    )


def _places(columns: _Columns, stream: _Stream, reference: _Reference) -> list[int] | None:
    """Which of a rank's operations are the reference's calls; None where several answers are possible.

    They come in the same order. Times decide between the answers: ranks that wait for each other are in a call at one
    moment, and else in it while one of the others is. Then sizes decide, and then that a call which moves nothing is one
    in which others move something.
    """
    start, end, length = (column[stream.at].tolist() for column in columns)
    n, n_calls = stream.n, len(reference.size)

    def of_size(i: int, call: int) -> bool:
        # No evidence: nothing given by this rank, or by others.
        return length[i] == 0 or reference.size[call] in (-1, length[i])

    for window in (reference.shared, reference.any):
        in_time = partial(_overlap, list(zip(start, end, strict=True)), window)
        by_time = _embeddings(in_time, n, n_calls)
        if by_time is None:
            continue
        if (found := _only(by_time)) is not None:
            return found
        by_both = _embeddings(partial(_each, in_time, of_size), n, n_calls)
        return None if by_both is None else _only(by_both) or _with_empty_ones(length, by_both)
    return _only(_embeddings(of_size, n, n_calls))


def _overlap(
    operations: Sequence[tuple[float, float]],
    calls: Sequence[tuple[float, float]],
    i: int,
    call: int,
) -> bool:
    return operations[i][0] <= calls[call][1] and operations[i][1] >= calls[call][0]


def _each(a: _Matches, b: _Matches, i: int, call: int) -> bool:
    return a(i, call) and b(i, call)


def _with_empty_ones(length: Sequence[int], ways: _Embeddings) -> list[int] | None:
    """The way that takes all operations of no bytes, where the first and the last one differ in one call alone."""
    differing = [(a, b) for a, b in zip(*ways, strict=True) if a != b]
    if len(differing) != 1:
        return None
    empty = [i for i in differing[0] if length[i] == 0]
    return sorted({*ways[0]} & {*ways[1]} | {*empty}) if len(empty) == 1 else None


def _embeddings(matches: _Matches, n: int, n_calls: int) -> _Embeddings | None:
    """The first and the last way to find all calls in order among n operations; None where there is none."""
    first: list[int] = []
    for i in range(n):
        if len(first) < n_calls and matches(i, len(first)):
            first.append(i)
    if len(first) < n_calls:
        return None
    last: list[int] = []
    for i in reversed(range(n)):
        if len(last) < n_calls and matches(i, n_calls - 1 - len(last)):
            last.append(i)
    return first, last[::-1]


def _only(ways: _Embeddings | None) -> list[int] | None:
    """The one way that there is."""
    return ways[0] if ways is not None and ways[0] == ways[1] else None


def _mark_views(calls: Calls, records: Sequence[CounterRecord], streams: Sequence[_Stream]) -> bool:
    """Mark the operations of a file that had a view each; whether there are any.

    They are those of which there were no more than views were set: all operations, or the collective ones.
    """
    n_views = sum([record.counters["MPIIO_VIEWS"] for record in records])
    if not n_views:
        return False
    counts = [_counts(record, is_write) for record in records for is_write in _WAYS]
    n_collective = sum([one.collective for one in counts])
    if n_views < max(n_collective, 1) or max([stream.n for stream in streams]) < 2:
        return False
    every = n_views >= n_collective + sum(one.alone for one in counts)
    for stream in streams:
        calls.own_view[stream.at] = True if every else calls.collective[stream.at]
    return any(calls.own_view[stream.at].any() for stream in streams)
