"""I/O phases and the order in which a run goes through them.

Field names are those of method, section 2 (P18 table 1).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wavetank.document import Record


class PatternMember(Record):
    """One operation of a phase's repeated pattern."""

    iop_type: str = Field(
        description='as the field writes it: "read", "pwrite", "MPI_File_write_at_all"'
    )
    handle: int = Field(
        default=0, description="which open of the file it goes through, as in FileStep"
    )
    rs: int = Field(
        description="request size, bytes; of the first repetition where they are only similar"
    )
    disp: int | None = Field(
        description="bytes between this operation's offsets in consecutive repetitions, in the file; "
        "None with one repetition or unknown offsets"
    )
    disp_view: int | None = Field(
        default=None, description="the same in the MPI file view, where there is one"
    )
    dist: tuple[int, int] | None = Field(
        description="(tick, subtick) between consecutive repetitions"
    )


class LinearOffsets(Record):
    """offset(rank, repetition) = a*rank + b*repetition + c, bytes, exact for every rank and repetition.

    ``rank`` is the MPI_COMM_WORLD rank.
    """

    function: Literal["linear"] = "linear"
    a: int
    b: int
    c: int


class Run(Record):
    """Repetitions of one operation: equal size, regular offsets. ``moved`` is the sum of bytes moved."""

    count: int
    rs: int
    offset: int
    disp: int
    moved: int


class ListedOffsets(Record):
    """No one function fits: for each rank of the phase (same order as ``ph_processid``) the exact runs."""

    function: Literal["list"] = "list"
    runs: tuple[tuple[Run, ...], ...]


class UnknownOffsets(Record):
    """The source of the trace does not know the offsets (e.g. Darshan's MPI-IO segments under Open MPI)."""

    function: Literal["unknown"] = "unknown"


Offsets = Annotated[LinearOffsets | ListedOffsets | UnknownOffsets, Field(discriminator="function")]


class Phase(Record):
    """A repetitive sequence of one operation pattern on one file by a set of processes (P15)."""

    ph_id: int = Field(description="unique in the model, from 1, in order of first occurrence")
    file_id: int
    level: Literal["posix", "mpiio"]
    ph_processid: tuple[int, ...] = Field(description="MPI_COMM_WORLD ranks, ascending")
    ph_np: int
    ph_weight: int = Field(description="bytes moved by the phase over all ranks (P15 eq. 1)")
    ph_nrep: int = Field(description="repetitions of the pattern per rank")
    ph_niop: int = Field(description="data operations per rank: ph_nrep * len(pattern)")
    pattern: tuple[PatternMember, ...]
    offset: tuple[Offsets, ...] = Field(
        description="absolute offsets of each pattern member, in the file"
    )
    offset_view: tuple[Offsets, ...] | None = Field(
        default=None, description="in the MPI file view, where there is one"
    )
    view_id: int | None = Field(
        default=None,
        description="index into the model's views; per rank they may differ, see view_ids",
    )
    view_ids: tuple[int, ...] | None = Field(
        default=None, description="views by rank, same order as ph_processid, when they differ"
    )
    collective: bool = False
    exact: bool = Field(
        description="True when rs is the same in all repetitions and every offset list is LinearOffsets: unfolding gives back each event"
    )
    moved_last: tuple[int, ...] | None = Field(
        default=None,
        description="bytes that the last repetition moved, by pattern member, where it is short (end of file)",
    )
    metadata_ops: dict[str, int] = Field(
        default_factory=dict,
        description="open, close, seek, stat ... calls on this file during the phase, all ranks",
    )
    tick_first: int
    tick_last: int
    start_s: float | None = Field(
        description="first operation's start, seconds since the trace's time zero"
    )
    end_s: float | None
    io_time_s: float | None = Field(description="sum of the operations' durations over ranks")


class Series(Record):
    """Equal phases that recur at regular distance: "1 to 40" in P15 table V."""

    ph_ids: tuple[int, ...]
    offset_step: int | None = Field(
        description="bytes from one phase's first offset to the next one's"
    )
    dist: tuple[int, int] | None


class DataStep(Record):
    """The next ``n`` repetitions of a phase's pattern (its repetitions are consumed in order)."""

    step: Literal["data"] = "data"
    ph_id: int
    n: int
    single: bool = Field(
        default=False,
        description="True: n counts single operations of the pattern, not repetitions, because another step lies inside a repetition",
    )
    null_seeks: int = Field(
        default=0,
        description="lseek(fd, 0, SEEK_CUR) calls among these operations; how many lie before which operation is not kept",
    )
    handle: int | None = Field(
        default=None,
        description="which open of the file, as in FileStep; None: the file's latest open one",
    )


class FileStep(Record):
    """An operation on a file that moves no data: open, close, fsync, ftruncate, unlink, ...

    Reads and writes that moved nothing (at the end of a file, or of 0 bytes) are file steps too.
    """

    step: Literal["file"] = "file"
    iop_type: str
    file_id: int
    handle: int = Field(
        description="which open of the file: the lowest number that is not in use when it is opened, from 0"
    )
    arg: int = Field(default=0, description="open: flags; resize: new size; seek: whence")
    size: int = Field(default=0, description="read or write that moved nothing: bytes asked for")
    offset: int | None = Field(
        default=None,
        description="seek: resulting position; None: where the next data operation through this handle starts. "
        "Read or write that moved nothing: its offset",
    )
    view_id: int | None = Field(
        default=None, description="MPI_File_set_view: index into the model's views"
    )
    info_id: int | None = Field(
        default=None,
        description="MPI_File_open, MPI_File_set_view, MPI_File_set_info: index into the model's infos, the hints that it was given",
    )
    communicator: int | None = Field(
        default=None,
        description="MPI_File_open: index into the model's communicators; None: not recorded, a kernel takes the ranks that open the file",
    )
    error: int = Field(
        default=0, description="errno with which it failed in the traced run, 0 for success"
    )
    count: int = 1


class SyncStep(Record):
    """A synchronising collective on a communicator: an order between ranks that a replay keeps."""

    step: Literal["sync"] = "sync"
    communicator: int = Field(description="index into the model's communicators")
    count: int = 1


class PauseStep(Record):
    """Time without I/O before the next step, as recorded."""

    step: Literal["pause"] = "pause"
    seconds: float


class RepeatStep(Record):
    """Steps that recur."""

    step: Literal["repeat"] = "repeat"
    times: int
    steps: tuple[Step, ...]


Step = Annotated[
    DataStep | FileStep | SyncStep | PauseStep | RepeatStep, Field(discriminator="step")
]


class Program(Record):
    """What each of these ranks does, in exact order, in terms of phases."""

    ranks: tuple[int, ...]
    steps: tuple[Step, ...]


RepeatStep.model_rebuild()
