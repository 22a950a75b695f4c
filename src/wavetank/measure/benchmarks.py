"""Performing a kernel's nearest IOR lines or fio jobs on a cluster, in place of its exact replay.

The results are a replay's: phases, ranks, times. What a benchmark cannot express is left out and said in the settings.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import TOOLS
from wavetank.errors import ClusterError, KernelError, RemoteCommandError
from wavetank.job import Placement
from wavetank.kernel.benchmarks.fio import FioJob, FioPlan, escaped, fio_plan
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.fio_run import io_of, phases_of, settings_of
from wavetank.kernel.execution.ior_program import find_ior
from wavetank.kernel.execution.ior_run import Nodes, run_ior
from wavetank.kernel.execution.scratch import scratch_folder
from wavetank.kernel.results.result import ReplayResult
from wavetank.launchers.registry import launcher
from wavetank.measure.run import Performer
from wavetank.measure.views import file_hosts
from wavetank.programs import find_program

Program = Literal["replay", "ior", "fio"]
TITLES: dict[Program, str] = {"replay": "replay", "ior": "IOR", "fio": "fio"}
FILE_TIMEOUT_S = 300.0
RUN_TIMEOUT_S = 3600.0
LIBRARIES = 'ldd "$1" || true'  # it fails for programs without any


def performer_of(
    program: Literal["ior", "fio"], cluster: DeployedCluster, *, flush: bool = True
) -> Performer:
    """What performs kernels on a cluster by a benchmark; ``flush``: have what is written on storage, within the time."""
    if program == "fio":
        return FioPerformer(cluster, flush=flush)
    return IorPerformer(cluster, flush=flush)


def why_not_with(kernel: Kernel, program: Program) -> str | None:
    """Why a program can perform no part of a kernel; None when it can."""
    if program == "ior" and not kernel.ior:
        refused = [one.reason for one in kernel.ior_refused] or ["the kernel has no IOR line"]
        return f"IOR can express no phase of {kernel.application}: {refused[0]}"
    if program == "fio":
        plan = fio_plan(kernel)
        if not plan.jobs:
            return f"fio can express no phase of {kernel.application}: {plan.refused[0].reason}"
    return None


def why_not_here(program: Program) -> str | None:
    """Why a program cannot be run by this machine, or be brought from it to nodes; None when it can."""
    if program == "ior":
        try:
            find_ior()
        except KernelError as error:
            return str(error)
    if program == "fio" and find_program("fio") is None:
        return f"fio is not installed: {TOOLS.programs['fio']}"
    return None


class IorPerformer:
    """Runs a kernel's IOR lines one after the other, tasks on the nodes of the ranks that they stand for."""

    def __init__(self, cluster: DeployedCluster, *, flush: bool = True) -> None:
        self._cluster = cluster
        self._flush = flush
        self._launcher = launcher(find_ior().family or "openmpi")
        self._version = "unknown"

    def perform(self, kernel: Kernel, root: str, placement: Placement) -> ReplayResult:
        """Run all lines below ``root``, a directory of the ranks' hosts.

        Raises:
            KernelError: IOR is not installed, or can express none of the phases.
        """
        there = program_on_nodes(find_ior().path, self._cluster.compute_hosts)
        nodes = Nodes(placement, ClusterFiles(self._cluster), there)
        with scratch_folder() as scratch:
            result = run_ior(
                kernel, Path(root), self._launcher, scratch, None, nodes, flush=self._flush
            )
        self._version = result.settings.get("ior", self._version)
        return result

    def versions(self) -> dict[str, str]:
        """Of IOR and the launcher."""
        name = self._launcher.name
        return {"ior": self._version, name: self._launcher.available() or "not found"}


def program_on_nodes(path: str, hosts: Sequence[Host]) -> str:
    """Where a program of this machine is on nodes: where it is here, or a copy where a node has none there."""

    def has(host: Host) -> bool:
        try:
            host.run(["test", "-x", path])
        except RemoteCommandError as error:
            if error.status != 1:
                raise
            return False
        return True

    if all(on_all(hosts, has)):
        return path

    def bring(host: Host) -> str:
        brought = host.bring(Path(path))
        if brought == path:
            raise ClusterError(f"there is no {path} on {host.name}, and it cannot be brought there")
        lacks = missing_libraries(host.run(["sh", "-c", LIBRARIES, "sh", brought]).stdout)
        if lacks:
            raise ClusterError(
                f"{path} was brought to {host.name}, which has no {', '.join(lacks)}: build it on a machine with the nodes' "
                "distribution and without these libraries, or install it there at the same path"
            )
        return brought

    return on_all(hosts, bring)[0]


def missing_libraries(said: str) -> list[str]:
    """Libraries that a program needs and a machine does not have, by what ldd says.

    Sample (glibc 2.36): ``libmpi.so.40 => not found``.
    """
    return [line.split()[0] for line in said.splitlines() if line.rstrip().endswith("=> not found")]


class FioPerformer:
    """Runs a kernel's fio jobs: on each node one fio with the jobs of its ranks, all nodes at once.

    Jobs that wait for all before them wait for those of every node.
    """

    def __init__(self, cluster: DeployedCluster, *, flush: bool = True) -> None:
        self._cluster = cluster
        self._flush = flush
        self._version = "unknown"

    def perform(self, kernel: Kernel, root: str, placement: Placement) -> ReplayResult:
        """Run all jobs below ``root``, a directory of the ranks' hosts.

        Raises:
            RemoteCommandError: fio is not there, or failed.
            KernelError: it can express none of the phases.
        """
        plan = fio_plan(kernel)
        if not plan.jobs:
            raise KernelError(
                f"fio can express no phase of this kernel: {plan.refused[0].reason}. Use the replay"
            )
        if self._flush:
            plan = plan.flushed()
        node_of = dict(enumerate(host for host, n in placement.hosts for _ in range(n)))
        hosts = {host.name: host for host in self._cluster.compute_hosts}
        reports: list[dict[str, Any]] = []
        began = time.monotonic()
        for jobs in _rounds(plan.jobs):
            shares = [
                _Share(hosts[name], [job for job in jobs if node_of[job.rank] == name])
                for name in dict.fromkeys(node_of[job.rank] for job in jobs)
            ]
            for version, found in on_all(shares, lambda share: share.run(root)):
                self._version = version
                reports += found
        settings = {
            **settings_of(plan),
            "fio": self._version,
            "nodes": "a fio on each node; those of a round start within the time that it takes to start them",
        }
        elapsed_s = time.monotonic() - began
        phases = phases_of(plan.jobs, reports, node_of)
        return ReplayResult(
            status="ok",
            elapsed_s=elapsed_s,
            metadata_time_s=0.0,
            io=io_of(plan.jobs, phases),
            phases=tuple(phases),
            settings=settings,
        )

    def versions(self) -> dict[str, str]:
        """Of fio."""
        return {"fio": self._version}


def _rounds(jobs: Sequence[FioJob]) -> Iterator[list[FioJob]]:
    """Jobs that run at the same time, in order."""
    together: list[FioJob] = []
    for job in jobs:
        if job.waits and together:
            yield together
            together = []
        together.append(job)
    if together:
        yield together


@dataclass(frozen=True)
class _Share:
    """What one node does of a round."""

    host: Host
    jobs: Sequence[FioJob]

    def run(self, root: str) -> tuple[str, list[dict[str, Any]]]:
        """Version of fio, and its report of each job."""
        common, *sections = FioPlan(tuple(self.jobs), {}, ()).text().split("\n\n")
        text = "\n\n".join([f"{common}\ndirectory={escaped(root)}", *sections])
        argv = ["fio", "--output-format=json", "-"]
        done = self.host.run(argv, timeout_s=RUN_TIMEOUT_S, stdin=text)
        try:
            report = json.loads(done.stdout[done.stdout.index("{") :])
            wrong = [job["jobname"] for job in report["jobs"] if job["error"]]
        except (ValueError, KeyError) as error:
            raise KernelError(f"fio on {self.host.name} printed no report: {error}") from error
        if wrong:
            raise KernelError(
                f"fio on {self.host.name} failed in {', '.join(wrong)}: {done.stderr.strip()}"
            )
        return str(report.get("fio version", "unknown")), report["jobs"]


class ClusterFiles:
    """The kernel's files on the nodes of a cluster, see kernel.benchmark_files.

    Where nodes have files of their own each does what is asked, with what it has.
    """

    def __init__(self, cluster: DeployedCluster) -> None:
        self._cluster = cluster
        self._hosts = file_hosts(cluster)

    def size(self, path: Path) -> int | None:
        """Of the first node that has the file."""
        for host in self._hosts:
            try:
                return int(host.run(["stat", "-c", "%s", "--", str(path)]).stdout)
            except RemoteCommandError:
                continue
        return None

    def fill(self, path: Path, content_id: int, size_bytes: int) -> None:
        """As the cluster places input files; the content is the cluster's own."""
        del content_id
        try:
            inside = path.relative_to(self._cluster.mount_path)
            self._cluster.place_files({str(inside): size_bytes})
        except ClusterError as error:
            raise OSError(str(error)) from error

    def link(self, path: Path, name: Path) -> None:
        """A hard link."""
        self._each('[ ! -e "$1" ] || ln -f -- "$1" "$2"', path, name)

    def remove(self, path: Path) -> None:
        """Remove a name."""
        self._each('rm -f -- "$1"', path)

    def move(self, path: Path, name: Path) -> None:
        """Rename."""
        self._each('[ ! -e "$1" ] || mv -f -- "$1" "$2"', path, name)

    def _each(self, script: str, *paths: Path) -> None:
        for host in self._hosts:
            argv = ["sh", "-c", script, "sh", *map(str, paths)]
            host.run(argv, timeout_s=FILE_TIMEOUT_S)
