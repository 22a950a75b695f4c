"""The tables of a trace: who recorded what, which calls were made on which file, and how long they took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import different
from wavetank.tables.table import Cell, Column, Definition, Table, facts
from wavetank.tables.words import size_words
from wavetank.trace.ops import DATA_KINDS, OPS
from wavetank.trace.schema import Int64Array, Trace
from wavetank.trace.traced_files import TracedFiles

TRACE = facts("trace", "Trace", command="summary")


def trace_tables(trace: Trace) -> list[Table]:
    """The run, its ranks, calls by file, and how long the folded ones took."""
    tables = [_run_table(trace), _rank_table(trace), CALLS.table(_calls(trace))]
    return [*tables, DURATIONS.table(_durations(trace))] if len(trace.durations.row) else tables


def _run_table(trace: Trace) -> Table:
    return TRACE.table(
        [
            ("command", " ".join(trace.command)),
            ("source", trace.source),
            ("n_ranks", trace.n_ranks),
            ("mpi_library", trace.mpi_library),
            ("started_utc", trace.started_utc),
            ("elapsed_s", trace.elapsed_s),
            ("operations", int(trace.folds.count.sum())),
            ("rows", len(trace.folds) if trace.n_folds is None else trace.n_folds),
        ],
    )


@dataclass(frozen=True)
class _Rank:
    rank: int
    host: str | None
    pid: int | None
    operations: int
    complete: bool


RANKS: Definition[_Rank] = Definition(
    "ranks",
    "Ranks",
    (
        Column("rank", "Rank", lambda i: i.rank, kind="integer"),
        Column("host", "Host", lambda i: i.host),
        Column("pid", "Process", lambda i: Cell("-" if i.pid is None else str(i.pid), i.pid), kind="integer"),
        Column("operations", "Operations", lambda i: i.operations, kind="integer"),
        Column("complete", "Complete", lambda i: Cell("yes" if i.complete else "cut short", i.complete), kind="boolean"),
    ),
)  # fmt: skip


def _rank_table(trace: Trace) -> Table:
    table = trace.folds
    operations = np.bincount(table.rank, weights=table.count, minlength=trace.n_ranks)
    return RANKS.table(
        _Rank(each.rank, each.host, each.pid, int(operations[each.rank]), each.complete)
        for each in trace.ranks
    )


@dataclass(frozen=True)
class _Calls:
    file_name: str
    call: str
    ranks: int
    calls: int
    bytes_moved: int
    time_s: float


CALLS: Definition[_Calls] = Definition(
    "calls",
    "Calls",
    (
        Column("file_name", "File", lambda i: i.file_name),
        Column("call", "Call", lambda i: i.call),
        Column("ranks", "Ranks", lambda i: i.ranks, kind="integer", help="that made it"),
        Column("calls", "Calls", lambda i: i.calls, kind="integer"),
        Column("bytes_moved", "Bytes", lambda i: i.bytes_moved, unit="B", show=size_words),
        Column("time_s", "Seconds", lambda i: i.time_s, unit="s", show=lambda value: f"{value:.6f}"),
    ),
)  # fmt: skip


def _calls(trace: Trace) -> list[_Calls]:
    table = trace.folds
    some = table.file >= 0
    key = _first_of_path(trace)[table.file[some]] * 256 + table.op[some]
    pairs, inverse = np.unique(key, return_inverse=True)
    sums = {}
    for name in ("count", "moved", "busy_ns"):
        sums[name] = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(sums[name], inverse, getattr(table, name)[some])
    moves = {code for code, op in OPS.items() if op.kind in DATA_KINDS}
    rows = []
    for number, pair in enumerate(pairs.tolist()):
        file, op = divmod(pair, 256)
        rows.append(
            _Calls(
                trace.files[file].path,
                _call_name(op),
                len(different(table.rank[some][key == pair])),
                int(sums["count"][number]),
                int(sums["moved"][number]) if op in moves else 0,
                int(sums["busy_ns"][number]) / 1e9,
            )
        )
    return rows


def _call_name(op: int) -> str:
    return OPS[op].name if op in OPS else f"operation {op}"


def _first_of_path(trace: Trace) -> Int64Array:
    """For each file of the trace the first one of its path: several may have had the name. -1 stays -1."""
    return np.append(TracedFiles.of(trace.files).paths.first_equal(), -1)


@dataclass(frozen=True)
class _Durations:
    file_name: str
    call: str
    calls: int
    half_s: float
    most_s: float
    all_s: float


def _three(value: float) -> str:
    return f"{value:.3g}"


DURATIONS: Definition[_Durations] = Definition(
    "durations",
    "Durations",
    (
        Column("file_name", "File", lambda i: i.file_name),
        Column("call", "Call", lambda i: i.call),
        Column("calls_in_folds", "Calls in folds", lambda i: i.calls, kind="integer"),
        Column("half_below_s", "Half below, s", lambda i: i.half_s, unit="s", show=_three),
        Column("99_percent_below_s", "99 % below, s", lambda i: i.most_s, unit="s", show=_three),
        Column("all_below_s", "All below, s", lambda i: i.all_s, unit="s", show=_three),
    ),
)


def _durations(trace: Trace) -> list[_Durations]:
    """Durations by file and call, from the folds' histograms: bounds of powers of two."""
    row, counts = trace.durations.row, trace.durations.counts
    file = _first_of_path(trace)[trace.folds.file[row]]
    pairs, inverse = np.unique(file * 256 + trace.folds.op[row], return_inverse=True)
    sums = np.zeros((len(pairs), counts.shape[1]), dtype=np.int64)
    np.add.at(sums, inverse, counts)
    rows = []
    for pair, buckets in zip(pairs.tolist(), sums, strict=True):
        number, op = divmod(pair, 256)
        if number < 0 or not buckets.any():
            continue
        below = np.cumsum(buckets)
        half, most, last = (
            float(2 ** (int(np.searchsorted(below, below[-1] * share)) + 1)) / 1e9
            for share in (0.5, 0.99, 1.0)
        )
        rows.append(
            _Durations(trace.files[number].path, _call_name(op), int(below[-1]), half, most, last)
        )
    return rows
