"""A benchmark's ranks as a phase of a result: what the programs that stand in for a replay share."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.kernel.results.result import LatencySummary, PhaseResult, RankPhaseResult

_SHORTEST_S = 1e-9


def phase_of(ph_id: int, ranks: Sequence[RankPhaseResult]) -> PhaseResult:
    """The phase that these ranks did together.

    Each rank counts its time from its own start, so a phase takes as long as its slowest rank. Percentiles
    are told by rank; the phase's are those of the rank with the most I/O time.
    """
    ranks = joined(ranks)
    moved, operations = sum(rank.bytes for rank in ranks), sum(rank.operations for rank in ranks)
    seconds = max(_SHORTEST_S, *(rank.end_s - rank.start_s for rank in ranks))
    return PhaseResult(
        ph_id=ph_id, bytes=moved, operations=operations, time_s=seconds, rate_bytes_per_s=moved / seconds,
        iops=operations / seconds, latency=_latency(ranks), ranks=tuple(ranks),
    )  # fmt: skip


def joined(ranks: Sequence[RankPhaseResult]) -> list[RankPhaseResult]:
    """One entry for each rank: what a rank did in several runs for one phase follows each other."""
    by_rank: dict[int, RankPhaseResult] = {}
    for one in ranks:
        before = by_rank.get(one.rank)
        if before is None:
            by_rank[one.rank] = one
            continue
        longer = max(before, one, key=lambda half: half.io_time_s)
        by_rank[one.rank] = before.model_copy(
            update={
                "bytes": before.bytes + one.bytes,
                "operations": before.operations + one.operations,
                "io_time_s": before.io_time_s + one.io_time_s,
                "end_s": before.end_s + one.end_s - one.start_s,
                "latency": longer.latency,
            }
        )
    return list(by_rank.values())


def _latency(ranks: Sequence[RankPhaseResult]) -> LatencySummary | None:
    slowest = max(ranks, key=lambda rank: rank.io_time_s).latency
    told = [rank.latency.max_s for rank in ranks if rank.latency is not None]
    return None if slowest is None else slowest.model_copy(update={"max_s": max(told)})
