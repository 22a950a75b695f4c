"""MPICH's mpiexec (Hydra 4 and 5; options as of ``mpiexec.hydra -help``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavetank.errors import KernelError
from wavetank.job import Job
from wavetank.launchers.base import prefix_of
from wavetank.launchers.remote_shell import write_remote_shell
from wavetank.launchers.version import first_with, version_text

_PROGRAMS = ("mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun")
_NAMES = re.compile(r"^(mpirun|mpiexec)(\.mpich|\.hydra)?$")


# MPICH 4.0 on UCX polls without a pause, and has no variable for it. The least priority lets servers and clients go first.
_YIELDS = ("nice", "-n", "19")


class Mpich:
    """Starts ranks by Hydra, on this host or on a placement's."""

    name = "mpich"
    mpi_family: str | None = "mpich"
    yields_by = "nice -n 19"

    def available(self) -> str | None:
        """Version of the installed Hydra, None when there is no MPICH."""
        found = first_with(_PROGRAMS, ("HYDRA",))
        match = re.search(r"Version:\s+(\S+)", found[1]) if found else None
        return match[1] if match else None

    def command(self, job: Job, scratch: Path) -> list[str]:
        """The whole argv; the remote shell is written into ``scratch``.

        Raises:
            KernelError: MPICH is not installed.
        """
        found = first_with(_PROGRAMS, ("HYDRA",))
        if found is None:
            raise KernelError(
                "cannot start MPI programs: MPICH's mpiexec is not installed. Install mpich, or choose another launcher"
            )
        placement = job.placement
        argv = [*prefix_of(placement, scratch), found[0]]
        if placement is not None:
            lines = [host for host, n in placement.hosts for _ in range(n)][: job.n_ranks]
            if len(lines) < job.n_ranks:
                raise KernelError(
                    f"the placement has room for {len(lines)} ranks, the job has {job.n_ranks}. Give more hosts"
                )
            argv += ["-hosts", ",".join(lines)]
            if placement.launcher_address:
                # Hydra's daemons call back by the name of the launcher's host; nodes know their own names only.
                argv += ["-localhost", placement.launcher_address]
            if placement.remote_shell:
                shell = scratch / "mpich-remote-shell"
                write_remote_shell(shell, placement.remote_shell)
                argv += ["-launcher", "ssh", "-launcher-exec", str(shell)]
        argv += ["-n", str(job.n_ranks)]
        words = [*(_YIELDS if job.yields else ()), *job.argv]
        return self.with_environment([*argv, *words], job.whole_env)

    def recognises(self, argv: Sequence[str]) -> bool:
        """Whether argv[0] is Hydra, by its name and by what it says about itself."""
        if not argv or not _NAMES.match(Path(argv[0]).name):
            return False
        return "HYDRA" in (version_text(argv[0]) or "")

    def with_environment(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The command line with ``-genv NAME VALUE``, which reaches every rank."""
        options = [word for name, value in env.items() for word in ("-genv", name, value)]
        at = next(i for i, word in enumerate(argv) if _NAMES.match(Path(word).name))
        return [*argv[: at + 1], *options, *argv[at + 1 :]]
