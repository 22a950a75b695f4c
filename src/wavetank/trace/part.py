"""One process's part of a trace: blocks with checksums, read up to the first damage.

Reads a file part-HOST-PID-N.wt; leaves its records and fold columns. The format is described in
native/include/wavetank_trace.h.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from wavetank.errors import TraceError
from wavetank.trace.decoder import (
    MOST_ROWS,
    Columns,
    DamagedRowsError,
    Decoded,
    TooManyRowsError,
    decode_rows,
    joined,
)
from wavetank.trace.moved import correct_moved
from wavetank.trace.tail import read_tail

VERSION = 2
_READ_VERSIONS = (1, 2)  # version 1 has no loops and times
MAGIC = b"WTTRACE\n"
BLOCK_MAGIC = 0x4B4C4257
MAX_PAYLOAD = 1 << 20  # bytes
_MOST_RANKS = 1 << 24  # of a communicator; more is damage
STOPPED = ".stopped.wt"  # the name's end of a part that could not be written to its end
HEADER = struct.Struct("<8sIIQQII64s")
BLOCK_HEADER = struct.Struct("<IIII")
BLOCK_META, BLOCK_ROWS = 1, 2
(META_FILE, META_MOUNT, META_RANK, META_COMMAND, META_VIEW, META_COMM, META_INFO, META_END, META_NOTE,
 META_MOVED, META_CLOCK, META_STRIPING, META_HINTS, META_FILE_HINTS, META_IDENTITY,
 META_SYMLINK, META_DIRECTORY) = range(1, 18)  # fmt: skip
(NOTE_IO_URING, NOTE_MISSED, NOTE_MAPPED, NOTE_OFFSETS, NOTE_STDIO, NOTE_STOPPED, NOTE_RAW, NOTE_UNSEEN,
 NOTE_UNLOADED, NOTE_RIGHTS, NOTE_BYPASSED, NOTE_OTHER_CLASS, NOTE_GO) = range(1, 14)  # fmt: skip
HINTS_IN_FORCE = 4  # enum wt_hints; the others were given by the application


@dataclass(slots=True)
class PartFile:
    """A file as one process saw it."""

    path: str
    size_before: int | None
    mount: int | None
    identity: tuple[int, int, int | None] | None = None  # device, inode, birth time
    generation: int = 0  # among files of equal inode and birth, as the process counted them
    made: bool = False  # by the open that met it first
    symlink_to: str | None = None
    directory: bool = False


@dataclass
class PartView:
    """An MPI file view as recorded."""

    displacement: int
    etype_size: int
    extent: int
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PartClock:
    """A comparison of this process's CLOCK_MONOTONIC with the reference host's."""

    clock: int  # which clock this process has
    reference: int
    role: int  # enum wt_clock_role
    at_ns: int  # since the part's start
    offset_ns: int  # reference minus own
    round_trip_ns: int


@dataclass
class Part:
    """What one process left."""

    path: Path
    host: str
    pid: int
    ppid: int
    start_utc_ns: int
    start_mono_ns: int
    rank: int | None = None
    n_ranks: int | None = None
    rank_source: int = 0  # enum wt_rank_source: 0 none, 1 the launcher's environment, 2 MPI
    mpi_library: str | None = None
    command: tuple[str, ...] = ()
    files: dict[int, PartFile] = field(default_factory=dict)
    mounts: dict[int, tuple[str, str, str]] = field(default_factory=dict)  # point, type, source
    views: dict[int, PartView] = field(default_factory=dict)
    communicators: dict[int, tuple[int, ...]] = field(default_factory=dict)
    hint_sets: dict[int, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    file_hints: list[tuple[int, int, int]] = field(default_factory=list)  # file, enum wt_hints, set
    moved: dict[int, int] = field(default_factory=dict)  # bytes by number of the operation
    clocks: list[PartClock] = field(default_factory=list)
    striping: dict[int, bytes] = field(default_factory=dict)  # lustre.lov by file
    unseen: dict[int, list[str]] = field(
        default_factory=dict
    )  # details of notes that come repeatedly
    notes: dict[int, str] = field(default_factory=dict)
    ended: bool = False
    end_ns: int | None = None
    missed: int = 0  # operations that the tracer met while at work
    not_written: int = 0  # operations after the tracer could write no more
    keeps_last: bool = True  # False: had the process been killed, its last operations were lost
    damage: str | None = None
    rows: Decoded | None = None

    def forget_rows(self) -> None:
        """Keep of its rows no more than that there are some, and when the last one ended."""
        if self.rows is not None and len(self.columns.get("seq", ())):
            latest = self.columns["end_ns"].max(keepdims=True)
            few = {"seq": self.columns["seq"][:1].copy(), "end_ns": latest}
            self.rows = replace(self.rows, columns=few)

    @property
    def columns(self) -> Columns:
        """Columns of the fold table."""
        return self.rows.columns if self.rows is not None else {}


class _Fields:
    """Cursor over a record's fields."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def number(self) -> int:
        value = self.content[self.at]
        self.at += 1
        if value < 0x80:
            return value
        value, shift = value & 0x7F, 7
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise IndexError

    def signed(self) -> int:
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def raw(self) -> bytes:
        n = self.number()
        if self.at + n > len(self.content):
            raise IndexError
        self.at += n
        return self.content[self.at - n : self.at]

    def text(self) -> str:
        # Names of files are bytes: what is not UTF-8 is shown escaped.
        return self.raw().decode(errors="backslashreplace")

    def bounded(self, what: int) -> int:
        """A number of things that follow: never more than the bytes that are left."""
        n = self.number()
        if n > len(self.content) - self.at or what < 0:
            raise IndexError
        return n


def read_part(path: Path, loops: bool = False) -> Part:
    """Read one part. Damage ends the reading and is noted in ``Part.damage``.

    Raises:
        TraceError: it cannot be read at all, or is of another version.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}") from error
    if len(content) < HEADER.size or not content.startswith(MAGIC):
        raise TraceError(
            f"{path} is not a part of a trace: it is cut short or damaged at its start"
        )
    _, version, header_size, utc, mono, pid, ppid, host = HEADER.unpack_from(content)
    if version not in _READ_VERSIONS:
        raise TraceError(
            f"{path} has version {version} of the trace format; this wavetank reads up to version {VERSION}. "
            "Trace again, or use the version that wrote it"
        )
    part = Part(path, host.split(b"\0")[0].decode(errors="replace"), pid, ppid, utc, mono)
    try:
        _read_rows(part, content, header_size, loops)
    except TooManyRowsError:
        raise TraceError(
            f"{path} holds loops that stand for more than {MOST_ROWS:,} rows of different files. Trace a shorter "
            "run, or leave files out with --exclude"
        ) from None
    return part


def _read_rows(part: Part, content: bytes, header_size: int, loops: bool) -> None:
    if part.path.name.endswith(STOPPED):
        part.notes[NOTE_STOPPED] = "there was no room even for the reason"
    tail = read_tail(part.path.with_suffix(".tail"), loops)
    if tail is not None:
        content = content[: tail.part_length]
        part.not_written = tail.missed
        part.keeps_last = tail.keeps_rows
    rows = _read_blocks(part, content, header_size)
    if tail is not None and part.damage is None:
        rows.append(tail.rows_coded)
        if not _read_meta(part, tail.meta):
            part.damage = f"{part.path.name}: the records of its tail are damaged"
    try:
        part.rows = decode_rows(b"".join(rows), loops)
    except DamagedRowsError:
        part.rows = decode_rows(b"".join(_good_rows(part, rows)), loops)
    if tail is not None and part.damage is None:
        part.rows = joined(part.rows, tail.rows)
    if part.moved:
        part.rows = correct_moved(part.rows, part.moved)


def _read_blocks(part: Part, content: bytes, at: int) -> list[bytes]:
    rows: list[bytes] = []
    while at < len(content):
        problem = None
        if at + BLOCK_HEADER.size > len(content):
            problem = "cut short"
        else:
            magic, kind, length, checksum = BLOCK_HEADER.unpack_from(content, at)
            start = at + BLOCK_HEADER.size
            payload = content[start : start + length]
            if magic != BLOCK_MAGIC or length > MAX_PAYLOAD:
                problem = "damaged"
            elif len(payload) < length:
                problem = "cut short"
            elif zlib.crc32(payload) != checksum:
                problem = "damaged: its checksum does not fit"
            elif kind == BLOCK_ROWS:
                rows.append(payload)
            elif kind == BLOCK_META and not _read_meta(part, payload):
                problem = "damaged: a record in it makes no sense"
        if problem is not None:
            part.damage = f"{part.path.name} is {problem} at byte {at} of {len(content)}; what comes after is lost"
            break
        at = start + length
    return rows


def _good_rows(part: Part, rows: list[bytes]) -> list[bytes]:
    good: list[bytes] = []
    for number, payload in enumerate(rows):
        try:
            decode_rows(payload)
        except DamagedRowsError:
            part.damage = f"{part.path.name} is damaged in its rows (block {number}); what comes after is lost"
            break
        good.append(payload)
    return good


def _read_meta(part: Part, payload: bytes) -> bool:
    at = 0
    try:
        while at < len(payload):
            kind = payload[at]
            fields = _Fields(payload)
            fields.at = at + 1
            length = fields.number()
            if fields.at + length > len(payload):
                return False
            _READERS.get(kind, _ignore)(part, _Fields(payload[fields.at : fields.at + length]))
            at = fields.at + length
    except IndexError:
        return False
    return True


def _ignore(part: Part, fields: _Fields) -> None:
    del part, fields  # a record of a later minor version


def _file(part: Part, fields: _Fields) -> None:
    number, size, mount, path = fields.number(), fields.number(), fields.number(), fields.text()
    part.files[number] = PartFile(path, size - 1 if size else None, mount - 1 if mount else None)


def _identity(part: Part, fields: _Fields) -> None:
    read = fields.number
    number, named, size, device, inode, born, generation = (
        read(), read(), read(), read(), read(), read(), read()
    )  # fmt: skip
    name = part.files.get(named)
    if name is not None:
        before = name.size_before if number == named and size == 0 else None
        part.files[number] = PartFile(
            name.path,
            size - 1 if size else before,
            name.mount,
            identity=(device, inode, born or None),
            generation=generation >> 1,
            made=bool(generation & 1),
            symlink_to=name.symlink_to if number == named else None,
        )


def _symlink(part: Part, fields: _Fields) -> None:
    number, target = fields.number(), fields.text()
    if number in part.files:
        part.files[number] = replace(part.files[number], symlink_to=target)


def _directory(part: Part, fields: _Fields) -> None:
    number = fields.number()
    if number in part.files:
        part.files[number] = replace(part.files[number], directory=True)


def _mount(part: Part, fields: _Fields) -> None:
    number = fields.number()
    part.mounts[number] = (fields.text(), fields.text(), fields.text())


def _rank(part: Part, fields: _Fields) -> None:
    rank, n_ranks, source, library = (
        fields.number(),
        fields.number(),
        fields.number(),
        fields.text(),
    )
    if source >= part.rank_source:
        part.rank = rank - 1 if rank else None
        part.n_ranks = n_ranks or None
        part.rank_source = source
        part.mpi_library = library or part.mpi_library


def _command(part: Part, fields: _Fields) -> None:
    part.command = tuple(fields.text() for _ in range(fields.bounded(1)))


def _view(part: Part, fields: _Fields) -> None:
    number, displacement, etype_size, extent = (
        fields.number(),
        fields.number(),
        fields.number(),
        fields.number(),
    )
    end = 0
    runs: list[tuple[int, int]] = []
    for _ in range(fields.bounded(2)):
        first = end + fields.signed()
        end = first + fields.number()
        runs.append((first, end - first))
    part.views[number] = PartView(displacement, etype_size, extent, tuple(runs))


def _communicator(part: Part, fields: _Fields) -> None:
    number, end = fields.number(), 0
    ranks: list[int] = []
    for _ in range(fields.bounded(1)):
        first = end + fields.signed()
        end = first + fields.number()
        if len(ranks) + end - first > _MOST_RANKS:
            raise IndexError
        ranks.extend(range(first, end))
    part.communicators[number] = tuple(ranks)


def _hints(part: Part, fields: _Fields) -> None:
    number, n = fields.number(), fields.bounded(2)
    part.hint_sets[number] = tuple((fields.text(), fields.text()) for _ in range(n))


def _file_hints(part: Part, fields: _Fields) -> None:
    part.file_hints.append((fields.number(), fields.number(), fields.number()))


def _moved(part: Part, fields: _Fields) -> None:
    number = fields.number()
    part.moved[number] = fields.number()


def _clock(part: Part, fields: _Fields) -> None:
    clock, reference, role, at_ns = (fields.number() for _ in range(4))
    part.clocks.append(PartClock(clock, reference, role, at_ns, fields.signed(), fields.number()))


def _striping(part: Part, fields: _Fields) -> None:
    number = fields.number()
    part.striping[number] = fields.raw()


def _end(part: Part, fields: _Fields) -> None:
    fields.number()  # enum wt_end
    fields.number()  # operations, for people
    part.missed = fields.number()
    part.end_ns = fields.number()
    part.ended = True


def _note(part: Part, fields: _Fields) -> None:
    number = fields.number()
    detail = fields.text()
    part.notes[number] = detail
    if detail:
        part.unseen.setdefault(number, []).append(detail)


_READERS = {
    META_FILE: _file,
    META_MOUNT: _mount,
    META_RANK: _rank,
    META_COMMAND: _command,
    META_VIEW: _view,
    META_COMM: _communicator,
    META_END: _end,
    META_NOTE: _note,
    META_MOVED: _moved,
    META_CLOCK: _clock,
    META_STRIPING: _striping,
    META_HINTS: _hints,
    META_FILE_HINTS: _file_hints,
    META_IDENTITY: _identity,
    META_SYMLINK: _symlink,
    META_DIRECTORY: _directory,
}
