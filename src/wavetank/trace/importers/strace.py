"""Imports what strace wrote: ``strace -f -ttt -y -T -o FILE PROGRAM``.

Reads lines such as (strace 6.1)
    4242 1700000000.123456 read(3</data/in.fq>, "@r0"..., 8191) = 8191 <0.000012>
    4242 1700000000.2 pread64(3</data/in.fq>,  <unfinished ...>
    4242 1700000000.3 <... pread64 resumed>""..., 4096, 8192) = 4096 <0.1>
and leaves a ``Trace`` at POSIX level. Every process that does I/O is a rank, in the order of its first call.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.trace import packed
from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.paths import is_kept
from wavetank.trace.schema import UNKNOWN, Level, RankFacts, Trace, TracedFile

_LINE = re.compile(
    r"^(?:\[pid +(?P<tagged>\d+)\] |(?P<pid>\d+) +)?(?:(?P<time>\d+\.\d+) )?(?P<rest>[a-z<].*)$"
)
_CALL = re.compile(
    r"^(?P<name>[a-z0-9_]+)\((?P<arguments>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+|\?)(?P<after>.*)$"
)
_UNFINISHED = re.compile(r"^(?P<start>[a-z0-9_]+\(.*?) *<unfinished \.\.\.>$")
_RESUMED = re.compile(r"^<\.\.\. (?P<name>[a-z0-9_]+) resumed>(?P<rest>.*)$")
_DESCRIPTOR = re.compile(r"^(?P<fd>\d+)<(?P<path>[^>]*)>")
_ERROR = re.compile(r"\b(E[A-Z0-9]+)\b")
_DURATION = re.compile(r"<(\d+\.\d+)>\s*$")
_STAT_SIZE = re.compile(r"\bst_size=(\d+)")
_VECTOR_LENGTH = re.compile(r"iov_len=(\d+)")

_NAMES = {
    "pread64": "pread",
    "pwrite64": "pwrite",
    "preadv2": "preadv",
    "pwritev2": "pwritev",
    "fadvise64": "",
}
_AT_POSITION = {"read", "write", "readv", "writev"}
_AT_OFFSET = {"pread", "pwrite", "preadv", "pwritev"}
_OF_DESCRIPTOR = {"fsync", "fdatasync", "ftruncate", "fallocate", "fstat"}
_OPENS = {"open", "openat", "creat"}
_DUPS = {"dup", "dup2", "dup3"}


@dataclass
class _Description:
    """An open file: descriptors made by dup and fork share it."""

    path: str
    handle: int
    position: int | None
    appends: bool = False


@dataclass
class _Process:
    """A process with its descriptors; threads share one."""

    pid: int
    descriptors: dict[int, _Description] = field(default_factory=dict)
    handles: int = 0


@dataclass
class _Rows:
    """Single operations being collected."""

    process: list[_Process] = field(default_factory=list)
    columns: list[tuple[int, str, int, int, int, int, int, int, int, int]] = field(
        default_factory=list
    )

    def add(
        self, process: _Process, name: str, path: str, handle: int, size: int, moved: int, offset: int | None,
        start_ns: int, end_ns: int, *, arg: int = 0, error: int = 0,
    ) -> None:  # fmt: skip
        self.process.append(process)
        self.columns.append((
            OPS_BY_NAME[name].code, path, handle, size, moved, UNKNOWN if offset is None else offset, start_ns,
            end_ns, arg, error,
        ))  # fmt: skip


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is strace's output: its first lines are calls."""
    del path
    try:
        lines = head.decode().splitlines()[:5]
    except UnicodeDecodeError as error:
        lines = head[: error.start].decode().splitlines()[:5]
    matches = [_LINE.match(line) for line in lines[: max(len(lines) - 1, 1)]]
    return bool(matches) and all(
        m is not None
        and (_CALL.match(m["rest"]) or _UNFINISHED.match(m["rest"]) or m["rest"].startswith("<..."))
        for m in matches
    )


def read(path: Path) -> Trace:
    """Import a file.

    Raises:
        TraceError: it cannot be read, or has no calls with descriptors' paths (-y).
    """
    reader = _Reader()
    try:
        for line in packed.lines(path):
            reader.line(line.rstrip("\n"))
    except EOFError:
        reader.cut_short = True
    if reader.n_calls == 0:
        raise TraceError(
            f"{path} holds no system calls. Make it by: strace -f -ttt -y -T -o FILE PROGRAM"
        )
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self.rows = _Rows()
        self.threads: dict[int, _Process] = {}
        self.pending: dict[int, tuple[str, int | None]] = {}
        self.n_calls = 0
        self.unjoined = 0
        self.no_times = False
        self.no_durations = False
        self.cut_short = False
        self.no_pids = False
        self.started = 0
        self.sizes: dict[str, int] = {}  # of files, as far as they are known
        self.command: tuple[str, ...] = ()

    def line(self, text: str) -> None:
        match = _LINE.match(text)
        if match is None:
            return
        named = match["tagged"] or match["pid"]
        self.no_pids |= named is None
        pid = int(named or 0)
        time_ns = _ns(match["time"]) if match["time"] else None
        self.no_times |= time_ns is None
        rest = match["rest"]
        if (unfinished := _UNFINISHED.match(rest)) is not None:
            self.pending[pid] = (unfinished["start"], time_ns)
            return
        if (resumed := _RESUMED.match(rest)) is not None:
            started = self.pending.pop(pid, None)
            if started is None:
                self.unjoined += 1
                return
            rest, time_ns = started[0] + resumed["rest"].lstrip(), started[1]
        call = _CALL.match(rest)
        if call is not None:
            self.n_calls += 1
            self._call(pid, time_ns, call)

    def _call(self, pid: int, time_ns: int | None, call: re.Match[str]) -> None:
        name = _NAMES.get(call["name"], call["name"])
        process = self.threads.setdefault(pid, _Process(pid))
        if call["result"] == "?":
            return
        result = int(call["result"], 0)
        duration = _DURATION.search(call["after"])
        self.no_durations |= duration is None
        start = UNKNOWN if time_ns is None else time_ns
        end = start if duration is None or time_ns is None else start + _ns(duration[1])
        error = _errno(call["after"]) if result < 0 else 0
        arguments = call["arguments"]
        if name in {"clone", "clone3", "fork", "vfork"}:
            self._child(process, result, arguments)
        elif name == "execve" and result == 0 and not self.command:
            self.command = tuple(re.findall(r'"([^"]*)"', arguments.split("]", 1)[0])[1:])
        elif name in _OPENS:
            self._open(process, name, arguments, call["after"], result, error, (start, end))
        elif (seen := _DESCRIPTOR.match(arguments)) is not None:
            self._on_descriptor(
                process, name, seen, arguments, result, error, (start, end), call["after"]
            )

    def _child(self, parent: _Process, pid: int, arguments: str) -> None:
        if pid <= 0:
            return
        if "CLONE_THREAD" in arguments or "CLONE_FILES" in arguments:
            self.threads[pid] = parent
            return
        self.started += 1
        if pid not in self.threads:
            self.threads[pid] = _Process(pid, dict(parent.descriptors), parent.handles)

    def _open(
        self,
        process: _Process,
        name: str,
        arguments: str,
        after: str,
        fd: int,
        error: int,
        times: tuple[int, int],
    ) -> None:
        named = re.match(r"\s*<([^>]*)>", after)
        quoted = re.search(r'"((?:[^"\\]|\\.)*)"', arguments)
        path = named[1] if named and fd >= 0 else quoted[1] if quoted else ""
        if not path.startswith("/") or not is_kept(path):
            process.descriptors.pop(fd, None)
            return
        flags = _flags(name, arguments)
        if fd < 0:
            self.rows.add(
                process, "open", path, UNKNOWN, 0, 0, None, *times, arg=flags, error=error
            )
            return
        if flags & os.O_TRUNC or flags & (os.O_CREAT | os.O_EXCL) == os.O_CREAT | os.O_EXCL:
            self.sizes[path] = 0
        description = _Description(path, process.handles, 0, bool(flags & os.O_APPEND))
        process.handles += 1
        process.descriptors[fd] = description
        self.rows.add(process, "open", path, description.handle, 0, 0, None, *times, arg=flags)

    def _on_descriptor(
        self, process: _Process, name: str, seen: re.Match[str], arguments: str, result: int, error: int,
        times: tuple[int, int], after: str,
    ) -> None:  # fmt: skip
        fd, path = int(seen["fd"]), seen["path"].removesuffix(" (deleted)")
        if not path.startswith("/") or not is_kept(path):
            return
        description = process.descriptors.get(fd)
        if description is None or description.path != path:  # opened before strace came
            description = _Description(path, process.handles, None)
            process.handles += 1
            process.descriptors[fd] = description
        handle, moved = description.handle, max(result, 0)
        if name in _AT_POSITION:
            size = _asked(name, arguments, moved)
            writes = name.startswith("write")
            at = self.sizes.get(path) if writes and description.appends else description.position
            self.rows.add(process, name, path, handle, size, moved, at, *times, error=error)
            description.position = None if at is None else at + moved
            self._grown(path, at, moved if writes else 0)
        elif name in _AT_OFFSET:
            parts = arguments.rsplit(
                ",", 2 if name.startswith(("pread", "pwrite")) and "v" not in name else 1
            )
            offset = int(parts[-1]) if parts[-1].strip().isdigit() else None
            size = int(parts[-2]) if "v" not in name else _asked(name, arguments, moved)
            self.rows.add(process, name, path, handle, size, moved, offset, *times, error=error)
            self._grown(path, offset, moved if name.startswith("pwrite") else 0)
        elif name == "lseek":
            description.position = result if result >= 0 else description.position
            whence = {"SEEK_SET": 0, "SEEK_CUR": 1, "SEEK_END": 2}.get(
                arguments.rsplit(",", 1)[1].strip(), 0
            )
            at = result if result >= 0 else None
            if (
                whence == os.SEEK_END
                and at is not None
                and re.search(r", *0, *SEEK_END$", arguments)
            ):
                self.sizes[path] = at
            self.rows.add(process, "lseek", path, handle, 0, 0, at, *times, arg=whence, error=error)
        elif name == "close":
            self.rows.add(process, "close", path, handle, 0, 0, None, *times, error=error)
            process.descriptors.pop(fd, None)
        elif name in _OF_DESCRIPTOR:
            offset, arg = self._of_descriptor(name, path, arguments, error)
            self.rows.add(process, name, path, handle, 0, 0, offset, *times, arg=arg, error=error)
        elif result >= 0 and (name in _DUPS or (name == "fcntl" and "F_DUPFD" in arguments)):
            process.descriptors[result] = description
            self.rows.add(process, "dup", path, handle, 0, 0, None, *times)

    def _of_descriptor(
        self, name: str, path: str, arguments: str, error: int
    ) -> tuple[int | None, int]:
        """Offset and argument as the tracer has them; what the call says of the file's size is kept."""
        if name == "ftruncate":
            size = _last_number(arguments)
            if not error:
                self.sizes[path] = size
            return None, size
        if name == "fallocate":
            numbers = [int(n) for n in re.findall(r", *(\d+)", arguments)[-2:]]
            offset, end = (numbers[0], sum(numbers)) if len(numbers) == 2 else (0, 0)
            return offset, end
        if name == "fstat" and (known := _STAT_SIZE.search(arguments)):
            self.sizes[path] = int(known[1])
        return None, 0

    def _grown(self, path: str, at: int | None, written: int) -> None:
        """A file's size behind a write."""
        if written and at is None:
            self.sizes.pop(path, None)
        elif written and at is not None and path in self.sizes:
            self.sizes[path] = max(self.sizes[path], at + written)

    def finish(self) -> Trace:
        """The trace of all that was read."""
        columns, processes = self.rows.columns, self.rows.process
        ranks: dict[int, int] = {}
        order: list[_Process] = []
        for process in processes:
            if id(process) not in ranks:
                ranks[id(process)] = len(order)
                order.append(process)
        paths = list(dict.fromkeys(row[1] for row in columns))
        numbers = {path: number for number, path in enumerate(paths)}
        rank = np.array([ranks[id(p)] for p in processes], dtype=np.int32)
        by_name = [
            np.array([row[i] for row in columns], dtype=np.int64)
            for i in (0, 2, 3, 4, 5, 6, 7, 8, 9)
        ]
        op, handle, size, moved, offset, start, end, arg, error = by_name
        origin = int(start[start >= 0].min()) if (start >= 0).any() else 0
        start = np.where(start >= 0, start - origin, UNKNOWN)
        end = np.where(end >= 0, end - origin, UNKNOWN)
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
            command=self.command,
            n_ranks=len(order),
            mpi_library=None,
            started_utc=datetime.fromtimestamp(origin / 1e9, UTC).isoformat() if origin else None,
            elapsed_s=float(end.max()) / 1e9 if len(end) and origin else None,
            ranks=tuple(RankFacts(number, "", p.pid, True) for number, p in enumerate(order)),
            files=tuple(TracedFile(path) for path in paths),
            views=(),
            communicators=(),
            folds=fold(events),
            levels=(Level.POSIX,),
            warnings=tuple(self._warnings(offset)),
        )

    def _warnings(self, offset: np.ndarray) -> Iterable[str]:
        yield "strace does not see MPI: every process is a rank, and communication is not recorded"
        if self.cut_short:
            yield "the file is cut short or damaged; what comes after is lost"
        if self.no_pids:
            started = (
                f"; the {self.started} process(es) that it started are not in the file"
                if self.started
                else ""
            )
            yield (
                "the file has no process ids (strace -f writes them): its calls are taken for those of one process, also "
                f"if there were several{started}"
            )
        if self.unjoined or self.pending:
            yield f"{self.unjoined + len(self.pending)} call(s) have only one half in the file and are left out"
        if self.no_times:
            yield "there are no times in the file (strace -ttt writes them)"
        elif self.no_durations:
            yield "there are no durations in the file (strace -T writes them)"
        if self.rows.columns and (offset == UNKNOWN).all():
            yield "no offset could be followed: the files were open before strace began"


def _flags(name: str, arguments: str) -> int:
    """The flags of an open, by their names: O_WRONLY|O_CREAT|O_TRUNC."""
    if name == "creat":
        return os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    flags = 0
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", arguments)  # a file's name may look like a flag
    for flag in re.findall(r"\bO_[A-Z]+", outside):
        flags |= getattr(os, flag, 0)
    return flags


def _last_number(arguments: str) -> int:
    last = arguments.rsplit(",", 1)[-1].strip()
    return int(last) if last.isdigit() else 0


def _asked(name: str, arguments: str, moved: int) -> int:
    """Bytes asked for: the last argument, or the sum of the parts' lengths."""
    if "v" in name:
        lengths = [int(length) for length in _VECTOR_LENGTH.findall(arguments)]
        return sum(lengths) if lengths else moved
    last = arguments.rsplit(",", 1)[-1].strip()
    return int(last) if last.isdigit() else moved


def _positions(rank: np.ndarray) -> np.ndarray:
    """Number of each operation within its rank: the only clock there is."""
    positions = np.zeros(len(rank), dtype=np.int64)
    for one in np.unique(rank):
        mine = rank == one
        positions[mine] = np.arange(int(mine.sum()))
    return positions


def _ns(seconds: str) -> int:
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0")[:9])


def _errno(after: str) -> int:
    name = _ERROR.search(after)
    value = getattr(errno, name[1], 0) if name else 0
    return int(value)
