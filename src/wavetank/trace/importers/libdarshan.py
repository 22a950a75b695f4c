"""PyDarshan's C library (libdarshan-util), called directly: a whole module at a time, not a segment.

Reads a Darshan log; leaves its job, names, mounts, counters, and the raw bytes of its DXT modules.
Structures are those of darshan-log-format.h and darshan-logutils.h, 3.4 to 3.5.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wavetank.errors import TraceError
from wavetank.trace.importers import darshan_header
from wavetank.trace.importers.counter_table import CounterTable, record_bytes

_COUNTER_PREFIXES = {"POSIX": "posix", "MPI-IO": "mpiio", "STDIO": "stdio"}
# Version, counters and times of those whose records in a log are as in memory: Darshan 3.1.7 to 3.5.0.
_CURRENT = {"POSIX": (4, 69, 17), "MPI-IO": (3, 51, 17), "STDIO": (2, 14, 15)}
_MOST_COUNTERS = 256  # of a module; a list of names without its end is damage
_CHUNK = 16 << 20  # bytes, the first try
_MOST_PROCESSES = 1 << 23  # the largest machines have fewer cores
_LATEST_S = 1 << 33  # of the epoch, in the year 2242


class _Job(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in (
            "uid", "start_s", "start_ns", "end_s", "end_ns", "n_processes", "job_id",
        )),
        ("metadata", ctypes.c_char * 1024),
    ]  # fmt: skip


class _Module(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("length", ctypes.c_int),
        ("version", ctypes.c_int),
        ("index", ctypes.c_int),
        ("partial", ctypes.c_int),
    ]


class _Name(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("name", ctypes.c_void_p)]


class _Mount(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char * 3015), ("path", ctypes.c_char * 3015)]


@dataclass(frozen=True)
class DarshanModule:
    """A module in a log. ``partial``: it ran out of memory in the traced run, records are missing."""

    name: str
    version: int
    index: int
    partial: bool
    length: int  # bytes in the log, compressed


@dataclass(frozen=True)
class DarshanJob:
    """The run that a log describes. ``ended_ns`` is None where its process did not end in order."""

    n_processes: int
    started_ns: int  # UTC
    ended_ns: int | None
    metadata: str


class DarshanLog:
    """An open log. Methods may be called once each, in any order."""

    def __init__(self, library: ctypes.CDLL, handle: int, path: Path) -> None:
        self._library = library
        self._path = path
        self._handle = ctypes.c_void_p(handle)

    def job(self) -> DarshanJob:
        """When it ran, and with how many processes.

        Raises:
            TraceError: the numbers are none of a run: the record is damaged, or laid out in another way.
        """
        job = _Job()
        self._library.darshan_log_get_job(self._handle, ctypes.byref(job))
        started, ended = job.start_s * 10**9 + job.start_ns, job.end_s * 10**9 + job.end_ns
        parts_of_a_second = (job.start_ns, job.end_ns)
        if (
            not 0 < job.n_processes <= _MOST_PROCESSES
            or not all(0 <= part < 10**9 for part in parts_of_a_second)
            or not all(0 <= time < _LATEST_S for time in (job.start_s, job.end_s))
        ):
            raise TraceError(
                f"{self._path}: its job record says {job.n_processes} processes from {job.start_s} s to {job.end_s} s of the "
                "epoch, which is no run: it is damaged, or of a development version of Darshan that lays it out in another "
                "way. Record the run again with a release of Darshan"
            )
        return DarshanJob(
            job.n_processes,
            started,
            ended if ended >= started else None,
            job.metadata.decode(errors="replace"),
        )

    def command(self) -> str:
        """The program and its arguments, as one text."""
        text = ctypes.create_string_buffer(4097)
        self._library.darshan_log_get_exe(self._handle, text)
        return text.value.decode(errors="replace").strip()

    def modules(self) -> dict[str, DarshanModule]:
        """What the log holds, by module name."""
        found, n = ctypes.POINTER(_Module)(), ctypes.c_int()
        self._library.darshan_log_get_modules(self._handle, ctypes.byref(found), ctypes.byref(n))
        modules = {}
        for i in range(n.value):
            name = (found[i].name or b"").decode(errors="replace")
            modules[name] = DarshanModule(
                name, found[i].version, found[i].index, bool(found[i].partial), found[i].length
            )
        self._library.darshan_free(found)
        return modules

    def names(self) -> dict[int, str]:
        """Paths by record id."""
        found, n = ctypes.POINTER(_Name)(), ctypes.c_int()
        self._library.darshan_log_get_name_records(
            self._handle, ctypes.byref(found), ctypes.byref(n)
        )
        names = {}
        for i in range(n.value):
            if found[i].name:
                text = ctypes.string_at(found[i].name)
                names[found[i].id] = text.decode(errors="backslashreplace")
                self._library.darshan_free(ctypes.c_void_p(found[i].name))
        self._library.darshan_free(found)
        return names

    def mounts(self) -> list[tuple[str, str]]:
        """(mount point, file system type)."""
        found, n = ctypes.POINTER(_Mount)(), ctypes.c_int()
        self._library.darshan_log_get_mounts(self._handle, ctypes.byref(found), ctypes.byref(n))
        mounts = [
            (found[i].path.decode(errors="replace"), found[i].type.decode(errors="replace"))
            for i in range(n.value)
        ]
        self._library.darshan_free(found)
        return mounts

    def counters(self, module: DarshanModule) -> CounterTable:
        """The records of a counter module ("POSIX", "MPI-IO", "STDIO")."""
        names = _counter_names(self._library, module.name, "")
        times = _counter_names(self._library, module.name, "f_")
        size = record_bytes(names, times)
        if _CURRENT.get(module.name) == (module.version, len(names), len(times)):
            content = darshan_header.raw(self._path, module.index, module.length)
            if content is not None and len(content) % size == 0:
                return CounterTable(names, times, content)
        # Of other versions and byte orders: the library turns them into records of the current version.
        records: list[bytes] = []
        record = ctypes.c_void_p()
        while True:
            got = self._library.darshan_log_get_record(
                self._handle, module.index, ctypes.byref(record)
            )
            if got < 1 or not record.value:
                return CounterTable(names, times, b"".join(records))
            records.append(ctypes.string_at(record.value, size))
            self._library.darshan_free(record)
            record = ctypes.c_void_p()

    def raw(self, module: DarshanModule) -> bytes | None:
        """The bytes of a module as they are in the log, uncompressed; None if the library refuses."""
        room = _CHUNK
        while True:
            buffer = ctypes.create_string_buffer(room)
            handle = ctypes.c_void_p(self._library.darshan_log_open(str(self._path).encode()))
            try:  # a second call on one handle would go on behind the first
                n = self._library.darshan_log_get_mod(handle, module.index, buffer, room)
            finally:
                self._library.darshan_log_close(handle)
            if n < 0:
                return None
            if n < room:
                return buffer.raw[:n]
            room *= 4


@cache
def _counter_names(library: ctypes.CDLL, module: str, kind: str) -> tuple[str, ...]:
    """What the library calls the counters of a module, or with ``kind`` "f_" its times."""
    name = f"{_COUNTER_PREFIXES[module]}_{kind}counter_names"
    table = (ctypes.c_char_p * _MOST_COUNTERS).in_dll(library, name)
    names: list[str] = []
    for entry in table:
        if entry is None or entry.endswith(b"_NUM_INDICES"):
            break
        names.append(entry.decode())
    return tuple(names)


def _probe(library: ctypes.CDLL, path: Path) -> None:
    """Let a child read what is read here: the library aborts the process on some damaged logs.

    Raises:
        TraceError: the child died.
    """
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            faulthandler.disable()
            handle = library.darshan_log_open(str(path).encode())
            if handle:
                log = DarshanLog(library, handle, path)
                modules = log.modules()
                log.job(), log.command(), log.names(), log.mounts()
                for name in _COUNTER_PREFIXES.keys() & modules.keys():
                    log.counters(modules[name])
                library.darshan_log_close(ctypes.c_void_p(handle))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise TraceError(f"{path} is a damaged Darshan log: libdarshan-util aborts on it")


def library_path() -> str:
    """Path or name of libdarshan-util: PyDarshan's own, else the system's.

    Raises:
        TraceError: it is not there.
    """
    spec = importlib.util.find_spec("darshan")
    beside = []
    if spec is not None and spec.origin is not None:
        beside = sorted(Path(spec.origin).parents[1].glob("darshan.libs/libdarshan-util*.so*"))
    name = str(beside[0]) if beside else find_library("darshan-util")
    if name is None:
        remedy = (
            "pip install darshan"
            if spec is None
            else "a build of darshan-util from Darshan's source, made known by ldconfig (the PyDarshan installed here has none)"
        )
        raise TraceError(
            f"cannot read Darshan logs: libdarshan-util is not there. Install it with: {remedy}"
        )
    return name


@cache
def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(library_path())
    library.darshan_log_open.restype = ctypes.c_void_p
    library.darshan_log_open.argtypes = [ctypes.c_char_p]
    for function in (
        "get_job",
        "get_exe",
        "get_modules",
        "get_name_records",
        "get_mounts",
        "close",
    ):
        getattr(library, f"darshan_log_{function}").restype = ctypes.c_int
    return library


@contextmanager
def open_log(path: Path) -> Iterator[DarshanLog]:
    """Open a log.

    Raises:
        TraceError: no library, or the library cannot read the file.
    """
    library = _load()
    if not darshan_header.is_whole(path):
        _probe(library, path)
    handle = library.darshan_log_open(str(path).encode())
    if not handle:
        raise TraceError(
            f"{path} is not a Darshan log that libdarshan-util reads: damaged, or of another version"
        )
    try:
        yield DarshanLog(library, handle, path)
    finally:
        library.darshan_log_close(ctypes.c_void_p(handle))
