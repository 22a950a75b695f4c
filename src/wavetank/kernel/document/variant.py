"""What a variant of a kernel changes: the certificate that a kernel with one turned knob carries."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from wavetank.document import Record


class ChangedPhase(Record):
    """Phases of the kernel as it is, and what the variant makes of them."""

    ph_ids: tuple[int, ...] = Field(description="of the kernel as it is")
    new_ph_ids: tuple[int, ...] = Field(description="of the variant")
    operations: str = Field(description='"write", "MPI_File_write_at"; several with a plus')
    new_operations: str
    calls: int = Field(description="of all ranks")
    new_calls: int
    bytes: int = Field(description="moved, of all ranks; the same in both")


class CheckedFile(Record):
    """A file of the kernel as it is, compared with what holds its bytes in the variant."""

    name: str
    new_names: tuple[str, ...] = Field(description="the same file, or its parts")
    read_bytes: int = Field(description="the same in both")
    written_bytes: int = Field(description="the same in both")
    regions: str = Field(description='"equal", or how the parts hold what the file held')


class Variant(Record):
    """One knob of the application, turned, and what that changes. Computed from both kernels, not claimed."""

    setting: str = Field(description='"request-size=1MiB": makes the variant again')
    knob: str
    of: Literal["application", "layout"] = Field(
        default="application",
        description="what the knob is of; layout: of files on data servers, and the kernel is as it is",
    )
    before: str = Field(
        description="the knob's value in the kernel as it is; of a layout each cluster has its own"
    )
    after: str
    hints: tuple[str, ...] = Field(
        default=(), description="MPI-IO hints that are turned; some libraries ignore some"
    )
    calls: int = Field(description="that move data, of all ranks, in the kernel as it is")
    new_calls: int
    rank_bytes: tuple[int, ...] = Field(
        description="that each rank of the kernel as it is moves: the variant's ranks are placed by them, where they were"
    )
    phases: tuple[ChangedPhase, ...] = Field(description="that differ; the others are the same")
    files: tuple[CheckedFile, ...] = Field(description="of phases")
    notes: tuple[str, ...] = Field(
        default=(), description="what a reader must know, a sentence each"
    )

    def words(self) -> str:
        """The change for people: "request size 8191 B -> 1 MiB"."""
        return f"{self.knob} {self.before} -> {self.after}"
