"""Makes nodes out of Linux namespaces, finds and destroys them: what providers of nodes on this machine share.

Nodes have the limits of their instance type; without root, those of the network.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wavetank import native
from wavetank.cluster import registry
from wavetank.cluster.host import ON_THIS_MACHINE_AT_ONCE, Host, on_all
from wavetank.cluster.namespaces import network, user
from wavetank.cluster.namespaces.cgroups import (
    Hierarchies,
    NodeGroup,
    hierarchies,
    kill_all,
    remove_groups,
)
from wavetank.cluster.namespaces.disks import (
    MKFS,
    attached,
    command,
    detach,
    device_number,
    end_strays,
    limit_disk,
    make_disk,
)
from wavetank.cluster.namespaces.host import NamespaceHost, end_daemons
from wavetank.cluster.namespaces.node import LaidOutNode, create_switch, write_map
from wavetank.cluster.namespaces.nodes import LocalNodes, NodeDisk, node_disks
from wavetank.cluster.providers.base import Provider
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directory_of, state_root
from wavetank.document import write_whole
from wavetank.errors import ProviderError
from wavetank.programs import find_program
from wavetank.units import format_size

log = logging.getLogger(__name__)

NODE_PROGRAM = "bin/wavetank-node"
NEEDED_PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux"}
ROOT_PROGRAMS = {"losetup": "util-linux"}
MKFS_PACKAGES = {"xfs": "xfsprogs", "ext4": "e2fsprogs"}


@dataclass(frozen=True)
class NamespaceProvider(Provider):
    """Makes nodes out of namespaces.

    Attributes:
        more_memory: bytes that a node with a guest may use beside the instance's memory.

    Nodes mount their disks, but not those of guests, which do so themselves.
    """

    name = "local"
    more_memory: int = 0

    def check(self, spec: ClusterSpec) -> list[str]:
        """What this machine lacks."""
        is_user = os.geteuid() != 0
        findings = list(_against_users(spec) if is_user else _against_chroots())
        if not native.available(NODE_PROGRAM):
            findings.append(f"{NODE_PROGRAM} is not built: run '{native.how_to_build()}'")
        disks = [spec.storage, *([spec.temporary] if spec.temporary is not None else [])]
        made = {
            MKFS[disk.local_file_system][0]: MKFS_PACKAGES[disk.local_file_system] for disk in disks
        }
        needed = {**NEEDED_PROGRAMS, **({} if is_user else {**ROOT_PROGRAMS, **made})}
        for program, package in needed.items():
            if find_program(program) is None:
                findings.append(f"{program} is not installed: apt-get install {package}")
        if not is_user and not hierarchies().roots():
            findings.append(
                "no control groups are mounted below /sys/fs/cgroup: processes could not be limited or found"
            )
        free = shutil.disk_usage(_existing(state_root())).free
        findings += [
            f"{key}.size {format_size(disk.size)} is more than the {format_size(free)} free below {state_root()}. "
            "Ask for less, or set WAVETANK_STATE_DIR to a larger disk"
            for key, disk in zip(("storage", "temporary"), disks, strict=False)
            if disk.size > free and not is_user
        ]
        return findings

    def create(self, spec: ClusterSpec, *, leave: bool = False) -> LocalNodes:
        """Make the nodes; see the protocol."""
        directory = directory_of(spec.name)
        try:
            return self._create(spec, directory)
        except BaseException:
            if not leave:
                self.destroy(spec.name)
            raise

    def _create(self, spec: ClusterSpec, directory: ClusterDirectory) -> LocalNodes:
        program = str(native.find(NODE_PROGRAM, "make nodes out of namespaces"))
        is_user = os.geteuid() != 0
        top = f"wavetank/{spec.name}-{secrets.token_hex(4)}"
        if is_user:
            log.warning("%s is not root's: %s", spec.name, user.LACKS)
        directory.note(do="user" if is_user else "cgroup", path=top)
        where = user.NO_CONTROL_GROUPS if is_user else hierarchies()
        group = NodeGroup(f"{top}/switch", where)
        group.create()
        switch = create_switch(program, directory, group, own_user=is_user)
        nodes = [
            LaidOutNode(
                name,
                network.address_of(i),
                spec.instance_of(name),
                NodeGroup(f"{top}/{name}", where),
                user_of=switch.pid if is_user else 0,
            )
            for i, name in enumerate(spec.node_names())
        ]
        mechanisms = self._make_nodes(spec, directory, nodes, program)
        write_map(directory, switch, nodes)
        self._connect(spec, directory, nodes, program, mechanisms)
        write_whole(
            directory.path / "mechanisms.txt", "".join(f"{k}={v}\n" for k, v in mechanisms.items())
        )
        return self._attach(spec, directory)

    def _make_nodes(
        self,
        spec: ClusterSpec,
        directory: ClusterDirectory,
        nodes: list[LaidOutNode],
        program: str,
    ) -> dict[str, str]:
        mechanisms: dict[str, str] = {}
        hosts_file = "127.0.0.1 localhost\n" + "".join(f"{n.address} {n.name}\n" for n in nodes)
        (directory.path / "images").mkdir()

        def make(node: LaidOutNode) -> None:
            node.group.create()
            more = self.more_memory if node.name in spec.guest_names() else 0
            for key, how in (
                (
                    "memory",
                    node.group.limit_memory(node.instance.memory + more),
                ),
                ("cpu", node.group.limit_cpus(node.instance.vcpus)),
            ):
                if how is None and not node.user_of:
                    log.warning("no %s limit on %s: no control group for it", key, node.name)
                mechanisms[key] = how or "nothing"
            options = []
            for disk_of in node_disks(spec, node.name):
                options += self._make_disk(spec, directory, node, disk_of, mechanisms)
            node.make(program, directory, hosts_file, options)

        on_all(nodes, make, ON_THIS_MACHINE_AT_ONCE)
        return mechanisms

    def _make_disk(
        self,
        spec: ClusterSpec,
        directory: ClusterDirectory,
        node: LaidOutNode,
        disk_of: NodeDisk,
        mechanisms: dict[str, str],
    ) -> list[str]:
        if node.user_of:
            mechanisms["image"] = "in memory (tmpfs)"
            return [
                "--disk",
                f"tmpfs:{disk_of.at}:tmpfs:size={disk_of.storage.mounted_bytes},mode=755",
            ]
        image = directory.path / "images" / f"{node.name}{disk_of.suffix}.img"
        directory.note(do="image", path=str(image))
        disk = make_disk(image, disk_of.storage.mounted_bytes, disk_of.storage.local_file_system)
        asked = spec.disk_rates(node.name, disk_of.storage)
        n = disk_of.storage.striped
        rates = {name: max(1, round(n * value / spec.scale)) for name, value in asked.items()}
        if rates:
            directory.note(
                do="throttle",
                image=str(image),
                number=disk.number,
                group=node.group.path,
                at=disk_of.at,
                names=",".join(rates),
            )
            where = node.group.where
            mechanisms["disk"] = limit_disk(where, node.group.path, disk.number, rates) or "nothing"
        mechanisms["image"] = (
            "loop device with direct I/O" if disk.direct else "loop device, cached twice"
        )
        if node.name in spec.guest_names():
            return []
        kind = disk_of.storage.local_file_system
        return ["--disk", f"{disk.device}:{disk_of.at}:{kind}"]

    def _connect(
        self,
        spec: ClusterSpec,
        directory: ClusterDirectory,
        nodes: list[LaidOutNode],
        program: str,
        mechanisms: dict[str, str],
    ) -> None:
        mapped = str(directory.path / "nodes.map")
        switch = NamespaceHost(
            "switch",
            network.SWITCH_ADDRESS,
            (program, "run", mapped, "switch"),
            directory.path,
            None,
        )
        switch.run(["ip", "-batch", "-"], stdin=network.switch_links([node.pid for node in nodes]))
        rates = {
            f"p{i}": max(1, round(node.instance.network / spec.scale))
            for i, node in enumerate(nodes)
            if node.instance.network is not None
        }
        if rates:
            switch.run(["tc", "-batch", "-"], stdin=network.shape(rates))
            mechanisms["network"] = "tbf both ways"

        def connect(position: int) -> None:
            node = nodes[position]
            host = node.host(program, directory)
            host.run(["ip", "-batch", "-"], stdin=network.node_links(node.address))
            if f"p{position}" in rates:
                host.run(
                    ["tc", "-batch", "-"], stdin=network.shape({"eth0": rates[f"p{position}"]})
                )

        on_all(range(len(nodes)), connect, ON_THIS_MACHINE_AT_ONCE)

    def find(self, spec: ClusterSpec) -> LocalNodes:
        """Attach to nodes that another process made; see the protocol."""
        directory = directory_of(spec.name)
        if not (directory.path / "nodes.map").exists():
            raise ProviderError(
                f"the nodes of {spec.name} are gone or were never finished: wavetank cluster down {spec.name}"
            )
        return self._attach(spec, directory)

    def _attach(self, spec: ClusterSpec, directory: ClusterDirectory) -> LocalNodes:
        program = str(native.find(NODE_PROGRAM, "run commands in nodes"))
        made = next(entry for entry in directory.journal() if entry["do"] in ("cgroup", "user"))
        top, is_user = str(made["path"]), made["do"] == "user"
        where = user.NO_CONTROL_GROUPS if is_user else hierarchies()
        hosts: dict[str, Host] = {}
        for i, name in enumerate(spec.node_names()):
            node = LaidOutNode(
                name,
                network.address_of(i),
                spec.instance_of(name),
                NodeGroup(f"{top}/{name}", where),
            )
            hosts[name] = node.host(program, directory)
        lines = (directory.path / "mechanisms.txt").read_text().splitlines()
        mechanisms = dict(line.split("=", 1) for line in lines)
        return LocalNodes(spec, directory, hosts, program, mechanisms, where, top)

    def destroy(self, name: str) -> None:
        """Remove everything that the journal names; see the protocol."""
        directory = directory_of(name)
        entries = directory.journal()
        if any(entry["do"] == "user" for entry in entries):
            user.end_marked(directory.path)
            end_daemons(directory.path)
            user.open_up(directory.path)
            return
        where = hierarchies()
        groups = [str(entry["path"]) for entry in entries if entry["do"] == "cgroup"]
        for group in groups:
            kill_all(group, where)
        end_daemons(directory.path)
        end_strays(directory.path)
        limited = [entry for entry in entries if entry["do"] == "throttle"]
        on_all(limited, lambda entry: _lift_limits(where, entry), ON_THIS_MACHINE_AT_ONCE)
        images = [Path(str(entry["path"])) for entry in entries if entry["do"] == "image"]
        on_all(images, _remove_image, ON_THIS_MACHINE_AT_ONCE)
        for group in groups:
            remove_groups(group, where)


def _remove_image(image: Path) -> None:
    detach(image)
    image.unlink(missing_ok=True)


def _lift_limits(where: Hierarchies, entry: Mapping[str, str | int]) -> None:
    """Lift the limits of a disk, while it is ours: once detached, its number may be another cluster's."""
    if not any(
        device_number(device) == entry["number"] for device in attached(Path(str(entry["image"])))
    ):
        return
    lifted = dict.fromkeys(str(entry["names"]).split(","), 0)
    try:
        limit_disk(where, str(entry["group"]), str(entry["number"]), lifted)
    except OSError as error:  # version 2: the limit went with its group
        log.info("limit of disk %s is gone already: %s", entry["number"], error)


def _against_users(spec: ClusterSpec) -> Iterator[str]:
    """What a user who is not root cannot have."""
    reason = user.reason_against()
    if reason is not None:
        yield f"provider local needs root here, as users cannot make namespaces ({reason}). Run with sudo"
    elif not spec.file_system.facts.without_root:
        have = ", ".join(registry.file_system_kinds(lambda facts: facts.without_root))
        yield f"file_system {spec.file_system.kind} needs root: without it, provider local has {have}. Run with sudo"


def _against_chroots() -> Iterator[str]:
    """Nodes are entered by their mount namespaces, and whoever enters one has its root, not that of a chroot."""
    try:
        seen = command(["nsenter", "--mount=/proc/self/ns/mnt", "--", "stat", "-c", "%d:%i", "/"])
    except ProviderError as error:
        log.info("cannot tell whether this is a chroot: %s", error)
        return
    here = Path("/").stat()
    if seen.strip() != f"{here.st_dev}:{here.st_ino}":
        yield (
            "this is a chroot: servers of nodes would run, and write, outside of it. Start a container, or enter "
            "the directory by 'unshare --mount' and pivot_root"
        )


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
