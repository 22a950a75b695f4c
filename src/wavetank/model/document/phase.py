"""I/O phases: what a set of processes does again and again on one file.

Field names are those of method, section 2 (P18 table 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from wavetank.document import Record
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.columnar import Column, ListColumn, as_column
from wavetank.model.document.listed_sizes import ListedSizes, put_in_step
from wavetank.trace.schema import UNKNOWN, Int64Array


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
    """No one function fits: for each rank of the phase (same order as ``ph_processid``) the exact runs, as columns.

    The columns hold the runs of all ranks one after another, of each rank ``n_runs``. One number instead of
    a list stands for a column of equal numbers.
    """

    function: Literal["list"] = "list"
    n_runs: ListColumn = Field(description="runs of each rank")
    count: Column = Field(description="repetitions of each run")
    rs: Column = Field(description="request size, bytes")
    offset: Column = Field(description="of each run's first repetition, bytes")
    disp: Column = Field(description="bytes between the run's offsets")
    moved: Column | None = Field(
        default=None, description="bytes moved by each run; None: count * rs throughout"
    )

    @model_validator(mode="after")
    def _in_step(self) -> Self:
        put_in_step(self, ("count", "rs", "offset", "disp", "moved"))
        if self.moved is not None and np.array_equal(self.moved, self.count * self.rs):
            self.__dict__["moved"] = None
        return self

    @classmethod
    def of(cls, ranks: Sequence[RunArrays]) -> ListedOffsets:
        """From the runs of each rank."""

        def column(name: str) -> Int64Array:
            of_ranks = [getattr(runs, name) for runs in ranks]
            joined: Int64Array = of_ranks[0].view() if len(ranks) == 1 else np.concatenate(of_ranks)
            joined.setflags(write=False)
            return joined

        full = all(
            runs.moved is runs.size or np.array_equal(runs.moved, runs.count * runs.size)
            for runs in ranks
        )
        # Arrays of our own, of up to many millions: nothing to validate.
        return cls.model_construct(
            n_runs=as_column([len(runs) for runs in ranks]),
            count=column("count"),
            rs=column("size"),
            offset=column("offset"),
            disp=column("disp"),
            moved=None if full else column("moved"),
        )

    def of_rank(self, position: int) -> RunArrays:
        """The runs of one rank, by its place in ``ph_processid``."""
        start = int(self.n_runs[:position].sum())
        at = slice(start, start + int(self.n_runs[position]))
        count, rs = self.count[at], self.rs[at]
        ones = count.strides == (0,) and count[0] == 1
        moved = self.moved[at] if self.moved is not None else rs if ones else count * rs
        return RunArrays(count, rs, moved, self.offset[at], self.disp[at])

    def first_offsets(self) -> list[int]:
        """Offset of each rank's first repetition, bytes."""
        starts = np.cumsum(self.n_runs) - self.n_runs
        offsets: list[int] = self.offset[starts].tolist()
        return offsets

    @cached_property
    def runs(self) -> tuple[tuple[Run, ...], ...]:
        """The runs of each rank as objects: for those who look at single ones."""
        found = []
        for position in range(len(self.n_runs)):
            one = self.of_rank(position)
            columns = (one.count, one.size, one.offset, one.disp, one.moved)
            found.append(
                tuple(
                    Run.model_construct(count=count, rs=rs, offset=offset, disp=disp, moved=moved)
                    for count, rs, offset, disp, moved in zip(
                        *(column.tolist() for column in columns), strict=True
                    )
                )
            )
        return tuple(found)

    def _values(self) -> tuple[bytes | None, ...]:
        columns = (self.n_runs, self.count, self.rs, self.offset, self.disp, self.moved)
        return tuple(None if column is None else column.tobytes() for column in columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListedOffsets) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())


class UnknownOffsets(Record):
    """The source of the trace does not know the offsets (e.g. Darshan's MPI-IO segments under Open MPI)."""

    function: Literal["unknown"] = "unknown"
    sizes: ListedSizes | None = Field(
        default=None,
        description="request sizes, where they differ; None: all operations are of the pattern's rs",
    )


Offsets = Annotated[LinearOffsets | ListedOffsets | UnknownOffsets, Field(discriminator="function")]


class Phase(Record):
    """A repetitive sequence of one operation pattern on one file by a set of processes (P15).

    Why one file: offsets of a pattern are a function only within a file, and what a storage system does with an access
    depends on the file's layout. Calls on two files in turn are two phases, and the program holds the turns.

    Why many ranks in one phase: ranks of a parallel program do the same at other places. One function of rank and repetition
    says all places at once (``LinearOffsets``), so that a thousand ranks need no more phases than four.

    Why offsets exactly or as a list, and no approximation: a kernel is to make the same accesses. ``exact`` says whether
    functions alone give each event. Where none fits, the list has the places themselves.

    Why phases are apart from the order in which ranks go through them (``program``): the papers' phase says what is asked of
    storage, and is what people read. A replay needs the order as well, with all that lies between phases.
    """

    ph_id: int = Field(description="unique in the model, from 1, in order of first occurrence")
    file_id: int
    level: Literal["posix", "mpiio"]
    by_library: bool = Field(
        default=False,
        description="whether the MPI library made the calls, inside of the application's MPI-IO calls",
    )
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
    memory: tuple[tuple[int, ...], ...] | None = Field(
        default=None,
        description="where the gaps are in the memory of each pattern member's MPI-IO calls: an item of its type lies as a tile "
        "of that view of the model's. One index for all ranks, or one for each in ph_processid; -1: no gaps, or not known "
        "where. None: -1 throughout",
    )
    collective: bool = False
    collective_unknown: bool = Field(
        default=False,
        description="True: the source does not tell which of these operations were collective MPI-IO ones, or stand for such; "
        "all count as independent",
    )
    exact: bool = Field(
        description="True when rs is the same in all repetitions and every offset list is LinearOffsets, and it is known which "
        "calls were collective: unfolding gives each event"
    )
    moved_last: tuple[int, ...] | None = Field(
        default=None,
        description="bytes that the last repetition moved, by pattern member, where it is short (end of file)",
    )
    metadata_ops: dict[str, int] = Field(
        default_factory=dict,
        description="open, close, seek, stat ... calls on this file during the phase, all ranks",
    )
    not_extrapolated: str | None = Field(
        default=None,
        description="of an extrapolated model: why its places in the file are no function of the number of processes",
    )
    tick_first: int
    tick_last: int
    start_s: float | None = Field(
        description="first operation's start, seconds since the trace's time zero"
    )
    end_s: float | None
    io_time_s: float | None = Field(description="sum of the operations' durations over ranks")

    @property
    def positions(self) -> tuple[Offsets, ...]:
        """Where each pattern member's calls go: in the view where there is one, else in the file."""
        return self.offset if self.offset_view is None else self.offset_view

    def ended_before(self, other: Phase) -> bool:
        """Whether its last operation was over when the other's first one began; False where times are not known."""
        return self.end_s is not None and other.start_s is not None and self.end_s <= other.start_s

    def memory_at(self, place: int, member: int) -> int:
        """Index of the view that says where gaps are in a rank's memory, by its place in ``ph_processid``; -1: none does."""
        if self.memory is None:
            return UNKNOWN
        of_ranks = self.memory[member]
        return of_ranks[0] if len(of_ranks) == 1 else of_ranks[place]

    def runs(self, rank: int, member: int, offsets: Offsets | None = None) -> RunArrays:
        """A rank's operations of one pattern member, in order.

        Args:
            rank: one of the phase's.
            member: number of the pattern member.
            offsets: instead of the absolute ones: those in the view, for example.

        Returns:
            Runs; where places are not known, their offsets are UNKNOWN, with no distance between them.

        Raises:
            ValueError: the rank has no part in the phase.
        """
        return self.runs_at(self.ph_processid.index(rank), member, offsets)

    def runs_at(self, place: int, member: int, offsets: Offsets | None = None) -> RunArrays:
        """As ``runs``, of a rank by its place in ``ph_processid``: for those who go through all ranks."""
        offsets = self.offset[member] if offsets is None else offsets
        if isinstance(offsets, ListedOffsets):
            return offsets.of_rank(place)
        first, disp = UNKNOWN, 0
        if isinstance(offsets, LinearOffsets):
            first, disp = offsets.a * self.ph_processid[place] + offsets.c, offsets.b
        elif offsets.sizes is not None:
            runs = offsets.sizes.of_rank(place)
            nowhere = np.zeros_like(runs.offset)
            return replace(runs, offset=nowhere + UNKNOWN, disp=nowhere)
        rs, n = self.pattern[member].rs, self.ph_nrep
        short = 0 if self.moved_last is None else rs - self.moved_last[member]
        columns = (n, rs, n * rs - short, first, disp)
        return RunArrays(*(np.array([value], dtype=np.int64) for value in columns))


class Series(Record):
    """Equal phases that recur at regular distance: "1 to 40" in P15 table V."""

    ph_ids: tuple[int, ...]
    offset_step: int | None = Field(
        description="bytes from one phase's first offset to the next one's"
    )
    dist: tuple[int, int] | None


def writes(name: str) -> bool:
    """Whether a data operation writes, by its name."""
    # sendfile and copy_file_range are two operations each: a read of one file, "..._to" of the other.
    return "write" in name or name.endswith("_to")
