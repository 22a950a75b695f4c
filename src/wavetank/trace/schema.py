"""The tables of a trace: what every reader and importer leaves, and what the model is made from.

A trace is the ordered I/O activity of every rank. Equal operations at regular distance are folded
into one row with a count; a row of count 1 is a single operation. Rows of a rank are in the order
of occurrence and contiguous (all operations of a row precede all of the next row of that rank).
The native format is described in native/include/wavetank_trace.h; the two are compared in tests.
Source: the method, section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wavetank.notes import Note
from wavetank.trace.counters import FileCounters

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
UInt8Array = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]

PARTS = "part-*.wt"
"""Names of the parts in the folder of a native trace."""

UNKNOWN = -1
"""In ``offset``, ``disp``, ``view_offset``, ``view_disp``: the source of the trace does not say, or it has no meaning."""


class Level:
    """Where in the I/O stack a call was seen.

    Plain numbers and no IntEnum: numpy compares a column of bytes with members of an enum as numbers of eight bytes.
    """

    POSIX: Final = 1  # system-call wrappers, and stdio through the calls that reach the file
    MPIIO: Final = 2
    MPI: Final = 3  # communication: only synchronising collectives are rows, see OpKind.SYNC_RANKS


LEVEL_NAMES = {Level.POSIX: "posix", Level.MPIIO: "mpiio", Level.MPI: "mpi"}


class OpKind(StrEnum):
    """What an operation means to a model."""

    READ = "read"
    WRITE = "write"
    OPEN = "open"
    CLOSE = "close"
    SEEK = "seek"
    SYNC = "sync"  # fsync, fdatasync, MPI_File_sync, msync
    RESIZE = "resize"  # truncate, ftruncate, fallocate, MPI_File_set_size, MPI_File_preallocate
    STAT = "stat"
    NAMESPACE = "namespace"  # unlink, rename, mkdir, chmod
    MAP = "map"  # mmap, munmap
    VIEW = "view"  # MPI_File_set_view
    SYNC_RANKS = "sync_ranks"  # a collective of MPI communication: an order between ranks
    OTHER = "other"


@dataclass(frozen=True)
class Op:
    """One intercepted call. ``code`` is its number in the native format."""

    code: int
    name: str  # as the field writes it: "read", "pwrite", "MPI_File_write_at_all"
    level: int
    kind: OpKind
    collective: bool = False


@dataclass(frozen=True)
class CallDetails:
    """What calls were given beside bytes, a place and a file view: each different set of it once.

    Columns of equal length. Row 0 is that of a call that was given nothing.

    Why a table beside the rows, and not columns of them: nearly all calls are reads and writes, and they are given nothing
    else. Sixteen more columns would be copied with every table, and compared for every operation.

    Why each different set once, named by one number: a pass compares this number, and needs to know no meaning. Two calls
    were given the same where their numbers are equal. Sets are numbered in the order of what they hold, so that sorting
    by the number sorts by the content. Tables of one trace have the same sets; those of two go together in no other way.

    Why a column for each meaning, though a call has few of them: in one shared column a number would be flags of one call
    and a size of another. Whoever reads it would have to look at the call first, and a sum over rows would say nothing.

    The trace format has one such shared column all the same (``arg``), where a column costs bytes in every group.
    ``call_details`` makes these tables, and takes shared columns apart.
    """

    flags: Int64Array  # O_* of open
    mpi_mode: Int64Array  # MPI_MODE_* of MPI_File_open, see ``arguments.MpiMode``
    origin: Int64Array  # of a seek: SEEK_SET (0), SEEK_CUR (1) or SEEK_END (2)
    new_size: Int64Array  # of the file, bytes
    length: Int64Array  # of the range, bytes
    mode: Int64Array  # permissions: asked about, of a new name, or new ones
    new_name: Int64Array  # 1: the row of the new name of a call on two, 0: of the old
    times_given: Int64Array  # 0: the time is now
    at_end: Int64Array  # 1: no entry of the directory was left
    atomic: Int64Array  # 0 or 1
    memory: Int64Array  # ``arguments.Memory`` of reads and writes by MPI-IO
    memory_view: Int64Array  # index into Trace.views: an item lies as a tile of it; UNKNOWN: no gaps, or not known
    communicator: Int64Array  # index into Trace.communicators; UNKNOWN: none, or not known
    hints: Int64Array  # index into Trace.infos; UNKNOWN: none, or not known
    name: Int64Array  # which name of its file, see ``TracedFile.other_names``; 0: its own

    @property
    def number(self) -> Int64Array:
        """The one number that a call was given: ``FileStep.number`` of models. Of each set the one that ``Argument`` names."""
        found: Int64Array = np.sum([getattr(self, name) for name in NUMBERS], axis=0)
        return found


NUMBERS = (
    "flags", "mpi_mode", "origin", "new_size", "length", "mode", "new_name", "times_given", "at_end", "atomic",
)  # fmt: skip
"""Columns of ``CallDetails`` that are numbers of the call itself; a call is given one of them at most."""


def _nothing() -> CallDetails:
    places = ("memory_view", "communicator", "hints")
    row = {column.name: UNKNOWN if column.name in places else 0 for column in fields(CallDetails)}
    return CallDetails(**{name: np.array([value]) for name, value in row.items()})


NOTHING_GIVEN = _nothing()
"""One set: that of a call that was given nothing."""


@dataclass(frozen=True)
class FoldTable:
    """Folded operations, columns of equal length, sorted by (rank, seq).

    A row stands for ``count`` operations of one rank: operation i (0 <= i < count) has offset
    ``offset + i*disp``, logical clock ``(tick + i*tick_step, subtick + i*subtick_step)``, and asks
    for ``size`` bytes. All but the last moved exactly ``size`` bytes; the last moved
    ``moved - (count-1)*size`` (a short read at the end of a file, or 0).

    Rows are in the order in which their operations ended: the POSIX calls inside an MPI-IO call come
    before it. Rows of operations that ask for no bytes (``size`` 0: lseek, stat, ...) need not have
    regular clocks: their ``tick_step`` and ``subtick_step`` are means, rounded down.

    Why rows that fold and not one row for each operation: a trace that was folded while it was recorded stays small in
    memory. Every later stage works on rows, so that its time grows with what differs and not with the run. A single
    operation is a row of count 1: importers of logs that fold nothing fill the same columns.

    Why columns and not records: a stage asks the same of all rows (whose rank, which file, how far apart), and numpy
    answers that for a column at once. A long column of equal numbers takes the memory of one (``without_repetition``).

    Why one table for all calls and levels: the order of a POSIX call, an MPI-IO call and a collective is part of the
    trace, and rows of one table are in order by their place. What a call was given else (flags, communicator, hints, name,
    ...) is in a table beside it, ``details.flags[given]``.

    Why a logical clock (``tick``, ``subtick``) beside times: what lies between two operations, communication or nothing, does
    not depend on the speed of the machine. Phases are cut by it.
    """

    rank: Int32Array
    seq: Int64Array  # number of the row's first operation within its rank, from 0
    op: UInt8Array  # Op.code
    file: Int32Array  # index into Trace.files; UNKNOWN for rows without a file (SYNC_RANKS)
    handle: Int32Array  # which open of the file: unique per rank over the whole run
    count: Int64Array
    size: Int64Array  # bytes requested by each operation; 0 of calls that move none
    moved: Int64Array  # bytes moved by all operations of the row
    offset: Int64Array  # absolute position in the file of the first operation, bytes
    disp: Int64Array  # bytes from one operation's offset to the next one's; 0 when count == 1
    view: Int32Array  # index into Trace.views; UNKNOWN without an MPI file view
    view_offset: Int64Array  # position in the logical view, bytes; equals offset without a view
    view_disp: Int64Array
    tick: Int64Array
    subtick: Int64Array
    tick_step: Int64Array
    subtick_step: Int64Array
    start_ns: Int64Array  # start of the first operation, ns since the trace's time zero; UNKNOWN if not recorded
    end_ns: Int64Array  # end of the last operation
    busy_ns: Int64Array  # sum of the operations' durations
    error: Int32Array  # errno of a failed operation, 0 for success
    loop: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # From one operation's handle to the next one's: not 0 in loops only, whose repetitions open, use and close a
    # handle of their own.
    handle_step: Int32Array = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    given: Int32Array = field(
        default_factory=lambda: np.zeros(0, dtype=np.int32)
    )  # row of ``details``
    details: CallDetails = NOTHING_GIVEN  # the same object in all tables of a trace

    def __post_init__(self) -> None:
        if len(self.loop) != len(self.rank):
            object.__setattr__(self, "loop", np.broadcast_to(np.int64(0), len(self.rank)))
        for name in ("handle_step", "given"):
            if len(getattr(self, name)) != len(self.rank):
                object.__setattr__(self, name, np.broadcast_to(np.int32(0), len(self.rank)))

    def __len__(self) -> int:
        return len(self.rank)


COLUMNS = tuple(column.name for column in fields(FoldTable) if column.name != "details")
"""Names of the columns of a ``FoldTable``."""

_MANY = 1 << 16  # rows


def without_repetition(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A long column; one number stands for all where they are equal."""
    if len(column) < _MANY or (column[:1024] != column[0]).any() or (column != column[0]).any():
        return column
    return np.broadcast_to(column[0].copy(), len(column))


def one_after_another(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Columns as one: the memory that they lie in, if they are neighbours there; one number where all are equal."""
    filled = [column for column in columns if len(column)]
    if len(filled) < 2:
        return filled[0] if filled else columns[0]
    n = sum(map(len, filled))
    if all(column.strides == (0,) for column in filled):
        if all(column[0] == filled[0][0] for column in filled):
            return np.broadcast_to(filled[0][0].copy(), n)
        return np.concatenate(filled)
    base = filled[0].base
    at = [column.__array_interface__["data"][0] for column in filled]
    ends = [begin + column.nbytes for begin, column in zip(at, filled, strict=True)]
    neighbours = ends[:-1] == at[1:] and all(
        column.base is base and column.strides == (column.itemsize,) for column in filled
    )
    if neighbours and isinstance(base, np.ndarray) and base.ndim == 1:
        first = (at[0] - base.__array_interface__["data"][0]) // base.itemsize
        whole: npt.NDArray[Any] = base[first : first + n]
        if whole.dtype == filled[0].dtype and whole.nbytes == ends[-1] - at[0]:
            return whole
    return without_repetition(np.concatenate(filled))


N_BUCKETS = 32


@dataclass(frozen=True)
class Durations:
    """How long operations took, where times are kept for folds and not for each operation.

    One entry for each fold of several operations as it was recorded (a loop's row: of all its repetitions).

    Attributes:
        row: shape (n,), first row of the fold in ``Trace.folds``.
        counts: shape (n, N_BUCKETS), operations that took 2^b to 2^(b+1) - 1 ns; the first bucket holds 0 ns too,
            the last also what took longer.
    """

    row: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counts: Int64Array = field(default_factory=lambda: np.zeros((0, N_BUCKETS), dtype=np.int64))


@dataclass(frozen=True)
class Striping:
    """How Lustre stripes a file, or a component of it."""

    stripe_size: int  # bytes
    stripe_count: int | None  # OSTs; None: all that there are
    pool: str | None  # of OSTs
    osts: tuple[int, ...]  # their indices, in the order of stripes; () where none is chosen yet
    extent_start: int = 0  # bytes from the start of the file
    extent_end: int | None = None  # None: to the end


Hints = tuple[tuple[str, str], ...]
"""An MPI_Info: (key, value)."""


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Which file a name led to: the same of all names of one file."""

    volume: str  # within which inode numbers are told apart: a device of a host, or a network file system
    inode: int
    born_ns: int | None = (
        None  # since 1970; None: the file system does not say, and a later file may have the number again
    )
    generation: int = 0  # among files of equal inode and birth: birth times are coarse


@dataclass(frozen=True)
class OtherName:
    """A further name of a file."""

    path: str
    symlink: bool = False  # a symbolic link; else a hard link, or an earlier name


@dataclass(frozen=True, slots=True)
class TracedFile:
    """A name that the application touched, and the file that it led to.

    A trace may hold a path several times, once for each file that had the name. ``wavetank.model.events.file_identity`` joins
    the names of one file.
    """

    path: str
    mount_point: str | None = None
    file_system: str | None = None  # "ext4", "lustre", ...
    size_before: int | None = (
        None  # bytes, when first opened; None if it did not exist or is not known
    )
    hints: Hints = ()  # MPI_Info hints that the application gave, at any time
    hints_in_force: Hints = ()  # that the MPI library said it keeps to (MPI_File_get_info), last
    striping: tuple[Striping, ...] = ()  # of Lustre, when first opened
    identity: FileIdentity | None = None  # of the file that it led to; None: not known
    symlink_to: str | None = None  # the name is a symbolic link that leads to this path
    other_names: tuple[OtherName, ...] = ()  # of the same file, once they are joined
    collective_unknown: bool = (
        False  # which of its MPI-IO operations were collective, some of them being so
    )
    directory: bool = False


@dataclass(frozen=True)
class HostClock:
    """A host's clock against that of rank 0's host, at MPI_Init."""

    host: str
    utc_ahead_ns: int  # how much later it says that it is
    drift_ppm: float  # gained by rank 0's host on this one; 0 where it is less than can be measured
    round_trip_ns: int  # of the measurement: the offset is known to half of it


@dataclass(frozen=True)
class FileView:
    """An MPI file view, decoded: tiles of ``extent`` bytes, each with the visible runs in order.

    Of memory, which is told as the view that it would be, a tile is one item of its type.
    """

    displacement: int  # bytes from the start of the file
    etype_size: int  # bytes
    extent: int  # bytes from one tile to the next
    run_offsets: tuple[int, ...]  # bytes from the start of the tile
    run_lengths: tuple[int, ...]


@dataclass(frozen=True)
class RankFacts:
    """One rank of the traced run."""

    rank: int
    host: str
    pid: int
    complete: bool  # False: the process was killed or its part of the trace is cut short
    parent: int | None = None  # rank of the process that started it, where that is a rank too
    begin_ns: int | None = None  # start and end of the process, since the trace's time zero
    end_ns: int | None = None
    of_launcher: bool = False  # a launcher or MPI gave it its number: such ranks run together


@dataclass(frozen=True)
class Trace:
    """A trace in memory.

    A note that something is lost says that operations were recorded and are not there any more.
    """

    source: str  # "wavetank", "darshan-dxt", "strace", ...
    command: tuple[str, ...]
    n_ranks: int
    mpi_library: str | None
    started_utc: str | None
    elapsed_s: float | None  # of the traced program, first rank's start to last rank's end
    ranks: tuple[RankFacts, ...]
    files: Sequence[TracedFile]
    views: tuple[FileView, ...]
    communicators: tuple[tuple[int, ...], ...]  # MPI_COMM_WORLD ranks of each
    folds: FoldTable
    levels: tuple[int, ...]  # that the source records at all
    notes: tuple[Note, ...] = field(default=())
    counters: Sequence[FileCounters] = field(default=())  # of sources that count (Darshan)
    infos: tuple[Hints, ...] = ()  # MPI_Info objects given to MPI-IO
    clocks: tuple[HostClock, ...] = ()  # of hosts that were compared; times are corrected by it
    durations: Durations = field(default_factory=Durations)
    n_folds: int | None = (
        None  # as recorded, a loop's rows once; None: as many as ``folds`` has rows
    )
