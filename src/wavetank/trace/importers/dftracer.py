"""Imports files of DFTracer's format (.pfw, .pfw.gz): Chrome trace events, one JSON object a line.

Written by DFTracer itself, and by DataCrumbs, which sees the system calls by eBPF.

Sample lines (DFTracer 2.2, with DFTRACER_INC_METADATA=1)
    {"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"name":"/d/x","value":"ab12"}}
    {"id":9,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1700,"dur":3,"ph":1,
     "args":{"fhash":"ab12","ret":4096,"count":4096}}
Without its metadata DFTracer writes neither file, size nor offset: such a file is refused with the reason.

Sample lines (DataCrumbs of 2026, then of 2025: times in ns, "hhash" in all events)
    {"id":3,"name":"FH","cat":"datacrumbs","ph":"M","args":{"hash":77,"value":"/d/x"}}
    {"id":9,"name":"read","cat":"sys","ph":"X","ts":1700,"dur":3,"pid":7,"tid":7,"args":{"fhash":77,"size":4096}}
    {"id":9,"pid":7,"tid":7,"name":"read","cat":"sys","ph":"X","ts":1700000,"dur":3000,"args":{"hhash":1,"fhash":77,"size_sum":4096}}
Its "pid" is a thread and its "tid" the process; it has no offsets, no flags of opens, and of failed calls a size below 0.
Leaves a ``Trace`` at POSIX level. Every process is a rank, in the order of their ids.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wavetank.errors import TraceError
from wavetank.trace import packed
from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.paths import is_kept
from wavetank.trace.schema import UNKNOWN, Level, RankFacts, Trace, TracedFile

_NAMES = {
    "open64": "open", "openat": "open", "creat": "open", "creat64": "open", "pread64": "pread", "pwrite64": "pwrite",
    "lseek64": "lseek", "fopen": "open", "fopen64": "open", "fclose": "close", "fread": "read", "fwrite": "write",
    "ftruncate64": "ftruncate", "__xstat64": "stat", "__fxstat64": "fstat", "openat2": "open", "fseek": "lseek",
    "fseeko": "lseek", "fseeko64": "lseek", "preadv2": "preadv",
    "pwritev2": "pwritev",
}  # fmt: skip
_COMPLETE = {"X", 1}  # 2.x writes numbers for the phases of Chrome's format
_METADATA = {"M", 4}
_COUNTERS = {"C"}  # DataCrumbs in its mode "profile"
_SYSTEM_CALLS = "sys"  # DataCrumbs' category
_CATEGORIES = {"POSIX", "STDIO", _SYSTEM_CALLS}
_NS = {"NS": 1, "US": 1_000, "MS": 1_000_000, "S": 1_000_000_000}  # DFTracer's time_metric
_FILES = {"FH", "file_hash"}
_WRAPS = 1 << 63  # what C prints of a number below 0
_MOVES_AT_POSITION = {"read", "write", "readv", "writev"}
_MOVES_AT_OFFSET = {"pread", "pwrite", "preadv", "pwritev"}


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file holds Chrome trace events of DFTracer."""
    del path
    text = head.decode(errors="replace").lstrip()
    return text.startswith(("[", "{")) and '"ph"' in text and '"cat"' in text and '"pid"' in text


@dataclass
class _Open:
    """A file that is open in a process: DFTracer tells positions only by what moved."""

    handle: int
    position: int | None
    appends: bool


@dataclass
class _Collected:
    """Operations as they are read."""

    rows: list[tuple[int, int, str, int, int, int, int, int, int, int, int]] = field(
        default_factory=list
    )
    names: dict[str, str] = field(default_factory=dict)  # hash -> path
    opened: dict[tuple[int, str], _Open] = field(default_factory=dict)
    handles: dict[int, int] = field(default_factory=dict)
    n_events: int = 0
    n_without_file: int = 0
    n_relative: int = 0
    n_counters: int = 0
    n_system_calls: int = 0
    n_without_flags: int = 0
    unit_ns: int = _NS["US"]
    damaged_at: int | None = None


def read(path: Path) -> Trace:
    """Import a file.

    Raises:
        TraceError: it cannot be read, or was written without metadata.
    """
    collected = _Collected()
    events = sorted(
        _events(path, collected),
        key=lambda e: (_number(e.get("ts"), 0) + _number(e.get("dur"), 0), _number(e.get("id"), 0)),
    )
    for event in events:
        _take(collected, event)
    if collected.n_counters and not collected.n_events:
        raise TraceError(
            f"{path} holds counters of calls, not the calls: DataCrumbs was in its mode 'profile'. Trace again in its mode "
            "'trace', or by wavetank trace"
        )
    if collected.n_system_calls == collected.n_without_file == collected.n_events > 0:
        raise TraceError(
            f"{path} names no file: DataCrumbs traced without its probes of files. Trace again with its plug-in sys_io, or "
            "by wavetank trace"
        )
    if collected.n_events and collected.n_without_file == collected.n_events:
        raise TraceError(
            f"{path} names no file, size or offset: DFTracer's metadata was off. Trace again with "
            "DFTRACER_INC_METADATA=1, or by wavetank trace"
        )
    return _trace(collected)


def _lines(path: Path, collected: _Collected) -> Iterator[str]:
    try:
        for number, line in enumerate(packed.lines(path)):
            collected.damaged_at = number + 1
            yield line
        collected.damaged_at = None
    except EOFError:
        return  # cut short: what came before is kept, and a warning says so


def _events(path: Path, collected: _Collected) -> Iterator[dict[str, Any]]:
    for line in _lines(path, collected):
        text = line.strip().rstrip(",")
        if not text.startswith("{"):
            continue
        try:
            event = json.loads(text)
        except json.JSONDecodeError:
            continue
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            event["args"] = arguments = {}
        if event.get("ph") in _METADATA:
            _metadata(collected, event.get("name"), arguments)
        elif event.get("cat") in _CATEGORIES:
            collected.n_counters += event.get("ph") in _COUNTERS
            if event.get("ph") in _COMPLETE:
                yield event


def _metadata(collected: _Collected, name: object, arguments: dict[str, Any]) -> None:
    if "hash" in arguments:  # DataCrumbs, under a name of the probe's
        collected.names[str(arguments["hash"])] = str(arguments.get("value"))
    elif name in _FILES:
        collected.names[str(arguments.get("value"))] = str(arguments.get("name"))
    elif name == "CM" and arguments.get("name") == "time_metric":
        collected.unit_ns = _NS.get(str(arguments.get("value")), collected.unit_ns)


def _take(collected: _Collected, event: dict[str, Any]) -> None:
    name = _NAMES.get(event.get("name", ""), event.get("name", ""))
    if name not in OPS_BY_NAME:
        return
    collected.n_events += 1
    collected.n_system_calls += event.get("cat") == _SYSTEM_CALLS
    arguments = event["args"]
    path = str(arguments.get("fname") or collected.names.get(str(arguments.get("fhash")), ""))
    if not path:
        collected.n_without_file += 1
        return
    of_system = event.get("cat") == _SYSTEM_CALLS
    collected.n_relative += not path.startswith("/")
    if not path.startswith("/") or not is_kept(path):
        return
    pid = int(_number(event.get("tid" if of_system else "pid"), 0))
    unit_ns = 1 if of_system and "hhash" in arguments else collected.unit_ns
    start = int(_number(event.get("ts"), 0)) * unit_ns
    end = start + int(_number(event.get("dur"), 0)) * unit_ns
    result: int | None
    result, asked = _moved(event, arguments, of_system)
    if name == "lseek" and event["cat"] != "POSIX":
        result = None if of_system else _sought(arguments, collected.opened.get((pid, path)))
    place = arguments.get("offset")
    flags = _flags(arguments) if name == "open" else None
    collected.n_without_flags += name == "open" and flags is None
    handle, offset = _follow(
        collected, (pid, path), name, result,
        None if place is None else int(_number(place, 0)), flags
    )  # fmt: skip
    moves = name in _MOVES_AT_POSITION | _MOVES_AT_OFFSET
    collected.rows.append((
        pid, OPS_BY_NAME[name].code, path, handle, asked if moves else 0, max(result or 0, 0) if moves else 0,
        UNKNOWN if offset is None else offset, start, end, 0, flags or 0,
    ))  # fmt: skip


def _moved(event: dict[str, Any], arguments: dict[str, Any], of_system: bool) -> tuple[int, int]:
    """What a call returned, and the bytes that it asked for; of system calls that is what it moved."""
    if of_system:
        size = arguments.get("size", arguments.get("size_sum"))
        moved = 0 if size is None else int(size)
        result = moved if moved < _WRAPS else moved - 2 * _WRAPS
        return result, max(result, 0)
    result = int(_number(arguments.get("ret"), 0))
    if event["cat"] == "STDIO" and "count" in arguments:  # fread and fwrite count items of a size
        item = int(_number(arguments.get("size"), 1))
        return result * item, int(_number(arguments["count"], 0)) * item
    asked = arguments.get("count", arguments.get("size", arguments.get("nbytes")))
    return result, int(_number(asked, max(result, 0)))


def _sought(arguments: dict[str, Any], of: _Open | None) -> int | None:
    """Where fseek(3), which returns 0, put a stream's position; None: it cannot be told; below 0: it failed."""
    offset, whence = int(_number(arguments.get("offset"), 0)), arguments.get("whence")
    if _number(arguments.get("ret"), 0) != 0:
        return -1
    if whence == os.SEEK_SET:
        return offset
    if whence == os.SEEK_CUR and of is not None and of.position is not None:
        return of.position + offset
    return None


def _flags(arguments: dict[str, Any]) -> int | None:
    """The flags of an open, of open(2) or of fopen(3); None: they are not told."""
    flags, mode = arguments.get("flags"), arguments.get("mode")
    if isinstance(flags, int):
        return flags
    if not isinstance(mode, str) or mode[:1] not in _MODES:
        return None
    found = _MODES[mode[:1]]
    return found & ~os.O_WRONLY | os.O_RDWR if "+" in mode else found


_MODES = {
    "r": os.O_RDONLY, "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
}  # fmt: skip


def _follow(
    collected: _Collected, file: tuple[int, str], name: str, result: int | None, offset: int | None,
    flags: int | None,
) -> tuple[int, int | None]:  # fmt: skip
    """The handle, and where the operation took place, as far as calls tell."""
    pid, current = file[0], collected.opened.get(file)
    if name == "open" or current is None:
        handle = collected.handles.get(pid, 0)
        collected.handles[pid] = handle + 1
        # Writes of what may have been opened for appending are nobody knows where.
        appends = flags is None or bool(flags & os.O_APPEND)
        current = collected.opened[file] = _Open(handle, 0 if name == "open" else None, appends)
    if name in _MOVES_AT_POSITION:
        if "write" in name and current.appends:
            current.position = None
        at = current.position
        current.position = None if at is None else at + max(result or 0, 0)
        return current.handle, at
    if name == "lseek":
        if result is None or result >= 0:
            current.position = result
        return current.handle, result if result is not None and result >= 0 else None
    if name == "close":
        del collected.opened[file]
    return current.handle, offset if name in _MOVES_AT_OFFSET else None


def _number(value: object, default: float) -> float:
    try:
        return float(str(value))
    except (TypeError, ValueError):
        return default


def _trace(collected: _Collected) -> Trace:
    rows = collected.rows
    pids = sorted({row[0] for row in rows})
    ranks = {pid: number for number, pid in enumerate(pids)}
    paths = list(dict.fromkeys(row[2] for row in rows))
    numbers = {path: number for number, path in enumerate(paths)}
    columns = [
        np.array([row[i] for row in rows], dtype=np.int64) for i in (1, 3, 4, 5, 6, 7, 8, 9, 10)
    ]
    op, handle, size, moved, offset, start, end, error, arg = columns
    rank = np.array([ranks[row[0]] for row in rows], dtype=np.int32)
    origin = int(start.min()) if len(start) else 0
    subtick = np.zeros(len(rows), dtype=np.int64)
    for number in range(len(pids)):
        mine = rank == number
        subtick[mine] = np.arange(int(mine.sum()))
    events = SingleOperations(
        rank=rank,
        op=op.astype(np.uint8),
        file=np.array([numbers[row[2]] for row in rows], dtype=np.int32),
        handle=handle.astype(np.int32),
        size=size,
        moved=moved,
        offset=offset,
        tick=np.zeros(len(rows), dtype=np.int64),
        subtick=subtick,
        start_ns=start - origin,
        end_ns=end - origin,
        arg=arg,
        error=error.astype(np.int32),
    )
    return Trace(
        source="dftracer",
        command=(),
        n_ranks=len(pids),
        mpi_library=None,
        started_utc=None,
        elapsed_s=float((end - origin).max()) / 1e9 if len(end) else None,
        ranks=tuple(RankFacts(number, "", pid, True) for number, pid in enumerate(pids)),
        files=tuple(TracedFile(path) for path in paths),
        views=(),
        communicators=(),
        folds=fold(events),
        levels=(Level.POSIX,),
        warnings=tuple(_warnings(collected)),
    )


def _warnings(collected: _Collected) -> Iterator[str]:
    if collected.n_system_calls:
        yield (
            "DataCrumbs records neither offsets, flags of opens nor what calls asked for: places of seeks, pread, pwrite and "
            "writes are unknown, and sizes are what was moved"
        )
        yield "DataCrumbs does not record MPI: every process is a rank, in the order of process ids"
    if collected.n_system_calls < collected.n_events:
        yield "stdio is recorded by DFTracer as the program calls it, not as what reaches the file"
        yield "DFTracer does not record MPI here: every process is a rank, in the order of process ids"
        if collected.n_without_flags:
            yield (
                f"{collected.n_without_flags} open(s) have no flags: writes to those files may be appended, and their "
                "places are unknown"
            )
    if collected.n_relative:
        yield (
            f"{collected.n_relative} operation(s) are on files that the program named without their folder, and are left out"
        )
    if collected.n_without_file:
        yield f"{collected.n_without_file} operation(s) name no file and are left out"
    if collected.damaged_at is not None:
        yield f"the file is cut short after line {collected.damaged_at}; what comes after is lost"
