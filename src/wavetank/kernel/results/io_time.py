"""The time in which a kernel's ranks are at I/O calls, out of what each rank tells of its own.

Reads the spans that the replay program prints (native/replay/run/activity.h); leaves an ``IoTime``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wavetank.kernel.results.result import CallRate, IoTime, PhaseResult

_NS = 1e-9
Spans = Sequence[Sequence[int]]
"""Of one rank, in order: [ns since the last one's end, length, data, metadata, flush], all ns.

Then, of each kind of call that has a part in the metadata: its number, and ns.
"""
_KINDS = 3  # data, metadata, flush


@dataclass(frozen=True)
class _Union:
    """Of all ranks' spans. Nanoseconds."""

    total: float
    by_kind: tuple[float, float, float]
    by_call: tuple[float, ...]  # by its number
    at_least: float
    at_most: float


def phases_time_s(phases: Iterable[PhaseResult]) -> float:
    """Seconds in which at least one phase was under way, from each phase's first start to its last end.

    Equal to the sum of the phases' times when they follow each other, as in the papers; phases that run at once
    (ABySS: two readers of two files) count once.
    """
    spans = sorted(
        (min(rank.start_s for rank in phase.ranks), max(rank.end_s for rank in phase.ranks))
        for phase in phases
        if phase.ranks
    )
    covered = 0.0
    reached = float("-inf")
    for start, end in spans:
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


Rates = Mapping[str, tuple[str, int]]
"""Of one rank: what a number of a kind of call stands for, and how many there were."""


def io_time(ranks: Sequence[Spans], not_on_disk_bytes: int) -> IoTime:
    """The union of all ranks' spans, split by the kind of call.

    At each moment the kinds share the time as the ranks that are at I/O do. A span that is not I/O all along (the
    program merged it from several) counts by its share of I/O; where only such spans meet, how far they overlap is
    not known: they are taken as independent, and the bounds hold for every overlap.

    Args:
        ranks: of each rank its spans.
        not_on_disk_bytes: kept as it is.
    """
    found = _union([_absolute(spans, 0) for spans in ranks])
    data, metadata, flush = found.by_kind
    return IoTime(
        total_s=found.total * _NS,
        data_s=data * _NS,
        metadata_s=metadata * _NS,
        flush_s=flush * _NS,
        at_least_s=found.at_least * _NS,
        at_most_s=found.at_most * _NS,
        not_on_disk_bytes=not_on_disk_bytes,
    )


def call_rates(ranks: Sequence[Spans], rates: Sequence[Rates]) -> tuple[CallRate, ...]:
    """The calls that move no data by their kind, and how many a second there were.

    A kind's time is that in which a rank was at such a call; kinds that are called at once share it as above.

    Args:
        ranks: of each rank its spans.
        rates: of each rank its calls.
    """
    numbers = (number for spans in ranks for span in spans for number in span[2 + _KINDS :: 2])
    n_calls = max(numbers, default=-1) + 1
    return tuple(_rates(rates, _union([_absolute(spans, n_calls) for spans in ranks]).by_call))


def _rates(rates: Sequence[Rates], by_call: tuple[float, ...]) -> Iterator[CallRate]:
    names: dict[int, str] = {}
    counts: Counter[int] = Counter()
    for of_rank in rates:
        for key, (name, n) in of_rank.items():
            names[int(key)] = name
            counts[int(key)] += n
    for number, name in sorted(names.items()):
        time_s = by_call[number] * _NS if number < len(by_call) else 0.0
        n = counts[number]
        yield CallRate(call=name, n=n, time_s=time_s, per_s=n / time_s if time_s > 0 else None)


def _absolute(spans: Spans, n_calls: int) -> NDArray[np.float64]:
    """Shape (n, 5 + n_calls): start and end, ns since the common start, and the shares of time in each kind of call."""
    told = np.zeros((len(spans), 2 + _KINDS + n_calls))
    for row, span in zip(told, spans, strict=True):
        row[: 2 + _KINDS] = span[: 2 + _KINDS]
        if n_calls:
            row[[2 + _KINDS + number for number in span[2 + _KINDS :: 2]]] = span[3 + _KINDS :: 2]
    told = told[told[:, 1] > 0]
    ends = np.cumsum(told[:, 0] + told[:, 1])
    return np.column_stack((ends - told[:, 1], ends, told[:, 2:] / told[:, 1:2]))


def _union(ranks: Sequence[NDArray[np.float64]]) -> _Union:
    spans = np.concatenate(ranks) if ranks else np.empty((0, 2 + _KINDS))
    if len(spans) == 0:
        return _Union(0.0, (0.0, 0.0, 0.0), (), 0.0, 0.0)
    shares = spans[:, 2:]
    busy = shares[:, :_KINDS].sum(axis=1)
    whole = busy > 1 - 1e-9
    idle_log = np.log1p(-np.where(whole, 0.0, busy))
    # What begins or ends at each moment: ranks, ranks that are at I/O all along, log of idle shares, shares by kind.
    changes = np.column_stack((np.ones(len(spans)), whole, idle_log, shares))
    moments = np.concatenate((spans[:, 0], spans[:, 1]))
    order = np.argsort(moments, kind="stable")
    state = np.cumsum(np.concatenate((changes, -changes))[order], axis=0)[:-1]
    lengths = np.diff(moments[order])
    there, at_io = np.rint(state[:, 0]) > 0, np.rint(state[:, 1]) > 0
    kinds = np.maximum(state[:, 3:], 0.0)
    sums = kinds[:, :_KINDS].sum(axis=1)
    parts = np.where(at_io, 1.0, np.where(there, -np.expm1(np.minimum(state[:, 2], 0.0)), 0.0))
    covered = lengths * parts
    split = covered[there] @ (kinds[there] / np.maximum(sums[there], 1e-12)[:, None])
    most = float(
        (lengths * np.where(at_io, 1.0, np.where(there, np.minimum(sums, 1.0), 0.0))).sum()
    )
    longest = max(
        float(((rank[:, 1] - rank[:, 0]) * rank[:, 2 : 2 + _KINDS].sum(axis=1)).sum())
        for rank in ranks
    )
    least = max(float(lengths[at_io].sum()), longest)
    data, metadata, flush = (float(part) for part in split[:_KINDS])
    total = data + metadata + flush
    by_call = tuple(float(part) for part in split[_KINDS:])
    return _Union(total, (data, metadata, flush), by_call, min(least, total), max(most, total))
