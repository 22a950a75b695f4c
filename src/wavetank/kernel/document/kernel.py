"""A kernel: the same I/O without the application. The document of this stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from wavetank.document import Document, Record
from wavetank.errors import KernelError, WavetankError
from wavetank.kernel.document.variant import Variant
from wavetank.model.document.approximation import Approximation
from wavetank.model.document.columnar import Column
from wavetank.model.document.extrapolation import Extrapolation
from wavetank.model.document.file_members import Names, Visits, n_step_names
from wavetank.model.document.metadata import MetadataPhase
from wavetank.model.document.model import View
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import Program
from wavetank.model.document.references import Known, require
from wavetank.model.document.run_times import NOT_TIMED, RunTimes
from wavetank.notes import Note


class KernelName(Record):
    """A further name of a file, below the root."""

    name: str = Field(description="relative path below the root; never leaves it")
    prepared: Literal["link", "symlink"] | None = Field(
        default=None,
        description="made beforehand as a hard or a symbolic link to the file's first name; None: the run makes it",
    )

    @field_validator("name")
    @classmethod
    def _stays_below_the_root(cls, name: str) -> str:
        return _below_the_root(name)


def _below_the_root(name: str) -> str:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError(f"{name!r} is not a relative path below the root")
    return name


def _leaves(name: str) -> bool:
    """Whether a member's name is none below its folder. Of a million names: parts are looked at where there may be dots."""
    if name in ("", ".") or name[0] == "/" or name[-1] == "/" or "\0" in name or "//" in name:
        return True
    return ".." in name and ".." in name.split("/")


Role = Literal["input", "output", "both", "none"]


class KernelMembers(Record):
    """Files that take turns at being one file of the kernel; in a folder of its own, or each in its directory."""

    names: Names = Field(
        description="below the folder that has the file's name, or below the root; as in ModelFile.members"
    )
    other_names: tuple[Names, ...] = Field(
        default=(),
        description="likewise, for each of the file's other_names those of all members",
    )
    in_tree: bool = Field(
        default=False,
        description="names are below the root, in the application's directories; the file's name is for people",
    )
    prepare_bytes: Column = Field(
        description="size to make of each beforehand; one number stands for all"
    )
    visits: Visits

    @model_validator(mode="after")
    def _in_step(self) -> Self:
        n = len(self.names)
        if len(self.prepare_bytes) == 1 and n > 1:
            self.__dict__["prepare_bytes"] = np.broadcast_to(self.prepare_bytes, n)
        if len(self.prepare_bytes) != n:
            raise ValueError(f"prepare_bytes holds {len(self.prepare_bytes)} numbers for {n} names")
        if any(len(names) != n for names in self.other_names):
            raise ValueError(f"other_names are not {n} each, as names are")
        every = (self.names, *self.other_names)
        if any(
            _leaves(name) or ("/" in name and not self.in_tree) for names in every for name in names
        ):
            raise ValueError("a member's name leaves the folder")
        if len(set(zip(*every, strict=True))) != n:
            raise ValueError("two members have one name")
        if self.prepare_bytes.any() and len(set(self.names)) != n:
            raise ValueError("two members that are there beforehand have one name")
        if not n or int(self.visits.all().max(initial=-1)) >= n:
            raise ValueError(f"visits name a member that is not there; there are {n}")
        return self

    def _values(self) -> tuple[object, ...]:
        return self.names, self.other_names, self.in_tree, self.prepare_bytes.tobytes(), self.visits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelMembers) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())


class KernelFile(Record):
    """A file that the kernel works on, below the root directory given at run time; or a folder of several."""

    file_id: int
    name: str = Field(
        description="relative path below the root; never leaves it. The one under which the file is prepared"
    )
    other_names: tuple[KernelName, ...] = Field(
        default=(), description="by which steps name it too; FileStep.name counts them from 1"
    )
    role: Role = Field(
        description="input files are made before the measurement, never measured; none: looked for only, and never there"
    )
    prepare_bytes: int = Field(description="size to make beforehand; 0: the kernel creates it")
    directory: bool = False
    entries: int = Field(
        default=0,
        description="of a directory that is listed: empty files to make in it beforehand, for entries of which no name is known",
    )
    content_of: int | None = Field(
        default=None,
        description="file whose pattern its bytes have, because it is renamed or linked from that; None: its own",
    )

    members: KernelMembers | None = Field(
        default=None,
        description="files that take turns at being this one; prepare_bytes is their sum",
    )

    @field_validator("name")
    @classmethod
    def _stays_below_the_root(cls, name: str) -> str:
        return _below_the_root(name)

    @model_validator(mode="after")
    def _members_have_its_names(self) -> Self:
        if self.members is not None and len(self.members.other_names) != len(self.other_names):
            raise ValueError("its members have not as many other_names as it has")
        return self

    @property
    def n_files(self) -> int:
        """Files that the record stands for."""
        return 1 if self.members is None else len(self.members.names)

    @property
    def n_step_names(self) -> int:
        """How many numbers ``FileStep.name`` may be on it, from 0."""
        return n_step_names(len(self.other_names), self.members is not None)

    @property
    def n_names(self) -> int:
        """Names that it has, or each of its members."""
        return 1 + len(self.other_names)

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name if self.members is None else f"{self.name} ({self.n_files:,} files)"

    def stored(self) -> Iterator[tuple[str, int]]:
        """What the storage system holds for it: name below the root, and bytes beforehand; not its further names."""
        if self.members is None:
            yield self.name, self.prepare_bytes
        else:
            yield from zip(self.member_names(), self.members.prepare_bytes.tolist(), strict=True)

    def member_names(self, which: int = 0) -> Iterator[str]:
        """Names below the root of its members, by number; none where it has none.

        Args:
            which: of the names that each has: 0 its first one, n the n-th of the others.
        """
        if self.members is not None:
            folder = "" if self.members.in_tree else f"{self.name}/"
            names = self.members.other_names[which - 1] if which else self.members.names
            yield from (folder + name for name in names)

    @property
    def own_folder(self) -> bool:
        """Whether it stands for members in a folder of its name, which nothing else is in."""
        return self.members is not None and not self.members.in_tree

    def stored_names(self) -> Iterator[str]:
        """All names that it has below the root at some time."""
        for name, _ in self.stored():
            yield name
        if self.members is None:
            yield from (other.name for other in self.other_names)
        for which in range(1, self.n_names):
            yield from self.member_names(which)

    @property
    def names(self) -> tuple[str, ...]:
        """All names; ``FileStep.name`` is an index, but where there are members."""
        return (self.name, *(other.name for other in self.other_names))

    @property
    def prepared_names(self) -> tuple[str, ...]:
        """Those that are there before the run."""
        first = tuple(name for name, _ in self.stored()) if self.is_prepared else ()
        return (*first, *(other.name for other in self.other_names if other.prepared))

    @property
    def is_prepared(self) -> bool:
        """Whether it is there before the run."""
        return self.role in ("input", "both")

    @property
    def folder(self) -> bool:
        """Whether it is made beforehand as a folder."""
        return self.directory and self.is_prepared

    @property
    def entry_names(self) -> Iterator[str]:
        """Names of the empty files that a directory has beforehand."""
        return (f"{self.name}/wavetank-entry-{number}" for number in range(1, self.entries + 1))

    @property
    def content_id(self) -> int:
        """Number of the file whose pattern its bytes have."""
        return self.file_id if self.content_of is None else self.content_of


def folders_beforehand(files: Sequence[KernelFile]) -> list[str]:
    """Directories that must be there before a run, those above others first.

    They are the kernel's own and those that its names lie in; what the run makes, and what lies below that, is not.
    """
    made, found, holding = set[str](), set[str](), set[str]()
    for file in files:
        in_tree = file.members is not None and file.members.in_tree
        names = list(file.member_names()) if in_tree else [file.name]
        if file.directory and file.role == "output":
            made.update(names)
        elif file.directory and file.is_prepared:
            found.update(names)
        if file.members is not None:
            names += [name for which in range(1, file.n_names) for name in file.member_names(which)]
        else:
            names += [other.name for other in file.other_names]
        holding.update(name.rpartition("/")[0] for name in names)
    for folder in holding - {""}:
        parents = [folder, *(str(parent) for parent in PurePosixPath(folder).parents)][:-1]
        first_made = [place for place, parent in enumerate(parents) if parent in made]
        found.update(parents[first_made[-1] + 1 :] if first_made else parents)
    return sorted(found - made)


class IorLine(Record):
    """The nearest IOR command line for one or more phases, and what it does not reproduce."""

    ph_ids: tuple[int, ...]
    command: str
    before: str | None = Field(
        default=None,
        description="line that makes the files which this one reads; None: the lines before it leave them, or it writes",
    )
    not_reproduced: tuple[Note, ...] = Field(description="roundings and differences")


class Refused(Record):
    """A phase that a writer cannot express."""

    ph_ids: tuple[int, ...]
    reason: str


def by_reason(
    refused: Iterable[tuple[Sequence[int], str]],
) -> list[tuple[tuple[int, ...], str]]:
    """Each reason once, with all phases that were refused for it, in order of the first one."""
    phases: dict[str, list[int]] = {}
    for numbers, reason in refused:
        phases.setdefault(reason, []).extend(numbers)
    return [(tuple(sorted(numbers)), reason) for reason, numbers in phases.items()]


class MdtestLine(Record):
    """The nearest mdtest command line for one or more phases of calls that move no data."""

    md_ids: tuple[int, ...] = Field(description="phases of calls that move no data")
    ph_ids: tuple[int, ...] = Field(
        default=(), description="phases of the data that it writes and reads"
    )
    command: str
    not_reproduced: tuple[Note, ...] = Field(description="differences")


class MdtestRefused(Record):
    """Phases of calls that move no data that mdtest cannot make."""

    md_ids: tuple[int, ...]
    reason: str


class Kernel(Document):
    """A kernel of one model."""

    kind: ClassVar[str] = "kernel"
    error: ClassVar[type[WavetankError]] = KernelError

    application: str
    model_sha256: str
    mpi_library: str | None = Field(
        default=None, description="of the traced run, which a replay takes where it is installed"
    )
    n_ranks: int = Field(
        description="ranks that the replay starts; ranks without I/O take part in synchronisation only"
    )
    files: tuple[KernelFile, ...]
    phases: tuple[Phase, ...]
    metadata: tuple[MetadataPhase, ...] = Field(
        default=(),
        description="of the model, with the traced run's times: calls that move no data. What the kernel does is in programs",
    )
    views: tuple[View, ...] = ()
    infos: tuple[tuple[tuple[str, str], ...], ...] = Field(
        default=(), description="hints (MPI_Info) that MPI files were given, of the model"
    )
    communicators: tuple[tuple[int, ...], ...] = ()
    programs: tuple[Program, ...]
    capacity_bytes: int
    notes: tuple[Note, ...] = Field(
        default=(),
        description="what the replay leaves out or changes, and doubts of its source; empty when it is exact",
    )
    approximate: bool = Field(
        default=False,
        description="whether the lines of benchmarks approximate phases that they cannot express",
    )
    extrapolation: Extrapolation | None = Field(
        default=None,
        description="of a kernel that no run was traced for: what its model is made from",
    )
    approximation: Approximation | None = Field(
        default=None,
        description="of a kernel whose model no single operation is known of. No part of what the kernel does",
    )
    run_times: RunTimes = Field(
        default=NOT_TIMED,
        description="of the run that was traced: elapsed, and at I/O calls. No part of what the kernel does",
    )
    variant: Variant | None = Field(
        default=None,
        description="of a kernel in which one knob is turned: what that changes; None: it is the application's own",
    )
    ior: tuple[IorLine, ...] = ()
    ior_refused: tuple[Refused, ...] = ()
    mdtest: tuple[MdtestLine, ...] = ()
    mdtest_refused: tuple[MdtestRefused, ...] = ()

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        files = {file.file_id: file.n_step_names for file in self.files}
        known = Known(files, self.n_ranks, len(self.views), len(self.infos), self.communicators)
        require(self.phases, self.programs, known)
        return self
