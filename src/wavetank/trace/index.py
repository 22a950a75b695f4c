"""The index of a trace folder: what ran, where, how it ended. The document of this stage."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from wavetank.document import Document, Record
from wavetank.errors import TraceError, WavetankError

INDEX_NAME = "index.json"


class IndexFile(Record):
    """A file that the application touched."""

    path: str
    mount_point: str | None
    file_system: str | None
    size_before: int | None
    striping: dict[str, str] | None = Field(
        default=None, description="Lustre striping, where there is any"
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
    version: ClassVar[int] = 1
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
    ranks: tuple[IndexRank, ...]
    files: tuple[IndexFile, ...]
    hints: tuple[tuple[str, str, str], ...] = Field(
        default=(), description="file, MPI_Info key, value"
    )
    warnings: tuple[str, ...]
