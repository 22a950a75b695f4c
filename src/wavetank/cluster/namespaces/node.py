"""Making one node: its directories, its process 1, its line in the map that wavetank-node reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.components import Instance
from wavetank.cluster.namespaces.cgroups import NodeGroup
from wavetank.cluster.namespaces.disks import command
from wavetank.cluster.namespaces.host import NamespaceHost
from wavetank.cluster.namespaces.user import MARK
from wavetank.cluster.state import ClusterDirectory, state_root
from wavetank.document import write_whole

# File systems that cannot hold the upper directory of an overlay: the node's changes are kept in memory there.
NO_UPPER = frozenset({"overlay", "nfs", "nfs4", "fuse", "9p", "virtiofs", "vfat"})


@dataclass
class LaidOutNode:
    """A node that is being made. ``pid`` and ``start`` are of its process 1, 0 before it runs."""

    name: str
    address: str
    instance: Instance
    group: NodeGroup
    pid: int = 0
    start: int = 0
    user_of: int = 0  # process whose user namespace the node is in; 0: this machine's

    def make(
        self,
        program: str,
        directory: ClusterDirectory,
        hosts_file: str,
        disk_options: Sequence[str],
    ) -> None:
        """Start the node's process 1.

        Raises:
            ProviderError: with what wavetank-node said.
        """
        base = directory.path / "nodes" / self.name
        for part in ("root", "upper/etc", "work", "log"):
            (base / part).mkdir(parents=True)
        (base / "upper").chmod(0o755)
        write_etc(base / "upper" / "etc", self.name, hosts_file)
        in_memory = ["--upper-in-memory"] if file_system_type(base) in NO_UPPER else []
        joins = ["--join-user", str(self.user_of)] if self.user_of else _joins(self.group)
        out = command([
            program, "create", "--hostname", self.name, "--root", str(base / "root"), "--upper", str(base / "upper"),
            "--work", str(base / "work"), "--hidden", str(state_root()), *in_memory, *disk_options, *joins,
        ], env={MARK: str(directory.path)})  # fmt: skip
        self.pid, self.start = (int(word) for word in out.split())

    def host(self, program: str, directory: ClusterDirectory) -> NamespaceHost:
        """The node as a host."""
        enter = (program, "run", str(directory.path / "nodes.map"), self.name)
        return NamespaceHost(self.name, self.address, enter, directory.path, self.group)

    def map_line(self) -> str:
        """The node's line in the map."""
        kind = "user-node" if self.user_of else "node"
        return f"{self.name} {self.pid} {self.start} {kind} {','.join(self.group.procs_files())}\n"


def write_etc(etc: Path, name: str, hosts_file: str, machine_etc: Path = Path("/etc")) -> None:
    """Write what a node has of its own in /etc; the rest is the machine's, which is never written to."""
    (etc / "hosts").write_text(hosts_file)
    (etc / "hostname").write_text(f"{name}\n")
    if not (machine_etc / "mtab").exists():
        # nfs-ganesha (4.3) looks its export's file system up in it, and a minimal Debian has none
        (etc / "mtab").symlink_to("/proc/self/mounts")


@dataclass(frozen=True)
class Switch:
    """The process that holds the switch's network namespace, and the user namespace of a user's cluster."""

    pid: int
    start: int
    own_user: bool
    group: NodeGroup

    def map_line(self) -> str:
        """Its line in the map."""
        kind = "user-switch" if self.own_user else "switch"
        return f"switch {self.pid} {self.start} {kind} {','.join(self.group.procs_files())}\n"


def create_switch(
    program: str, directory: ClusterDirectory, group: NodeGroup, own_user: bool
) -> Switch:
    """Start it.

    Raises:
        ProviderError: with what wavetank-node said.
    """
    how = ["--own-user"] if own_user else _joins(group)
    out = command([program, "create", *how], env={MARK: str(directory.path)})
    pid, start = (int(word) for word in out.split())
    return Switch(pid, start, own_user, group)


def write_map(directory: ClusterDirectory, switch: Switch, nodes: Sequence[LaidOutNode]) -> None:
    """Write the map that wavetank-node reads."""
    lines = [switch.map_line(), *(node.map_line() for node in nodes)]
    write_whole(directory.path / "nodes.map", "".join(lines))


def read_map(path: Path) -> dict[str, tuple[int, int]]:
    """Process 1 of each node and the switch: pid and start."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0]: (int(words[1]), int(words[2])) for words in lines}


def file_system_type(path: Path) -> str:
    """Type of the file system that holds ``path``."""
    kind = command(["stat", "-f", "-c", "%T", str(path)]).strip()
    return {"overlayfs": "overlay", "fuseblk": "fuse", "msdos": "vfat", "v9fs": "9p"}.get(
        kind, kind
    )


def _joins(group: NodeGroup) -> list[str]:
    return [word for procs in group.procs_files() for word in ("--join", procs)]
