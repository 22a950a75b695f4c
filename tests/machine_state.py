"""What a cluster could leave on a machine, seen from outside: for "nothing is left behind" tests.

Other programs and other tests may run on the machine, so only what can be told to be a cluster's own is looked
at: by the state directory that the test gave, or by the cluster's name.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MachineState:
    """Everything that must be the same before and after."""

    mounts: tuple[str, ...]  # of this mount namespace, on points below the state directory
    links: tuple[str, ...]  # network devices of this network namespace
    named_namespaces: tuple[str, ...]  # with the cluster's name
    loop_devices: tuple[str, ...]  # on files below the state directory
    control_groups: tuple[str, ...]  # whose name begins with the cluster's
    processes: tuple[
        str, ...
    ]  # in those groups, or with the state directory in command or environment
    files: tuple[str, ...]  # below the state directory


def machine_state(state_directory: Path, cluster_name: str) -> MachineState:
    """Look at the machine now."""
    return MachineState(
        mounts=tuple(
            sorted(
                line.split()[4]
                for line in _lines("/proc/self/mountinfo")
                if f"{state_directory}/" in line
            )
        ),
        links=tuple(sorted(line.split(":")[0].strip() for line in _lines("/proc/net/dev")[2:])),
        named_namespaces=tuple(
            sorted(path.name for path in _children("/run/netns") if cluster_name in path.name)
        ),
        loop_devices=tuple(sorted(_loop_devices(state_directory))),
        control_groups=tuple(sorted(control_groups(cluster_name))),
        processes=tuple(sorted(_processes(state_directory, cluster_name))),
        files=tuple(sorted(str(path) for path in (state_directory / "clusters").rglob("*"))),
    )


def control_groups(cluster_name: str) -> Iterator[str]:
    """Those whose name begins with the cluster's; groups of other clusters may go while this looks."""
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        yield from (f"{folder}/{name}" for name in names if name.startswith(cluster_name))


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _children(path: str) -> list[Path]:
    return list(Path(path).iterdir()) if Path(path).is_dir() else []


def _loop_devices(state_directory: Path) -> Iterator[str]:
    listed = subprocess.run(
        ["losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE"],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in listed.stdout.splitlines():
        if str(state_directory) in line:  # also one whose file is deleted
            yield line


def _processes(state_directory: Path, cluster_name: str) -> Iterator[str]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
            environment = (folder / "environ").read_bytes().decode(errors="replace")
            groups = (folder / "cgroup").read_text()
        except OSError:
            continue  # it ended meanwhile
        named = f"/{cluster_name}" in groups
        if "pytest" in command:
            continue  # the test itself carries the directory in its environment
        if named or str(state_directory) in command or str(state_directory) in environment:
            yield f"{folder.name} {command}"
