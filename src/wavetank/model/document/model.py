"""The model of an application's I/O: its tables, its phases, its order. The document of this stage."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from wavetank.document import Document, Record
from wavetank.errors import ModelError, WavetankError
from wavetank.model.document.approximation import Approximation
from wavetank.model.document.extrapolation import Extrapolation
from wavetank.model.document.file import ModelFile
from wavetank.model.document.metadata import MetadataPhase
from wavetank.model.document.phase import Phase, Series
from wavetank.model.document.program import Program
from wavetank.model.document.references import Known, require
from wavetank.model.document.run_times import NOT_TIMED, RunTimes
from wavetank.model.document.thresholds import DEFAULT_THRESHOLDS, Thresholds
from wavetank.model.document.timeline import Timeline
from wavetank.notes import Note


class View(Record):
    """An MPI file view, decoded: tiles of ``extent`` bytes, each with the visible runs in order.

    Of memory, which is told as the view that it would be, a tile is one item of its type (``Phase.memory``).
    """

    displacement: int
    etype_size: int
    extent: int
    run_offsets: tuple[int, ...]
    run_lengths: tuple[int, ...]

    @model_validator(mode="after")
    def _in_step(self) -> Self:
        if len(self.run_offsets) != len(self.run_lengths):
            raise ValueError("run_offsets and run_lengths are of different lengths")
        return self


class Requirements(Record):
    """What the application asks of a storage configuration."""

    storage_capacity_bytes: int = Field(description="P15 eq. 4: sum of the file sizes")
    n_processes: int
    needs_global_file_system: bool = Field(description="True when a file is shared by ranks")
    reached_read_bytes_per_s: float | None = Field(
        description="over the I/O time of the traced run; None without times"
    )
    reached_write_bytes_per_s: float | None


class Boundaries(Record):
    """The rules by which phases were split (method, section 2)."""

    split_at_communication: dict[str, bool] = Field(
        description='by level: {"posix": False, "mpiio": True}'
    )
    split_at_computation_s: float | None
    similarity: tuple[float, float] | None = Field(description="(0.8, 1.2); None asks for equality")


class LevelRelation(Record):
    """What an MPI-IO phase became below the MPI library (P16 does this by hand)."""

    ph_id: int = Field(description="phase at MPI-IO level")
    below: int = Field(description="ph_id of the phase at POSIX level")
    ranks: tuple[int, ...] = Field(description="that made the POSIX calls: the aggregators")
    n_operations: int
    moved: int = Field(description="bytes")
    rs_min: int
    rs_max: int


class Model(Document):
    """The I/O model of one application run."""

    kind: ClassVar[str] = "model"
    error: ClassVar[type[WavetankError]] = ModelError

    application: str = Field(description="the program's name, for titles")
    command: tuple[str, ...]
    source: str = Field(description="what recorded the trace: wavetank, darshan-dxt, ...")
    mpi_library: str | None = Field(
        default=None, description="of the run, as it says of itself; None: none, or not recorded"
    )
    n_ranks: int = Field(description="ranks of the run, with or without I/O")
    app_np: int
    app_nfiles: int
    app_st: int = Field(description="bytes moved")
    elapsed_s: float | None
    run_times: RunTimes = Field(default=NOT_TIMED, description="elapsed time and time at I/O calls")
    boundaries: Boundaries
    thresholds: Thresholds = Field(
        default=DEFAULT_THRESHOLDS, description="the numbers by which the trace was taken apart"
    )
    requirements: Requirements
    files: tuple[ModelFile, ...]
    phases: tuple[Phase, ...]
    metadata: tuple[MetadataPhase, ...] = Field(
        default=(),
        description="phases of calls that move no data, on files whose data the rank does not move",
    )
    series: tuple[Series, ...]
    views: tuple[View, ...] = ()
    infos: tuple[tuple[tuple[str, str], ...], ...] = Field(
        default=(), description="MPI_Info hints that were given to MPI-IO: key, value"
    )
    communicators: tuple[tuple[int, ...], ...] = ()
    programs: tuple[Program, ...]
    relations: tuple[LevelRelation, ...] = ()
    timeline: Timeline = Field(description="at most some thousand points, for plots")
    notes: tuple[Note, ...] = Field(
        default=(),
        description="of the trace and of the model: what is missing, inferred or left out",
    )
    extrapolation: Extrapolation | None = Field(
        default=None, description="of a model that no run was traced for: what it is made from"
    )
    approximation: Approximation | None = Field(
        default=None,
        description="of a model that no single operation is known of: what is exact in it, and what is assumed",
    )

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        files = {file.file_id: file.n_step_names for file in self.files}
        known = Known(files, self.n_ranks, len(self.views), len(self.infos), self.communicators)
        require(self.phases, self.programs, known)
        return self


def own_phases(model: Model) -> tuple[Phase, ...]:
    """The phases of the application's own calls."""
    return tuple(phase for phase in model.phases if not phase.by_library)


def own_levels(model: Model) -> Model:
    """The model with the application's own phases alone, and no relations."""
    phases = own_phases(model)
    kept = {phase.ph_id for phase in phases}
    series = tuple(one for one in model.series if set(one.ph_ids) <= kept)
    return model.model_copy(update={"phases": phases, "series": series, "relations": ()})
