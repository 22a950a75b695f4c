"""Which ranks did how much of a record.

A record of all ranks together keeps the variance of their bytes. As many ranks are taken to have done equal parts as
give that variance: (sum of bytes)^2 / (sum of squares), which is all ranks where it is 0. Which ranks those are is
known of the slowest one alone; the others are taken at equal distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose, sqrt

from wavetank.trace.counters import FileCounters


@dataclass(frozen=True)
class Share:
    """Ranks of a record.

    Attributes:
        openers: that open the file.
        movers: that move its bytes, in equal parts.
        known: whether it is certain that each of them moved just as many bytes.
        most: bytes that one rank can have moved at most.
        least: bytes that each rank moved at least.
    """

    openers: tuple[int, ...]
    movers: tuple[int, ...]
    known: bool
    most: int
    least: int


def share_of(record: FileCounters, n_ranks: int) -> Share:
    """The ranks of a record.

    ``most`` and ``least`` are Samuelson's bounds: no value is further from the mean of n values than their standard
    deviation times sqrt(n - 1).
    """
    if record.rank is not None or n_ranks == 1:
        rank = (record.rank or 0,)
        return Share(rank, rank, True, record.moved, record.moved)
    every = tuple(range(n_ranks))
    mean, variance = record.moved / n_ranks, record.variance_bytes or 0.0
    slowest = record.slowest_bytes or 0
    if variance == 0:
        equal = record.moved % n_ranks == 0 and slowest == record.moved // n_ranks
        bounds = (slowest, slowest) if equal else (record.moved, 0)
        return Share(every, every, equal, *bounds)
    far = sqrt(variance * (n_ranks - 1))
    most, least = min(record.moved, round(mean + far)), max(0, round(mean - far))
    n_movers = max(1, min(n_ranks, round(mean * mean * n_ranks / (mean * mean + variance))))
    # One rank did all of it: then the variance is the largest that there can be.
    alone = n_movers == 1 and isclose(far, mean * (n_ranks - 1), rel_tol=1e-6)
    start = record.slowest_rank if slowest and record.slowest_rank is not None else 0
    movers = sorted({(start + place * n_ranks // n_movers) % n_ranks for place in range(n_movers)})
    return Share(every, tuple(movers), alone and slowest == record.moved, most, least)
