"""The application itself as a campaign performs it: what the campaign file says of it, and what is known of it here.

Reads the program's file and its input on this machine; leaves the names, sizes and hash that a campaign goes by.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from wavetank.application.program import MOUNT_WORD
from wavetank.document import Record
from wavetank.errors import SpecError
from wavetank.kernel.document.kernel import Kernel
from wavetank.launchers.family import mpi_family_of
from wavetank.launchers.registry import recognise
from wavetank.model.document.program import ProcessStep
from wavetank.programs import find_program
from wavetank.units import Duration, format_duration, format_size

LIMIT_S = 3600.0
"""A run that is longer is ended: a campaign must not wait for ever for a program that hangs."""


class OwnProgram(Record):
    """The application itself: how a campaign runs it."""

    argv: tuple[str, ...] = Field(
        min_length=1,
        description="program and arguments, without a launcher; {mount} stands for the folder of the run",
    )
    input: Path | None = Field(
        default=None, description="folder whose files are in the folder of the run, or one file"
    )
    env: dict[str, str] = Field(default_factory=dict, description="environment of every rank")
    ranks: int | None = Field(
        default=None,
        ge=1,
        description="the kernel's number without it, processes that others start left out",
    )
    launcher: Literal["openmpi", "mpich", "none"] | None = Field(
        default=None, description="starts the ranks; that of the program's MPI without it"
    )
    limit: Duration = Field(default=LIMIT_S, gt=0, description="a run that is longer is ended")
    times: Literal["event", "fold"] = Field(
        default="event",
        description="of the trace; fold: smaller traces, and an I/O time with bounds where ranks overlap",
    )
    made_of: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{64}$",
        description="hash of program and input, in the copies of campaigns that were run",
    )

    @field_validator("argv")
    @classmethod
    def _is_no_launcher(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        if not argv[0]:
            raise ValueError("the program has no name")
        if recognise(argv).name != "none":
            raise ValueError(
                f"the campaign starts the ranks itself: leave {argv[0]} and its options out, and write their number "
                "as 'ranks'"
            )
        if ":" in argv:
            raise ValueError(
                "a lone ':' among the arguments ends a program for MPI launchers. Put the command into a script"
            )
        return argv

    @field_validator("env")
    @classmethod
    def _has_names(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not name.isidentifier():
                raise ValueError(f"{name!r} is no name of an environment variable")
        return env


@dataclass(frozen=True)
class InputFile:
    """A file that is there before a run: its name in the folder of the run, and where it is on this machine."""

    name: str
    source: Path
    size_bytes: int


@dataclass(frozen=True)
class OwnApplication:
    """The application itself, as far as this machine knows it.

    Attributes:
        asked: as the campaign file says, with paths made absolute.
        files: input, in the order in which it is placed: first what the kernel reads, in the kernel's order.
        folders: of the input, without files of their own too.
        n_ranks: that are started.
        launcher: that is asked for, or known; None: that of the program's MPI, which its nodes know.
        sha256: of program, input, arguments, environment and ranks.
        missing: why it cannot run here, of a copy of a campaign whose program or input is not here; None: it can.
    """

    asked: OwnProgram
    files: tuple[InputFile, ...]
    folders: tuple[str, ...]
    n_ranks: int
    launcher: Literal["openmpi", "mpich", "none"] | None
    sha256: str
    missing: str | None = None

    @property
    def size_bytes(self) -> int:
        """Of all input files."""
        return sum(file.size_bytes for file in self.files)

    def sentence(self) -> str:
        """What a campaign will run: "./app in 4 ranks, 2 input files of 1.2 GB, ended after 1 h"."""
        many = "1 rank" if self.n_ranks == 1 else f"{self.n_ranks} ranks"
        n = len(self.files)
        given = "no input files"
        if n:
            given = f"{n} input {'file' if n == 1 else 'files'} of {format_size(self.size_bytes)}"
        words = " ".join(self.asked.argv)
        return (
            f"{words} in {many}, {given}, ended after {format_duration(self.asked.limit)} at most"
        )


def absolute(asked: OwnProgram, base: Path) -> OwnProgram:
    """The same with paths of this machine made absolute.

    A relative path of the program is looked up below ``base``; where nothing is there, it is one of the folder of the run.
    """
    program = asked.argv[0]
    if "/" in program and not program.startswith("/") and (base / program).is_file():
        program = str((base / program).resolve())
    given = None if asked.input is None else base / asked.input
    return asked.model_copy(update={"argv": (program, *asked.argv[1:]), "input": given})


def examine(asked: OwnProgram, kernel: Kernel, *, nodes_are_here: bool) -> OwnApplication:
    """See that the program and its input are there, and what they are.

    Args:
        asked: with absolute paths.
        kernel: of the application: its ranks, and the order of its input files.
        nodes_are_here: nodes see this machine's files, so a program that is not here is nowhere.

    Raises:
        SpecError: the program or its input is not there, or no file that can be used.
    """
    try:
        return _examine(asked, kernel, nodes_are_here=nodes_are_here)
    except SpecError as error:
        if asked.made_of is None:
            raise
        # Results of a campaign can be looked at where its program and input are not.
        n_ranks = asked.ranks or launched_ranks(kernel)
        return OwnApplication(asked, (), (), n_ranks, asked.launcher, asked.made_of, str(error))


def launched_ranks(kernel: Kernel) -> int:
    """How many processes are started for a kernel's application; the others of its ranks are started by these.

    A rank that begins in another one's program, or when another one has ended, was started by the application.
    """
    later: set[int] = set()
    for program in kernel.programs:
        steps = [step for step in program.steps if isinstance(step, ProcessStep)]
        begun = {step.rank for step in steps if step.event == "begins"}
        later |= begun
        if any(step.rank not in begun for step in steps):
            later.update(program.ranks)
    return max(kernel.n_ranks - len(later), 1)


def _examine(asked: OwnProgram, kernel: Kernel, *, nodes_are_here: bool) -> OwnApplication:
    n_ranks = asked.ranks or launched_ranks(kernel)
    if asked.input is not None and not asked.input.exists():
        raise SpecError(f"input {asked.input} of the application itself: no such file or folder")
    files, folders = _input(asked, kernel)
    program = _program(asked, files, nodes_are_here=nodes_are_here)
    launcher = asked.launcher
    if launcher == "none" and n_ranks > 1:
        raise SpecError(
            f"launcher none starts one process, and the application has {n_ranks} ranks: write 'ranks: 1', or leave "
            "'launcher' out"
        )
    if launcher is None and program is not None:
        family = mpi_family_of(program)
        if family is None and n_ranks == 1:
            launcher = "none"
    return OwnApplication(
        asked, files, folders, n_ranks, launcher, _sha256(asked, n_ranks, program, files)
    )


def _input(asked: OwnProgram, kernel: Kernel) -> tuple[tuple[InputFile, ...], tuple[str, ...]]:
    given = asked.input
    if given is None:
        return (), ()
    try:
        if given.is_file():
            found, folders = [InputFile(given.name, given, given.stat().st_size)], []
        else:
            found, folders = (
                list(_below(given)),
                [
                    str(path.relative_to(given))
                    for path in sorted(given.rglob("*"))
                    if path.is_dir()
                ],
            )
    except OSError as error:
        raise SpecError(f"cannot read input {given}: {error.strerror}") from error
    names = [name for file in kernel.files if file.is_prepared for name in file.names]
    places = {name.rpartition("/")[2]: place for place, name in reversed(list(enumerate(names)))}
    found.sort(key=lambda file: (places.get(file.name.rpartition("/")[2], len(names)), file.name))
    return tuple(found), tuple(folders)


def _below(folder: Path) -> Iterator[InputFile]:
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise SpecError(
                f"input {path} is no file that can be copied: leave it out of the folder"
            )
        yield InputFile(str(path.relative_to(folder)), path, path.stat().st_size)


def _program(
    asked: OwnProgram, files: tuple[InputFile, ...], *, nodes_are_here: bool
) -> Path | None:
    """The program's file on this machine; None where it is not known here."""
    name = asked.argv[0]
    if MOUNT_WORD in name or ("/" in name and not name.startswith("/")):
        inside = name.replace(MOUNT_WORD, ".").removeprefix("./").removeprefix("./")
        found = next((file.source for file in files if file.name == inside), None)
        if found is None:
            raise SpecError(
                f"there is no program {name}, neither beside the campaign file nor in the input of the application itself"
            )
        return found
    path = name if name.startswith("/") else find_program(name)
    if path is not None and Path(path).is_file():
        return Path(path)
    if nodes_are_here:
        where = "" if "/" in name else " on the PATH"
        raise SpecError(f"there is no program {name}{where}: write its path in 'argv'")
    return None


def _sha256(
    asked: OwnProgram, n_ranks: int, program: Path | None, files: tuple[InputFile, ...]
) -> str:
    """Hash of what a run is: equal for runs that are the same, wherever program and input lie on this machine."""
    name = asked.argv[0] if program is None else program.name
    told = {
        "argv": [name, *asked.argv[1:]],
        "env": asked.env,
        "ranks": n_ranks,
        "times": asked.times,
        "launcher": asked.launcher,
        "program": None if program is None else _of_file(program),
        "input": [(file.name, _of_file(file.source)) for file in files],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SpecError(f"cannot read {path}: {error.strerror}") from error
