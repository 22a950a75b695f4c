"""Reads a trace folder into tables.

Reads index.json and the parts beside it; leaves a ``Trace``. A folder without an index (the tracing
command itself was killed) is read as well, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.trace.clocks import common_times
from wavetank.trace.common_tables import CommonTables
from wavetank.trace.decoder import COLUMNS
from wavetank.trace.index import INDEX_NAME, TraceIndex
from wavetank.trace.lifetimes import rank_facts
from wavetank.trace.part import (
    NOTE_BYPASSED,
    NOTE_GO,
    NOTE_IO_URING,
    NOTE_MAPPED,
    NOTE_MISSED,
    NOTE_OTHER_CLASS,
    NOTE_RAW,
    NOTE_RIGHTS,
    NOTE_STDIO,
    NOTE_STOPPED,
    NOTE_UNLOADED,
    NOTE_UNSEEN,
    Part,
    read_part,
)
from wavetank.trace.schema import (
    UNKNOWN,
    Durations,
    FoldTable,
    Int64Array,
    Level,
    Trace,
    without_repetition,
)
from wavetank.trace.shared_pointer import place_ordered_calls
from wavetank.trace.store import is_imported, read_imported

_LEVELS = {"posix": Level.POSIX, "mpiio": Level.MPIIO, "mpi": Level.MPI}


@dataclass(frozen=True)
class RankParts:
    """The parts of one rank in the order of their start (a rank that calls exec leaves several)."""

    rank: int
    parts: tuple[Part, ...]


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
    parts, warnings = read_parts(path, loops=loops)
    lost = list(warnings)
    if index is None:
        if not parts:
            raise TraceError(f"{path} holds no trace: neither {INDEX_NAME} nor parts (part-*.wt)")
        warnings.append(
            f"{path} has no {INDEX_NAME}: the tracing command was stopped before the program ended"
        )
    trace = assemble(parts, warnings)
    lost += trace.lost
    trace = replace(trace, lost=tuple(lost))
    if index is None:
        return trace
    gone = [name for entry in index.ranks for name in entry.parts if not (path / name).exists()]
    warnings = list(trace.warnings)
    if gone:
        lost.append(f"parts of the trace are missing: {', '.join(gone)}")
        warnings.append(lost[-1])
    lost += _less_than_ended(index, parts, known=bool(lost))
    warnings += [sentence for sentence in lost if sentence not in warnings]
    return replace(
        trace,
        command=index.command,
        n_ranks=max(index.n_ranks, trace.n_ranks),
        mpi_library=index.mpi_library,
        started_utc=index.started_utc,
        elapsed_s=trace.elapsed_s if trace.elapsed_s is not None else index.elapsed_s,
        levels=tuple(_LEVELS[name] for name in index.levels),
        warnings=tuple(dict.fromkeys([*index.warnings, *warnings])),
        lost=tuple(lost),
    )


def _less_than_ended(index: TraceIndex, parts: list[Part], *, known: bool) -> list[str]:
    """A part that was cut between two blocks looks like one of a killed process; the index knows better."""
    complete = {name for entry in index.ranks if entry.complete for name in entry.parts}
    cut = [p.path.name for p in parts if not p.ended and p.path.name in complete]
    if not cut or known:
        return []
    return [f"{', '.join(cut)} ended in order when it was recorded, and now its end is lost"]


def read_parts(path: Path, *, loops: bool = False) -> tuple[list[Part], list[str]]:
    """All parts of a folder that can be read, and sentences about those that cannot."""
    parts: list[Part] = []
    warnings: list[str] = []
    for name in sorted(path.glob("part-*.wt")):
        try:
            part = read_part(name, loops)
        except TraceError as error:
            warnings.append(str(error))
            continue
        if part.damage is not None:
            warnings.append(part.damage)
        parts.append(part)
    return parts, warnings


def assemble(parts: list[Part], warnings: list[str]) -> Trace:
    """Join the parts of all processes into one trace; they forget their rows."""
    ranks, notes = number_ranks(parts)
    stopped = _stopped(ranks)
    warnings = [*warnings, *stopped, *notes, *_part_warnings(ranks), *_unseen(parts)]
    times, clocks = common_times(parts)
    time_of = {id(part): time for part, time in zip(parts, times, strict=True)}
    origin = min((time.start_ns for time in times), default=0)
    tables = CommonTables(parts, origin)
    columns: list[dict[str, np.ndarray]] = []
    durations: list[tuple[np.ndarray, np.ndarray]] = []
    n_rows_before = n_folds = 0
    for entry in ranks:
        n_operations = handles = loops = 0
        tick = 0
        for part in entry.parts:
            rows = tables.globalise(part, time_of[id(part)], origin)
            n_rows = len(rows["seq"])
            rows["rank"] = np.full(n_rows, entry.rank, dtype=np.int32)
            # Sequence numbers start anew in a part; after damage they follow on from what is left.
            rows["seq"] = n_operations + _numbers(rows["count"], rows["loop"])
            rows["loop"] = np.where(rows["loop"] > 0, rows["loop"] + loops, 0)
            rows["handle"] = np.where(
                rows["handle"] >= 0, rows["handle"] + handles, UNKNOWN
            ).astype(np.int32)
            rows["tick"] = rows["tick"] + tick
            if n_rows:
                n_operations += int(rows["count"].sum())
                loops = max(loops, int(rows["loop"].max()))
                latest = rows["handle"] + (rows["count"] - 1) * rows["handle_step"]
                handles = max(handles, int(latest.max()) + 1)
                tick = int((rows["tick"] + (rows["count"] - 1) * rows["tick_step"]).max())
            columns.append(rows)
            if part.rows is not None:
                durations.append((part.rows.times_row + n_rows_before, part.rows.times_counts))
                n_folds += part.rows.n_folds
            part.forget_rows()
            n_rows_before += n_rows
    names = ["rank", *(name for name, _ in COLUMNS)]
    empty = CommonTables.empty()
    folds = FoldTable(**{name: _column(name, empty, columns) for name in names})
    folds = place_ordered_calls(folds, tables.views, tables.communicators)
    started = datetime.fromtimestamp(origin / 1e9, UTC).isoformat() if parts else None
    return Trace(
        source="wavetank",
        command=parts[0].command if parts else (),
        n_ranks=max([len(ranks), *(p.n_ranks or 0 for p in parts)]),
        mpi_library=next((p.mpi_library for p in parts if p.mpi_library), None),
        started_utc=started,
        elapsed_s=_elapsed_s(parts, folds),
        ranks=rank_facts([(e.rank, e.parts) for e in ranks], parts, times, origin),
        files=tables.described_files(),
        views=tuple(tables.views),
        communicators=tuple(tables.communicators),
        folds=folds,
        levels=(Level.POSIX, Level.MPIIO, Level.MPI),
        warnings=tuple(warnings),
        lost=tuple(stopped),
        infos=tuple(tables.infos),
        clocks=clocks,
        durations=_joined(durations),
        n_folds=n_folds,
    )


def _column(
    name: str, empty: dict[str, np.ndarray], parts: list[dict[str, np.ndarray]]
) -> np.ndarray:
    """A column of all parts, which lose theirs: of a large trace there is no room for both."""
    return without_repetition(
        np.concatenate([empty[name], *(columns.pop(name) for columns in parts)])
    )


def _numbers(count: Int64Array, loop: Int64Array) -> Int64Array:
    """Number of each row's first operation; the members of a loop take turns."""
    before: Int64Array = np.cumsum(count) - count
    if not loop.any():
        return before
    first = np.flatnonzero(np.append(True, (loop[1:] != loop[:-1]) | (loop[1:] == 0)))
    place = np.arange(len(loop)) - np.repeat(first, np.diff(first, append=len(loop)))
    numbers: Int64Array = before[np.arange(len(loop)) - place] + place
    return numbers


def _joined(durations: list[tuple[np.ndarray, np.ndarray]]) -> Durations:
    if not durations:
        return Durations()
    rows, counts = zip(*durations, strict=True)
    return Durations(np.concatenate(rows), np.concatenate(counts))


def _elapsed_s(parts: list[Part], folds: FoldTable) -> float | None:
    if not parts:
        return None
    first = min(part.start_utc_ns for part in parts)
    ends = [part.start_utc_ns + part.end_ns - first for part in parts if part.end_ns is not None]
    if len(folds):
        ends.append(int(folds.end_ns.max()))
    return max(ends, default=0) / 1e9


def number_ranks(parts: list[Part]) -> tuple[list[RankParts], list[str]]:
    """Give every process a rank: MPI's own; else in the order of start, after them.

    Source: docs/reference/trace-format.md, "Ranks".
    """
    notes: list[str] = []
    by_start = sorted(parts, key=lambda p: (p.start_utc_ns, p.pid, p.path.name))
    by_process: dict[tuple[str, int], list[Part]] = {}
    for part in by_start:
        by_process.setdefault((part.host, part.pid), []).append(part)
    ranked: dict[int, list[Part]] = {}
    others: list[list[Part]] = []
    for process in by_process.values():
        named = max(process, key=lambda p: p.rank_source)
        if named.rank is None:
            others.append(process)
        elif named.rank not in ranked:
            ranked[named.rank] = process
        elif named.rank_source == 1 or not _has_rows(process):
            others.append(process)  # a child of a rank inherits its environment
        else:
            others.append(process)
            notes.append(
                f"more than one process says that it is rank {named.rank}: the command started several MPI "
                "programs. The later ones are numbered after the first"
            )
    entries = [RankParts(rank, tuple(process)) for rank, process in sorted(ranked.items())]
    following = max([*ranked, *((p.n_ranks or 0) - 1 for p in parts), -1]) + 1
    others = [process for process in others if _has_rows(process)] or (others if not ranked else [])
    for number, process in enumerate(others):
        entries.append(RankParts(following + number, tuple(process)))
    if others and ranked:
        notes.append(
            f"{len(others)} process(es) outside the MPI program did I/O; they are numbered from {following}: "
            + ", ".join(
                sorted(
                    {Path(p[0].command[0]).name if p[0].command else str(p[0].pid) for p in others}
                )
            )
        )
    elif len(others) > 1:
        notes.append(
            f"{len(others)} processes did I/O; each is a rank of its own, in the order of their start"
        )
    return entries, list(dict.fromkeys(notes))


def _has_rows(process: list[Part]) -> bool:
    return any(len(part.columns.get("seq", ())) for part in process)


def _stopped(ranks: list[RankParts]) -> list[str]:
    """A sentence for each reason for which the tracer stopped while its program went on."""
    by_reason: dict[str, list[tuple[int, int]]] = {}
    for entry in ranks:
        for part in entry.parts:
            if NOTE_STOPPED in part.notes:
                by_reason.setdefault(part.notes[NOTE_STOPPED], []).append(
                    (entry.rank, part.not_written)
                )
    sentences = []
    for reason, found in by_reason.items():
        n = sum(missed for _, missed in found)
        what = (
            f"{n:,} operation(s) after that are missing"
            if n
            else "what they did after that is missing"
        )
        sentences.append(
            f"the trace of rank(s) {_listed([rank for rank, _ in found])} could not be written to its end ({reason}): "
            + what
        )
    killed = [
        entry.rank
        for entry in ranks
        if any(not (p.ended or p.keeps_last or NOTE_STOPPED in p.notes) for p in entry.parts)
    ]
    if killed:
        sentences.append(
            f"rank(s) {_listed(killed)} were killed, or still run, and the disk had no room to keep their last operations"
        )
    return sentences


def _part_warnings(ranks: list[RankParts]) -> list[str]:
    warnings = []
    cut = [
        e.rank
        for e in ranks
        if not all(part.ended or NOTE_STOPPED in part.notes for part in e.parts)
    ]
    if cut:
        warnings.append(f"rank(s) {_listed(cut)} did not end in order: killed, or still running")
    missed = sum(part.missed for e in ranks for part in e.parts)
    noted = {note for e in ranks for part in e.parts for note in part.notes}
    if missed or NOTE_MISSED in noted:
        warnings.append(
            f"{missed} operation(s) in signal handlers met the tracer at work and were not recorded"
        )
    if NOTE_MAPPED in noted:
        warnings.append(
            "files were mapped into memory; only the mapping is recorded, not the accesses"
        )
    if NOTE_STDIO in noted:
        warnings.append(
            "this C library's streams could not be followed; stdio (fread, fprintf, ...) is not seen"
        )
    return warnings


_NOT_SEEN = {
    NOTE_UNSEEN: "program(s) that were started are statically linked, and not seen",
    NOTE_UNLOADED: "program(s) were started in an environment without LD_PRELOAD (env -i, sudo, a cleaned "
    "environment), and are not seen; nor is what they start",
    NOTE_RIGHTS: "program(s) that were started run with the rights of another user or group, for which the dynamic loader "
    "leaves the tracer out, and are not seen",
    NOTE_BYPASSED: "libraries were loaded with RTLD_DEEPBIND or by dlmopen: their calls go to the C library itself, and are "
    "not seen",
    NOTE_OTHER_CLASS: "program(s) that were started are of another word size (32 bits) than the tracer, and not seen",
    NOTE_GO: "Go program(s) that were started make their system calls themselves: only what they do through C is seen",
}


def _unseen(parts: list[Part]) -> list[str]:
    """Sentences about what the tracer noticed and could not record."""
    warnings = []
    if any(NOTE_IO_URING in part.notes for part in parts):
        warnings.append("the program uses io_uring: operations through it are not seen")
    raw = sorted({name for part in parts for name in part.unseen.get(NOTE_RAW, ())})
    if raw:
        warnings.append(
            f"the program makes system calls by syscall(2), which are not seen: {', '.join(raw)}"
        )
    for note, why in _NOT_SEEN.items():
        names = sorted({name for part in parts for name in part.unseen.get(note, ())})
        if names:
            warnings.append(f"{why}: {', '.join(names)}")
    return warnings


def _listed(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks[:10])) + (
        f" and {len(ranks) - 10} more" if len(ranks) > 10 else ""
    )
