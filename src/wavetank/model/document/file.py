"""The file level of a model (P18 table 1), and the parts of paths as a replay names its files."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from wavetank.document import Record
from wavetank.model.document.file_members import Members, n_step_names


class FileName(Record):
    """A further name of a file."""

    path: str
    symlink: bool = Field(
        default=False, description="a symbolic link; else a hard link, or an earlier name"
    )


class ModelFile(Record):
    """One file of the application, or a family of files that were used alike."""

    file_id: int = Field(description="from 1")
    file_name: str = Field(
        description="the name that it had last where it was renamed, else the one that was used first; "
        "of several files, with * for what differs"
    )
    other_names: tuple[FileName, ...] = Field(
        default=(), description="by which it went too, in the order of their first use"
    )
    file_size: int = Field(
        description="bytes; the size that a kernel needs: highest offset touched where known, else by weights"
    )
    file_size_weights: int = Field(
        description="bytes by the sum of phase weights (P15 eq. 2 and 3)"
    )
    file_size_highest_offset: int | None = Field(
        description="bytes, highest offset touched + 1; None where offsets are unknown"
    )
    file_size_before: int | None = Field(
        default=None, description="bytes, when first opened; None if it did not exist or is unknown"
    )
    file_np: int = Field(description="processes that open it")
    file_accessmode: Literal["sequential", "strided", "random", "unknown"]
    file_fileaccesstype: Literal["R", "W", "W/R", "none"]
    file_accesstype: Literal["unique", "shared"]
    file_nphase: int
    n_operations: int = Field(description="data operations, all ranks")
    n_sequential: int | None = Field(
        description="Darshan: offset greater than the end of the rank's last operation or equal to it"
    )
    n_consecutive: int | None = Field(
        description="Darshan: offset equal to the end of the rank's last operation"
    )
    file_system: str | None = None
    directory: bool = False
    members: Members | None = Field(
        default=None,
        description="files that were used alike, one at a time: all sizes and counts of this record are their sums; "
        "None: it is one file",
    )

    @model_validator(mode="after")
    def _members_have_its_names(self) -> Self:
        if self.members is not None and len(self.members.other_names) != len(self.other_names):
            raise ValueError("its members have not as many other_names as it has")
        return self

    @property
    def n_files(self) -> int:
        """Files that the record stands for."""
        return 1 if self.members is None else len(self.members)

    @property
    def n_step_names(self) -> int:
        """How many numbers ``FileStep.name`` may be on it, from 0."""
        return n_step_names(len(self.other_names), self.members is not None)

    def title(self, folder: str = "") -> str:
        """Its name for people, without the folder that it is said to be below."""
        name = self.file_name.removeprefix(folder)
        return name if self.members is None else f"{name} ({self.n_files:,} files)"


ROOT = "_root"
"""What a replay calls the directory that has no name, /."""
_UNSAFE = re.compile(r"[^\w.+=,@:-]+", re.ASCII)


def plain_name(part: str) -> str:
    """A name of a file or folder with an underscore for each run of such characters; never "." or ".."."""
    cleaned = _UNSAFE.sub("_", part)
    return "_" + cleaned.lstrip(".") if cleaned.strip(".") == "" else cleaned
