"""A trace as plain rows: who recorded what, and which calls were made on which file."""

from __future__ import annotations

import numpy as np

from wavetank.model.tables.model_tables import exact_size
from wavetank.model.tables.table import Cell, ModelTable
from wavetank.trace.ops import DATA_KINDS, OPS
from wavetank.trace.schema import Int64Array, Trace
from wavetank.trace.traced_files import TracedFiles


def trace_tables(trace: Trace) -> tuple[ModelTable, ...]:
    """The run, its ranks, calls by file, and how long the folded ones took."""
    tables = (_run_table(trace), _rank_table(trace), _call_table(trace))
    return (*tables, _duration_table(trace)) if len(trace.durations.row) else tables


def _run_table(trace: Trace) -> ModelTable:
    facts: list[tuple[Cell, ...]] = [
        ("command", " ".join(trace.command)),
        ("source", trace.source),
        ("n_ranks", trace.n_ranks),
        ("mpi_library", trace.mpi_library),
        ("started_utc", trace.started_utc),
        ("elapsed_s", trace.elapsed_s),
        ("operations", int(trace.folds.count.sum())),
        ("rows", len(trace.folds) if trace.n_folds is None else trace.n_folds),
    ]
    return _plain("Trace", ("field", "value"), facts)


def _rank_table(trace: Trace) -> ModelTable:
    table = trace.folds
    operations = np.bincount(table.rank, weights=table.count, minlength=trace.n_ranks)
    rows: list[tuple[Cell, ...]] = [
        (
            facts.rank,
            facts.host,
            facts.pid,
            int(operations[facts.rank]),
            "yes" if facts.complete else "cut short",
        )
        for facts in trace.ranks
    ]
    return _plain("Ranks", ("rank", "host", "pid", "operations", "complete"), rows)


def _call_table(trace: Trace) -> ModelTable:
    table = trace.folds
    some = table.file >= 0
    key = _first_of_path(trace)[table.file[some]] * 256 + table.op[some]
    pairs, inverse = np.unique(key, return_inverse=True)
    sums = {}
    for name in ("count", "moved", "busy_ns"):
        sums[name] = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(sums[name], inverse, getattr(table, name)[some])
    moves = {code for code, op in OPS.items() if op.kind in DATA_KINDS}
    rows: list[tuple[Cell, ...]] = []
    shown: list[tuple[str, ...]] = []
    for number, pair in enumerate(pairs.tolist()):
        file, op = divmod(pair, 256)
        count = int(sums["count"][number])
        moved = int(sums["moved"][number]) if op in moves else 0
        ranks = np.unique(table.rank[some][key == pair])
        name = OPS[op].name if op in OPS else f"operation {op}"
        row: tuple[Cell, ...] = (
            trace.files[file].path, name, len(ranks), count, moved, int(sums["busy_ns"][number]) / 1e9,
        )  # fmt: skip
        rows.append(row)
        shown.append(
            (str(row[0]), name, str(len(ranks)), str(count), exact_size(moved), f"{row[5]:.6f}")
        )
    columns = ("file_name", "call", "ranks", "calls", "bytes_moved", "time_s")
    return ModelTable("Calls", columns, tuple(rows), tuple(shown))


def _first_of_path(trace: Trace) -> Int64Array:
    """For each file of the trace the first one of its path: several may have had the name. -1 stays -1."""
    return np.append(TracedFiles.of(trace.files).paths.first_equal(), -1)


def _duration_table(trace: Trace) -> ModelTable:
    """Durations by file and call, from the folds' histograms: bounds of powers of two."""
    row, counts = trace.durations.row, trace.durations.counts
    file = _first_of_path(trace)[trace.folds.file[row]]
    pairs, inverse = np.unique(file * 256 + trace.folds.op[row], return_inverse=True)
    sums = np.zeros((len(pairs), counts.shape[1]), dtype=np.int64)
    np.add.at(sums, inverse, counts)
    rows: list[tuple[Cell, ...]] = []
    shown: list[tuple[str, ...]] = []
    for pair, buckets in zip(pairs.tolist(), sums, strict=True):
        number, op = divmod(pair, 256)
        if number < 0 or not buckets.any():
            continue
        name = OPS[op].name if op in OPS else f"operation {op}"
        below = np.cumsum(buckets)
        half, most, last = (
            float(2 ** (int(np.searchsorted(below, below[-1] * share)) + 1)) / 1e9
            for share in (0.5, 0.99, 1.0)
        )
        rows.append((trace.files[number].path, name, int(below[-1]), half, most, last))
        shown.append(
            (
                trace.files[number].path,
                name,
                str(below[-1]),
                f"{half:.3g}",
                f"{most:.3g}",
                f"{last:.3g}",
            )
        )
    columns = (
        "file_name",
        "call",
        "calls_in_folds",
        "half_below_s",
        "99_percent_below_s",
        "all_below_s",
    )
    return ModelTable("Durations", columns, tuple(rows), tuple(shown))


def _plain(title: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> ModelTable:
    return ModelTable(
        title,
        columns,
        tuple(tuple(row) for row in rows),
        tuple(tuple("-" if cell is None else str(cell) for cell in row) for row in rows),
    )
