"""Nodes out of namespaces that are up: their limits, caches and health."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.components import SCRATCH_PATH, Storage
from wavetank.cluster.counters import Capacity, Counters
from wavetank.cluster.devices import device_paths, emulated_words
from wavetank.cluster.host import ON_THIS_MACHINE_AT_ONCE, Host, on_all
from wavetank.cluster.namespaces import cgroups, network
from wavetank.cluster.namespaces.cgroups import Hierarchies, NodeGroup
from wavetank.cluster.namespaces.counters import Watched, recording, sources_of, used_cpu_s
from wavetank.cluster.namespaces.disks import attached
from wavetank.cluster.namespaces.host import NamespaceHost, dead_daemons
from wavetank.cluster.namespaces.node import read_map
from wavetank.cluster.providers.base import PlainNodes
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, start_ticks
from wavetank.document import host_facts
from wavetank.errors import RemoteCommandError
from wavetank.units import format_rate, format_size

log = logging.getLogger(__name__)

STORAGE_PATH = "/storage"


@dataclass(frozen=True)
class NodeDisk:
    """A disk of a node: what was asked for, and where it is mounted."""

    storage: Storage
    at: str
    suffix: str  # of its image's name


def node_disks(spec: ClusterSpec, node: str) -> list[NodeDisk]:
    """The disks of a node: persistent storage where data is held, temporary storage on compute nodes."""
    disks = []
    if node in spec.storage_names():
        paths = device_paths(spec.storage, STORAGE_PATH)
        disks += [
            NodeDisk(spec.storage, at, f"-{number}" if number > 1 else "")
            for number, at in enumerate(paths, 1)
        ]
    if spec.temporary is not None and node in spec.compute_names():
        disks.append(NodeDisk(spec.temporary, SCRATCH_PATH, "-scratch"))
    return disks


@dataclass(frozen=True)
class LocalNodes(PlainNodes):
    """Nodes that are up."""

    spec: ClusterSpec
    directory: ClusterDirectory
    hosts: Mapping[str, Host]
    program: str
    mechanisms: Mapping[str, str]
    where: Hierarchies
    top: str  # control group of the cluster
    storage_path: str = STORAGE_PATH
    network: str | None = network.NETWORK

    @property
    def launcher_address(self) -> str | None:
        """The launcher runs in the switch."""
        return network.SWITCH_ADDRESS

    @property
    def map_file(self) -> str:
        """The nodes' processes, for wavetank-node."""
        return str(self.directory.path / "nodes.map")

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """Stands in for ssh."""
        return (self.program, "shell", self.map_file)

    @property
    def launcher_prefix(self) -> tuple[str, ...]:
        """Runs a launcher in the switch, from where it reaches all nodes."""
        return (self.program, "run", self.map_file, "switch")

    def limits(self) -> dict[str, str]:
        """Limits of each kind of node as read back from the system, what enforces them, and the scale."""
        found: dict[str, str] = {}
        names = self.spec.node_names()
        for kind, prefix in (("compute", "c"), ("io", "io"), ("head", "h")):
            shown: dict[tuple[str, ...], str] = {}
            for name in names:
                disks = tuple(disk.at for disk in node_disks(self.spec, name))
                if name.rstrip("0123456789") == prefix and disks not in shown:
                    shown[disks] = name
            # those of a kind differ in their disks only; the first stands for its kind
            for number, name in enumerate(shown.values()):
                label = name if number else kind
                found |= {f"{label} {key}": text for key, text in self._limits_of(name).items()}
        found["scale"] = f"1/{self.spec.scale:g}" if self.spec.scale != 1 else "1"
        found["disk image"] = self.mechanisms.get("image", "none")
        return found

    def _limits_of(self, node: str) -> dict[str, str]:
        """Of one node; asked limits that nothing enforces are said to be so."""
        instance = self.spec.instance_of(node)
        group = NodeGroup(f"{self.top}/{node}", self.where)
        cpus, memory = cgroups.cpus(group), cgroups.memory_bytes(group)
        found = {
            "vcpus": self._by("cpu", f"{instance.vcpus:g}", None if cpus is None else f"{cpus:g}"),
            "memory": self._by(
                "memory",
                format_size(instance.memory),
                None if memory is None else format_size(memory),
            ),
        }
        here = host_facts().memory_bytes
        if instance.memory > here:
            found["memory"] += f", more than the {format_size(here)} of this machine"
        if instance.network is None:
            found["network"] = "no limit"
        else:
            rate = cgroups.network_bytes_per_s(self.hosts[node], "eth0")
            asked = format_rate(instance.network / self.spec.scale)
            found["network"] = self._by(
                "network", asked, None if rate is None else format_rate(rate)
            )
        scratch = [disk for disk in node_disks(self.spec, node) if disk.at == SCRATCH_PATH]
        for disks in (self._data_disks(node), scratch):
            if disks:
                found |= self._disk_limits(node, disks, group)
        return found

    def _disk_limits(
        self, node: str, disks: Sequence[NodeDisk], group: NodeGroup
    ) -> dict[str, str]:
        """Of disks that are alike: of all of them together."""
        disk, n = disks[0], len(disks)
        striped = emulated_words(disk.storage)
        real = self._in_force(disks, group)
        of_one = self.spec.disk_rates(node, disk.storage)
        asked = {name: n * disk.storage.striped * value for name, value in of_one.items()}
        in_memory = self.mechanisms.get("image", "").startswith("in memory")
        kind = "tmpfs" if in_memory else disk.storage.local_file_system
        what = "disk" if disk.at == STORAGE_PATH else "scratch"
        size = format_size(disk.storage.mounted_bytes)
        where = ", ".join(each.at for each in disks)
        found = {
            what: f"{f'{n} x ' if n > 1 else ''}{size} of {kind} at {where}, named {self.spec.device_of(node, disk.storage)}"
            + (f", {striped}" if striped else "")
        }
        for key, name, show in (
            ("read", "read", format_rate),
            ("write", "write", format_rate),
            ("read_iops", "read IOPS", _format_iops),
            ("write_iops", "write IOPS", _format_iops),
        ):
            if key in asked:
                in_force = None if key not in real else show(real[key])
                found[f"{what} {name}"] = self._by(
                    "disk", show(asked[key] / self.spec.scale), in_force
                )
            else:
                found[f"{what} {name}"] = "no limit"
        return found

    def _in_force(self, disks: Sequence[NodeDisk], group: NodeGroup) -> dict[str, float]:
        journal = self.directory.journal()
        numbers = [cgroups.disk_number(journal, group.path, disk.at) for disk in disks]
        return _together([cgroups.disk(group, number) for number in numbers if number is not None])

    def _by(self, mechanism: str, asked: str, in_force: str | None) -> str:
        if in_force is None:
            return f"{asked} asked for, limited by nothing"
        return f"{in_force} by {self.mechanisms.get(mechanism, 'nothing')}"

    def drop_caches(self) -> str:
        """Write back what is dirty, then empty every node's cache."""
        hosts = [host for host in self.hosts.values() if isinstance(host, NamespaceHost)]
        for host in hosts[:1]:
            host.run(["sync"], timeout_s=600)  # of the whole machine
        said = on_all(hosts, lambda host: host.drop_caches(), ON_THIS_MACHINE_AT_ONCE)
        return "; ".join(f"{host.name}: {how}" for host, how in zip(hosts, said, strict=True))

    def look_again(self) -> None:
        """Have nodes see this machine's files as they are now.

        An overlay remembers names and contents that it was asked for, and those that it did not find; a remount forgets
        them. Without root that may be refused: then what was replaced is seen as it was.
        """

        def remount(host: Host) -> None:
            try:
                host.run(["mount", "-o", "remount", "/"])
            except RemoteCommandError as error:
                log.info("%s goes on seeing files as they were: %s", host.name, error.stderr_tail)

        on_all(self.hosts.values(), remount, ON_THIS_MACHINE_AT_ONCE)

    @property
    def on_this_machine(self) -> bool:
        """Yes."""
        return True

    def nodes_cpu_s(self) -> float | None:
        """By the control group of all nodes."""
        return used_cpu_s(NodeGroup(self.top, self.where))

    def record_counters(self, every_s: float) -> AbstractContextManager[Counters]:
        """Record what each node, and this machine, use."""
        return recording(list(self._watched()), every_s)

    def _watched(self) -> Iterator[Watched]:
        processes = read_map(Path(self.map_file))
        for name in self.spec.node_names():
            group = NodeGroup(f"{self.top}/{name}", self.where)
            images = [self._image(name, disk) for disk in self._data_disks(name)]
            found = [next(iter(attached(image)), None) for image in images if image.exists()]
            disks = [Path(device).name for device in found if device is not None]
            sources = sources_of(group, processes[name][0], disks)
            yield Watched(name, sources, self._capacity(name, group))

    def _data_disks(self, node: str) -> list[NodeDisk]:
        """Those of a node that hold data, without its scratch."""
        return [disk for disk in node_disks(self.spec, node) if disk.at != SCRATCH_PATH]

    def _image(self, node: str, disk: NodeDisk) -> Path:
        return self.directory.path / "images" / f"{node}{disk.suffix}.img"

    def _capacity(self, node: str, group: NodeGroup) -> Capacity:
        """Limits of a node as they are in force: of all its disks for data together, not of its scratch."""
        cpus = cgroups.cpus(group)
        disk = self._in_force(self._data_disks(node), group)
        network_rate = self.spec.instance_of(node).network
        is_shaped = network_rate is not None and "network" in self.mechanisms
        return Capacity(
            cpus=float(os.cpu_count() or 1) if cpus is None else cpus,
            own_cpus=cpus is not None,
            network_bytes_per_s=network_rate / self.spec.scale
            if network_rate is not None and is_shaped
            else None,
            read_bytes_per_s=disk.get("read"),
            write_bytes_per_s=disk.get("write"),
            reads_per_s=disk.get("read_iops"),
            writes_per_s=disk.get("write_iops"),
        )

    def health(self) -> list[str]:
        """Nodes and daemons that died."""
        alive = read_map(Path(self.map_file))
        dead = [
            f"node {name} is gone"
            for name, (pid, start) in alive.items()
            if start_ticks(pid) != start
        ]
        return dead + dead_daemons(self.directory.path)


def _together(disks: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Limits of several disks that are used alike: the sum of those that each has."""
    keys = set.intersection(*(set(disk) for disk in disks)) if disks else set()
    return {key: sum(disk[key] for disk in disks) for key in keys}


def _format_iops(value: float) -> str:
    return f"{value:g}"
