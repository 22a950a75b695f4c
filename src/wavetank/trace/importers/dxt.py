"""DXT segments of a Darshan log, in bulk: from a module's bytes to columns of operations in order.

Reads the bytes of the modules DXT_POSIX and DXT_MPIIO; leaves ``SingleOperations``.
Layout: struct dxt_file_record and segment_info of darshan-dxt-log-format.h.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wavetank.errors import TraceError
from wavetank.trace.fold import SingleOperations
from wavetank.trace.importers import darshan_header
from wavetank.trace.importers.libdarshan import DarshanLog, DarshanModule
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import UNKNOWN, Int32Array, Int64Array, Level

RECORD = struct.Struct("<Qqq64sqq")  # file, rank, shared, host, writes, reads
SEGMENT = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start_s", "<f8"), ("end_s", "<f8")])
# Darshan after 3.5.0 adds a thread to each segment; PyDarshan 3.5.0 gives no segments of such a log at all.
_SEGMENT_WITH_THREAD = np.dtype([*SEGMENT.descr, ("thread", "<i8")])
_LAYOUTS = {
    ("DXT_POSIX", 1): SEGMENT,
    ("DXT_POSIX", 2): _SEGMENT_WITH_THREAD,
    ("DXT_MPIIO", 1): SEGMENT,
    ("DXT_MPIIO", 2): SEGMENT,
    ("DXT_MPIIO", 3): _SEGMENT_WITH_THREAD,
}
# newest versions that libdarshan-util 3.5.0 reads
_KNOWN_TO_LIBRARY = {"DXT_POSIX": 1, "DXT_MPIIO": 2}
LEVELS = {"DXT_POSIX": Level.POSIX, "DXT_MPIIO": Level.MPIIO}
_NS = 1e9


@dataclass(frozen=True)
class Segments:
    """All segments of a module. Records, of a file and rank each, lie in sequence, writes first."""

    rank: Int32Array  # of each record
    file: np.ndarray  # of each record, Darshan's id, uint64
    n_writes: Int64Array  # of each record
    n_reads: Int64Array  # of each record
    segment: np.ndarray  # all records' segments, one of the layouts above
    hosts: dict[int, str]  # by rank

    def __len__(self) -> int:
        return len(self.segment)

    def without(self, files: Collection[int]) -> Segments:
        """The records of other files than some."""
        kept = ~np.isin(self.file, np.array([*files], dtype=np.uint64))
        each = self.n_writes + self.n_reads
        return Segments(
            self.rank[kept], self.file[kept], self.n_writes[kept], self.n_reads[kept],
            self.segment[np.repeat(kept, each)], self.hosts,
        )  # fmt: skip


def read_segments(path: Path, log: DarshanLog, module: DarshanModule) -> Segments:
    """The segments of a DXT module.

    Raises:
        TraceError: the module is of an unknown version, damaged or cut short.
    """
    layout = _LAYOUTS.get((module.name, module.version))
    if layout is None:
        raise TraceError(
            f"{path}: its module {module.name} has version {module.version}, whose segments are not known here. "
            "It is newer than Darshan 3.5; a newer wavetank may read it"
        )
    content = darshan_header.raw(path, module.index, module.length)
    if content is None and module.version <= _KNOWN_TO_LIBRARY[module.name]:
        content = log.raw(module)
    if content is None:
        raise TraceError(
            f"{path}: its module {module.name} (version {module.version}) cannot be read: damaged, or newer than the "
            "installed libdarshan-util knows (pip install --upgrade darshan)"
        )
    # The library gives a module's bytes as they are in the log. All that is in them has eight, but for the host's name.
    swapped = darshan_header.is_big_endian(path)
    units = np.frombuffer(content, dtype=">i8" if swapped else "<i8", count=len(content) // 8)
    head = _heads(content, swapped, layout.itemsize, f"{path}: the module {module.name}")
    rows = units[head[:, None] + np.arange(RECORD.size // 8)]
    heads = rows.astype("<i8", copy=False)
    if len(head) == 1:
        segments = units[RECORD.size // 8 :]
    else:
        is_segment = np.ones(len(units), dtype=bool)
        is_segment[head[:, None] + np.arange(RECORD.size // 8)] = False
        segments = units[is_segment]
    rank = heads[:, 1].astype(np.int32)
    of_rank = dict(zip(rank.tolist(), rows[:, 3:11], strict=True))  # a rank's last record
    return Segments(
        rank,
        heads[:, 0].view(np.uint64),
        heads[:, 11],
        heads[:, 12],
        segments.astype("<i8", copy=False).view(layout),
        {one: _host(name) for one, name in of_rank.items()},
    )


def _heads(content: bytes, swapped: bool, segment_bytes: int, what: str) -> Int64Array:
    """Where each record begins, in units of eight bytes.

    Raises:
        TraceError: a record goes on beyond the end; ``what`` says of what.
    """
    counts = struct.Struct(">qq" if swapped else "<qq").unpack_from
    at, end, found = 0, len(content), []
    while at < end:
        begins = at
        at += RECORD.size
        if at > end:
            raise TraceError(f"{what} is cut short")
        n_writes, n_reads = counts(content, at - 16)
        at += (n_writes + n_reads) * segment_bytes
        if n_writes < 0 or n_reads < 0 or at > end:
            raise TraceError(f"{what} is damaged or cut short")
        found.append(begins)
    return np.array(found, dtype=np.int64) // 8


def _host(name: np.ndarray) -> str:
    """A host's name of a record's head."""
    return name.tobytes().split(b"\0")[0].decode(errors="replace")


def operations(
    modules: Mapping[str, Segments],
    numbers: Mapping[int, int],
    collective: np.ndarray,
    own_view: np.ndarray,
) -> SingleOperations:
    """Both modules' segments, sorted by the end of the operation within each rank.

    Columns are made one by one, so that few are there twice at a time. A time that runs backwards is none: what would end
    before it begins ends when it begins.

    Args:
        modules: segments by module.
        numbers: a file's number by Darshan's id.
        collective: shape (segments of DXT_MPIIO,), whether the operation was collective.
        own_view: shape (segments of DXT_MPIIO,), whether a file view was set for it alone: an MPI call before it.
    """
    parts = list(modules.items()) or [("DXT_POSIX", _NONE)]

    def joined(columns: list[np.ndarray]) -> np.ndarray:
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    def of_records(columns: list[np.ndarray]) -> np.ndarray:
        each = [part.n_writes + part.n_reads for _, part in parts]
        return joined([np.repeat(column, n) for column, n in zip(columns, each, strict=True)])

    files = [
        np.array([numbers[one] for one in part.file.tolist()], dtype=np.int32) for _, part in parts
    ]
    rank = of_records([part.rank for _, part in parts])
    mpi = joined([np.full(len(part), name == "DXT_MPIIO") for name, part in parts])
    begin = joined([_ns(part.segment["start_s"]) for _, part in parts])
    end = joined([_ns(part.segment["end_s"]) for _, part in parts])
    np.maximum(begin, 0, out=begin)
    np.maximum(end, begin, out=end)
    order = _order(rank, end, mpi)

    def in_order(column: np.ndarray) -> np.ndarray:
        return column if order is None else column[order]

    rank, mpi, end = in_order(rank), in_order(mpi), in_order(end)
    start = in_order(begin)
    file = in_order(of_records(files))
    op = in_order(joined([_codes(name, part, collective) for name, part in parts]))
    size = in_order(joined([part.segment["length"].astype(np.int64) for _, part in parts]))
    offset = in_order(joined([_offsets(name, part) for name, part in parts]))
    views = [own_view if name == "DXT_MPIIO" else np.zeros(len(part), bool) for name, part in parts]
    viewed = in_order(joined(views))
    order = None  # as large as a column
    tick, subtick = _clocks(rank, mpi, start, viewed)
    return SingleOperations(
        rank=rank,
        op=op,
        file=file,
        handle=file,  # DXT does not tell one open of a file from the next
        size=size,
        moved=size,
        offset=offset,
        tick=tick,
        subtick=subtick,
        start_ns=start,
        end_ns=end,
        arg=np.broadcast_to(np.int64(0), len(rank)),
        error=np.broadcast_to(np.int32(0), len(rank)),
    )


# By kind (write: 1), and for MPI-IO by whether the operation was collective. DXT does not tell pread from read.
_ON_POSIX = np.array([OPS_BY_NAME[way].code for way in ("read", "write")], dtype=np.uint8)
_ON_MPI = np.array(
    [
        [OPS_BY_NAME[f"MPI_File_{way}_at{kind}"].code for kind in ("", "_all")]
        for way in ("read", "write")
    ],
    dtype=np.uint8,
)
_NONE = Segments(
    np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64),
    np.empty(0, SEGMENT), {},
)  # fmt: skip


def _codes(name: str, part: Segments, collective: np.ndarray) -> np.ndarray:
    """Operation of each segment."""
    # Of each record writes lie before reads.
    ways = np.tile(np.array([1, 0], dtype=np.uint8), len(part.rank))
    way = np.repeat(ways, np.column_stack((part.n_writes, part.n_reads)).ravel())
    return _ON_MPI[way, collective.astype(np.uint8)] if name == "DXT_MPIIO" else _ON_POSIX[way]


def _offsets(name: str, part: Segments) -> Int64Array:
    offset: Int64Array = part.segment["offset"].astype(np.int64)
    if name == "DXT_MPIIO":
        offset[offset < 0] = UNKNOWN
    return offset


def _ns(seconds: np.ndarray) -> Int64Array:
    scaled = seconds * _NS
    return np.rint(scaled, out=scaled).astype(np.int64)


def _order(rank: Int32Array, end_ns: Int64Array, mpi: np.ndarray) -> np.ndarray | None:
    """Positions by rank, end, and POSIX calls before the MPI-IO call that they end with; None: in order already."""
    if len(rank) < 2:
        return None
    if not mpi.any() or mpi.all():
        keys: tuple[np.ndarray, ...] = (end_ns, rank)
        in_order = (rank[1:] > rank[:-1]) | ((rank[1:] == rank[:-1]) & (end_ns[1:] >= end_ns[:-1]))
        if in_order.all():
            return None
    else:
        keys = (mpi, end_ns, rank)
    return np.lexsort(keys)


def _clocks(
    rank: Int32Array, mpi: np.ndarray, start: Int64Array, own_view: np.ndarray
) -> tuple[Int64Array, Int64Array]:
    """Logical clocks as far as they are known: MPI-IO calls and the views set before them are ticks, communication is not seen.

    The subtick counts the POSIX calls since the tick's beginning. All columns are sorted by rank.
    """
    if not mpi.any():
        position = np.arange(len(rank), dtype=np.int64)
        position -= _begin(rank)
        return np.broadcast_to(np.int64(0), len(rank)), position
    tick = np.zeros(len(rank), dtype=np.int64)
    subtick = np.zeros(len(rank), dtype=np.int64)
    bounds = np.flatnonzero(np.append(True, rank[1:] != rank[:-1]))
    for first, end in zip(bounds, np.append(bounds[1:], len(rank)), strict=True):
        is_call = mpi[first:end]
        calls, others = first + np.flatnonzero(is_call), first + np.flatnonzero(~is_call)
        # Views set before the n-th call, its own not among them.
        views = np.append(0, np.cumsum(own_view[calls]))
        tick[calls] = np.arange(len(calls)) + views[1:]
        # Calls that had begun, by sorting both together: calls and others each are all but sorted, which takes one pass.
        both = np.argsort(np.concatenate([start[calls], start[others]]), kind="stable")
        is_other = both >= len(calls)
        begun = np.empty(len(others), dtype=np.int64)
        begun[both[is_other] - len(calls)] = np.flatnonzero(is_other) - np.arange(len(others))
        tick[others] = begun + views[begun]
        subtick[others] = np.arange(len(others)) - _begin(tick[others])
    return tick, subtick


def _begin(values: np.ndarray) -> Int64Array:
    """For each position that at which the stretch of equal values begins that it is in."""
    begin = np.append(0, 1 + np.flatnonzero(values[1:] != values[:-1]))
    return np.repeat(begin, np.diff(begin, append=len(values)))
