"""What a cluster may leave on this machine: found by its name and its state directory, whatever else runs here."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from wavetank.cluster.spec import ClusterSpec


@dataclass
class Traces:
    """Everything of a cluster that was seen while it was up, and can be looked for afterwards."""

    state: Path
    name: str
    namespaces: set[str] = field(default_factory=set)

    def note_namespaces(self) -> None:
        """Remember the namespaces of every process that belongs to the cluster now."""
        for pid in self.processes():
            for kind in ("net", "mnt", "pid", "uts", "ipc"):
                try:
                    inode = os.readlink(f"/proc/{pid}/ns/{kind}")
                except OSError:
                    continue
                if inode != os.readlink(f"/proc/self/ns/{kind}"):
                    self.namespaces.add(inode)

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
        for entry in living_processes() if self.namespaces else []:
            for kind in ("net", "mnt", "pid", "uts", "ipc"):
                try:
                    if os.readlink(entry / "ns" / kind) in self.namespaces:
                        found.append(f"{kind} namespace of process {entry.name}")
                except OSError:
                    continue
        mounts = Path("/proc/self/mountinfo").read_text()
        found += [f"mount {line}" for line in mounts.splitlines() if str(self.state) in line]
        loops = subprocess.run(
            ["losetup", "--json", "--list"], capture_output=True, text=True, check=True
        )
        for loop in json.loads(loops.stdout or '{"loopdevices": []}')["loopdevices"]:
            if str(self.state) in loop["back-file"]:
                found.append(f"loop device {loop['name']}")
        for directory in Path("/sys/fs/cgroup").rglob(f"{self.name}-*"):
            found.append(f"control group {directory}")
        if (self.state / "clusters" / self.name).exists():
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


def skip_unless_possible(spec: ClusterSpec) -> None:
    """Skip with the reason where this machine cannot bring the cluster up."""
    from wavetank.cluster import deploy

    findings = deploy.check(spec)
    if findings:
        pytest.skip("; ".join(findings))
