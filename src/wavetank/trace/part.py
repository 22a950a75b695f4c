"""One process's part of a trace: blocks with checksums, read up to the first damage.

Reads a file part-HOST-PID-N.wt; leaves its records and fold columns. The format is described in
native/include/wavetank_trace.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
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
from wavetank.trace.part_files import PartFiles, decode_files
from wavetank.trace.part_records import PartClock, PartView, read_records
from wavetank.trace.schema import without_repetition
from wavetank.trace.tail import read_tail

VERSION = 1
MAGIC = b"WTTRACE\n"
BLOCK_MAGIC = 0x4B4C4257
MAX_PAYLOAD = 1 << 20  # bytes
STOPPED = ".stopped.wt"  # the name's end of a part that could not be written to its end
HEADER = struct.Struct("<8sIIQQII64s")
BLOCK_HEADER = struct.Struct("<IIII")
BLOCK_META, BLOCK_ROWS = 1, 2
(NOTE_IO_URING, NOTE_MISSED, NOTE_MAPPED, NOTE_OFFSETS, NOTE_STDIO, NOTE_STOPPED, NOTE_RAW, NOTE_UNSEEN,
 NOTE_UNLOADED, NOTE_RIGHTS, NOTE_BYPASSED, NOTE_OTHER_CLASS, NOTE_GO, NOTE_OVERWRITTEN,
 NOTE_LIBAIO) = range(1, 16)  # fmt: skip
HINTS_IN_FORCE = 4  # enum wt_hints; the others were given by the application


@dataclass(frozen=True)
class RowTotals:
    """What the rows of a process come to.

    Attributes:
        operations: that they stand for.
        folds: as they are stored, each once however often a loop repeats it.
        last_end_ns: when the last operation ended; since the part's start.
    """

    operations: int = 0
    folds: int = 0
    last_end_ns: int = 0

    @classmethod
    def of(cls, rows: Decoded) -> RowTotals:
        """Those of decoded rows."""
        columns = rows.columns
        end_ns = int(columns["end_ns"].max(initial=0))
        return cls(int(columns["count"].sum()), rows.n_folds, end_ns)

    def __add__(self, other: RowTotals) -> RowTotals:
        return RowTotals(
            self.operations + other.operations,
            self.folds + other.folds,
            max(self.last_end_ns, other.last_end_ns),
        )


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
    files: PartFiles = field(default_factory=PartFiles)
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
    rows: Decoded | None = None  # None: they were not asked for, or are used up
    totals: RowTotals = field(default_factory=RowTotals)

    def forget_files(self) -> None:
        """Keep nothing of its files."""
        self.files = PartFiles()

    @property
    def columns(self) -> Columns:
        """Columns of the fold table."""
        return self.rows.columns if self.rows is not None else {}


def read_part(path: Path, loops: bool = False, *, rows: bool = True) -> Part:
    """Read one part. Damage ends the reading and is noted in ``Part.damage``.

    Args:
        path: of the part.
        loops: keep loops as rows with a loop number; see ``decoder.decode_rows``.
        rows: keep the rows; else their totals only, for which a block at a time is in memory.

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
    if version != VERSION:
        raise TraceError(
            f"{path} has version {version} of the trace format; this wavetank reads version {VERSION}. "
            "Trace again, or use the version that wrote it"
        )
    part = Part(path, host.split(b"\0")[0].decode(errors="replace"), pid, ppid, utc, mono)
    try:
        _read_content(part, content, header_size, loops, keep=rows)
    except TooManyRowsError:
        raise TraceError(
            f"{path} holds loops that stand for more than {MOST_ROWS:,} rows of different files. Trace a shorter "
            "run, or leave files out with --exclude"
        ) from None
    return part


def _read_content(part: Part, content: bytes, header_size: int, loops: bool, *, keep: bool) -> None:
    if part.path.name.endswith(STOPPED):
        part.notes[NOTE_STOPPED] = "there was no room even for the reason"
    tail = read_tail(part.path.with_suffix(".tail"), loops)
    if tail is not None:
        content = content[: tail.part_length]
        part.not_written = tail.missed
        part.keeps_last = tail.keeps_rows
    rows, meta = _read_blocks(part, content, header_size)
    if tail is not None and part.damage is None:
        rows.append(tail.rows_coded)
        meta.append(tail.meta)
        if not read_records(part, tail.meta):
            part.damage = f"{part.path.name}: the records of its tail are damaged"
    part.files = decode_files(b"".join(meta))
    behind = tail.rows if tail is not None else None
    if keep:
        _keep_rows(part, rows, behind, loops)
    else:
        part.totals = sum(
            (RowTotals.of(decoded) for decoded in _good_rows(part, rows, loops)), RowTotals()
        )
        if behind is not None and part.damage is None:
            part.totals += RowTotals.of(behind)


def _keep_rows(part: Part, rows: list[bytes], behind: Decoded | None, loops: bool) -> None:
    """Decode the payloads of rows, and add those of the tail."""
    try:
        part.rows = decode_rows(b"".join(rows), loops)
    except DamagedRowsError:
        good = [payload for payload, _ in zip(rows, _good_rows(part, rows, loops), strict=False)]
        part.rows = decode_rows(b"".join(good), loops)
    if behind is not None and part.damage is None:
        part.rows = joined(part.rows, behind)
    if part.moved:
        part.rows = correct_moved(part.rows, part.moved)
    part.totals = RowTotals.of(part.rows)
    columns = {name: without_repetition(column) for name, column in part.rows.columns.items()}
    part.rows = replace(part.rows, columns=columns)


def _read_blocks(part: Part, content: bytes, at: int) -> tuple[list[bytes], list[bytes]]:
    """The payloads of rows and of records up to the first damage; records that are not of files are read."""
    rows: list[bytes] = []
    meta: list[bytes] = []
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
            elif kind == BLOCK_META:
                meta.append(payload)
                if not read_records(part, payload):
                    problem = "damaged: a record in it makes no sense"
        if problem is not None:
            part.damage = f"{part.path.name} is {problem} at byte {at} of {len(content)}; what comes after is lost"
            break
        at = start + length
    return rows, meta


def _good_rows(part: Part, rows: list[bytes], loops: bool) -> Iterator[Decoded]:
    """Payload by payload, up to the first one that is damaged."""
    for number, payload in enumerate(rows):
        try:
            yield decode_rows(payload, loops)
        except DamagedRowsError:
            part.damage = f"{part.path.name} is damaged in its rows (block {number}); what comes after is lost"
            return
