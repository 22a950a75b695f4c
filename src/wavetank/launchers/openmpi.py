"""Open MPI's mpirun (4.1; options as of ``man mpirun``)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from wavetank.errors import KernelError
from wavetank.job import Job, Placement
from wavetank.launchers.base import prefix_of
from wavetank.launchers.remote_shell import write_remote_shell
from wavetank.launchers.version import first_with, version_text

_PROGRAMS = ("mpirun", "mpiexec", "mpirun.openmpi", "orterun")
# "mpirun (Open MPI) 4.1.4"; by another name of the same program: "mpirun.openmpi (OpenRTE) 4.1.4"
_MARKS = ("Open MPI", "OpenRTE", "PRRTE")
_NAMES = re.compile(r"^(mpirun|mpiexec|orterun|prterun)(\.openmpi)?$")
_SESSIONS = "openmpi-sessions"
_HEAD = "=mpirun"  # no name of a host
_OWN_PLACE = f's|"[^"]*/{_SESSIONS}/{_HEAD}"|"${{OMPI_MCA_orte_tmpdir_base:-${{TMPDIR:-/tmp}}}}"|g'
# Set where somebody has said where sessions are, and where mpirun starts daemons on hosts of a queue's choice.
_PLACES = tuple(f"OMPI_MCA_orte_{which}tmpdir_base" for which in ("", "local_", "remote_"))
_QUEUES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE")


_YIELDS = {"OMPI_MCA_mpi_yield_when_idle": "1"}


class OpenMpi:
    """Starts ranks by mpirun, on this host or on a placement's."""

    name = "openmpi"
    mpi_family: str | None = "openmpi"
    yields_by = "mpi_yield_when_idle=1"

    def available(self) -> str | None:
        """Version of the installed mpirun, None when there is no Open MPI."""
        found = first_with(_PROGRAMS, _MARKS)
        match = re.search(r"\((?:Open MPI|OpenRTE|PRRTE)\) (\S+)", found[1]) if found else None
        return match[1] if match else None

    def command(self, job: Job, scratch: Path) -> list[str]:
        """The whole argv; the list of hosts and the remote shell are written into ``scratch``.

        Raises:
            KernelError: Open MPI is not installed.
        """
        found = first_with(_PROGRAMS, _MARKS)
        if found is None:
            raise KernelError(
                "cannot start MPI programs: Open MPI's mpirun is not installed. Install openmpi-bin, or choose "
                "another launcher"
            )
        argv = [*prefix_of(job.placement, scratch), found[0]]
        # in nodes of a user's own namespace, the user is root
        if os.geteuid() == 0 or job.placement is not None:
            argv.append("--allow-run-as-root")
        argv += ["-np", str(job.n_ranks), "--oversubscribe", "--bind-to", "none"]
        argv += _session(job.placement, scratch)
        if job.placement is not None:
            argv += _placed(job.placement, job.n_ranks, scratch)
        env = {**(_YIELDS if job.yields else {}), **job.whole_env}
        return self.with_environment([*argv, *job.argv], env)

    def recognises(self, argv: Sequence[str]) -> bool:
        """Whether argv[0] is Open MPI's mpirun, by its name and by what it says about itself."""
        if not argv or not _NAMES.match(Path(argv[0]).name):
            return False
        text = version_text(argv[0]) or ""
        return any(mark in text for mark in _MARKS)

    def with_environment(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The command line with ``-x NAME=VALUE`` for each part of it (a program after ":" is a part)."""
        options = [word for name, value in env.items() for word in ("-x", f"{name}={value}")]
        at = next(i for i, word in enumerate(argv) if _NAMES.match(Path(word).name))
        changed = [*argv[: at + 1], *options]
        for word in argv[at + 1 :]:
            changed.append(word)
            if word == ":":
                changed += options
        return changed


def _placed(placement: Placement, n_ranks: int, scratch: Path) -> list[str]:
    """Options that put rank i on the i-th host of the list, whatever the order of hosts."""
    lines = [host for host, n in placement.hosts for _ in range(n)]
    if len(lines) < n_ranks:
        raise KernelError(
            f"the placement has room for {len(lines)} ranks, the job has {n_ranks}. Give more hosts, or more ranks a host"
        )
    hosts = scratch / "openmpi-hosts"
    hosts.write_text("\n".join(lines[:n_ranks]) + "\n")
    options = ["--hostfile", str(hosts), "--mca", "rmaps", "seq"]
    if placement.remote_shell:
        shell = _remote_shell(placement.remote_shell, lines, scratch)
        options += ["--mca", "plm_rsh_agent", str(shell), "--mca", "plm_rsh_no_tree_spawn", "1"]
    if placement.network:
        options += ["--mca", "oob_tcp_if_include", placement.network]
        options += ["--mca", "btl_tcp_if_include", placement.network]
    if placement.remote_shell:
        # Hosts may be namespaces of one machine: their memory is not shared, and no fabric reaches them.
        options += ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
    return options


def _session(placement: Placement | None, scratch: Path) -> list[str]:
    """Options that give mpirun itself a place for its session directory.

    All mpirun of a user on a host share one by default. The one that ends last removes it; another one that has just found
    it there fails. Ranks keep their TMPDIR by this option. Daemons are given it too: ``_remote_shell`` puts their own
    place there, and those that a queue starts may be on hosts that have no such folder.
    """
    queued = (
        any(name in os.environ for name in _QUEUES)
        if placement is None
        else not placement.remote_shell
    )
    if queued or any(name in os.environ for name in _PLACES):
        return []
    place = scratch / _SESSIONS / _HEAD
    place.mkdir(parents=True, exist_ok=True)
    return ["--mca", "orte_tmpdir_base", str(place)]


def _remote_shell(remote_shell: Sequence[str], hosts: Sequence[str], scratch: Path) -> Path:
    """What mpirun calls in place of ssh.

    Open MPI's daemons keep their session directories by the host's name. Where several hosts are this machine, one
    daemon that ends removes what another one has just made: the other dies, and mpirun waits for it without end. So
    each host has a place of its own, where the host sees it (that of another machine may not, and needs none). It stands
    beside this program, which may have been brought to another machine.
    """
    for host in dict.fromkeys(hosts):
        (scratch / _SESSIONS / host).mkdir(parents=True, exist_ok=True)
    shell = scratch / "openmpi-remote-shell"
    write_remote_shell(
        shell,
        remote_shell,
        lines=f'place=$(dirname -- "$0")/{_SESSIONS}/$host\n',
        before="\"if [ -w '$place' ]; then export OMPI_MCA_orte_tmpdir_base='$place'; else unset OMPI_MCA_orte_tmpdir_base; fi;\"",
        # mpirun passes its own place on, between double quotes: the host's shell reads the host's there.
        command=f"\"$(printf '%s' \"$*\" | sed '{_OWN_PLACE}')\"",
    )
    return shell
