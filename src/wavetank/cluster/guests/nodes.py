"""Guests that are up: their hosts, limits, caches and health; what is around them is asked of their nodes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.capacity import volume_bytes
from wavetank.cluster.components import Hypervisor
from wavetank.cluster.counters import Counters
from wavetank.cluster.filesystems.base import ANSWER_TIMEOUT_S
from wavetank.cluster.guests import uml
from wavetank.cluster.guests.guest import AGENT, OPTIONS_9P, PASSED_TAG, VOLUME_DEVICE, VOLUME_FILE
from wavetank.cluster.guests.hypervisors import NAMES, RATES, RATES_KEY, Choice
from wavetank.cluster.host import ON_THIS_MACHINE_AT_ONCE, Host, on_all
from wavetank.cluster.namespaces import network
from wavetank.cluster.namespaces.disks import MKFS
from wavetank.cluster.namespaces.host import NamespaceHost
from wavetank.cluster.namespaces.nodes import LocalNodes
from wavetank.cluster.processes import END, PATIENT_TRIES
from wavetank.cluster.providers.base import PlainNodes
from wavetank.units import format_size

WRITE_BACK_TIMEOUT_S = 600.0  # the guest's memory, by the slowest disk

# $1: where it is mounted, in the guest and around it.
SHOW_HOSTFS = 'mkdir -p -- "$1" && mount -t hostfs -o "$1" passed-through "$1"'
PASSED = "/run/wavetank-passed"
# Mounted anew each time: what the guest keeps of files in memory ends with it. It stays busy below the binding, so the mount is detached.
SHOW_9P = f"""mkdir -p -- "$1" {PASSED} && mount -t 9p -o {OPTIONS_9P} {PASSED_TAG} {PASSED} &&
mount --bind -- {PASSED}"$1" "$1" && umount -l {PASSED}"""
HIDE = 'if mountpoint -q -- "$1"; then umount -- "$1"; fi'
IS_SHOWN = 'mountpoint -q -- "$1" && stat -f -- "$1" >/dev/null'

# In the node. The guest's kernel opens VOLUME_FILE whenever its device is mounted, and so follows the link.
# $1: the file, $2: its bytes.
LINK = f"""ln -sfn -- "$1" {VOLUME_FILE} || exit
[ -e "$1" ] || {{ truncate -s "$2" -- "$1" && echo new; }}"""
# In the guest. $1: where it is mounted, $2: its local file system.
MOUNT = f'mkdir -p -- "$1" && mount -t "$2" -o noatime {VOLUME_DEVICE} "$1"'


def show_view(guests: Sequence[Host], path: str, hypervisor: Hypervisor) -> None:
    """Have guests see what is mounted around them: by a hostfs, or by QEMU's 9p.

    Raises:
        RemoteCommandError: one does not.
    """
    script = SHOW_HOSTFS if hypervisor == "uml" else SHOW_9P
    on_all(guests, lambda guest: _run(guest, script, path))


def mount_volumes(
    guests: Sequence[Host], around: Mapping[str, Host], path: str, size_bytes: int, local: str
) -> None:
    """Mount each guest's volume, a file of what is mounted around it; made when there is none yet.

    Args:
        guests: the guests.
        around: by name of a guest: the node around it.
        path: where the nodes mount the file system, and guests their volumes.
        size_bytes: of a volume.
        local: the file system on it.

    Raises:
        RemoteCommandError: one cannot be made or mounted.
    """

    def mount(guest: Host) -> None:
        file = f"{path}/.wavetank-volume-{guest.name}"
        if _run(around[guest.name], LINK, file, str(size_bytes)):
            guest.run([*MKFS[local], VOLUME_DEVICE], timeout_s=WRITE_BACK_TIMEOUT_S)
        _run(guest, MOUNT, path, local)

    on_all(guests, mount)


def hide_view(guests: Sequence[Host], path: str) -> None:
    """Have them see it no more: what they kept of it in memory is written, and gone.

    Raises:
        RemoteCommandError: one still does.
    """
    on_all(guests, lambda guest: _run(guest, HIDE, path, timeout_s=WRITE_BACK_TIMEOUT_S))


def check_view(guests: Sequence[Host], path: str) -> None:
    """See that they see it.

    Raises:
        RemoteCommandError: one does not.
    """
    on_all(guests, lambda guest: _run(guest, IS_SHOWN, path))


def _run(host: Host, script: str, *arguments: str, timeout_s: float = ANSWER_TIMEOUT_S) -> str:
    return host.run(["sh", "-c", script, "sh", *arguments], timeout_s=timeout_s).stdout


MAP = "guests.map"
DROP = "sync && echo 3 >/proc/sys/vm/drop_caches && grep '^Cached:' /proc/meminfo"


class GuestHost(NamespaceHost):
    """A guest. ``enter`` is the argv prefix that has its agent run a command; daemons end with that."""

    def end_marked(self, name: str, value: str) -> None:
        """End what has a mark in its environment, which this machine does not see; see host.EndsMarked."""
        self.run(["sh", "-c", END, "sh", name, value, PATIENT_TRIES])

    def drop_caches(self) -> str:
        """Empty the guest's page cache. Sample of /proc/meminfo (Linux 6.1): ``Cached:            18340 kB``."""
        left = self.run(["sh", "-c", DROP], timeout_s=600).stdout.split()[1]
        return f"drop_caches of the guest, {left} KiB of page cache left"


@dataclass(frozen=True)
class GuestNodes(PlainNodes):
    """Guests that are up.

    Attributes:
        around: the nodes that they run in, and others.
        hosts: the guests, and nodes without one.
        choice: their hypervisor.
        more_memory: bytes that each node has for the hypervisor itself.
    """

    around: LocalNodes
    hosts: Mapping[str, Host]
    choice: Choice
    more_memory: int

    @property
    def storage_path(self) -> str:
        """As in nodes out of namespaces."""
        return self.around.storage_path

    @property
    def network(self) -> str | None:
        """As of nodes out of namespaces."""
        return self.around.network

    @property
    def launcher_address(self) -> str | None:
        """The launcher runs in the switch."""
        return self.around.launcher_address

    @property
    def launcher_prefix(self) -> tuple[str, ...]:
        """Runs a launcher in the switch, on this machine."""
        return self.around.launcher_prefix

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """Stands in for ssh."""
        return (self.around.program, "shell", str(self.around.directory.path / MAP))

    def limits(self) -> dict[str, str]:
        """Limits of each kind of node, what enforces them, and what rates of these guests are worth."""
        found = {key: self._of_guest(key, text) for key, text in self.around.limits().items()}
        name = self.choice.hypervisor
        found["hypervisor"] = f"{NAMES[name]} ({self.choice.why})"
        found[RATES_KEY] = RATES[name]
        return found

    def _of_guest(self, key: str, text: str) -> str:
        """A limit of a node, said of the guest in it."""
        label, _, what = key.rpartition(" ")
        if what not in ("vcpus", "memory"):
            return text
        spec = self.around.spec
        prefix = {"compute": "c1", "io": "io1", "head": "h1"}
        node = prefix.get(label, label)
        if node not in spec.guest_names():
            return text
        instance = spec.instance_of(node)
        if what == "memory":
            own = f"{format_size(instance.memory)} by the guest's kernel"
            return f"{own}; with {format_size(self.more_memory)} for the hypervisor: {text}"
        if self.choice.hypervisor == "uml" and instance.vcpus > uml.VCPUS:
            return f"{uml.VCPUS} by User-mode Linux, which has one processor; {text}"
        return text

    def drop_caches(self) -> str:
        """Empty the guests' page caches, then what this machine keeps of their disks."""
        guests = [host for host in self.hosts.values() if isinstance(host, GuestHost)]
        said = on_all(
            guests, lambda guest: f"{guest.name}: {guest.drop_caches()}", ON_THIS_MACHINE_AT_ONCE
        )
        return "; ".join(said) + f"; around the guests: {self.around.drop_caches()}"

    def look_again(self) -> None:
        """Have guests see this machine's files as they are now: their roots are those of the nodes."""
        self.around.look_again()

    @property
    def outside(self) -> Mapping[str, Host]:
        """See the protocol."""
        spec = self.around.spec
        if spec.clients_in_guests:
            return {}
        found: dict[str, Host] = {}
        for position, name in enumerate(spec.node_names()):
            if name in spec.guest_names():
                node = copy.copy(self.around.hosts[name])
                node.address = network.address_around(position)
                found[name] = node
        return found

    def show(self, path: str) -> None:
        """See the protocol."""
        spec = self.around.spec
        if spec.has_volumes:
            local = spec.storage.local_file_system
            mount_volumes(self._shown, self.outside, path, volume_bytes(spec), local)
        else:
            show_view(self._shown, path, self.choice.hypervisor)

    def hide(self, path: str) -> None:
        """See the protocol."""
        hide_view(self._shown, path)

    def see(self, path: str) -> None:
        """See the protocol."""
        check_view(self._shown, path)

    @property
    def _shown(self) -> list[Host]:
        """The guests that see what is mounted around them."""
        return [self.hosts[name] for name in self.outside]

    @property
    def on_this_machine(self) -> bool:
        """Yes."""
        return True

    def nodes_cpu_s(self) -> float | None:
        """Of guests and hypervisors together."""
        return self.around.nodes_cpu_s()

    def record_counters(self, every_s: float) -> AbstractContextManager[Counters]:
        """Record what each node uses, guest and hypervisor together."""
        return self.around.record_counters(every_s)

    def health(self) -> list[str]:
        """Guests, nodes and daemons that died."""
        return self.around.health()


def write_map(around: LocalNodes, names: Sequence[str]) -> Path:
    """Write the map of guests that wavetank-node reads: lines of the nodes' own map, with the guest's agent."""
    lines = []
    for line in Path(around.map_file).read_text().splitlines():
        name, pid, start, _, *procs = line.split(" ")
        if name in names:
            lines.append(" ".join([name, pid, start, f"guest:{AGENT}", *procs]) + "\n")
    path = around.directory.path / MAP
    path.write_text("".join(lines))
    return path
