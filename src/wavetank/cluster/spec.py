"""The specification of a virtual cluster: what a person writes in YAML, and every way it can be wrong.

Reads YAML, leaves a validated ``ClusterSpec``. Components are those of the method, section 4.
Prices are not known here: an instance type's name joins them later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from wavetank.cluster.access import Access, access_problems, guest_names
from wavetank.cluster.capacity import stripe_problems, volume_problems
from wavetank.cluster.clouds.terms import Terms, terms_have_flavors, terms_problems
from wavetank.cluster.components import (
    AWS,
    MAKES_NODES,
    NEEDED_DIRECTORIES,
    SMALLEST_STORAGE_BYTES,
    DriverName,
    FileSystem,
    Hypervisor,
    Instance,
    Mpi,
    Name,
    Nodes,
    Ssh,
    Storage,
)
from wavetank.cluster.devices import device_paths, device_problems, device_rates, is_on_instance
from wavetank.cluster.filesystems.facts import OWN_KEYS
from wavetank.cluster.instance_types import with_catalogue
from wavetank.cluster.registry import facts, file_system_kinds
from wavetank.document import Record
from wavetank.refusals import Written
from wavetank.specification import examine_yaml, read_yaml
from wavetank.units import format_size


class ClusterSpec(Record):
    """A virtual cluster."""

    name: Name
    title: (
        Annotated[
            str,
            StringConstraints(strip_whitespace=True, min_length=1, max_length=80),
            Written(r"^[^\x00-\x1f\x7f]*$", "one line"),
        ]
        | None
    ) = Field(
        default=None,
        description="for people, in tables and plots; the default is made of what differs between clusters",
    )
    description: str = ""
    provider: DriverName = "local"
    hypervisor: Hypervisor | None = Field(
        default=None,
        description="of provider vm only: kvm, uml (User-mode Linux) or tcg; the default is the best that is here",
    )
    access: Access | None = Field(
        default=None,
        description="how ranks reach the file system; client, passthrough and volume are of provider vm; "
        "the default is virtual of providers vm and local, native of others",
    )
    instance: Instance = Field(
        description="of compute and head nodes, and of I/O nodes unless io_instance is given"
    )
    io_instance: Instance | None = None
    nodes: Nodes
    file_system: FileSystem
    ssh: Ssh | None = Field(default=None, description="of provider ssh only")
    cloud: Terms | None = Field(
        default=None,
        description="of providers aws and openstack; with provider local the same file is emulated",
    )
    storage: Storage = Field(
        default=Storage(), description="persistent: of the nodes that hold data"
    )
    temporary: Storage | None = Field(
        default=None,
        description="temporary: a disk of its own at /scratch of each compute node, of providers local and vm",
    )
    placement: Literal["cluster", "spread"] | None = Field(
        default=None,
        description="of instances in a cloud: close to each other, or on hardware of their own; not emulated",
    )
    layout: Literal["striped", "one-server-per-file"] = Field(
        default="striped",
        description="of input files: as the file system stripes, or 1DFx1F: each on a server of its own",
    )
    mapping: Annotated[
        str,
        Written(
            r"^[1-9][0-9]{0,3}PxCN$", "kPxCN, k I/O processes on each compute node, e.g. 2PxCN"
        ),
    ] = Field(
        default="1PxCN",
        description="I/O processes per compute node, of 'wavetank measure': 1PxCN, 2PxCN, ...",
    )
    mpi: Mpi = Mpi()
    scale: float = Field(
        default=1.0, ge=1.0, le=1e6,
        description="network and disk rates are divided by this where the machine is smaller than the instance",
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _has_limits_of_the_catalogue(cls, body: object) -> object:
        """Hosts of other providers are as they are, whatever their instance type is called."""
        if not isinstance(body, dict) or terms_have_flavors(body.get("cloud")):
            return body
        if body.get("provider", "local") not in {*MAKES_NODES, AWS}:
            return body
        keys = [key for key in ("instance", "io_instance") if key in body]
        on_volumes = not is_on_instance(body.get("storage"))
        return {**body, **{key: with_catalogue(body[key], volumes=on_volumes) for key in keys}}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        problems = list(self._problems())
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _problems(self) -> Iterator[str]:
        names = self.node_names()
        fs = self.file_system
        if isinstance(fs.placement, tuple):
            unknown = [name for name in fs.placement if name not in names]
            if unknown:
                yield f"file_system.placement names {', '.join(unknown)}, but the nodes are {', '.join(names)}"
            if len(set(fs.placement)) != len(fs.placement):
                yield "file_system.placement names a node twice"
        if fs.facts.is_there and fs.mount != FileSystem.model_fields["mount"].default:
            yield f"file_system.mount has no meaning with kind: {fs.kind}, which is mounted already: remove it"
        parts = fs.mount.strip("/").split("/")
        if f"/{'/'.join(parts)}" in NEEDED_DIRECTORIES or parts[0] in (
            "dev",
            "proc",
            "sys",
            "usr",
            "etc",
        ):
            yield f"file_system.mount {fs.mount} would cover what nodes need: name a directory of its own, e.g. /wavetank"
        if f"/{parts[0]}" in device_paths(self.storage, "/storage")[1:]:
            yield f"file_system.mount {fs.mount} is where a device of the nodes is mounted: name another directory"
        yield from self._metadata_problems(names)
        yield from self._server_problems()
        yield from self._provider_problems()
        for key, storage in (("storage", self.storage), ("temporary", self.temporary)):
            if storage is not None and storage.size < SMALLEST_STORAGE_BYTES:
                yield (
                    f"{key}.size {format_size(storage.size)} is too small: "
                    f"{storage.local_file_system} needs {format_size(SMALLEST_STORAGE_BYTES)}"
                )
        yield from stripe_problems(self)
        yield from self._gateway_problems()
        yield from fs.facts.problems(fs)
        serving = (*self.server_names(), *self.metadata_names(), *self.gateway_names())
        yield from access_problems(
            self.access, self.provider, fs.facts.is_global, self.compute_names(), serving
        )
        yield from volume_problems(self)
        holders = [] if self.has_flavors else [self.instance_of(n) for n in self.storage_names()]
        yield from device_problems("storage", self.storage, holders)
        if self.temporary is not None:
            yield from device_problems("temporary", self.temporary, [self.instance])

    def _server_problems(self) -> Iterator[str]:
        fs = self.file_system
        available = len(self._candidates(fs.placement))
        for key in sorted(OWN_KEYS - fs.facts.keys):
            if getattr(fs, key) is not None:
                of = " or ".join(each for each in file_system_kinds() if key in facts(each).keys)
                yield f"file_system.{key} only has a meaning with kind: {of}, not {fs.kind}"
        most = fs.facts.most_servers
        if most is not None and len(self.server_names()) > most:
            yield (
                f"file_system {fs.kind} has {most} data server{'' if most == 1 else 's'}, not {len(self.server_names())}: set "
                f"file_system.servers to {most}, or take another file system"
            )
        if fs.facts.has_servers and not isinstance(fs.placement, tuple) and available == 0:
            yield "file_system.placement is 'io', but nodes.io is 0: give I/O nodes, or placement: compute"
        elif not fs.facts.has_servers and fs.servers is not None:
            yield f"file_system.servers has no meaning with kind: {fs.kind}, which has no data servers: remove it"
        elif fs.servers is not None and fs.servers > available:
            yield (
                f"file_system.servers asks for {fs.servers} data servers, but {available} "
                f"{'node' if available == 1 else 'nodes'} can hold one. Add nodes or ask for fewer servers"
            )

    def _provider_problems(self) -> Iterator[str]:
        if (self.ssh is not None) != (self.provider == "ssh"):
            yield (
                "provider: ssh needs the key ssh, with hosts, user, identity_file and known_hosts"
                if self.ssh is None
                else f"the key ssh has no meaning with provider {self.provider}: remove it, or write provider: ssh"
            )
        if self.temporary is not None and self.provider not in MAKES_NODES:
            yield f"temporary: only providers {' and '.join(sorted(MAKES_NODES))} make disks, not {self.provider}"
        if self.hypervisor is not None and self.provider != "vm":
            yield f"hypervisor: only guests of provider vm have one, not nodes of {self.provider}: remove it, or write provider: vm"
        yield from terms_problems(self.provider, self.cloud, self.storage.on, self.file_system.kind)

    def _metadata_problems(self, names: tuple[str, ...]) -> Iterator[str]:
        fs = self.file_system
        placement = fs.metadata_placement
        if not fs.keeper.own_metadata:
            if placement is not None or fs.metadata_servers is not None:
                yield f"file_system {fs.behind or fs.kind} has no metadata servers: remove metadata_servers and metadata_placement"
            return
        if isinstance(placement, tuple):
            unknown = [name for name in placement if name not in names]
            if unknown:
                yield f"file_system.metadata_placement names {', '.join(unknown)}, but the nodes are {', '.join(names)}"
            if len(set(placement)) != len(placement):
                yield "file_system.metadata_placement names a node twice"
        if placement is None and fs.metadata_servers is None:
            return
        available = len(self.server_names() if placement is None else self._candidates(placement))
        wanted = fs.metadata_servers or 1
        if wanted > available:
            yield f"{wanted} metadata servers are asked for, but {available} nodes can hold one: see metadata_placement"

    def node_names(self) -> tuple[str, ...]:
        """Compute, I/O and head nodes, in this order."""
        n = self.nodes
        return tuple(
            f"{prefix}{i}"
            for prefix, count in (("c", n.compute), ("io", n.io), ("h", n.head))
            for i in range(1, count + 1)
        )

    def _candidates(self, placement: str | tuple[str, ...]) -> tuple[str, ...]:
        if isinstance(placement, tuple):
            return placement
        prefix = {"io": "io", "compute": "c", "head": "h"}[placement]
        return tuple(name for name in self.node_names() if name.rstrip("0123456789") == prefix)

    def server_names(self) -> tuple[str, ...]:
        """The nodes that hold data servers, in order."""
        if not self.file_system.facts.has_servers:
            return ()
        candidates = self._candidates(self.file_system.placement)
        n = self.file_system.servers
        return candidates if n is None else candidates[:n]

    def metadata_names(self) -> tuple[str, ...]:
        """The nodes that hold metadata servers, of file systems that have such, in order."""
        fs = self.file_system
        if not fs.keeper.own_metadata:
            return ()
        if fs.metadata_placement is None:
            return self.server_names()[: fs.metadata_servers or 1]
        candidates = self._candidates(fs.metadata_placement)
        named = len(candidates) if isinstance(fs.metadata_placement, tuple) else 1
        return candidates[: fs.metadata_servers or named]

    def gateway_names(self) -> tuple[str, ...]:
        """The nodes with NFS servers in front of a parallel file system, in order."""
        fs = self.file_system
        if fs.behind is None:
            return ()
        placement = fs.gateway_placement
        candidates = self.server_names() if placement is None else self._candidates(placement)
        return candidates if fs.gateways is None else candidates[: fs.gateways]

    def _gateway_problems(self) -> Iterator[str]:
        fs, names = self.file_system, self.node_names()
        for key, value in fs.facts.required.items():
            if getattr(fs, key) in (None, fs.kind):
                yield f"file_system {fs.kind} needs file_system.{key}, e.g. {value}"
        if fs.behind in (None, fs.kind) or "behind" not in fs.facts.keys:
            return
        placement = fs.gateway_placement
        if isinstance(placement, tuple):
            unknown = [name for name in placement if name not in names]
            if unknown or len(set(placement)) != len(placement):
                yield f"file_system.gateway_placement names {', '.join(placement)}; the nodes, each once at most, are {', '.join(names)}"
        found = self.gateway_names()
        if not found or len(found) < (fs.gateways or 1):
            yield f"{fs.gateways or 1} gateways are asked for, but {len(found)} nodes can hold one: see file_system.gateway_placement"

    def compute_names(self) -> tuple[str, ...]:
        """The compute nodes, in order."""
        return self.node_names()[: self.nodes.compute]

    def staying_names(self) -> tuple[str, ...]:
        """The nodes that hold the file system between runs: servers, gateways, and every I/O and head node."""
        serve = {*self.server_names(), *self.metadata_names(), *self.gateway_names()}
        computes = set(self.compute_names()) - serve
        return tuple(name for name in self.node_names() if name not in computes)

    def storage_names(self) -> tuple[str, ...]:
        """The nodes with a storage device: data and metadata servers, or the compute nodes when there are none."""
        servers = {*self.server_names(), *self.metadata_names()}
        return tuple(name for name in self.node_names() if name in servers) or self.compute_names()

    def instance_of(self, node: str) -> Instance:
        """The instance type of a node."""
        own = self.io_instance if node.startswith("io") else None
        return own or self.instance

    def disk_rates(self, node: str, storage: Storage) -> dict[str, int]:
        """Limits of a disk of a node before scaling: read and write (bytes/s), read_iops, write_iops; those that are set."""
        return device_rates(self.instance_of(node), storage)

    def device_of(self, node: str, storage: Storage) -> str:
        """Kind of the device of a node's disk."""
        return storage.device or self.instance_of(node).device

    @property
    def has_flavors(self) -> bool:
        """Whether its instance types are flavors of an OpenStack cloud, whose limits no catalogue has."""
        return terms_have_flavors(self.cloud)

    @property
    def own_kernels(self) -> bool:
        """Whether each node has a kernel of its own: nodes out of namespaces share that of this machine."""
        return self.provider not in ("local", "null")

    @property
    def in_guests(self) -> bool:
        """Whether compute nodes are guests on this machine: kernels of their own, and this machine's programs."""
        return self.provider == "vm"

    @property
    def clients_in_guests(self) -> bool:
        """Whether it is guests that mount the file system: else this machine's kernel does, around them."""
        return self.in_guests and self.access in (None, "virtual", "client")

    @property
    def clients_own_kernels(self) -> bool:
        """Whether each client has a kernel of its own."""
        return self.own_kernels and (not self.in_guests or self.clients_in_guests)

    @property
    def has_volumes(self) -> bool:
        """Whether ranks have their files on disks of guests, which are files of the file system."""
        return self.in_guests and self.access == "volume"

    @property
    def shares_files(self) -> bool:
        """Whether all compute nodes see the same files."""
        return self.file_system.facts.is_global and not self.has_volumes

    def guest_names(self) -> tuple[str, ...]:
        """The nodes that are guests, in order; see access.py."""
        return guest_names(self)

    @property
    def servers_own_kernels(self) -> bool:
        """Whether each node with data has a kernel of its own, which it need not share with servers of other nodes."""
        servers = self.server_names()
        return self.own_kernels and (
            self.provider != "vm" or set(servers) <= set(self.guest_names())
        )

    def sha256(self) -> str:
        """Hash of what the specification says, whatever its layout as text.

        Without what is as by default: a key that a later version adds does not change it, so that
        measurements of a cluster stay those of that cluster. Without its title, which changes nothing.
        """
        said = self.model_dump(mode="json", exclude_defaults=True, exclude={"title"})
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


# Of required keys, while the rest of a file with wrong ones is looked at.
STAND_INS = {"name": "x", "instance": {"name": "x"}}


def read_spec(path: Path) -> ClusterSpec:
    """Read a cluster file.

    Raises:
        SpecError: all findings at once, each with its place.
    """
    return read_yaml(path, ClusterSpec, "cluster", STAND_INS)


def examine_spec(path: Path) -> tuple[ClusterSpec | None, list[str]]:
    """What is right in a cluster file (None when that does not make a cluster), and all that is wrong.

    Raises:
        SpecError: it is missing, or no YAML.
    """
    return examine_yaml(path, ClusterSpec, "cluster", STAND_INS)
