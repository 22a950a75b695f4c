"""What the calls in strace's logs do to files: descriptors, their positions, and the operations as rows.

Descriptors are followed through open, dup, clone and close; positions through reads,
writes, seeks and the calls that move bytes inside the kernel (copy_file_range, sendfile, splice).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from wavetank.trace.importers.strace_arguments import (
    AT_OFFSET,
    IN_ANGLES,
    WITH_FLAGS,
    bytes_asked,
    flags_of_open,
    gives_times,
    mode_of,
    names_of,
    number,
    offset_of,
    path_of_open,
    unescaped,
    working_directory,
)
from wavetank.trace.importers.strace_lines import Call
from wavetank.trace.importers.strace_logs import Log
from wavetank.trace.importers.strace_names import Names
from wavetank.trace.importers.strace_ranks import Environment, environment_of
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.paths import is_kept
from wavetank.trace.schema import UNKNOWN

_DESCRIPTOR = re.compile(rf"^(?P<fd>\d+)(?:{IN_ANGLES})?(?=,|$)")
_IN_OUR_NAMESPACE = re.compile(r"/\* (\d+) in strace's PID NS \*/")
_STAT_SIZE = re.compile(r"\bst_size=(\d+)")
_SIDE = rf"(\d+)(?:{IN_ANGLES})?"
_PLACE = r"(?:NULL|\[(-?\d+)(?:\]? => \[?-?\d+)?\]|0x[0-9a-f]+)"
# copy_file_range(3</a>, NULL, 4</b>, [5], 20, 0): from, its offset, to, its offset, length, flags
_FROM_TO = re.compile(rf"^{_SIDE}, {_PLACE}, {_SIDE}, {_PLACE}, ")
# sendfile(4</b>, 3</a>, [0] => [30], 30), in strace 7.2 [0 => 30]: to, from, the offset of from, length
_TO_FROM = re.compile(rf"^{_SIDE}, {_SIDE}, {_PLACE}, ")

_NAMES = {"pread64": "pread", "pwrite64": "pwrite", "fadvise64": "", "sendfile64": "sendfile"}
_AT_POSITION = {"read", "write", "readv", "writev"}
_TWO_FILES = {  # the operations of the side that is read, and of the one that is written
    "copy_file_range": ("copy_file_range", "copy_file_range_to"),
    "sendfile": ("sendfile", "sendfile_to"),
    "splice": ("sendfile", "sendfile_to"),  # as the tracer has it
}
_OF_DESCRIPTOR = {"fsync", "fdatasync", "ftruncate", "fallocate", "fstat"}
_OPENS = {"open", "openat", "openat2", "creat"}
_SETTABLE = os.O_APPEND | os.O_DIRECT | os.O_NOATIME | os.O_NONBLOCK | os.O_ASYNC  # by F_SETFL
_ON_TWO_NAMES = {
    "rename": "rename",
    "renameat": "rename",
    "renameat2": "rename",
    "link": "link",
    "linkat": "link",
}
_ON_A_NAME = {
    "unlink": "unlink", "unlinkat": "unlink", "rmdir": "rmdir", "mkdir": "mkdir", "mkdirat": "mkdir",
    "truncate": "truncate", "truncate64": "truncate", "chmod": "chmod", "fchmodat": "chmod", "fchmodat2": "chmod",
    "chown": "chown", "lchown": "chown", "fchownat": "chown", "utime": "utime", "utimes": "utime",
    "futimesat": "utime", "utimensat": "utime",
}  # fmt: skip
_CHANGES_DIRECTORY = {"chdir", "getcwd"}
_ON_NAMES = {*_ON_TWO_NAMES, *_ON_A_NAME, *_CHANGES_DIRECTORY}
_DUPS = {"dup", "dup2", "dup3"}
_STARTS = {"clone", "clone3", "fork", "vfork"}
_MOVE_DATA = _AT_POSITION | AT_OFFSET | set(_TWO_FILES)
# What makes descriptors that are no files; pipe2([3, 4], 0) and socketpair have them among the arguments.
_NO_FILES = {"socket", "accept", "accept4", "eventfd", "eventfd2", "epoll_create", "epoll_create1", "pipe", "pipe2",
             "socketpair", "timerfd_create", "signalfd4", "inotify_init1", "memfd_create", "io_uring_setup"}  # fmt: skip
_PAIR = re.compile(r"[\[ ](\d+)(?:<[^>]*>)?(?=[,\]])")
# Calls by which a program moves data that strace does not show, with the requests that each submits.
_UNSEEN = {"io_uring_enter", "io_uring_enter2", "io_submit"}
_WHENCE = {"SEEK_SET": 0, "SEEK_CUR": 1, "SEEK_END": 2}


@dataclass
class _Description:
    """An open file: descriptors made by dup and fork share it."""

    path: str
    file: int
    handle: int
    position: int | None
    appends: bool = False


@dataclass
class Process:
    """A process with its descriptors; threads share one.

    Attributes:
        pid: its id.
        environment: what that says of its rank; None: not in the log.
        log_rank: number of its log, where those are of ranks.
        not_files: descriptors whose I/O does not count: standard streams, and what was opened and is no data.
        same_as: the process that it turned out to be a thread of.
        directory: its working directory; None: the log does not tell.
    """

    pid: int
    environment: Environment | None = None
    log_rank: int | None = None
    descriptors: dict[int, _Description] = field(default_factory=dict)
    handles: int = 0
    not_files: set[int] = field(default_factory=lambda: {0, 1, 2})
    same_as: Process | None = None
    directory: str | None = None


Columns = tuple[int, tuple[str, int], int, int, int, int, int, int, int, int]


@dataclass
class Rows:
    """Single operations being collected.

    Attributes:
        process: of each row.
        columns: code, path with the number of its file, handle, size, moved, offset, start, end, argument, errno of each row.
    """

    process: list[Process] = field(default_factory=list)
    columns: list[Columns] = field(default_factory=list)

    def add(
        self, process: Process, name: str, of: _Description | tuple[str, int], call: Call, *, size: int = 0, moved: int = 0,
        offset: int | None = None, arg: int = 0,
    ) -> None:  # fmt: skip
        """Add an operation on an open file, or on a path that could not be opened."""
        file, handle = (of, UNKNOWN) if isinstance(of, tuple) else ((of.path, of.file), of.handle)
        self.process.append(process)
        self.columns.append((
            OPS_BY_NAME[name].code, file, handle, size, moved, UNKNOWN if offset is None else offset, call.start_ns,
            call.end_ns, arg, call.error,
        ))  # fmt: skip


class Reader:
    """Takes calls one after another."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._threads: dict[tuple[int, int], Process] = {}
        self._sizes: dict[int, int] = {}  # of files, as far as they are known
        self.names = Names()
        self.unplaced_names: Counter[str] = (
            Counter()
        )  # calls on names in folders that are not known
        self.unnamed = 0  # calls that move data of descriptors that nothing in the log names
        self.unplaced: Counter[bool] = (
            Counter()
        )  # calls that move data and whose offset is not known, by: appends
        self.unseen: Counter[str] = Counter()  # requests that were submitted, by call
        self.command: tuple[str, ...] = ()

    @property
    def rows(self) -> Rows:
        """The operations; those of threads are their process's."""
        for position, process in enumerate(self._rows.process):
            if process.same_as is not None:
                self._rows.process[position] = process.same_as
        return self._rows

    def processes(self) -> Iterator[Process]:
        """All processes that made a call."""
        yield from {id(one): one for one in self._threads.values()}.values()

    def take(self, log: Log, call: Call) -> None:
        """Take the next call."""
        # Ranks' logs may be of several hosts, where processes have the same ids.
        space, pid = id(log), call.pid
        process = self._threads.get((space, pid))
        if process is None:
            process = self._threads[space, pid] = Process(pid, log_rank=log.rank)
        name = _NAMES.get(call.name, call.name)
        if name in WITH_FLAGS:  # an offset of -1 is the file's position
            at_position, at_offset = WITH_FLAGS[name]
            name = at_position if offset_of(call) is None else at_offset
        if name in _STARTS:
            self._child(process, space, call)
        elif name == "execve" and call.result == 0:
            self._execve(process, call)
        elif name in _OPENS:
            self._open(process, name, call)
        elif name in _TWO_FILES:
            self._move(process, name, call)
        elif name in _ON_NAMES and '"' in call.arguments:
            self._on_names(process, name, call)
        elif name in _NO_FILES:
            process.not_files |= {call.result, *map(int, _PAIR.findall(call.arguments))}
        elif name in _UNSEEN:
            self.unseen[name] += max(call.result, 0)
        elif (seen := _DESCRIPTOR.match(call.arguments)) is not None:
            fd, path = int(seen["fd"]), seen[2]
            of = self._named(process, fd, path)
            if of is not None:
                self._on_descriptor(process, name, fd, of, call)
            elif path is None and name in _MOVE_DATA and fd not in process.not_files:
                self.unnamed += 1

    def _execve(self, process: Process, call: Call) -> None:
        if not self.command:
            head = call.arguments.split("]", 1)[0]
            self.command = tuple(re.findall(r'"([^"]*)"', head)[1:])
        environment = environment_of(call.arguments)
        if environment is not None:
            process.environment = environment

    def _child(self, parent: Process, space: int, call: Call) -> None:
        ours = _IN_OUR_NAMESPACE.search(call.after)
        pid = call.result if ours is None else int(ours[1])
        if pid <= 0:
            return
        known = self._threads.get((space, pid))  # it may have made calls before clone came back
        if "CLONE_THREAD" in call.arguments or "CLONE_FILES" in call.arguments:
            if known is not None and known is not parent:
                known.same_as = parent
            self._threads[space, pid] = parent
            return
        if known is None:
            self._threads[space, pid] = Process(
                pid, parent.environment, parent.log_rank, dict(parent.descriptors), parent.handles, set(parent.not_files),
                directory=parent.directory,
            )  # fmt: skip
        elif known is not parent:
            known.environment = known.environment or parent.environment
            known.directory = known.directory or parent.directory
            known.descriptors = {**parent.descriptors, **known.descriptors}

    def _open(self, process: Process, name: str, call: Call) -> None:
        process.directory = working_directory(call) or process.directory
        fd, path = call.result, path_of_open(call, process.directory)
        if not path.startswith("/") or not is_kept(path):
            process.descriptors.pop(fd, None)
            if path.startswith("/"):
                process.not_files.add(fd)
            return
        process.not_files.discard(fd)
        flags = flags_of_open(name, call.arguments)
        if fd < 0:
            self._rows.add(process, "open", (path, self.names.file(path)), call, arg=flags)
            return
        is_new = bool(flags & os.O_CREAT) and (
            bool(flags & os.O_EXCL) or self.names.is_absent(path)
        )
        file = self.names.made(path) if is_new else self.names.file(path)
        if is_new or flags & os.O_TRUNC:
            self._sizes[file] = 0
        if flags & os.O_DIRECTORY:
            self.names.folder(path)
        of = _Description(path, file, process.handles, 0, bool(flags & os.O_APPEND))
        process.handles += 1
        process.descriptors[fd] = of
        self._rows.add(process, "open", of, call, arg=flags)

    def _given_names(self, process: Process, call: Call) -> list[str]:
        process.directory = working_directory(call) or process.directory
        opened = {fd: of.path for fd, of in process.descriptors.items()}
        return names_of(call, process.directory, opened)

    def _change_directory(self, process: Process, name: str, call: Call) -> None:
        if call.error:
            return
        names = self._given_names(process, call)
        process.directory = names[0] if names and names[0].startswith("/") else None

    def _on_names(self, process: Process, name: str, call: Call) -> None:
        if name in _CHANGES_DIRECTORY:
            self._change_directory(process, name, call)
        elif name in _ON_TWO_NAMES:
            self._on_two_names(process, name, call)
        else:
            self._on_a_name(process, name, call)

    def _on_two_names(self, process: Process, name: str, call: Call) -> None:
        """A rename or link: a row for each name, see ``ON_TWO_NAMES``."""
        op = _ON_TWO_NAMES[name]
        names = self._given_names(process, call)
        if len(names) != 2 or "RENAME_EXCHANGE" in call.arguments:
            self.unplaced_names[op] += 1
            return
        old, new = names
        if not (old.startswith("/") and new.startswith("/")):
            self.unplaced_names[op] += 1
            return
        before = (old, self.names.file(old))
        if not call.error:
            (self.names.renamed if op == "rename" else self.names.linked)(old, new)
        after = (new, self.names.file(new))
        if is_kept(old) and is_kept(new):
            self._rows.add(process, op, before, call)
            self._rows.add(process, op, after, call, arg=1)

    def _on_a_name(self, process: Process, name: str, call: Call) -> None:
        op = "rmdir" if "AT_REMOVEDIR" in call.arguments else _ON_A_NAME[name]
        path = (self._given_names(process, call) or [""])[0]
        if not path.startswith("/"):
            self.unplaced_names[op] += 1
            return
        if op in ("mkdir", "rmdir"):
            self.names.folder(path)
        file, arg = self.names.file(path), 0
        if op == "truncate":
            arg = number(call.arguments.rsplit(",", 1)[-1], 0)
        elif op in ("mkdir", "chmod"):
            arg = mode_of(call)
        elif op == "utime":
            arg = int(gives_times(call))
        if is_kept(path):
            self._rows.add(process, op, (path, file), call, arg=arg)
        if call.error:
            return
        if op == "truncate":
            self._sizes[file] = arg
        elif op in ("unlink", "rmdir"):
            self.names.removed(path)

    def _named(self, process: Process, fd: int, path: str | None) -> _Description | None:
        """The open file of a descriptor that the log names, or that was opened by a name in the log."""
        if path is None:
            return process.descriptors.get(fd)
        return self._description(process, fd, path)

    def _description(self, process: Process, fd: int, path: str) -> _Description | None:
        """The open file of a descriptor; None where it is no file whose I/O counts."""
        path = unescaped(path.removesuffix(" (deleted)"))
        if path.startswith("/memfd:"):
            return None
        if not path.startswith("/") or not is_kept(path):
            return None
        of = process.descriptors.get(fd)
        if of is not None and of.path != path and self.names.leads_to(path, of.file):
            of.path = path  # renamed while it was open
        if of is None or of.path != path:  # opened before strace came
            of = process.descriptors[fd] = _Description(
                path, self.names.file(path), process.handles, None
            )
            process.handles += 1
        return of

    def _move(self, process: Process, name: str, call: Call) -> None:
        """Bytes that go from one file to another inside the kernel: a row for each side that is a file.

        The length that such a call gives is a bound and no request: the rows' size is what was moved.
        """
        seen = (_TO_FROM if name == "sendfile" else _FROM_TO).match(call.arguments)
        if seen is None:
            return
        fd, path, place, to_fd, to_path, to_place = seen.groups() if name != "sendfile" else (
            seen[3], seen[4], seen[5], seen[1], seen[2], None,
        )  # fmt: skip
        moved = max(call.result, 0)
        reads, writes = _TWO_FILES[name]
        for op, side, file, at in ((reads, fd, path, place), (writes, to_fd, to_path, to_place)):
            of = self._named(process, int(side), file)
            self.unnamed += of is None and file is None and int(side) not in process.not_files
            if of is not None:
                offset = None if at is None else int(at)
                self._data(process, op, of, call, moved, offset, written=op == writes)

    def _data(
        self, process: Process, name: str, of: _Description, call: Call, size: int, offset: int | None, *, written: bool
    ) -> None:  # fmt: skip
        """An operation that moves data, at an offset or, where that is None, at the file's position."""
        moved = max(call.result, 0)
        at = offset
        if at is None:
            at = self._sizes.get(of.file) if written and of.appends else of.position
            of.position = None if at is None else at + moved
            self.unplaced[of.appends] += at is None
        self._rows.add(process, name, of, call, size=size, moved=moved, offset=at)
        if written:
            self._grown(of.file, at, moved)

    def _on_descriptor(
        self, process: Process, name: str, fd: int, of: _Description, call: Call
    ) -> None:
        if name in _AT_POSITION | AT_OFFSET:
            offset = offset_of(call) if name in AT_OFFSET else None
            size, written = bytes_asked(name, call), "write" in name
            if name in AT_OFFSET and offset is None:  # it failed, or its line is cut short
                self._rows.add(process, name, of, call, size=size, moved=max(call.result, 0))
            else:
                self._data(process, name, of, call, size, offset, written=written)
        elif name == "lseek":
            self._seek(process, of, call)
        elif name == "close":
            self._rows.add(process, "close", of, call)
            process.descriptors.pop(fd, None)
        elif name == "fchdir" and not call.error:
            process.directory = of.path
        elif name in _OF_DESCRIPTOR:
            offset, arg = self._of_descriptor(name, of.file, call)
            self._rows.add(process, name, of, call, offset=offset, arg=arg)
        elif call.result >= 0 and (
            name in _DUPS or (name == "fcntl" and "F_DUPFD" in call.arguments)
        ):
            process.descriptors[call.result] = of
            self._rows.add(process, "dup", of, call)
        elif name == "fcntl" and "F_SETFL" in call.arguments:
            flags = flags_of_open(name, call.arguments) & _SETTABLE
            if not call.error:
                of.appends = bool(flags & os.O_APPEND)
            self._rows.add(process, "fcntl", of, call, arg=flags)

    def _seek(self, process: Process, of: _Description, call: Call) -> None:
        at = call.result if call.result >= 0 else None
        of.position = of.position if at is None else at
        word = call.arguments.rsplit(",", 1)[-1].strip()
        whence = _WHENCE.get(word, 0)
        to_end = whence == _WHENCE["SEEK_END"]
        if at is not None and to_end and re.search(r", *0, *[^,]*$", call.arguments):
            self._sizes[of.file] = at
        self._rows.add(process, "lseek", of, call, offset=at, arg=whence)

    def _of_descriptor(self, name: str, file: int, call: Call) -> tuple[int | None, int]:
        """Offset and argument as the tracer has them; what the call says of the file's size is kept."""
        if name == "ftruncate":
            size = number(call.arguments.rsplit(",", 1)[-1], 0)
            if not call.error:
                self._sizes[file] = size
            return None, size
        if name == "fallocate":
            numbers = [int(n) for n in re.findall(r", *(\d+)", call.arguments)[-2:]]
            offset, end = (numbers[0], sum(numbers)) if len(numbers) == 2 else (0, 0)
            return offset, end
        if name == "fstat" and (known := _STAT_SIZE.search(call.arguments)):
            self._sizes[file] = int(known[1])
        return None, 0

    def _grown(self, file: int, at: int | None, written: int) -> None:
        """A file's size behind a write."""
        if written and at is None:
            self._sizes.pop(file, None)
        elif written and at is not None and file in self._sizes:
            self._sizes[file] = max(self._sizes[file], at + written)
