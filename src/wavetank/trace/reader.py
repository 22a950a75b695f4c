"""Reads a trace folder into tables.

Reads index.json and the parts beside it; leaves a ``Trace``. A folder without an index (the tracing
command itself was killed) is read as well, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.notes import Note, note, of_kinds
from wavetank.trace.call_details import joined
from wavetank.trace.clocks import CommonTime, common_times
from wavetank.trace.common_tables import CommonTables
from wavetank.trace.decoder import empty_columns
from wavetank.trace.index import INDEX_NAME, TraceIndex
from wavetank.trace.lifetimes import rank_facts
from wavetank.trace.memory import return_freed_memory
from wavetank.trace.part import Part, read_part
from wavetank.trace.part_warnings import losses, shortcomings, unseen
from wavetank.trace.ranks import RankParts, number_ranks
from wavetank.trace.schema import (
    COLUMNS,
    LEVEL_NAMES,
    NOTHING_GIVEN,
    PARTS,
    UNKNOWN,
    Durations,
    FoldTable,
    Int64Array,
    Trace,
    one_after_another,
)
from wavetank.trace.shared_pointer import place_ordered_calls
from wavetank.trace.store import is_imported, read_imported

_LEVELS = {name: level for level, name in LEVEL_NAMES.items()}


def read_trace(path: Path, *, loops: bool = False) -> Trace:
    """Read a trace folder; other tools' logs are read by ``open_trace``.

    Args:
        path: of the folder.
        loops: keep recorded loops of several operations as rows with a loop number, where a ``FoldTable`` can hold
            them; else loops are taken apart into rows, up to two million of them a part.

    Raises:
        TraceError: it is missing, of no kind that is known, or nothing in it can be read.
    """
    if not path.exists():
        raise TraceError(
            f"there is no trace {path}. Make one with: wavetank trace -o {path} -- PROGRAM"
        )
    if not path.is_dir():
        raise TraceError(f"{path} is no trace folder. Give another tool's log to open_trace")
    if is_imported(path):
        return read_imported(path)
    index = TraceIndex.read(path / INDEX_NAME) if (path / INDEX_NAME).exists() else None
    parts, notes = read_parts(path, loops=loops)
    if index is None:
        if not parts:
            raise TraceError(f"{path} holds no trace: neither {INDEX_NAME} nor parts ({PARTS})")
        text = "{path} has no {name}: the tracing command was stopped before the program ended"
        notes.append(note("unfinished", "index", text, path=str(path), name=INDEX_NAME))
    trace = assemble(parts, notes)
    if index is None:
        return trace
    notes = list(trace.notes)
    gone = [name for entry in index.ranks for name in entry.parts if not (path / name).exists()]
    if gone:
        notes.append(note("lost", "parts", f"parts of the trace are missing: {', '.join(gone)}"))
    if not of_kinds(notes, "lost"):
        notes += _less_than_ended(index, parts)
    return replace(
        trace,
        command=index.command,
        n_ranks=max(index.n_ranks, trace.n_ranks),
        mpi_library=index.mpi_library,
        started_utc=index.started_utc,
        elapsed_s=trace.elapsed_s if trace.elapsed_s is not None else index.elapsed_s,
        levels=tuple(_LEVELS[name] for name in index.levels),
        notes=tuple(dict.fromkeys([*index.notes, *notes])),
    )


def _less_than_ended(index: TraceIndex, parts: list[Part]) -> list[Note]:
    """A part that was cut between two blocks looks like one of a killed process; the index knows better."""
    complete = {name for entry in index.ranks if entry.complete for name in entry.parts}
    cut = [p.path.name for p in parts if not p.ended and p.path.name in complete]
    text = f"{', '.join(cut)} ended in order when it was recorded, and now its end is lost"
    return [note("lost", "parts", text)] if cut else []


def read_parts(
    path: Path, *, loops: bool = False, rows: bool = True
) -> tuple[list[Part], list[Note]]:
    """All parts of a folder that can be read, and notes about those that cannot.

    Args:
        path: of the folder.
        loops: as for ``read_trace``.
        rows: keep the rows; else their totals only.
    """
    parts: list[Part] = []
    notes: list[Note] = []
    for name in sorted(path.glob(PARTS)):
        try:
            part = read_part(name, loops, rows=rows)
        except TraceError as error:
            notes.append(note("lost", "parts", str(error)))
            continue
        if part.damage is not None:
            notes.append(note("lost", "parts", part.damage))
        parts.append(part)
    return parts, notes


def assemble(parts: list[Part], notes: Sequence[Note]) -> Trace:
    """Join the parts of all processes into one trace; they forget their rows and files.

    Of parts that were read without their rows the trace has none either.
    """
    ranks, numbering = number_ranks(parts)
    times, clocks = common_times(parts)
    time_of = {id(part): time for part, time in zip(parts, times, strict=True)}
    origin = min((time.start_ns for time in times), default=0)
    of_ranks = [part for entry in ranks for part in entry.parts]
    tables = CommonTables(parts, of_ranks, origin)
    elapsed_s = _elapsed_s(parts, time_of, origin)
    folds, durations = _rows(ranks, tables, time_of, origin)
    return_freed_memory()
    started = datetime.fromtimestamp(origin / 1e9, UTC).isoformat() if parts else None
    return Trace(
        source="wavetank",
        command=parts[0].command if parts else (),
        n_ranks=max([len(ranks), *(p.n_ranks or 0 for p in parts)]),
        mpi_library=next((p.mpi_library for p in parts if p.mpi_library), None),
        started_utc=started,
        elapsed_s=elapsed_s,
        ranks=rank_facts([(e.rank, e.parts) for e in ranks], parts, times, origin),
        files=tables.described_files(of_ranks),
        views=tuple(tables.views),
        communicators=tuple(tables.communicators),
        folds=folds,
        levels=tuple(LEVEL_NAMES),
        notes=(*notes, *losses(ranks), *numbering, *shortcomings(ranks), *unseen(parts)),
        infos=tuple(tables.infos),
        clocks=clocks,
        durations=durations,
        n_folds=sum(part.totals.folds for part in of_ranks),
    )


def _rows(
    ranks: list[RankParts], tables: CommonTables, time_of: dict[int, CommonTime], origin: int
) -> tuple[FoldTable, Durations]:
    """The rows of all parts that have them, one rank after another."""
    columns: list[dict[str, np.ndarray]] = []
    given = [NOTHING_GIVEN]
    durations: list[tuple[np.ndarray, np.ndarray]] = []
    n_rows_before = 0
    for entry in ranks:
        n_operations = handles = loops = 0
        tick = 0
        for part in entry.parts:
            if part.rows is None:
                continue
            rows, details = tables.globalise(part, time_of[id(part)], origin)
            given.append(details)
            n_rows = len(rows["seq"])
            rows["rank"] = np.broadcast_to(np.int32(entry.rank), n_rows)
            # Sequence numbers start anew in a part; after damage they follow on from what is left.
            rows["seq"] = n_operations + _numbers(rows["count"], rows["loop"])
            if loops:
                rows["loop"] = np.where(rows["loop"] > 0, rows["loop"] + loops, 0)
            if handles:
                rows["handle"] = np.where(
                    rows["handle"] >= 0, rows["handle"] + handles, UNKNOWN
                ).astype(np.int32)
            if tick:
                rows["tick"] = rows["tick"] + tick
            if n_rows:
                n_operations += int(rows["count"].sum())
                loops = max(loops, int(rows["loop"].max()))
                latest = rows["handle"] + (rows["count"] - 1) * rows["handle_step"]
                handles = max(handles, int(latest.max()) + 1)
                tick = int((rows["tick"] + (rows["count"] - 1) * rows["tick_step"]).max())
            columns.append(rows)
            durations.append((part.rows.times_row + n_rows_before, part.rows.times_counts))
            part.rows = None
            n_rows_before += n_rows
    details, numbers = joined(given)
    for rows, of_part in zip(columns, numbers[1:], strict=True):
        rows["given"] = of_part[rows["given"]]
    empty = {
        "rank": np.empty(0, dtype=np.int32),
        "given": np.empty(0, dtype=np.int32),
        **empty_columns(0),
    }
    folds = FoldTable(**{name: _column(name, empty, columns) for name in COLUMNS}, details=details)
    return place_ordered_calls(folds, tables.views, tables.communicators), _concatenated(durations)


def _column(
    name: str, empty: dict[str, np.ndarray], parts: list[dict[str, np.ndarray]]
) -> np.ndarray:
    """A column of all parts, which lose theirs: of a large trace there is no room for both."""
    found = one_after_another([*(columns.pop(name) for columns in parts), empty[name]])
    return found.astype(empty[name].dtype, copy=False)


def _numbers(count: Int64Array, loop: Int64Array) -> Int64Array:
    """Number of each row's first operation; the members of a loop take turns."""
    before: Int64Array = np.cumsum(count) - count
    if not loop.any():
        return before
    first = np.flatnonzero(np.append(True, (loop[1:] != loop[:-1]) | (loop[1:] == 0)))
    place = np.arange(len(loop)) - np.repeat(first, np.diff(first, append=len(loop)))
    numbers: Int64Array = before[np.arange(len(loop)) - place] + place
    return numbers


def _concatenated(durations: list[tuple[np.ndarray, np.ndarray]]) -> Durations:
    if not durations:
        return Durations()
    rows, counts = zip(*durations, strict=True)
    return Durations(np.concatenate(rows), np.concatenate(counts))


def _elapsed_s(parts: list[Part], time_of: dict[int, CommonTime], origin: int) -> float | None:
    if not parts:
        return None
    first = min(part.start_utc_ns for part in parts)
    ends = [part.start_utc_ns + part.end_ns - first for part in parts if part.end_ns is not None]
    for part in parts:
        if part.totals.operations:
            time = time_of[id(part)]
            last = time.of(np.array([part.totals.last_end_ns], dtype=np.int64))
            ends.append(int(last[0]) + time.start_ns - origin)
    return max(ends, default=0) / 1e9
