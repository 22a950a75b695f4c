"""The order in which a run goes through its phases: the programs of ranks, made of steps.

Field names are those of method, section 2.

Why steps and not a list of operations: a step of data says "the next n repetitions of a phase". Offsets and sizes are in the
phase, once for all ranks. A program then has a few steps for a run of many operations, and ranks that do the same share it.

Why a step of data counts and does not name repetitions: each rank consumes its repetitions of a phase in order. A repeat
around a step can therefore be one step for all rounds, though each round is at other places.

Why a class for each kind of step: each has fields of its own, and a document names the kind. What walks over programs asks
for kinds; repeats hold steps again.

Why calls without data are steps, although no phase of data holds them: an open, a seek or a sync changes what the next
access means or costs, and its place among the accesses is part of what an application does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
from pydantic import (
    Field,
    GetJsonSchemaHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from wavetank.document import Record
from wavetank.model.document.columnar import ListColumn, at_least
from wavetank.trace.arguments import ARGUMENTS, ON_TWO_NAMES
from wavetank.trace.schema import NUMBERS


class DataStep(Record):
    """The next ``n`` repetitions of a phase's pattern (its repetitions are consumed in order)."""

    step: Literal["data"] = "data"
    ph_id: int
    n: int = Field(ge=0)
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

    def operations(self, members: int) -> int:
        """Single operations that it stands for, of a pattern with so many members."""
        return self.n if self.single else self.n * members


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
    flags: int = Field(default=0, description="open: O_*; fcntl: those that F_SETFL gives it")
    mpi_mode: int = Field(default=0, description="MPI_File_open: MPI_MODE_*")
    origin: int = Field(
        default=0, description="seek: SEEK_SET (0), SEEK_CUR (1), SEEK_END (2), ..."
    )
    new_size: int = Field(default=0, description="ftruncate and the like: of the file, bytes")
    length: int = Field(default=0, description="mmap, msync, sync_file_range: of the range, bytes")
    mode: int = Field(default=0, description="permissions: asked about, of a new name, or new ones")
    new_name: bool = Field(
        default=False,
        description="rename, link, symlink: the step of the new name; that of the old one is before it",
    )
    times_given: bool = Field(default=False, description="utime: to given times; false: to now")
    at_end: bool = Field(default=False, description="readdir: no entry was left")
    atomic: bool = Field(default=False, description="MPI_File_set_atomicity")
    size: int = Field(default=0, description="read or write that moved nothing: bytes asked for")
    offset: int | None = Field(
        default=None,
        description="seek: resulting place in the file; None: where the next data operation through this handle starts. "
        "Read or write that moved nothing: its offset",
    )
    view_id: int | None = Field(
        default=None, description="MPI_File_set_view: index into the model's views"
    )
    view_ids: tuple[int, ...] | None = Field(
        default=None,
        description="MPI_File_set_view: views by rank, same order as the program's ranks, when they differ",
    )
    info_id: int | None = Field(
        default=None,
        description="MPI_File_open, MPI_File_set_view, MPI_File_set_info: index into the model's infos, the hints that it was given",
    )
    communicator: int | None = Field(
        default=None,
        description="MPI_File_open: index into the model's communicators; None: not recorded, a kernel takes the ranks that open the file",
    )
    name: int = Field(
        default=0,
        description="which of the file's names the call was made on: 0 its file_name, n the n-th of its other_names; "
        "of a file with members twice that number for the one at hand, and 1 more for the next one in the rank's visits, at each "
        "of the calls",
    )
    error: int = Field(
        default=0, description="errno with which it failed in the traced run, 0 for success"
    )
    count: int = Field(default=1, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _given_what_it_may_be(cls, values: object) -> object:
        """Refuse what no such call is given.

        Raises:
            ValueError: it says of a call what no such call is given.
        """
        if isinstance(values, dict) and not _NUMBERS.isdisjoint(values):
            call = str(values.get("iop_type"))
            for name in _NUMBERS & values.keys():
                if values[name] and ARGUMENTS.get(call) != name:
                    raise ValueError(f"{call} is not given {name}")
        return values

    @model_serializer
    def _short(self) -> dict[str, object]:
        """Without what the call was not given: a call is given one of these fields at most."""
        values: dict[str, object] = vars(self).copy()
        for name in NUMBERS:
            if not values[name]:
                del values[name]
        return values

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The published schema: that of the fields, not of a serializer that may write any."""
        fields = {key: value for key, value in schema.items() if key != "serialization"}
        return handler(cast("CoreSchema", fields))

    @property
    def number(self) -> int:
        """The one number that the call was given; 0 where it was given none. Plans have it."""
        return sum(map(vars(self).__getitem__, NUMBERS))

    @property
    def is_old_name(self) -> bool:
        """Whether it is the old name's step of a rename, link or symlink; that of the new one follows."""
        return self.iop_type in ON_TWO_NAMES and not self.new_name


_NUMBERS = frozenset(NUMBERS)
_YES_OR_NO = frozenset(name for name in NUMBERS if FileStep.model_fields[name].annotation is bool)


def given_by_number(call: str, number: int) -> dict[str, Any]:
    """What a call was given, as fields of its step, of the one number that traces and plans have."""
    field = ARGUMENTS.get(call)
    if field not in _NUMBERS:
        return {}
    return {field.value: bool(number) if field in _YES_OR_NO else number}


class SyncStep(Record):
    """A synchronising collective on a communicator: an order between ranks that a replay keeps."""

    step: Literal["sync"] = "sync"
    communicator: int = Field(description="index into the model's communicators")
    count: int = Field(default=1, ge=0)


class PauseStep(Record):
    """Time without I/O before the next step, as recorded."""

    step: Literal["pause"] = "pause"
    seconds: float


class ProcessStep(Record):
    """Where another process begins or has ended: scripts, and programs that fork. It orders whole programs."""

    step: Literal["process"] = "process"
    rank: int = Field(description="of the other process")
    event: Literal["begins", "ended"] = Field(
        description="begins: the other rank's program starts here, not before; ended: it is over by here"
    )


class IrregularOrderStep(Record):
    """Steps that alternate without a repeating order: which of a few different ones comes when. In files the step is ``mix``."""

    step: Literal["mix"] = "mix"
    steps: tuple[DataStep | FileStep, ...] = Field(description="the different ones")
    order: Annotated[ListColumn, at_least(0, "must be numbers of steps, from 0")] = Field(
        description="numbers into steps, from 0, in the order of the run"
    )

    @model_validator(mode="after")
    def _names_steps(self) -> Self:
        if len(self.order) and int(self.order.max()) >= len(self.steps):
            raise ValueError(
                f"order names step {int(self.order.max())}, and there are {len(self.steps)}"
            )
        return self

    def each(self) -> Iterator[DataStep | FileStep]:
        """The steps as they come."""
        for first in range(0, len(self.order), 1 << 16):
            for number in self.order[first : first + (1 << 16)].tolist():
                yield self.steps[number]

    def counts(self) -> tuple[int, ...]:
        """How often each of the different steps comes."""
        return tuple(np.bincount(self.order, minlength=len(self.steps)).tolist())

    def replaced(
        self, steps: Sequence[DataStep | FileStep | None]
    ) -> tuple[IrregularOrderStep, ...]:
        """The order with other steps in place of its own; those that are None are left out. None of it, or one."""
        kept = np.array([step is not None for step in steps], dtype=bool)
        order = self.order
        if not kept.all():
            order = (np.cumsum(kept) - 1)[order[kept[order]]]
        left = tuple(step for step in steps if step is not None)
        return (IrregularOrderStep.model_construct(steps=left, order=order),) if left else ()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, IrregularOrderStep)
            and self.steps == other.steps
            and np.array_equal(self.order, other.order)
        )

    def __hash__(self) -> int:
        ends = np.concatenate([self.order[:64], self.order[-64:]]).astype(np.int64)
        return hash((self.steps, len(self.order), ends.tobytes()))


class RepeatStep(Record):
    """Steps that recur."""

    step: Literal["repeat"] = "repeat"
    times: int = Field(ge=0)
    steps: tuple[Step, ...]


Step = Annotated[
    DataStep | FileStep | SyncStep | PauseStep | ProcessStep | IrregularOrderStep | RepeatStep,
    Field(discriminator="step"),
]


class Program(Record):
    """What each of these ranks does, in exact order, in terms of phases."""

    ranks: tuple[int, ...]
    steps: tuple[Step, ...]
