"""Imports what strace wrote: ``strace -f -v -ttt -y -T -o FILE PROGRAM``.

Reads a log, or a folder with one for each rank, and leaves a ``Trace`` at POSIX level. Ranks have their MPI
numbers where the logs tell them; else every process that does I/O is a rank, in the order of its first call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.notes import notes_of
from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.importers.strace_calls import Process, Reader
from wavetank.trace.importers.strace_lines import MAKE_IT, looks_like_lines
from wavetank.trace.importers.strace_logs import Logs, find_logs, is_folder_of_logs
from wavetank.trace.importers.strace_ranks import Candidate, Numbering, number_ranks
from wavetank.trace.schema import FileIdentity, Level, RankFacts, Trace, TracedFile


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is strace's output, or a folder holds such files only."""
    return is_folder_of_logs(path) if path.is_dir() else looks_like_lines(head)


def read(path: Path) -> Trace:
    """Import a log, or a folder of them.

    Raises:
        TraceError: it cannot be read, was made with other options, or has no calls with descriptors' paths (-y).
    """
    logs = find_logs(path)
    reader = Reader()
    for log, call in logs.calls():
        reader.take(log, call)
    if logs.count(lambda lines: lines.n_calls) == 0:
        raise TraceError(
            f"{path} holds no system calls (a summary of strace -c has none). Make it by: {MAKE_IT}"
        )
    if reader.unnamed and not reader.rows.columns:
        raise TraceError(
            f"{path} names no file of {reader.unnamed} calls that move data: strace was run without -y. Make it by: {MAKE_IT}"
        )
    return _trace(logs, reader)


@dataclass(frozen=True)
class _Ranked:
    """Processes and their numbers."""

    processes: tuple[Process, ...]
    numbering: Numbering

    def facts(self) -> tuple[RankFacts, ...]:
        """Of each rank; those that no log is of have no process id."""
        by_rank = {
            rank: RankFacts(rank, "", process.pid, True, of_launcher=given)
            for process, rank, given in zip(
                self.processes, self.numbering.rank, self.numbering.given, strict=True
            )
            if rank is not None
        }
        return tuple(
            by_rank.get(rank, RankFacts(rank, "", 0, True))
            for rank in range(self.numbering.n_ranks)
        )

    def columns(self, of: Iterable[Process]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """The ranks of rows' processes."""
        ranks = {
            id(process): rank
            for process, rank in zip(self.processes, self.numbering.rank, strict=True)
        }
        return np.array([ranks[id(process)] for process in of], dtype=np.int32)


def _ranked(logs: Logs, reader: Reader) -> _Ranked:
    operations: dict[int, int] = {}
    first: dict[int, Process] = {}
    for process in reader.rows.process:
        operations[id(process)] = operations.get(id(process), 0) + 1
        first.setdefault(id(process), process)
    for process in reader.processes():  # those that did no I/O come last
        first.setdefault(id(process), process)
    processes = tuple(first.values())
    candidates = [
        Candidate(process.environment, process.log_rank, operations.get(id(process), 0))
        for process in processes
    ]
    return _Ranked(processes, number_ranks(candidates, logs.n_ranks))


def _trace(logs: Logs, reader: Reader) -> Trace:
    """The trace of all that was read."""
    columns = reader.rows.columns
    ranked = _ranked(logs, reader)
    names = list(dict.fromkeys(row[1] for row in columns))
    numbers = {name: number for number, name in enumerate(names)}
    rank = ranked.columns(reader.rows.process)
    op, handle, size, moved, offset, start, end, arg, error = (
        np.array([row[i] for row in columns], dtype=np.int64) for i in (0, 2, 3, 4, 5, 6, 7, 8, 9)
    )
    origin = int(start.min()) if len(start) else None
    start, end = start - (origin or 0), end - (origin or 0)
    events = SingleOperations(
        rank=rank,
        op=op.astype(np.uint8),
        file=np.array([numbers[row[1]] for row in columns], dtype=np.int32),
        handle=handle.astype(np.int32),
        size=size,
        moved=moved,
        offset=offset,
        tick=np.zeros(len(columns), dtype=np.int64),
        subtick=_positions(rank),
        start_ns=start,
        end_ns=end,
        arg=arg,
        error=error.astype(np.int32),
    )
    return Trace(
        source="strace",
        command=reader.command,
        n_ranks=ranked.numbering.n_ranks,
        mpi_library=None,
        started_utc=None
        if origin is None
        else datetime.fromtimestamp(origin / 1e9, UTC).isoformat(),
        elapsed_s=None if origin is None else float(end.max()) / 1e9,
        ranks=ranked.facts(),
        files=tuple(_file(reader, *name) for name in names),
        views=(),
        communicators=(),
        folds=fold(events),
        levels=(Level.POSIX,),
        notes=(
            *notes_of("inferred", "ranks", ranked.numbering.sentences),
            *notes_of("unrecorded", "operations", _unrecorded(logs, reader)),
            *notes_of("unseen", "times", _times_missing(logs)),
        ),
    )


def _file(reader: Reader, path: str, number: int) -> TracedFile:
    """A name, with what tells its file from others where names change."""
    identity = FileIdentity("strace", number, 0) if reader.names.changed else None
    return TracedFile(path, identity=identity, directory=reader.names.is_folder(path))


def _unrecorded(logs: Logs, reader: Reader) -> Iterable[str]:
    """What the logs do not tell of the operations, and what could not be read."""
    if logs.others:
        yield (
            f"{logs.logs[0].path.name} is one of {len(logs.others) + 1} logs ({logs.others[0]}, ...): put them into a folder "
            "of their own and give that to read all"
        )
    if any(log.cut_short for log in logs.logs):
        yield "the file is cut short or damaged; what comes after is lost"
    if halves := logs.count(lambda lines: lines.halves):
        yield f"{halves} call(s) have only one half in the file and are left out"
    if without := logs.count(lambda lines: lines.no_result):
        yield f"{without} call(s) have no result in the log and are left out"
    if reader.unnamed:
        yield (
            f"{reader.unnamed} call(s) that move data are left out: the log does not name their files (strace -y does)"
        )
    for name, n in sorted(reader.unplaced_names.items()):
        yield f"{n} {name} call(s) are left out: the log does not tell the folder of their names (strace -y does)"
    for name, requests in reader.unseen.items():
        yield (
            f"the program submitted {requests} request(s) by {name}: what they read and wrote is not in a log of strace"
        )
    if before := reader.unplaced[False]:
        yield f"{before} call(s) have no offset: their files were open before strace began"
    if appended := reader.unplaced[True]:
        yield (
            f"{appended} call(s) have no offset: they append, or go on behind what was appended, and the log does not tell "
            "how large their files were"
        )


def _times_missing(logs: Logs) -> Iterable[str]:
    """What the logs do not tell of times."""
    if logs.count(lambda lines: lines.no_durations):
        yield "there are no durations in the file (strace -T writes them)"


def _positions(rank: np.ndarray) -> np.ndarray:
    """Number of each operation within its rank: the only clock there is."""
    positions = np.zeros(len(rank), dtype=np.int64)
    for one in np.unique(rank):
        mine = rank == one
        positions[mine] = np.arange(int(mine.sum()))
    return positions
