"""What DFTracer's events of calls stand for: operations on files, followed through opens, transfers and seeks.

Takes events one after another; leaves rows in ``Collected``.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass, field
from typing import Any

from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.paths import is_kept
from wavetank.trace.schema import UNKNOWN

_NAMES = {
    "open64": "open", "openat": "open", "creat": "open", "creat64": "open", "pread64": "pread", "pwrite64": "pwrite",
    "lseek64": "lseek", "fopen": "open", "fopen64": "open", "fclose": "close", "fread": "read", "fwrite": "write",
    "ftruncate64": "ftruncate", "__xstat64": "stat", "__fxstat64": "fstat", "openat2": "open", "fseek": "lseek",
    "fseeko": "lseek", "fseeko64": "lseek", "preadv2": "preadv",
    "pwritev2": "pwritev",
}  # fmt: skip
SYSTEM_CALLS = "sys"  # DataCrumbs' category
NS = {"NS": 1, "US": 1_000, "MS": 1_000_000, "S": 1_000_000_000}  # DFTracer's time_metric
_WRAPS = 1 << 63  # what C prints of a number below 0
_MOVES_AT_POSITION = {"read", "write", "readv", "writev"}
_MOVES_AT_OFFSET = {"pread", "pwrite", "preadv", "pwritev"}
WORKING_DIRECTORY = "/working-directory"
"""Where files lie that a program named without a folder: the log does not say where it ran."""
_NO_FILE = re.compile(r"[a-z_]+:\[|anon_inode:|memfd:|<|std(in|out|err)$")
# Logs say that a call failed, and not why: the likeliest reason.
_REASONS = {
    "mkdir": errno.EEXIST, "link": errno.EEXIST, "symlink": errno.EEXIST, "rmdir": errno.ENOTEMPTY,
    "lseek": errno.EINVAL, "ftruncate": errno.EINVAL, "close": errno.EBADF,
    **dict.fromkeys((*_MOVES_AT_POSITION, *_MOVES_AT_OFFSET, "fsync", "fdatasync"), errno.EIO),
}  # fmt: skip


@dataclass
class _Open:
    """A file that is open in a process: DFTracer tells positions only by what moved."""

    handle: int
    position: int | None
    appends: bool


@dataclass
class Collected:
    """Operations as they are read."""

    rows: list[tuple[int, int, str, int, int, int, int, int, int, int, int]] = field(
        default_factory=list
    )
    names: dict[str, str] = field(default_factory=dict)  # hash -> path
    hosts: dict[str, str] = field(default_factory=dict)  # hash -> name
    processes: dict[tuple[str, int], int] = field(
        default_factory=dict
    )  # (host's hash, id) -> number
    mpi_ranks: dict[tuple[str, int], int] = field(default_factory=dict)
    opened: dict[tuple[int, str], _Open] = field(default_factory=dict)
    handles: dict[int, int] = field(default_factory=dict)
    n_events: int = 0
    n_without_file: int = 0
    n_relative: int = 0
    n_failed: int = 0
    n_counters: int = 0
    n_system_calls: int = 0
    n_without_flags: int = 0
    n_broken: int = 0
    unit_ns: int = NS["US"]
    damaged: list[str] = field(default_factory=list)  # files, with the line where they end


def take(collected: Collected, event: dict[str, Any]) -> None:
    """Take the next event of a call."""
    name = _NAMES.get(event.get("name", ""), event.get("name", ""))
    if name not in OPS_BY_NAME:
        return
    collected.n_events += 1
    collected.n_system_calls += event.get("cat") == SYSTEM_CALLS
    arguments = event["args"]
    path = str(arguments.get("fname") or collected.names.get(str(arguments.get("fhash")), ""))
    if not path or _NO_FILE.match(path):
        collected.n_without_file += 1
        return
    of_system = event.get("cat") == SYSTEM_CALLS
    if not path.startswith("/"):
        collected.n_relative += 1
        path = os.path.normpath(f"{WORKING_DIRECTORY}/{path}")
    if not is_kept(path):
        return
    pid = collected.processes.setdefault(process_of(event, arguments), len(collected.processes))
    unit_ns = 1 if of_system and "hhash" in arguments else collected.unit_ns
    start = int(number_of(event.get("ts"), 0)) * unit_ns
    end = start + int(number_of(event.get("dur"), 0)) * unit_ns
    result: int | None
    result, asked = _moved(event, arguments, of_system)
    if name == "lseek" and event["cat"] != "POSIX":
        result = None if of_system else _sought(arguments, collected.opened.get((pid, path)))
    place = arguments.get("offset")
    flags = _flags(arguments) if name == "open" else None
    collected.n_without_flags += name == "open" and flags is None
    error = 0
    if _has_failed(event, arguments, result):
        exclusive = name == "open" and bool((flags or 0) & os.O_EXCL)
        error = errno.EEXIST if exclusive else _REASONS.get(name, errno.ENOENT)
        collected.n_failed += 1
    at = None if place is None else int(number_of(place, 0))
    handle, offset = (
        (UNKNOWN, None)
        if error and name == "open"
        else _follow(collected, (pid, path), name, result, at, flags)
    )
    moves = name in _MOVES_AT_POSITION | _MOVES_AT_OFFSET
    collected.rows.append((
        pid, OPS_BY_NAME[name].code, path, handle, asked if moves else 0, max(result or 0, 0) if moves else 0,
        UNKNOWN if offset is None else offset, start, end, error, flags or 0,
    ))  # fmt: skip


def _moved(event: dict[str, Any], arguments: dict[str, Any], of_system: bool) -> tuple[int, int]:
    """What a call returned, and the bytes that it asked for; of system calls that is what it moved."""
    if of_system:
        size = arguments.get("size", arguments.get("size_sum"))
        moved = 0 if size is None else int(size)
        result = moved if moved < _WRAPS else moved - 2 * _WRAPS
        return result, max(result, 0)
    result = int(number_of(arguments.get("ret"), 0))
    if event["cat"] == "STDIO" and "count" in arguments:  # fread and fwrite count items of a size
        item = int(number_of(arguments.get("size"), 1))
        return result * item, int(number_of(arguments["count"], 0)) * item
    asked = arguments.get("count", arguments.get("size", arguments.get("nbytes")))
    return result, int(number_of(asked, max(result, 0)))


def _has_failed(event: dict[str, Any], arguments: dict[str, Any], result: int | None) -> bool:
    """Whether a call failed, as far as its event says."""
    if event["cat"] == SYSTEM_CALLS:
        return result is not None and result < 0
    if "ret" not in arguments:
        return False
    returned = int(number_of(arguments["ret"], 0))
    if event["cat"] == "STDIO":
        name = event.get("name", "")
        if name.startswith("fopen"):
            return returned == 0
        return returned != 0 if name.startswith("fseek") else returned < 0
    return returned < 0


def _sought(arguments: dict[str, Any], of: _Open | None) -> int | None:
    """Where fseek(3), which returns 0, put a stream's position; None: it cannot be told; below 0: it failed."""
    offset, whence = int(number_of(arguments.get("offset"), 0)), arguments.get("whence")
    if number_of(arguments.get("ret"), 0) != 0:
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
    collected: Collected, file: tuple[int, str], name: str, result: int | None, offset: int | None,
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


def number_of(value: object, default: float) -> float:
    """A value as a number; ``default`` where it is none."""
    try:
        return float(str(value))
    except (TypeError, ValueError):
        return default


def process_of(event: dict[str, Any], arguments: dict[str, Any]) -> tuple[str, int]:
    """Which process an event is of; ids of several hosts may be equal."""
    of_system = event.get("cat") == SYSTEM_CALLS
    pid = int(number_of(event.get("tid" if of_system else "pid"), 0))
    return str(arguments.get("hhash", "")), pid
