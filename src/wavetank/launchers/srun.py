"""Slurm's srun. The MPI library that the program uses cannot be seen from its command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavetank.errors import KernelError, UsageError
from wavetank.job import Job
from wavetank.launchers.version import version_text


class Srun:
    """Starts ranks by srun inside an allocation."""

    name = "srun"
    mpi_family: str | None = "openmpi"  # what the replay program is built with first

    def available(self) -> str | None:
        """Version of the installed srun, None when there is no Slurm."""
        match = re.search(r"slurm\S* (\S+)", version_text("srun") or "")
        return match[1] if match else None

    def command(self, job: Job, scratch: Path) -> list[str]:
        """The whole argv. Slurm places the ranks: a placement names the hosts, in order.

        Raises:
            KernelError: Slurm is not installed, or the hosts are reached in another way.
        """
        if self.available() is None:
            said = (version_text("srun") or "").strip().splitlines()
            why = f"srun does not work here ({said[-1]})" if said else "srun is not installed"
            raise KernelError(f"cannot start MPI programs: {why}. Choose another launcher")
        argv = ["srun", "-n", str(job.n_ranks)]
        if job.placement is not None:
            if job.placement.remote_shell:
                raise KernelError(
                    "srun reaches only the nodes of its own allocation. Choose another launcher"
                )
            lines = [host for host, n in job.placement.hosts for _ in range(n)][: job.n_ranks]
            hosts = scratch / "srun-hosts"
            hosts.write_text("\n".join(lines) + "\n")
            argv = ["env", f"SLURM_HOSTFILE={hosts}", *argv, "--distribution=arbitrary"]
        return self.with_environment([*argv, *job.argv], job.whole_env)

    def recognises(self, argv: Sequence[str]) -> bool:
        """Whether argv[0] is srun."""
        return bool(argv) and Path(argv[0]).name == "srun"

    def with_environment(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The command line with ``--export=ALL,NAME=VALUE,...``, joined with the user's own --export.

        Raises:
            UsageError: a value holds a comma, which srun takes for the end of it.
        """
        if not env:
            return list(argv)
        for name, value in env.items():
            if "," in value:
                raise UsageError(
                    f"srun cannot pass on {name}={value}: it holds a comma. Use a path without one"
                )
        added = ",".join(f"{name}={value}" for name, value in env.items())
        at = next(i for i, word in enumerate(argv) if Path(word).name == "srun")
        changed = list(argv)
        for i, word in enumerate(changed[at + 1 :], start=at + 1):
            if word.startswith("--export=") or changed[i - 1] == "--export":
                changed[i] = _joined(word, added)
                return changed
            if not word.startswith("-") and not changed[i - 1].startswith("-"):
                break  # the program; what follows are its own arguments
        return [*changed[: at + 1], f"--export=ALL,{added}", *changed[at + 1 :]]


def _joined(export: str, added: str) -> str:
    """The user's --export with more variables. NONE and NIL are said alone: without them it is these only."""
    option = "--export=" if export.startswith("--export=") else ""
    names = export.removeprefix(option)
    return option + (added if names in ("NONE", "NIL") else f"{names},{added}")
