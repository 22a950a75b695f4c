"""Recorded calls as tables of arrays: one row for each call, or for each fold as it was recorded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank.interface.table import Column, Table, Values
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS, codes_where
from wavetank.trace.schema import (
    COLUMNS,
    LEVEL_NAMES,
    UNKNOWN,
    FoldTable,
    Int32Array,
    Trace,
    UInt8Array,
)

_CALL = (
    Column("rank", "Rank", "", "integer"),
    Column("seq", "Number", "", "integer", "of the call within its rank, from 0"),
    Column("call", "Call", "", "text", "its name"),
    Column("kind", "Kind", "", "text", "read, write, open, close, seek, sync, resize, stat, ..."),
    Column("level", "Level", "", "text", "posix, mpiio, or mpi: communication that orders ranks"),
    Column("collective", "Collective", "", "boolean"),
    Column(
        "file_id", "File's id", "", "integer", "row of Trace.files; null: a call without a file"
    ),
    Column("file_name", "File", "", "text"),
    Column("handle", "Handle", "", "integer", "which open of the file, unique within the rank"),
)
_PLACE = (
    Column("size", "Bytes requested", "B", "integer", "of each call; null: it moves no data"),
    Column("moved", "Bytes moved", "B", "integer", "of all calls of the row; null: they move no data"),
    Column("offset", "Offset", "B", "integer", "of the first byte in the file; null: not told"),
)  # fmt: skip
_CLOCKS = (
    Column("tick", "Tick", "", "integer", "MPI calls of the rank before this one"),
    Column("subtick", "Subtick", "", "integer", "POSIX calls of the rank since its last tick"),
)
_TIMES = (
    Column("start_s", "Start", "s", "number", "of the first call, since the trace's time zero; null: not kept"),
    Column("end_s", "End", "s", "number", "of the last call"),
)  # fmt: skip
_ERROR = Column("error", "Error", "", "integer", "errno of a call that failed; 0: it did not")
_EVENTS = (*_CALL, *_PLACE, *_CLOCKS, *_TIMES, _ERROR)
_FOLDS = (
    *_CALL,
    Column("count", "Calls", "", "integer", "that the row stands for"),
    *_PLACE,
    Column("disp", "Displacement", "B", "integer", "from one call's offset to the next one's"),
    *_CLOCKS,
    *_TIMES,
    Column("busy_s", "Busy", "s", "number", "sum of the calls' durations; null: not kept"),
    _ERROR,
)
_NAMES = tuple(sorted({op.name for op in OPS.values()}))
_KINDS = tuple(sorted({op.kind.value for op in OPS.values()}))
_LEVELS = tuple(LEVEL_NAMES.values())
_MOVES = codes_where(lambda op: op.kind.value in ("read", "write"))
_COLLECTIVE = codes_where(lambda op: op.collective)


def event_table(trace: Trace, ranks: Collection[int] | None) -> Table:
    """A row for each call. Times are of calls that were recorded one by one; those of folds are in ``fold_table``."""
    folds = trace.folds if ranks is None else _of_ranks(trace.folds, ranks)
    events = unfold(folds)
    alone = folds.count[events.fold] == 1
    data = _MOVES[events.op]
    values = {
        **_calls(trace, events.rank, events.seq, events.op, events.file, events.handle),
        "size": Values(events.size, ~data),
        "moved": Values(events.moved, ~data),
        "offset": Values(events.offset, ~data | (events.offset == UNKNOWN)),
        "tick": Values(events.tick),
        "subtick": Values(events.subtick),
        "start_s": _seconds(folds.start_ns[events.fold], alone),
        "end_s": _seconds(folds.end_ns[events.fold], alone),
        "error": Values(events.error),
    }
    caption = (
        "Times are of calls that were recorded one by one. Those of folded calls are in the folds."
    )
    return Table("events", "Events", _EVENTS, values, caption)


def fold_table(trace: Trace) -> Table:
    """A row for each fold, as the trace holds it. A loop's rows follow one another, with the count of its repetitions."""
    folds = trace.folds
    data = _MOVES[folds.op]
    timed = folds.start_ns != UNKNOWN
    values = {
        **_calls(trace, folds.rank, folds.seq, folds.op, folds.file, folds.handle),
        "count": Values(folds.count),
        "size": Values(folds.size, ~data),
        "moved": Values(folds.moved, ~data),
        "offset": Values(folds.offset, ~data | (folds.offset == UNKNOWN)),
        "disp": Values(folds.disp, ~data | (folds.offset == UNKNOWN)),
        "tick": Values(folds.tick),
        "subtick": Values(folds.subtick),
        "start_s": _seconds(folds.start_ns, timed),
        "end_s": _seconds(folds.end_ns, timed),
        "busy_s": _seconds(folds.busy_ns, timed),
        "error": Values(folds.error),
    }
    return Table("folds", "Folds", _FOLDS, values)


_FILES = (
    Column("file_id", "Id", "", "integer"),
    Column("file_name", "File", "", "text"),
    Column("file_system", "File system", "", "text", "such as ext4 or lustre; null: not told"),
    Column("mount_point", "Mounted at", "", "text"),
    Column("size_before", "Size before", "B", "integer", "when it was first opened; null: it was not there, or not told"),
    Column("directory", "Directory", "", "boolean"),
)  # fmt: skip


def file_table(trace: Trace) -> Table:
    """A row for each name of a file."""
    files = list(trace.files)
    values: dict[str, Values | list[Any]] = {
        "file_id": list(range(len(files))),
        "file_name": [file.path for file in files],
        "file_system": [file.file_system for file in files],
        "mount_point": [file.mount_point for file in files],
        "size_before": [file.size_before for file in files],
        "directory": [file.directory for file in files],
    }
    return Table("files", "Files", _FILES, values)


def _of_ranks(folds: FoldTable, ranks: Collection[int]) -> FoldTable:
    some = np.isin(folds.rank, list(ranks))
    chosen: dict[str, Any] = {name: getattr(folds, name)[some] for name in COLUMNS}
    return replace(folds, **chosen)


def _calls(
    trace: Trace,
    rank: Int32Array,
    seq: npt.NDArray[np.int64],
    op: UInt8Array,
    file: Int32Array,
    handle: Int32Array,
) -> dict[str, Values | list[Any]]:
    """Columns that say which call it was, on what."""
    paths = tuple(each.path for each in trace.files)
    names = tuple(dict.fromkeys(paths))  # several files may have had a name
    number = {name: at for at, name in enumerate(names)}
    of_file = np.array([*(number[path] for path in paths), -1], dtype=np.int32)
    return {
        "rank": Values(rank),
        "seq": Values(seq),
        "call": _texts(_numbers([_call(c) for c in range(256)], _NAMES)[op], _NAMES),
        "kind": _texts(_numbers([_kind(c) for c in range(256)], _KINDS)[op], _KINDS),
        "level": _texts(_numbers([_level(c) for c in range(256)], _LEVELS)[op], _LEVELS),
        "collective": Values(_COLLECTIVE[op]),
        "file_id": Values(file, file == UNKNOWN),
        "file_name": _texts(of_file[file], names),
        "handle": Values(handle, file == UNKNOWN),
    }


def _call(code: int) -> str | None:
    return OPS[code].name if code in OPS else None


def _kind(code: int) -> str | None:
    return OPS[code].kind.value if code in OPS else None


def _level(code: int) -> str | None:
    return LEVEL_NAMES[OPS[code].level] if code in OPS else None


def _numbers(texts: Sequence[str | None], known: Sequence[str]) -> Int32Array:
    """The place of each text among those that are known; -1 where there is none."""
    return np.array([-1 if t is None else known.index(t) for t in texts], dtype=np.int32)


def _texts(numbers: Int32Array, known: Sequence[str]) -> Values:
    """A column of texts that holds those alone which are in it, in the order in which they are known."""
    used = np.unique(numbers[numbers >= 0])
    place = np.full(len(known) + 1, -1, dtype=np.int32)
    place[used] = np.arange(len(used))
    return Values(place[numbers], None, tuple(known[at] for at in used))


def _seconds(ns: npt.NDArray[np.int64], there: npt.NDArray[np.bool_]) -> Values:
    return Values(ns / 1e9, ~there | (ns == UNKNOWN))
