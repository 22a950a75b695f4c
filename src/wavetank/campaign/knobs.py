"""The knobs of a cluster's specification, in words for people.

A value can follow from another one: memory from the instance type, options from the file system. A title then names only the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wavetank.cluster.access import method_of
from wavetank.cluster.components import (
    Instance,
    Storage,
)
from wavetank.cluster.devices import provisioned, volume_type
from wavetank.cluster.spec import ClusterSpec
from wavetank.compare.knobs import (
    ANY,
    DATA_SERVERS,
    DEFAULT,
    DISK_RATES,
    FILE_SYSTEM,
    INSTANCE_TYPE,
    LAYOUT,
    MOUNT_OPTION,
    OBJECTS,
    OPTION,
    STRIPE_SIZE,
    WHOLE_FILES,
    Knobs,
)
from wavetank.units import exact_network_rate, exact_rate, exact_size

NO_LIMIT = "no limit"
OF_IO_NODES = " of I/O nodes"
VOLUMES = "volumes"


def knobs_of(spec: ClusterSpec) -> Knobs:
    """Everything that was chosen for a cluster; its name, description and title left out."""
    gathered = _Gathered()
    _file_system(spec, gathered)
    _instances(spec, gathered)
    _disks(spec, gathered)
    fs = spec.file_system
    for prefix, options in ((OPTION, fs.options), (MOUNT_OPTION, fs.mount_options)):
        for key, value in options.items():
            gathered.add(f"{prefix}{key}", str(value), follows=FILE_SYSTEM)
    # left out, it is the provider's
    method = method_of(spec.access, spec.provider)
    gathered.add("access", method, follows="provider" if spec.access is None else None)
    for key, hint in spec.mpi.hints.items():
        gathered.add(f"hint {key}", str(hint))
    for key, value in _flat(spec.model_dump(mode="json", exclude=_SAID_ABOVE)):
        gathered.add(_NAMES.get(key, key.replace(".", " ").replace("_", " ")), value)
    return Knobs(gathered.values, gathered.follows)


# What the functions below say in other words, what says nothing of the cluster, and what campaigns
# do not look at: the mapping is the campaign's own.
_SAID_ABOVE: Mapping[str, bool | Mapping[str, bool | Mapping[str, bool]]] = {
    "name": True, "title": True, "description": True, "mapping": True, "layout": True, "access": True,
    "instance": True, "io_instance": True, "temporary": True,
    "nodes": {"io": True},
    "file_system": {
        "kind": True, "behind": True, "path": True, "servers": True, "placement": True,
        "stripe": True, "metadata_servers": True, "metadata_placement": True, "gateways": True,
        "gateway_placement": True, "options": True, "mount_options": True, "capacity": True,
        "throughput": True,
    },
    "storage": {
        "size": True, "read": True, "write": True, "read_iops": True, "write_iops": True,
        "device": True, "on": True, "volume_type": True, "volume_size": True, "iops": True, "throughput": True,
    },
    "mpi": {"hints": True},
    "cloud": {
        "ttl": True, "budget": True, "ssh_from": True, "bastion": True, "reaper": True, "prices": True,
        "clients_from": True, "packages": True,
    },
}  # fmt: skip
_NAMES = {
    "nodes.compute": "compute nodes",
    "nodes.head": "head nodes",
    "file_system.mount": "mount point",
    "file_system.prefix": "programs in",
    "file_system.deployment": "deployment",
    "file_system.throughput_per_tib": "MB/s for each TiB",
    "placement": "placement of instances",
    "storage.devices": "devices of a node",
    "storage.devices_as": "devices as",
    "storage.local_file_system": "local file system",
    "mpi.io_library": "MPI-IO library",
}


@dataclass
class _Gathered:
    values: dict[str, str] = field(default_factory=dict)
    follows: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, knob: str, value: str, follows: str | tuple[str, ...] | None = None) -> None:
        self.values[knob] = value
        if follows is not None:
            self.follows[knob] = (follows,) if isinstance(follows, str) else follows


def _file_system(spec: ClusterSpec, into: _Gathered) -> None:
    fs, servers = spec.file_system, spec.server_names()
    into.add(FILE_SYSTEM, fs.title)
    # The number of data servers is chosen by nodes.io alone, or by file_system.servers too.
    into.add(DATA_SERVERS, str(len(servers)) if fs.facts.has_servers else ANY)
    on_io_nodes = sum(name.startswith("io") for name in servers)
    into.add("I/O nodes without a server", str(spec.nodes.io - on_io_nodes))
    into.add("data servers on", _where(fs.placement, servers) if servers else ANY)
    _stripes(spec, into)
    if fs.capacity is not None:
        into.add("capacity", exact_size(fs.capacity), follows=FILE_SYSTEM)
    if fs.throughput is not None:
        rate = fs.throughput
        into.add("throughput", rate if isinstance(rate, str) else exact_rate(rate))
    if fs.keeper.own_metadata:
        names, placement = spec.metadata_names(), fs.metadata_placement
        _further(into, "metadata servers", names, fs.metadata_servers, placement)
    if fs.behind is not None:
        _further(into, "gateways", spec.gateway_names(), fs.gateways, fs.gateway_placement)


def _further(
    into: _Gathered,
    servers: str,
    names: tuple[str, ...],
    number: int | None,
    placement: str | tuple[str, ...] | None,
) -> None:
    """Servers beside those of data: how many and where; by the file system where nothing was chosen."""
    parent = FILE_SYSTEM if number is None and placement is None else None
    where = "the data servers' nodes" if placement is None else _where(placement, names)
    into.add(servers, str(len(names)), follows=parent)
    into.add(f"{servers} on", where, follows=parent)


def _where(placement: str | tuple[str, ...], names: tuple[str, ...]) -> str:
    if isinstance(placement, tuple):
        return " and ".join(names)
    return {"io": "I/O nodes", "compute": "compute nodes", "head": "head nodes"}[placement]


def _stripes(spec: ClusterSpec, into: _Gathered) -> None:
    """Stripes and the placement of input files answer one question: where does a file's content lie?"""
    stripe = spec.file_system.stripe
    # One server holds everything whole, whatever the stripes and the placement are.
    if len(spec.server_names()) <= 1:
        layout = ANY
    elif spec.layout == "one-server-per-file":
        layout = "1DFx1F"
    elif stripe.kind != "distributed":
        layout = stripe.kind
    else:
        layout = OBJECTS if spec.file_system.keeper.in_objects else WHOLE_FILES
    is_striped = layout == "sharded"
    into.add(LAYOUT, layout)
    size = DEFAULT if stripe.size is None else exact_size(stripe.size)
    into.add(STRIPE_SIZE, size if is_striped else ANY)
    into.add("stripe count", str(stripe.count or "all servers") if is_striped else ANY)
    redundancy = str(stripe.redundancy or DEFAULT)
    into.add("redundancy", redundancy if layout == "disperse" else ANY)


def _instances(spec: ClusterSpec, into: _Gathered) -> None:
    into.add(INSTANCE_TYPE, spec.instance.name)
    _limits(spec.instance, "", INSTANCE_TYPE, into)
    of_io, own = f"{INSTANCE_TYPE}{OF_IO_NODES}", spec.io_instance
    if spec.nodes.io == 0:
        for name in (INSTANCE_TYPE, *_LIMITS):
            into.add(f"{name}{OF_IO_NODES}", ANY)
    elif own is None:
        for name in (INSTANCE_TYPE, *_LIMITS):
            into.add(f"{name}{OF_IO_NODES}", into.values[name], follows=(name, of_io))
    else:
        into.add(of_io, own.name)
        _limits(own, OF_IO_NODES, of_io, into)


_LIMITS: Mapping[str, Callable[[Instance], str]] = {
    "vCPUs": lambda instance: f"{instance.vcpus:g}",
    "memory": lambda instance: exact_size(instance.memory),
    "network": lambda instance: (
        NO_LIMIT if instance.network is None else exact_network_rate(instance.network)
    ),
}


def _limits(instance: Instance, suffix: str, parent: str, into: _Gathered) -> None:
    for name, of in _LIMITS.items():
        into.add(f"{name}{suffix}", of(instance), follows=parent)


def _disks(spec: ClusterSpec, into: _Gathered) -> None:
    """The disks of the nodes that hold data, and the temporary ones of the compute nodes."""
    _disk(spec, spec.storage_names(), spec.storage, "disk ", into)
    into.add("storage", exact_size(spec.storage.size))
    into.add(VOLUMES, _volumes(spec.storage))
    if spec.temporary is None:
        into.add("temporary disk", "none")
        return
    size, kind = exact_size(spec.temporary.size), spec.temporary.local_file_system
    into.add("temporary disk", f"{size} {kind}")
    _disk(spec, spec.compute_names(), spec.temporary, "temporary disk ", into)


def _volumes(storage: Storage) -> str:
    """What the devices are in a cloud: "gp3 of 100 GiB with 6000 IOPS and 250 MB/s"."""
    if storage.on != "ebs":
        return {"instance": "the instance's own disks", None: DEFAULT}[storage.on]
    iops, throughput = provisioned(storage)
    bought = [f"{iops} IOPS"] if iops is not None else []
    bought += [exact_rate(throughput)] if throughput is not None else []
    words = f"{volume_type(storage)} of {exact_size(storage.cloud_bytes)}"
    return f"{words} with {' and '.join(bought)}" if bought else words


def _disk(
    spec: ClusterSpec, nodes: tuple[str, ...], storage: Storage, prefix: str, into: _Gathered
) -> None:
    of_io = all(node.startswith("io") for node in nodes)
    parent = f"{INSTANCE_TYPE}{OF_IO_NODES}" if of_io else INSTANCE_TYPE
    rates = [spec.disk_rates(node, storage) for node in nodes]
    for name in ("read", "write", "read_iops", "write_iops"):
        own = getattr(storage, name) is not None
        is_rate = f"disk {name} rate" in DISK_RATES
        show = exact_rate if is_rate else str
        words = [NO_LIMIT if (value := each.get(name)) is None else show(value) for each in rates]
        knob = f"{prefix}{name} rate" if is_rate else f"{prefix}{name.replace('_iops', ' IOPS')}"
        from_volumes = prefix == "disk " and storage.on is not None
        brings = (parent, VOLUMES) if from_volumes else parent
        into.add(knob, " and ".join(dict.fromkeys(words)), follows=None if own else brings)
    devices = " and ".join(dict.fromkeys(spec.device_of(node, storage) for node in nodes))
    own_device = storage.device is not None
    knob = "device" if prefix == "disk " else f"{prefix}device"
    into.add(knob, devices, follows=None if own_device else parent)


def _flat(tree: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    leaves: list[tuple[str, str]] = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            leaves += _flat(value, f"{prefix}{key}.")
        else:
            leaves.append((f"{prefix}{key}", DEFAULT if value is None else str(value)))
    return leaves
