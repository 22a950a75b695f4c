"""Imports trace folders of Recorder (uiuc-hpc) 2.4 and 2.5: POSIX, stdio and MPI-IO calls, and MPI's order.

Reads what ``recorder_format`` unfolds; leaves a ``Trace``. Recorder keeps arguments, not results, and file
names, not descriptors: what follows from that is said in the trace's warnings.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.importers.positions import follow
from wavetank.trace.importers.recorder_calls import Names, Notes, collect, meaning
from wavetank.trace.importers.recorder_format import (
    RankCalls,
    RecorderTrace,
    is_recorder_folder,
    read_folder,
)
from wavetank.trace.schema import Level, RankFacts, Trace, TracedFile


def recognises(path: Path, head: bytes) -> bool:
    """Whether a path is a trace folder of Recorder."""
    del head
    return is_recorder_folder(path)


def read(path: Path) -> Trace:
    """Import a folder.

    Raises:
        TraceError: it is damaged, incomplete or of an unknown version.
    """
    recorded = read_folder(path)
    files, notes = Names(), Notes()
    for rank, calls in enumerate(recorded.ranks):
        for signature in calls.signatures:
            collect(files, rank, signature)
    ids = {name: number for number, name in enumerate(files.communicators)}
    parts = [
        _events_of_rank(rank, calls, files, ids, notes) for rank, calls in enumerate(recorded.ranks)
    ]
    events = SingleOperations(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])}
    )
    n_ranks = len(recorded.ranks)
    return Trace(
        source="recorder",
        command=(),
        n_ranks=n_ranks,
        mpi_library=None,
        started_utc=datetime.fromtimestamp(recorded.started_s, UTC).isoformat(),
        elapsed_s=max(
            (float(calls.end_ns.max()) for calls in recorded.ranks if len(calls.end_ns)),
            default=0.0,
        )
        / 1e9,
        ranks=tuple(RankFacts(rank, "", 0, True) for rank in range(n_ranks)),
        files=tuple(TracedFile(name) for name in files.numbers),
        views=(),
        communicators=tuple(
            tuple(range(n_ranks)) if name == "MPI_COMM_WORLD" else tuple(sorted(members))
            for name, members in files.communicators.items()
        ),
        folds=fold(events),
        levels=(Level.POSIX, Level.MPIIO),
        warnings=_warnings(recorded, notes),
        lost=recorded.lost,
    )


def _events_of_rank(
    rank: int, calls: RankCalls, files: Names, communicators: dict[str, int], notes: Notes
) -> SingleOperations:
    meanings = [
        meaning(rank, signature, files, communicators, notes) for signature in calls.signatures
    ]
    order = np.argsort(
        calls.end_ns, kind="stable"
    )  # POSIX calls inside an MPI-IO call come before it

    def column(name: str, kind: type = np.int64) -> np.ndarray:
        values: np.ndarray = np.array([getattr(one, name) for one in meanings], dtype=kind)
        return np.take(values, calls.signature)

    streams = {
        name: number for number, name in enumerate(dict.fromkeys(m.stream for m in meanings))
    }
    stream = np.array([streams[m.stream] for m in meanings], dtype=np.int64)[calls.signature]
    position = follow(stream, column("absolute"), column("advance"))
    offset = np.where(column("at_position", bool), position, column("offset"))
    opens = column("opens", bool)
    handle = np.zeros(len(stream), dtype=np.int64)
    for number in np.unique(stream[opens]):
        mine = stream == number
        handle[mine] = np.cumsum(opens[mine])
    tick, subtick = _clocks(column("is_tick", bool), calls.start_ns)
    op = column("op", np.uint8)
    kept = order[op[order] > 0]
    size = column("size")
    n = len(kept)
    return SingleOperations(
        rank=np.full(n, rank, dtype=np.int32),
        op=op[kept],
        file=column("file", np.int32)[kept],
        handle=(handle[kept] * (int(stream.max(initial=0)) + 1) + stream[kept]).astype(np.int32),
        size=size[kept],
        moved=np.where(opens, 0, size)[kept],
        offset=offset[kept],
        tick=tick[kept],
        subtick=subtick[kept],
        start_ns=calls.start_ns[kept],
        end_ns=calls.end_ns[kept],
        arg=column("arg")[kept],
        error=np.zeros(n, dtype=np.int32),
    )


def _clocks(is_tick: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logical clocks: every MPI call is a tick, POSIX calls count within it."""
    tick = np.cumsum(is_tick) - is_tick
    position = np.arange(len(start), dtype=np.int64)
    others = position[~is_tick]
    subtick = np.zeros(len(start), dtype=np.int64)
    new = np.append(True, tick[others][1:] != tick[others][:-1])[: len(others)]
    count = np.arange(len(others))
    subtick[others] = count - np.maximum.accumulate(np.where(new, count, 0)) if len(others) else 0
    return tick.astype(np.int64), subtick


def _warnings(recorded: RecorderTrace, notes: Notes) -> tuple[str, ...]:
    found = [
        "Recorder keeps no results of calls: the bytes are those that were asked for, also where a read was short",
        "Recorder names files, not descriptors: two opens of one file at once by one rank share their position here",
    ]
    if len(recorded.ranks) > 1:
        found.append("each rank's times begin at its own start: Recorder keeps no common clock")
    if notes.stdio:
        found.append(
            "stdio is recorded by Recorder as the program calls it, not as what reaches the file"
        )
    if notes.appended:
        found.append("offsets in files opened for appending are unknown")
    if notes.unknown_view:
        found.append(
            "offsets of MPI-IO operations through file views of derived datatypes, and at shared pointers, are "
            "unknown: Recorder keeps only the datatypes' names. The POSIX level has offsets"
        )
    if notes.unknown_type:
        found.append(
            f"{notes.unknown_type} kind(s) of MPI-IO calls with derived datatypes are left out: Recorder does not keep "
            "their sizes. The POSIX level has them"
        )
    return (*found, *recorded.lost)
