"""Results of a replay as tables: phases, calls that move no data, the time at I/O calls, settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.results import totals
from wavetank.kernel.results.result import CallRate, LatencySummary, PhaseResult, ReplayResult
from wavetank.tables.table import Cell, Column, Definition, Table, facts
from wavetank.units import format_duration, format_size


@dataclass(frozen=True)
class _Phase:
    operation: str
    result: PhaseResult

    def latency(self, of: Callable[[LatencySummary], float]) -> float | None:
        """A number of the operations' times, s; None where they are not known."""
        return None if self.result.latency is None else of(self.result.latency)

    @property
    def straggler(self) -> tuple[int | None, float | None]:
        """The rank with the most I/O time, and how many times the ranks' median that is."""
        ranks = self.result.ranks
        if len(ranks) < 2:
            return None, None
        slowest = max(ranks, key=lambda rank: rank.io_time_s)
        middle = median(rank.io_time_s for rank in ranks)
        return slowest.rank, slowest.io_time_s / middle if middle else 1.0


def _left(result: ReplayResult) -> Cell:
    left = result.io.not_on_disk_bytes
    return Cell(f"up to {format_size(left)}" if left else "0", left)


PHASES: Definition[_Phase] = Definition(
    "replay-phases",
    "Phases",
    (
        Column("phase", "Phase", lambda i: i.result.ph_id, kind="integer"),
        Column("operation", "Operation", lambda i: i.operation),
        Column("ranks", "Ranks", lambda i: len(i.result.ranks), kind="integer"),
        Column("bytes", "Bytes", lambda i: i.result.bytes, unit="B"),
        Column("operations", "Operations", lambda i: i.result.operations, kind="integer"),
        Column("rate_bytes_per_s", "Rate", lambda i: i.result.rate_bytes_per_s, unit="B/s"),
        Column("iops", "IOPS", lambda i: i.result.iops, unit="1/s"),
        Column("time_s", "Time", lambda i: i.result.time_s, unit="s"),
        Column("p50_s", "p50", lambda i: i.latency(lambda told: told.p50_s), unit="s", help="median time of an operation"),
        Column("p95_s", "p95", lambda i: i.latency(lambda told: told.p95_s), unit="s", help="95 of 100 operations are faster"),
        Column("p99_s", "p99", lambda i: i.latency(lambda told: told.p99_s), unit="s", help="99 of 100 operations are faster"),
        Column("max_s", "Slowest", lambda i: i.latency(lambda told: told.max_s), unit="s", help="time of the slowest operation"),
        Column("slowest_rank", "Slowest rank", lambda i: i.straggler[0], kind="integer"),
        Column("slowest_over_median", "Slowest / median", lambda i: i.straggler[1], kind="number",
               show=lambda value: f"{value:.2f}", help="I/O time of the slowest rank by the ranks' median"),
    ),
    key="phases",
    command="replay",
)  # fmt: skip

CALLS: Definition[CallRate] = Definition(
    "replay-calls",
    "Calls that move no data",
    (
        Column("call", "Call", lambda i: i.call),
        Column("calls", "Calls", lambda i: i.n, kind="integer"),
        Column("time_s", "Time", lambda i: i.time_s, unit="s"),
        Column("calls_per_s", "Calls per second", lambda i: i.per_s, unit="1/s"),
    ),
    key="calls",
    command="replay",
)

IO_TIME: Definition[ReplayResult] = Definition(
    "io-time",
    "I/O time",
    (
        Column("io_time_s", "I/O time", lambda i: i.io.total_s, unit="s"),
        Column("data_s", "Data", lambda i: i.io.data_s, unit="s"),
        Column("metadata_s", "Metadata", lambda i: i.io.metadata_s, unit="s"),
        Column("flush_s", "Flush", lambda i: i.io.flush_s, unit="s"),
        Column("elapsed_s", "Elapsed", lambda i: i.elapsed_s, unit="s"),
        Column("not_on_disk_bytes", "Not on disk", _left, unit="B", help="left in caches, at most"),
    ),
)  # fmt: skip

TOTALS: Definition[ReplayResult] = Definition(
    "totals",
    "All phases",
    (
        Column("bytes", "Bytes", totals.moved_bytes, unit="B"),
        Column("operations", "Operations", totals.n_operations, kind="integer"),
        Column("io_time_s", "I/O time", lambda i: i.io.total_s, unit="s"),
        Column("rate_bytes_per_s", "Bytes / I/O time", totals.rate_bytes_per_s, unit="B/s", help="the rate of a run"),
        Column("iops", "Operations / I/O time", totals.iops, unit="1/s"),
    ),
)  # fmt: skip

SETTINGS = facts("replay-settings", "Settings", "setting", key="settings", command="replay")
DEFINITIONS = (PHASES, CALLS, IO_TIME, TOTALS, SETTINGS)


def totals_table(result: ReplayResult) -> Table:
    """All phases together, one row."""
    return TOTALS.table(
        [result], caption="Rates are over the I/O time, as in rankings. Phases' own may overlap."
    )


def result_tables(kernel: Kernel, result: ReplayResult) -> list[Table]:
    """The tables of a result."""
    operations = {
        phase.ph_id: " + ".join(member.iop_type for member in phase.pattern)
        for phase in kernel.phases
    }
    note = f"{format_duration(result.elapsed_s)} in all, metadata {format_duration(result.metadata_time_s)} over all ranks."
    return [
        PHASES.table(
            [_Phase(operations[phase.ph_id], phase) for phase in result.phases], caption=note
        ),
        totals_table(result),
        *([CALLS.table(result.calls)] if result.calls else []),
        IO_TIME.table([result]),
        SETTINGS.table(result.settings.items()),
    ]
