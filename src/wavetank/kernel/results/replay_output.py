"""The replay program's output -> ReplayResult.

Sample (version 1 of the program), between other output of the launcher:

    wavetank-replay-result 1
    {"rank":0,"host":"c1","mpi":"Open MPI v4.1.4","elapsed_ns":1204118,...,
     "io":{"sums":[1100342,3100,0],"merged_below_ns":0,"spans":[[81,3100,0,3100,0,1,2900],[0,1100342,1100342,0,0]],
           "rates":{"1":["open",1]}},
     "phases":[[1,27123457,3312,1100342,92,1203981,8812,[[148,3301],...]]]}    (on one line)
    wavetank-replay-result-end

and, from a rank that failed:

    wavetank-replay-failure {"rank": 1, "call": "read", "file": "reads.fq", "offset": 8191, "size": 8191, "at_ns": 81, "reason": "..."}

or from the process that watches it, "died": "signal 9, Killed" and its "state" instead of a reason.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wavetank.kernel.results.io_time import call_rates, io_time
from wavetank.kernel.results.rank_status import place, where, who_died
from wavetank.kernel.results.result import (
    NO_IO,
    LatencySummary,
    PhaseResult,
    RankPhaseResult,
    ReplayResult,
)

_BEGIN = "wavetank-replay-result 1\n"
_END = "wavetank-replay-result-end"
_FAILURE = re.compile(r"wavetank-replay-failure (?=\{)")
_SUB = 32  # counters to each power of two, see native/replay/timing.h
_NS = 1e-9
OPENS_MADE_AGAIN = "opens_made_again_after_file_exists"
"""The setting that counts opens which may create a file, or find it, and were answered by "File exists"."""


@dataclass(frozen=True)
class _RankPhase:
    """One rank in one phase, as printed."""

    rank: int
    host: str
    bytes: int
    operations: int
    io_ns: int
    first_ns: int
    last_ns: int
    max_ns: int
    latencies: Counter[int]


def outcome(
    stdout: str, stderr: str, exit_status: int, n_ranks: int, settings: Mapping[str, str],
) -> ReplayResult:  # fmt: skip
    """The result of a run, failed or not.

    Args:
        stdout: of the launcher: all that rank 0 printed, and failures of any rank.
        stderr: of the launcher.
        exit_status: of the launcher; negative for a signal.
        n_ranks: that the kernel has.
        settings: how it was run; facts that the program found are added.
    """
    reports = rank_reports(stdout)
    if reports is None or len(reports) != n_ranks:
        return failed(_failure(stdout, stderr, exit_status), settings)
    by_phase: defaultdict[int, list[_RankPhase]] = defaultdict(list)
    for report in reports:
        for ph_id, moved, operations, io_ns, first_ns, last_ns, max_ns, buckets in report["phases"]:
            by_phase[ph_id].append(
                _RankPhase(
                    rank=report["rank"], host=report["host"], bytes=moved, operations=operations,
                    io_ns=io_ns, first_ns=first_ns, last_ns=last_ns, max_ns=max_ns,
                    latencies=Counter(dict(buckets)),
                )
            )  # fmt: skip
    spans = [report["io"]["spans"] for report in reports]
    return ReplayResult(
        status="ok",
        elapsed_s=max(report["elapsed_ns"] for report in reports) * _NS,
        metadata_time_s=sum(report["metadata_ns"] for report in reports) * _NS,
        io=io_time(spans, sum(int(report["not_on_disk"]) for report in reports)),
        calls=call_rates(spans, [report["io"].get("rates", {}) for report in reports]),
        started_monotonic_ns=reports[0]["started"][0],
        started_realtime_ns=reports[0]["started"][1],
        phases=tuple(_phase(ph_id, ranks) for ph_id, ranks in sorted(by_phase.items())),
        settings={**settings, **_facts(reports)},
    )


def failed(failure: str, settings: Mapping[str, str]) -> ReplayResult:
    """The result of a run that did not end well."""
    return ReplayResult(
        status="failed", failure=failure, elapsed_s=0.0, metadata_time_s=0.0, io=NO_IO, phases=(),
        settings=dict(settings),
    )  # fmt: skip


def rank_reports(stdout: str) -> list[dict[str, Any]] | None:
    """What each rank printed, by rank; None where the output is not whole."""
    begin = stdout.find(_BEGIN)
    end = stdout.find(_END, begin + 1)
    if begin < 0 or end < 0:
        return None
    try:
        return [json.loads(line) for line in stdout[begin + len(_BEGIN) : end].splitlines()]
    except json.JSONDecodeError:
        return None


def _failure(stdout: str, stderr: str, exit_status: int) -> str:
    told = list(_told(stdout))
    if told:  # the other ranks may fail because the first one is gone
        return _sentence(min(told, key=lambda record: int(record.get("at_ns", 0))))
    if died := who_died(f"{stdout}\n{stderr}"):
        return died
    tail = " | ".join(line.strip() for line in stderr.strip().splitlines() if line.strip(" -*="))[
        -1500:
    ]
    how = (
        f"the launcher was ended by signal {-exit_status}"
        if exit_status < 0
        else f"the launcher ended with status {exit_status}"
    )
    return f"the replay ended without a result: {how}: {tail or 'no output'}"


def _told(stdout: str) -> Iterator[dict[str, Any]]:
    """What ranks, and the processes that watch them, said before the end."""
    for found in _FAILURE.finditer(stdout):
        try:  # of a line that another rank's output broke, the next rank's may be whole
            yield json.JSONDecoder().raw_decode(stdout, found.end())[0]
        except json.JSONDecodeError:
            continue


def _sentence(record: Mapping[str, Any]) -> str:
    if died := record.get("died"):
        return f"rank {record['rank']} died ({died}) {where(record)}"
    at = place(record)
    return f"rank {record['rank']}{at and ' '}{at}: {record['reason']}"


def _facts(reports: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the program found while running, over all ranks."""

    def total(key: str) -> int:
        return sum(int(report[key]) for report in reports)

    facts = {
        "mpi": str(reports[0]["mpi"]),
        "sync_time_s": f"{total('sync_ns') * _NS:.6f}",
        "metadata_operations": str(total("metadata_operations")),
        "extra_seeks": str(total("extra_seeks")),
    }
    if wanted := max(int(report["pause_wanted_ns"]) for report in reports):
        drift = max(int(report["drift_ns"]) for report in reports)
        facts["pauses_wanted_s"] = f"{wanted * _NS:.6f}"
        facts["pauses_drift_s"] = f"{drift * _NS:.6f}"
    if waited := total("waited_opens"):
        facts["opens_that_waited_for_the_file"] = str(waited)
    if again := total("opens_again"):
        facts[OPENS_MADE_AGAIN] = str(again)
    if waited := total("waited_reads"):
        facts["reads_that_waited_for_the_bytes"] = str(waited)
    if longer := total("long_reads"):
        facts["reads_longer_than_traced"] = str(longer)
    if other := total("other_results"):
        facts["calls_with_another_result"] = str(other)
    facts |= _compared(
        [sum(counts) for counts in zip(*(r["compared"] for r in reports), strict=True)]
    )
    if flushed := max(int(report["final_flush_ns"]) for report in reports):
        facts["final_flush_s"] = f"{flushed * _NS:.6f}"
    return facts


def _compared(counts: Sequence[int]) -> dict[str, str]:
    """Of the bytes that were read, what they were compared with (native/replay/verify/verify_state.h)."""
    keys = (
        "verified_bytes",
        "verified_zeros_that_nobody_wrote",
        "either_written_or_zero_in_no_known_order",
        "not_verified_bytes",
    )
    return {key: str(count) for key, count in zip(keys, counts, strict=True) if count}


def _phase(ph_id: int, ranks: Sequence[_RankPhase]) -> PhaseResult:
    moved = sum(rank.bytes for rank in ranks)
    operations = sum(rank.operations for rank in ranks)
    # A phase that takes no measurable time (an empty one) has the clock's own resolution.
    time_s = max(1, max(r.last_ns for r in ranks) - min(r.first_ns for r in ranks)) * _NS
    return PhaseResult(
        ph_id=ph_id,
        bytes=moved,
        operations=operations,
        time_s=time_s,
        rate_bytes_per_s=moved / time_s,
        iops=operations / time_s,
        latency=summarise((rank.latencies for rank in ranks), max(rank.max_ns for rank in ranks)),
        ranks=tuple(
            RankPhaseResult(
                rank=rank.rank, host=rank.host, bytes=rank.bytes, operations=rank.operations,
                io_time_s=rank.io_ns * _NS, start_s=rank.first_ns * _NS, end_s=rank.last_ns * _NS,
                latency=summarise([rank.latencies], rank.max_ns),
            )
            for rank in sorted(ranks, key=lambda rank: rank.rank)
        ),
    )  # fmt: skip


def summarise_reports(reports: Sequence[Mapping[str, Any]]) -> LatencySummary | None:
    """Latencies of all operations of a run, whatever their phases; None without an operation."""
    phases = [phase for report in reports for phase in report["phases"] if phase[7]]
    if not phases:
        return None
    return summarise((Counter(dict(phase[7])) for phase in phases), max(p[6] for p in phases))


def summarise(histograms: Iterable[Counter[int]], max_ns: int) -> LatencySummary:
    """Percentiles by nearest rank; a bucket stands for its middle, so each is within 1/64 of the true one."""
    merged: Counter[int] = Counter()
    for histogram in histograms:
        merged.update(histogram)
    total = sum(merged.values())
    targets = [max(1, -(-total * percent // 100)) for percent in (50, 95, 99)]
    values = []
    seen = 0
    buckets = iter(sorted(merged.items()))
    middle = 0.0
    for target in targets:
        while seen < target:
            bucket, count = next(buckets)
            seen += count
            middle = bucket_middle_ns(bucket)
        values.append(min(middle, float(max_ns)) * _NS)
    return LatencySummary(p50_s=values[0], p95_s=values[1], p99_s=values[2], max_s=max_ns * _NS)


def latency_bucket(ns: int) -> int:
    """The bucket of a latency, as the replay program counts (native/replay/timing.h)."""
    if ns < _SUB:
        return max(0, ns)
    shift = ns.bit_length() - 1 - (_SUB.bit_length() - 1)
    return (shift + 1) * _SUB + (ns >> shift) - _SUB


def bucket_middle_ns(bucket: int) -> float:
    """The middle of a latency bucket, ns (native/replay/timing.h)."""
    block, counter = divmod(bucket, _SUB)
    if block == 0:
        return float(counter)
    return float((counter + _SUB) << (block - 1)) + ((1 << (block - 1)) - 1) / 2
