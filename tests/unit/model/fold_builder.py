"""Builds traces from plain events, folded or not: what the tests of the model start from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavetank.document import HostFacts, Provenance
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.call_details import joined, sets_of_shared_columns
from wavetank.trace.ops import OPS
from wavetank.trace.schema import (
    COLUMNS,
    UNKNOWN,
    FileView,
    FoldTable,
    Level,
    RankFacts,
    Trace,
    TracedFile,
)

BY_NAME = {op.name: op for op in OPS.values()}
DATA_KINDS = ("read", "write")


@dataclass(frozen=True)
class Event:
    """One call. Clocks that are None are counted: an MPI-IO call is a tick, a POSIX call a subtick."""

    rank: int
    op: str
    file: int = 0
    offset: int = 0
    size: int = 0
    moved: int | None = None  # None: all of size
    handle: int = 0
    view: int = -1
    view_offset: int | None = None
    arg: int = 0  # as the files of a trace have it, see ``arguments.ARGUMENTS``
    error: int = 0
    communication: int = 0  # MPI calls that are not I/O, between this event and the one before it
    start_ns: int | None = None
    duration_ns: int = 1000


def fold_table(events: Iterable[Event], fold: bool = False) -> FoldTable:
    """Rows of the events (kept in order per rank); ``fold`` joins what FoldTable can express."""
    rows: list[dict[str, int]] = []
    for rank, rank_events in _by_rank(events):
        tick = subtick = clock = 0
        rank_rows = []
        for seq, event in enumerate(rank_events):
            op = BY_NAME[event.op]
            if event.communication:
                tick, subtick = tick + event.communication, 0
            moved = event.size if event.moved is None else event.moved
            start = clock if event.start_ns is None else event.start_ns
            rank_rows.append({
                "rank": rank, "seq": seq, "op": op.code, "file": event.file, "handle": event.handle,
                "count": 1, "size": event.size, "moved": moved if op.kind in DATA_KINDS else 0,
                "offset": UNKNOWN if event.op == "MPI_File_open" else event.offset, "disp": 0, "view": event.view,
                "view_offset": event.offset if event.view_offset is None else event.view_offset,
                "view_disp": 0, "tick": tick, "subtick": subtick, "tick_step": 0, "subtick_step": 0,
                "start_ns": start, "end_ns": start + event.duration_ns, "busy_ns": event.duration_ns,
                "arg": event.arg, "error": event.error, "loop": 0, "handle_step": 0,
            })  # fmt: skip
            clock = start + event.duration_ns
            if op.level == Level.POSIX:
                subtick += 1
            else:
                tick, subtick = tick + 1, 0
        rows.extend(_folded(rank_rows) if fold else rank_rows)
    names = [name for name in (*COLUMNS, "arg") if name != "given"]
    types = {
        "op": np.uint8,
        **dict.fromkeys(("rank", "file", "handle", "view", "error", "handle_step"), np.int32),
    }
    columns = {
        name: np.array([row[name] for row in rows], dtype=types.get(name, np.int64))
        for name in names
    }
    details, (row,) = joined([sets_of_shared_columns(columns)])
    columns["given"] = row[columns["given"]]
    return FoldTable(**columns, details=details)


def _by_rank(events: Iterable[Event]) -> list[tuple[int, list[Event]]]:
    found: dict[int, list[Event]] = {}
    for event in events:
        found.setdefault(event.rank, []).append(event)
    return sorted(found.items())


_SAME = ("op", "file", "handle", "size", "view", "arg", "error")
_STEPS = (
    ("offset", "disp"),
    ("view_offset", "view_disp"),
    ("tick", "tick_step"),
    ("subtick", "subtick_step"),
)


def _folded(rows: list[dict[str, int]]) -> list[dict[str, int]]:
    """Greedily from left to right: every row takes what continues it."""
    found: list[dict[str, int]] = []
    for row in rows:
        last = found[-1] if found else None
        if last is not None and _continues(last, row):
            if last["count"] == 1:
                for column, step in _STEPS:
                    last[step] = row[column] - last[column]
            last["count"] += 1
            last["moved"] += row["moved"]
            last["end_ns"] = row["end_ns"]
            last["busy_ns"] += row["busy_ns"]
        else:
            found.append(dict(row))
    return found


def _continues(last: dict[str, int], row: dict[str, int]) -> bool:
    if (
        any(last[column] != row[column] for column in _SAME)
        or last["moved"] != last["count"] * last["size"]
    ):
        return False
    if last["count"] == 1:
        return True
    return all(row[column] == last[column] + last["count"] * last[step] for column, step in _STEPS)


def trace_of(
    events: Sequence[Event] | FoldTable,
    fold: bool = False,
    n_ranks: int | None = None,
    views: tuple[FileView, ...] = (),
    communicators: tuple[tuple[int, ...], ...] = (),
    paths: Sequence[str] | None = None,
) -> Trace:
    """A complete trace of these events."""
    table = events if isinstance(events, FoldTable) else fold_table(events, fold)
    n = n_ranks or int(table.rank.max(initial=0)) + 1
    n_files = int(table.file.max(initial=-1)) + 1
    names = paths or [f"/scratch/file{number}" for number in range(n_files)]
    return Trace(
        source="wavetank",
        command=("mpirun", "-np", str(n), "./app"),
        n_ranks=n,
        mpi_library=None,
        started_utc=None,
        elapsed_s=None,
        ranks=tuple(
            RankFacts(rank=rank, host="node", pid=100 + rank, complete=True) for rank in range(n)
        ),
        files=tuple(TracedFile(path=name) for name in names),
        views=views,
        communicators=communicators,
        folds=table,
        levels=(Level.POSIX, Level.MPIIO),
    )


PROVENANCE = Provenance(
    tool_version="0",
    tool_commit=None,
    command="test",
    created_utc="2026-01-01T00:00:00+00:00",
    host=HostFacts(hostname="h", kernel="k", machine="m", cpu_model=None, n_cpus=1, memory_bytes=1),
)


def model_of(
    events: Sequence[Event] | FoldTable,
    rules: Rules | None = None,
    fold: bool = False,
    n_ranks: int | None = None,
    views: tuple[FileView, ...] = (),
    communicators: tuple[tuple[int, ...], ...] = (),
    paths: Sequence[str] | None = None,
) -> Model:
    """The model of these events."""
    trace = trace_of(events, fold, n_ranks, views, communicators, paths)
    return extract_model(trace, PROVENANCE, rules)


def on_rank(rank: int, events: Iterable[Event]) -> list[Event]:
    """The same events on another rank."""
    return [replace(event, rank=rank) for event in events]
