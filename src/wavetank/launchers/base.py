"""What a launcher (mpirun, srun, ...) must be able to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from wavetank.job import SCRATCH, Job, Placement


class Launcher(Protocol):
    """Starts MPI programs, and recognises command lines that do."""

    name: str
    mpi_family: (
        str | None
    )  # "openmpi", "mpich", None for serial programs: which ABI the C parts must have

    yields_by: str
    """How its ranks let others have the processor while they wait, for results; empty: they do not."""

    def available(self) -> str | None:
        """Version of the installed launcher, None when it is not there."""

    def command(self, job: Job, scratch: Path) -> list[str]:
        """The whole argv that runs ``job``; files it needs (host lists) are written into ``scratch``."""

    def recognises(self, argv: Sequence[str]) -> bool:
        """Whether a user's command line is one of this launcher's."""

    def with_environment(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The user's command line, with ``env`` set for the ranks only (not for the launcher itself)."""


def prefix_of(placement: Placement | None, scratch: Path) -> list[str]:
    """What stands before the launcher on a placement's hosts.

    Args:
        placement: None: this host, with nothing before it.
        scratch: folder with the launcher's files.
    """
    prefix = placement.launcher_prefix if placement is not None else ()
    return [str(scratch) if word == SCRATCH else word for word in prefix]
