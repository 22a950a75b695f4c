"""No launcher: the program is started as it is. The null driver."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavetank.errors import KernelError
from wavetank.job import Job
from wavetank.launchers.base import prefix_of


class NoLauncher:
    """Starts one process on this host."""

    name = "none"
    mpi_family: str | None = None
    yields_by = ""

    def available(self) -> str | None:
        """Always there: the operating system starts programs."""
        return f"{platform.system()} {platform.release()}"

    def command(self, job: Job, scratch: Path) -> list[str]:
        """The program's argv, by ``env`` when it needs an environment.

        Raises:
            KernelError: more than one rank.
        """
        if job.n_ranks != 1:
            raise KernelError(
                f"without a launcher only one rank can be started, not {job.n_ranks}. Choose openmpi, mpich or srun"
            )
        return [*prefix_of(job.placement, scratch), *self.with_environment(job.argv, job.whole_env)]

    def recognises(self, argv: Sequence[str]) -> bool:
        """Any command line that is not empty."""
        return bool(argv)

    def with_environment(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The command line behind ``env NAME=VALUE``."""
        if not env:
            return list(argv)
        return ["env", *(f"{name}={value}" for name, value in env.items()), *argv]
