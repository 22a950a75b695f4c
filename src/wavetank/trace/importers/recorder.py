"""Imports trace folders of Recorder (uiuc-hpc) 2.4 to 3: POSIX, stdio and MPI-IO calls, and MPI's order.

Reads what ``recorder_format`` unfolds; leaves a ``Trace``. Recorder keeps arguments, not results, and file
names, not descriptors: what follows from that is said in the trace's warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.notes import notes_of
from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.importers.positions import LOST, follow
from wavetank.trace.importers.recorder_calls import (
    Names,
    Notes,
    collect,
    meaning,
    refuse_rounded,
)
from wavetank.trace.importers.recorder_format import (
    RankCalls,
    RecorderTrace,
    is_recorder_folder,
    read_folder,
)
from wavetank.trace.importers.recorder_patterns import distances_begin, without_patterns
from wavetank.trace.schema import (
    UNKNOWN,
    Int64Array,
    Level,
    RankFacts,
    Trace,
    TracedFile,
)


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
    recorded = replace(recorded, ranks=without_patterns(recorded.ranks))
    files, notes = Names(), Notes()
    for rank, calls in enumerate(recorded.ranks):
        refuse_rounded(calls.signatures, path)
        for signature in calls.signatures:
            collect(files, rank, signature)
    ids = {name: number for number, name in enumerate(files.communicators)}
    parts = [
        _events_of_rank(
            rank, calls, recorded.patterns_within, _Tables(files, ids, notes), str(path)
        )
        for rank, calls in enumerate(recorded.ranks)
    ]
    events = SingleOperations(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])}
    )
    n_ranks = len(recorded.ranks)
    clock = "each rank's times begin at its own start: Recorder keeps no common clock"
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
        levels=_levels(recorded),
        notes=(
            *notes_of("unrecorded", "operations", _unrecorded(recorded, notes)),
            *notes_of("unseen", "times", [clock] if len(recorded.ranks) > 1 else []),
            *notes_of("lost", "operations", recorded.lost),
        ),
    )


@dataclass(frozen=True)
class _Tables:
    """What all ranks share."""

    files: Names
    communicators: dict[str, int]
    notes: Notes


def _events_of_rank(
    rank: int, calls: RankCalls, patterns_within: bool, tables: _Tables, where: str
) -> SingleOperations:
    meanings = [
        meaning(rank, signature, tables.files, tables.communicators, tables.notes)
        for signature in calls.signatures
    ]
    order = _as_they_ended(calls)

    def column(name: str, kind: type = np.int64) -> np.ndarray:
        values: np.ndarray = np.array([getattr(one, name) for one in meanings], dtype=kind)
        return np.take(values, calls.signature)

    streams = {
        name: number for number, name in enumerate(dict.fromkeys(m.stream for m in meanings))
    }
    stream = np.array([streams[m.stream] for m in meanings], dtype=np.int64)[calls.signature]
    added = distances_begin(calls) if patterns_within else np.zeros(len(stream), dtype=np.int64)
    offset = _offsets(stream, column, added, tables.notes)
    if (offset < UNKNOWN).any():
        raise TraceError(
            f"{where}: offsets of rank {rank} that were recorded as patterns are negative: this build of Recorder writes "
            "patterns in a way that is not known here. Trace again without RECORDER_INTRAPROCESS_PATTERN_RECOGNITION"
        )
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
        communicator=column("communicator", np.int32)[kept],
    )


def _as_they_ended(calls: RankCalls) -> np.ndarray:
    """The order in which calls ended: POSIX calls inside an MPI-IO call come before it.

    Times may be equal; where calls have depths, those tell: a call ends before the next one that is not inside it.
    """
    n = len(calls.signature)
    depth = np.take(
        np.array([one.depth for one in calls.signatures], dtype=np.int64), calls.signature
    )
    if not depth.any():
        return np.argsort(calls.end_ns, kind="stable")
    ends_before = np.full(n, n, dtype=np.int64)
    for level in range(int(depth.max()) + 1):
        not_deeper = np.append(np.flatnonzero(depth <= level), n)
        mine = np.flatnonzero(depth == level)
        ends_before[mine] = not_deeper[np.searchsorted(not_deeper, mine, side="right")]
    return np.lexsort((-depth, ends_before))


def _offsets(
    stream: np.ndarray, column: Callable[..., np.ndarray], added: Int64Array, notes: Notes
) -> Int64Array:
    """Where each call is in its file, bytes; UNKNOWN where that cannot be told."""
    unit, absolute = column("unit"), column("absolute")
    sets_view = unit != UNKNOWN
    # The view that is in force for each call: the number of the call that set it.
    number = np.where(sets_view, np.arange(len(stream), dtype=np.int64), UNKNOWN)
    view = follow(stream, number, np.zeros(len(stream), dtype=np.int64))
    view = np.where(sets_view, number, view)
    has_view = view != UNKNOWN
    unit = np.where(has_view, unit[view], 1)
    given = absolute != UNKNOWN
    start = np.where(has_view, np.where(given, absolute + added, 0)[view], 0)
    # A view begins where it says; a seek is in its units from there; what opens a file begins at its own start.
    put = np.where(sets_view, start, start + (absolute + added) * unit)
    put = np.where(given & (absolute != LOST) & (unit > 0), put, absolute)
    put = np.where(given & (unit == 0), LOST, put)
    advance = column("advance") + np.where(_moves(column), added, 0)
    position = follow(stream, put, advance * unit + column("advance_bytes"))
    at_position, explicit = column("at_position", bool), column("offset") != UNKNOWN
    explicit &= ~at_position
    hidden = (at_position | explicit) & (unit == 0)
    notes.unknown_view += bool(hidden.any())
    offset = np.where(at_position, position, UNKNOWN)
    offset = np.where(explicit, start + (column("offset") + added) * unit, offset)
    return np.where(hidden, UNKNOWN, offset)


def _moves(column: Callable[..., np.ndarray]) -> np.ndarray:
    """Calls that move the position by their offset: seeks from here."""
    elsewhere = column("at_position", bool) | (column("offset") != UNKNOWN)
    moves: np.ndarray = (column("absolute") == UNKNOWN) & ~elsewhere
    return moves


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


def _levels(recorded: RecorderTrace) -> tuple[int, ...]:
    posix, _communication, mpiio = recorded.recorded
    return (*((Level.POSIX,) if posix else ()), *((Level.MPIIO,) if mpiio else ()))


def _unrecorded(recorded: RecorderTrace, notes: Notes) -> tuple[str, ...]:
    """What Recorder does not tell of the operations."""
    posix, communication, mpiio = recorded.recorded
    found = [
        "Recorder keeps no results of calls: the bytes are those that were asked for, also where a read was short",
        "Recorder names files, not descriptors: two opens of one file at once by one rank share their position here",
    ]
    if not communication and len(recorded.ranks) > 1:
        found.append(
            "communication was not recorded (RECORDER_MPI_TRACING=1 does): phases are not separated by it, and the order "
            "between ranks is not known"
        )
    found += [
        f"Recorder's tracing of {name} was off: none of those calls are in the trace"
        for name, there in (("POSIX calls", posix), ("MPI-IO", mpiio))
        if not there
    ]
    if notes.stdio:
        found.append(
            "stdio is recorded by Recorder as the program calls it, not as what reaches the file"
        )
        if recorded.is_3:
            found.append(
                "Recorder 3 records fread and fwrite only: what the program moved by fprintf, fputs, fgets or getc is missing"
            )
    if recorded.patterns_within:
        found.append(
            "offsets were recorded as distances from each function's first one "
            "(RECORDER_INTRAPROCESS_PATTERN_RECOGNITION), and are summed up here as Recorder's source of November 2023 "
            "writes them: check one of them where another version recorded"
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
    return tuple(found)
