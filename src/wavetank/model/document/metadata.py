"""Phases of calls that move no data: what a metadata server is asked for, by which ranks, in which directories."""

from __future__ import annotations

import os
from typing import Literal

from pydantic import Field

from wavetank.document import Record

Sharing = Literal["one", "own", "several"]


class MetadataCall(Record):
    """One kind of call of a phase."""

    call: str = Field(
        description='"create" is an open that may create, "opendir" and "closedir" are of directories'
    )
    objects: Literal["files", "directories"]
    n: int = Field(description="calls of all ranks")
    n_failed: int = Field(default=0, description="of them those that failed")
    n_objects: int = Field(description="different files or directories")
    least: int = Field(description="calls of the rank that makes fewest")
    most: int = Field(description="calls of the rank that makes most")
    busy_s: float | None = Field(description="sum of their durations over ranks")


class NameFamily(Record):
    """Names that differ in numbers only."""

    pattern: str = Field(description="the name with * for each number that differs")
    n: int = Field(description="how many files or directories have such a name")


class MetadataPhase(Record):
    """Calls that move no data, on files whose data the rank does not move: one stretch of the run.

    Ranks that do the same at the same place between collectives are together. A stretch ends where ranks meet, and
    where the kinds of calls change for good.
    """

    md_id: int = Field(description="from 1, in the order of their first call")
    ranks: tuple[int, ...] = Field(description="MPI_COMM_WORLD ranks, ascending")
    calls: tuple[MetadataCall, ...]
    n_calls: int
    n_files: int
    n_directories: int
    n_parents: int = Field(description="directories in which the files and directories lie")
    sharing: Sharing = Field(
        description="one: all in one directory; own: each rank in directories of its own; several: ranks share several"
    )
    names: tuple[NameFamily, ...] = Field(description="the largest families of names")
    n_other_names: int = Field(default=0, description="names beyond these families")
    times: int = Field(default=1, description="stretches of a rank that are equal and told as one")
    tick_first: int
    tick_last: int
    start_s: float | None = Field(description="first call's start, since the trace's time zero")
    end_s: float | None
    time_s: float | None = Field(
        description="in which a rank was between its first and last call of a stretch; None where times are unknown"
    )
    busy_s: float | None = Field(description="sum of the calls' durations over ranks")

    @property
    def calls_per_s(self) -> float | None:
        """Calls of all ranks over the phase's time; None where it is not known."""
        return self.n_calls / self.time_s if self.time_s else None


def call_name(name: str, arg: int, *, directory: bool) -> str:
    """What a call is to a metadata server.

    Args:
        name: as the trace has it.
        arg: of an open its flags.
        directory: whether it is on a directory.
    """
    if name == "open" and arg & os.O_CREAT:
        return "create"
    if directory and name in ("open", "close"):
        return f"{name}dir"
    return name
