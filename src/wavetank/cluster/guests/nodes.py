"""Guests that are up: their hosts, limits, caches and health; what is around them is asked of their nodes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.capacity import volume_bytes
from wavetank.cluster.counters import Counters
from wavetank.cluster.guests import uml, views
from wavetank.cluster.guests.guest import AGENT
from wavetank.cluster.guests.hypervisors import NAMES, RATES, RATES_KEY, Choice
from wavetank.cluster.host import ON_THIS_MACHINE_AT_ONCE, Host, on_all
from wavetank.cluster.namespaces import network
from wavetank.cluster.namespaces.host import NamespaceHost
from wavetank.cluster.namespaces.nodes import LocalNodes
from wavetank.cluster.processes import END, PATIENT_TRIES
from wavetank.cluster.providers.base import PlainNodes
from wavetank.units import format_size

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
            views.mount_volumes(self._shown, self.outside, path, volume_bytes(spec), local)
        else:
            views.show(self._shown, path, self.choice.hypervisor)

    def hide(self, path: str) -> None:
        """See the protocol."""
        views.hide(self._shown, path)

    def see(self, path: str) -> None:
        """See the protocol."""
        views.check(self._shown, path)

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
