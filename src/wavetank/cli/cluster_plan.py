"""Tables of ``wavetank cluster plan``: nodes, limits, settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wavetank.tables.table import Cell, Column, Definition, Table, facts, sentences
from wavetank.tables.words import DASH, count
from wavetank.units import format_rate, format_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from wavetank.cluster.access import Processes
    from wavetank.cluster.components import Instance
    from wavetank.cluster.spec import ClusterSpec


@dataclass(frozen=True)
class _Node:
    """A node as it will be, with rates divided by the specification's scale."""

    spec: ClusterSpec
    name: str

    @property
    def instance(self) -> Instance:
        """What it is an instance of."""
        return self.spec.instance_of(self.name)

    @property
    def has_disk(self) -> bool:
        """Whether it holds the file system's data."""
        return self.name in self.spec.storage_names()

    @property
    def scratch_bytes(self) -> int | None:
        """Size of its temporary storage; None without."""
        temporary = self.spec.temporary
        held = temporary is not None and self.name in self.spec.compute_names()
        return temporary.size if temporary is not None and held else None

    def network(self) -> Cell:
        """Its network's rate, bytes per second."""
        return self._limit(self.instance.network, format_rate)

    def disk(self, key: str, show: Callable[[float], str]) -> Cell:
        """A rate of all its devices together."""
        if not self.has_disk:
            return Cell(DASH, None)
        storage = self.spec.storage
        rates = self.spec.disk_rates(self.name, storage)
        return self._limit(rates[key] * storage.devices if key in rates else None, show)

    def _limit(self, rate: float | None, show: Callable[[float], str]) -> Cell:
        if rate is None:
            return Cell("no limit", None)
        scaled = round(rate / self.spec.scale)
        return Cell(show(scaled), scaled)


NODES: Definition[_Node] = Definition(
    "nodes",
    "Nodes",
    (
        Column("node", "Node", lambda i: i.name),
        Column("role", "Role", lambda i: role_of(i.spec, i.name)),
        Column("instance", "Instance", lambda i: i.instance.name),
        Column("vcpus", "vCPUs", lambda i: i.instance.vcpus, kind="number", show=lambda value: f"{value:g}"),
        Column("memory_bytes", "Memory", lambda i: i.instance.memory, unit="B"),
        Column("network_bytes_per_s", "Network", lambda i: i.network(), unit="B/s", help="null: no limit"),
        Column("device", "Device", lambda i: i.spec.device_of(i.name, i.spec.storage) if i.has_disk else None),
        Column("disk_read_bytes_per_s", "Disk read", lambda i: i.disk("read", format_rate), unit="B/s"),
        Column("disk_write_bytes_per_s", "Disk write", lambda i: i.disk("write", format_rate), unit="B/s"),
        Column("disk_read_iops", "Disk read IOPS", lambda i: i.disk("read_iops", count), unit="1/s"),
        Column("disk_write_iops", "Disk write IOPS", lambda i: i.disk("write_iops", count), unit="1/s"),
        Column("storage_bytes", "Storage", lambda i: i.spec.storage.node_bytes if i.has_disk else None, unit="B"),
        Column("scratch_bytes", "Scratch", lambda i: i.scratch_bytes, unit="B"),
    ),
    command="cluster plan",
)  # fmt: skip

PROCESSES: Definition[Processes] = Definition(
    "processes",
    "Processes",
    (
        Column("node", "Node", lambda i: i.node),
        Column("where", "Where", lambda i: i.place),
        Column("processes", "Processes", lambda i: ", ".join(i.processes) or "nothing", wide=True),
    ),
    command="cluster plan",
)
NOTES = sentences("plan-limits", "Limits", "note", key="limits", command="cluster plan")
SETTINGS = facts("plan-settings", "Settings", "setting", key="settings", command="cluster plan")
DEFINITIONS = (NODES, PROCESSES, NOTES, SETTINGS)


def nodes_table(spec: ClusterSpec) -> Table:
    """What every node is and has, with rates as they will be, scaled."""
    note = None if spec.scale == 1 else f"Rates are the instance's divided by scale {spec.scale:g}."
    return NODES.table((_Node(spec, name) for name in spec.node_names()), caption=note)


def notes_table(spec: ClusterSpec) -> Table:
    """Where limits come from, and which of them this machine cannot hold."""
    from wavetank.cluster.notes import notes

    said = list(notes(spec))
    return NOTES.table(said, caption=None if said else "All limits are as written.")


def role_of(spec: ClusterSpec, node: str) -> str:
    """What runs on a node."""
    roles = {
        "compute": spec.compute_names(),
        "data server": spec.server_names(),
        "metadata server": spec.metadata_names(),
        "gateway": spec.gateway_names(),
    }
    return ", ".join(role for role, names in roles.items() if node in names) or "idle"


def settings_table(spec: ClusterSpec) -> Table:
    """Every setting, defaults too."""
    fs = spec.file_system
    stripe: str = fs.stripe.kind
    stripe += f", blocks of {format_size(fs.stripe.size)}" if fs.stripe.size else ""
    stripe += f", over {fs.stripe.count} servers" if fs.stripe.count else ""
    stripe += f", {fs.stripe.redundancy} of redundancy" if fs.stripe.redundancy else ""
    temporary = spec.temporary
    settings = {
        "provider": spec.provider,
        "file system": fs.kind,
        "data servers": ", ".join(spec.server_names()) or "none",
        **({"metadata servers": ", ".join(spec.metadata_names())} if spec.metadata_names() else {}),
        **({"gateways": f"{', '.join(spec.gateway_names())}, in front of {fs.behind}"} if fs.behind else {}),
        "access method": access_method(spec),
        "mount": fs.path or (fs.mount if fs.facts.is_global else "/storage"),
        **({"prefix": fs.prefix} if fs.prefix else {}),
        **({"package": fs.package} if fs.package else {}),
        "stripe": stripe,
        "layout of input files": spec.layout,
        "local file system": spec.storage.local_file_system,
        "temporary storage": "none" if temporary is None
        else f"{format_size(temporary.size)} of {temporary.local_file_system} at /scratch of compute nodes",
        **({"devices of a node": f"{spec.storage.devices}, as {spec.storage.devices_as}"} if spec.storage.devices > 1 else {}),
        "scale": f"{spec.scale:g}",
        "process mapping": spec.mapping,
        "MPI-IO library": spec.mpi.io_library or ("romio, for its hints" if spec.mpi.hints else "the MPI's own"),
        **{f"MPI-IO hint {name}": str(value) for name, value in spec.mpi.hints.items()},
        **{f"option {name}": str(value) for name, value in fs.options.items()},
        **{f"mount option {name}": str(value) for name, value in fs.mount_options.items()},
        **(_ssh_settings(spec)),
        **(_cloud_settings(spec)),
    }  # fmt: skip
    return SETTINGS.table(settings.items())


def access_method(spec: ClusterSpec) -> str:
    """How ranks reach the file system, in the words of the method, section 8."""
    from wavetank.cluster.access import WORDS, method_of
    from wavetank.cluster.components import MAKES_NODES

    if not spec.file_system.facts.is_global:
        return "local disks"
    if spec.provider not in MAKES_NODES:
        return "native: instances as they are" if spec.cloud else "native: hosts as they are"
    method = method_of(spec.access, spec.provider)
    if spec.provider == "local":
        return f"{method}: clients and servers on nodes with limits"
    return WORDS[method]


def processes_table(spec: ClusterSpec) -> Table:
    """Which processes run where: a row for each kernel of a node."""
    from wavetank.cluster.access import processes

    return PROCESSES.table(processes(spec))


def _ssh_settings(spec: ClusterSpec) -> dict[str, str]:
    ssh = spec.ssh
    if ssh is None:
        return {}
    return {
        **{f"host {name}": address for name, address in ssh.hosts.items()},
        "ssh user": f"{ssh.user}{' with sudo' if ssh.sudo else ''}, port {ssh.port}",
        "ssh directory": ssh.directory,
        "ssh network": ssh.network or "as the addresses say",
    }


def _cloud_settings(spec: ClusterSpec) -> dict[str, str]:
    if spec.cloud is None:
        return {}
    said = spec.cloud.model_dump(mode="json") | {"ttl": f"{spec.cloud.ttl / 3600:g} h"}
    there = said.pop("openstack") or {}
    said |= {f"openstack {key}": value for key, value in there.items()}
    return {f"cloud {key}": str(value) for key, value in said.items() if value is not None}
