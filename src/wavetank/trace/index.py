"""The index of a trace folder: what ran, where, how it ended. The document of this stage."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from wavetank.document import Document, Record
from wavetank.errors import TraceError, WavetankError
from wavetank.notes import Note

INDEX_NAME = "index.json"


class IndexStriping(Record):
    """How Lustre stripes a file, or a component of it."""

    stripe_size: int = Field(description="bytes")
    stripe_count: int | None = Field(description="OSTs; null: all that there are")
    pool: str | None
    osts: tuple[int, ...] = Field(description="indices, in the order of stripes")
    extent_start: int = Field(description="bytes from the start of the file")
    extent_end: int | None = Field(description="null: to the end of the file")


class IndexClock(Record):
    """A host's clock against that of rank 0's host, at MPI_Init. Times of the trace are corrected by it."""

    host: str
    utc_ahead_ns: int
    drift_ppm: float
    round_trip_ns: int


class IndexFile(Record):
    """A file that the application touched."""

    path: str
    mount_point: str | None
    file_system: str | None
    size_before: int | None
    striping: tuple[IndexStriping, ...] = Field(
        default=(), description="Lustre striping, where there is any; by component"
    )
    hints_in_force: dict[str, str] = Field(
        default_factory=dict, description="MPI_File_get_info, after the last change"
    )


class IndexRank(Record):
    """A rank, and the parts that its processes left."""

    rank: int
    host: str
    pid: int
    complete: bool
    parts: tuple[str, ...]


class TraceIndex(Document):
    """What ``wavetank trace`` writes when the program has ended."""

    kind: ClassVar[str] = "trace"
    error: ClassVar[type[WavetankError]] = TraceError

    command: tuple[str, ...]
    exit_status: int | None = Field(
        description="of the traced program; negative: ended by that signal"
    )
    started_utc: str
    elapsed_s: float
    launcher: str
    mpi_library: str | None
    n_ranks: int
    levels: tuple[str, ...]
    times: str = Field(description='"fold" or "event": what times are kept for')
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    environment: dict[str, str] = Field(
        default_factory=dict,
        description="variables that the program had beside the user's and the tracer's own, to keep its calls in sight",
    )
    ranks: tuple[IndexRank, ...]
    files: tuple[IndexFile, ...] = Field(
        description="in the order of their first use; of many files the first ones"
    )
    n_files: int = Field(description="all that the application touched")
    hints: tuple[tuple[str, str, str], ...] = Field(
        default=(), description="file, MPI_Info key, value"
    )
    clocks: tuple[IndexClock, ...] = Field(
        default=(), description="hosts whose clocks were compared; none on one host"
    )
    notes: tuple[Note, ...]
