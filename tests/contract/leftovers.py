"""Clusters that must leave nothing on this machine: found by name and state directory, whatever else runs here."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from machine_state import control_groups
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import start_ticks


@dataclass
class Traces:
    """What belongs to one cluster, by its name, its directory, and the processes that were seen in it."""

    state: Path
    name: str
    seen: dict[int, int] = field(default_factory=dict)

    def note_processes(self) -> None:
        """Remember the cluster's processes: no namespace outlives the last of them."""
        for pid in self.processes():
            self.seen[pid] = start_ticks(pid) or 0

    def processes(self) -> list[int]:
        """Processes in the cluster's control groups."""
        found = []
        for entry in living_processes():
            try:
                groups = (entry / "cgroup").read_text()
            except OSError:
                continue
            if f"/wavetank/{self.name}-" in groups:
                found.append(int(entry.name))
        return found

    def left(self) -> list[str]:
        """What is still there."""
        found = [f"process {pid}" for pid in self.processes()]
        found += [
            f"process {pid}, outside of its group"
            for pid, start in self.seen.items()
            if start_ticks(pid) == start
        ]
        directory = self.state / "clusters" / self.name
        mounts = Path("/proc/self/mountinfo").read_text()
        found += [f"mount {line}" for line in mounts.splitlines() if f"{directory}/" in line]
        loops = subprocess.run(
            ["losetup", "--json", "--list"], capture_output=True, text=True, check=True
        )
        for loop in json.loads(loops.stdout or '{"loopdevices": []}')["loopdevices"]:
            if (loop["back-file"] or "").startswith(f"{directory}/"):  # none: it goes just now
                found.append(f"loop device {loop['name']}")
        found += [f"control group {group}" for group in control_groups(f"{self.name}-")]
        if directory.exists():
            found.append("its directory")
        return found


def living_processes() -> list[Path]:
    """Folders in /proc; without the dead that this machine's process 1 has not reaped yet."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state not in ("Z", "X"):
                found.append(entry)
    return found


def sleepers(seconds: str, cluster: deploy.DeployedCluster | None = None) -> int:
    """Processes ``sleep SECONDS`` on this machine and all nodes made of it, and in a cluster's guests."""
    found = 0
    if cluster is not None and cluster.spec.provider == "vm":
        counts = ["sh", "-c", f"ps -eo args= | grep -cx 'sleep {seconds}' || true"]
        found += sum(int(host.run(counts).stdout) for host in cluster.compute_hosts)
    for entry in living_processes():
        try:
            found += (entry / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode()
        except OSError:
            continue
    return found


def marked(kinds: Iterable[str]) -> list[Any]:
    """Kinds of clusters as parameters of a test; optional where no Debian package brings the file system."""
    return [
        pytest.param(kind, marks=[pytest.mark.optional] if "orangefs" in kind else [])
        for kind in kinds
    ]


def skip_unless_possible(spec: ClusterSpec) -> None:
    """Skip with the reason where this machine cannot bring the cluster up."""
    findings = deploy.check(spec)
    if findings:
        pytest.skip("; ".join(findings))


@contextlib.contextmanager
def up(state: Path, spec: ClusterSpec) -> Iterator[deploy.DeployedCluster]:
    """A cluster with a state directory of its own, and nothing left of it afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVETANK_STATE_DIR", str(state))
        skip_unless_possible(spec)
        traces = Traces(state, spec.name)
        cluster = deploy.bring_up(spec)
        try:
            traces.note_processes()
            yield cluster
        finally:
            deploy.take_down(spec.name)
            assert traces.left() == []
