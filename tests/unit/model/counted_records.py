"""Counts operations as Darshan counts them: the counters of a run, from its operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from fold_builder import fold_table, trace_of

from wavetank.model.counters.sizes import bin_of
from wavetank.trace.counters import SIZE_BINS, DirectionCounters, FileCounters
from wavetank.trace.schema import Level, Trace, TracedFile


@dataclass(frozen=True)
class Call:
    """A read or a write of one rank."""

    rank: int
    write: bool
    offset: int
    size: int


def counted(
    calls: Sequence[Call], *, file: int = 0, n_ranks: int | None = None, n_opens: int = 0
) -> FileCounters:
    """POSIX counters of a file: of one rank, or of all ``n_ranks`` together (POSIX_RECORD_READ of darshan-posix.c)."""
    by_rank: dict[int, list[Call]] = {}
    for call in calls:
        by_rank.setdefault(call.rank, []).append(call)
    gaps: Counter[int] = Counter()
    sequential, consecutive = Counter[bool](), Counter[bool]()
    switches = 0
    for mine in by_rank.values():
        last = {False: 0, True: 0}  # last byte of the rank's last read, of its last write
        for before, call in zip([None, *mine], mine, strict=False):
            sequential[call.write] += call.offset > last[call.write]
            consecutive[call.write] += call.offset == last[call.write] + 1
            if last[call.write] and call.offset > last[call.write] + 1:
                gaps[call.offset - last[call.write] - 1] += 1
            last[call.write] = call.offset + call.size - 1
            switches += before is not None and before.write != call.write
    moved = np.zeros(n_ranks or 1)
    for call in calls:
        moved[call.rank if n_ranks else 0] += call.size
    sizes = Counter(call.size for call in calls if call.size)
    return FileCounters(
        file=file,
        level=Level.POSIX,
        rank=None if n_ranks else calls[0].rank,
        reads=_direction([c for c in calls if not c.write], sequential[False], consecutive[False], 1.0),
        writes=_direction([c for c in calls if c.write], sequential[True], consecutive[True], 0.5),
        common_sizes=tuple(sizes.most_common(4)),
        common_gaps=tuple(gaps.most_common(4)),
        n_switches=switches,
        n_opens=n_opens,
        opened_s=0.25,
        closed_s=2.0,
        variance_bytes=float(moved.var()) if n_ranks else None,
        slowest_rank=int(moved.argmax()) if n_ranks else None,
        slowest_bytes=int(moved.max()) if n_ranks else None,
    )  # fmt: skip


def _direction(
    calls: Sequence[Call], sequential: int, consecutive: int, first_s: float
) -> DirectionCounters:
    if not calls:
        return DirectionCounters()
    bins = [0] * len(SIZE_BINS)
    for call in calls:
        bins[bin_of(call.size)] += 1
    return DirectionCounters(
        n=len(calls),
        moved=sum(call.size for call in calls),
        n_sequential=sequential,
        n_consecutive=consecutive,
        highest=max(call.offset + call.size - 1 for call in calls),
        by_size=tuple(bins),
        first_s=first_s,
        last_s=first_s + 0.25,
        time_s=0.125,
    )


def counted_trace(records: Iterable[FileCounters], n_ranks: int, paths: Sequence[str]) -> Trace:
    """A trace that has counters and nothing else."""
    return replace(
        trace_of(fold_table([]), n_ranks=n_ranks),
        source="darshan",
        files=tuple(TracedFile(path) for path in paths),
        counters=tuple(records),
    )
