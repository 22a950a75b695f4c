"""Imports DFTracer's files (.pfw, .pfw.gz): Chrome trace events, one JSON object a line.

Sample lines (DFTracer 2.2, with DFTRACER_INC_METADATA=1)
    {"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"name":"/d/x","value":"ab12"}}
    {"id":9,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1700,"dur":3,"ph":1,
     "args":{"fhash":"ab12","ret":4096,"count":4096}}
Without its metadata DFTracer writes neither file, size nor offset: such a file is refused with the reason.
Leaves a ``Trace`` at POSIX level. Every process is a rank, in the order of their ids.
"""

from __future__ import annotations

import json
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
    "ftruncate64": "ftruncate", "__xstat64": "stat", "__fxstat64": "fstat",
}  # fmt: skip
_COMPLETE = {"X", 1}  # 2.x writes numbers for the phases of Chrome's format
_METADATA = {"M", 4}
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


@dataclass
class _Collected:
    """Operations as they are read."""

    rows: list[tuple[int, int, str, int, int, int, int, int, int, int]] = field(
        default_factory=list
    )
    names: dict[str, str] = field(default_factory=dict)  # hash -> path
    opened: dict[tuple[int, str], _Open] = field(default_factory=dict)
    handles: dict[int, int] = field(default_factory=dict)
    n_events: int = 0
    n_without_file: int = 0
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
            if event.get("name") in {"FH", "file_hash"}:
                collected.names[str(arguments.get("value"))] = str(arguments.get("name"))
        elif event.get("ph") in _COMPLETE and event.get("cat") in {"POSIX", "STDIO"}:
            yield event


def _take(collected: _Collected, event: dict[str, Any]) -> None:
    name = _NAMES.get(event.get("name", ""), event.get("name", ""))
    if name not in OPS_BY_NAME:
        return
    collected.n_events += 1
    arguments = event["args"]
    path = str(arguments.get("fname") or collected.names.get(str(arguments.get("fhash")), ""))
    if not path:
        collected.n_without_file += 1
        return
    if not path.startswith("/") or not is_kept(path):
        return
    pid = int(_number(event.get("pid"), 0))
    start = int(_number(event.get("ts"), 0)) * 1000  # us
    end = start + int(_number(event.get("dur"), 0)) * 1000
    result = int(_number(arguments.get("ret"), 0))
    asked = int(
        _number(
            arguments.get("count", arguments.get("size", arguments.get("nbytes"))), max(result, 0)
        )
    )
    place = arguments.get("offset")
    handle, offset = _follow(
        collected, pid, path, name, result, None if place is None else int(_number(place, 0))
    )
    moves = name in _MOVES_AT_POSITION | _MOVES_AT_OFFSET
    collected.rows.append((
        pid, OPS_BY_NAME[name].code, path, handle, asked if moves else 0, max(result, 0) if moves else 0,
        UNKNOWN if offset is None else offset, start, end, 0,
    ))  # fmt: skip


def _follow(
    collected: _Collected, pid: int, path: str, name: str, result: int, offset: int | None
) -> tuple[int, int | None]:
    """The handle, and where the operation took place, as far as calls tell."""
    current = collected.opened.get((pid, path))
    if name == "open" or current is None:
        handle = collected.handles.get(pid, 0)
        collected.handles[pid] = handle + 1
        current = collected.opened[pid, path] = _Open(handle, 0 if name == "open" else None)
    if name in _MOVES_AT_POSITION:
        at = current.position
        current.position = None if at is None else at + max(result, 0)
        return current.handle, at
    if name == "lseek":
        current.position = result if result >= 0 else current.position
        return current.handle, result if result >= 0 else None
    if name == "close":
        del collected.opened[pid, path]
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
    columns = [np.array([row[i] for row in rows], dtype=np.int64) for i in (1, 3, 4, 5, 6, 7, 8, 9)]
    op, handle, size, moved, offset, start, end, error = columns
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
        arg=np.zeros(len(rows), dtype=np.int64),
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
    yield "stdio is recorded by DFTracer as the program calls it, not as what reaches the file"
    yield "DFTracer does not record MPI here: every process is a rank, in the order of process ids"
    if collected.n_without_file:
        yield f"{collected.n_without_file} operation(s) name no file and are left out"
    if collected.damaged_at is not None:
        yield f"the file is cut short after line {collected.damaged_at}; what comes after is lost"
