"""How ranks reach the file system: access methods (P12; the method, section 8), and what runs where with each.

native: ranks and clients on hosts. virtual: clients and servers in virtual machines. client: clients in virtual machines,
servers on host nodes. passthrough: the host of a guest mounts, and the guest sees that. volume: a file of the file system is a
guest's disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from wavetank.cluster.spec import ClusterSpec

Access = Literal["native", "client", "passthrough", "virtual", "volume"]
OF_LOCAL: tuple[Access, ...] = ("virtual", "native")
AROUND_BYTES = 128 * 2**20
"""Memory of a node beside its guest's: for the hypervisor, what this machine keeps of disks, and a client that is around the guest."""
WORDS: dict[Access, str] = {
    "native": "native: clients and servers on hosts",
    "client": "client: clients in virtual machines, servers on host nodes",
    "passthrough": "passthrough: hosts of virtual machines mount, and these see the mount",
    "virtual": "virtual: clients and servers in virtual machines with limits",
    "volume": "volume: a file of the file system is the disk of a virtual machine",
}


@dataclass(frozen=True)
class Processes:
    """What runs in one place of a node.

    Attributes:
        node: its name.
        place: "guest", "host" (of a guest) or "node".
        processes: in words.
    """

    node: str
    place: str
    processes: tuple[str, ...]


def method_of(access: Access | None, provider: str) -> Access:
    """The access method, also where the specification leaves it out: nodes with limits stand for virtual machines."""
    if access is not None:
        return access
    return "virtual" if provider in ("vm", "local") else "native"


def access_problems(
    access: Access | None,
    provider: str,
    is_global: bool,
    compute: Sequence[str],
    servers: Sequence[str],
) -> Iterator[str]:
    """Why an access method cannot be, with what to do.

    Args:
        access: as written; None: left out.
        provider: of the nodes.
        is_global: whether all compute nodes see the same files.
        compute: names of the compute nodes.
        servers: names of the nodes with data, metadata and NFS servers.
    """
    if access is None:
        return
    if not is_global:
        yield f"access: the file system is local disks, which no method reaches: remove access: {access}"
    elif provider == "vm" and access == "native":
        yield "access: native has no virtual machines: use provider local or ssh, or another access"
    elif provider == "local" and access not in OF_LOCAL:
        yield f"access: {access} is of virtual machines, and nodes of provider local are none: use provider vm"
    elif provider not in ("vm", "local") and access != "native":
        yield f"access: {access} takes guests that wavetank makes: use provider vm, or access: native with provider {provider}"
    elif access not in ("native", "virtual"):
        both = [name for name in servers if name in compute]
        if both:
            yield (
                f"access: {access} has servers on host nodes, and {', '.join(both)} would be guests with servers: give nodes.io, "
                "and keep servers off compute nodes"
            )


def guest_names(spec: ClusterSpec) -> tuple[str, ...]:
    """The nodes that are guests: all with servers in virtual machines, else the compute nodes."""
    if spec.provider != "vm":
        return ()
    if method_of(spec.access, spec.provider) == "virtual":
        return spec.node_names()
    return spec.compute_names()


def client_memory(spec: ClusterSpec, name: str) -> int:
    """Bytes of memory that the client of a compute node and its caches are in: the instance's, or what is around a guest."""
    own = spec.instance_of(name).memory
    return own if spec.clients_in_guests or not spec.in_guests else min(own, AROUND_BYTES)


def processes(spec: ClusterSpec) -> list[Processes]:
    """What runs where, a row for each kernel of each node."""
    method = method_of(spec.access, spec.provider)
    guests = guest_names(spec)
    found = []
    for node in spec.node_names():
        ranks = ["ranks"] if node in spec.compute_names() else []
        client = ["client"] if ranks and spec.file_system.facts.is_global else []
        served = [
            words
            for words, names in (
                ("data server", spec.server_names()),
                ("metadata server", spec.metadata_names()),
                ("NFS gateway", spec.gateway_names()),
            )
            if node in names
        ]
        if node not in guests:
            found.append(Processes(node, "node", (*ranks, *client, *served)))
            continue
        inside, outside = [*ranks, *client, *served], ["hypervisor"]
        if method == "passthrough":
            inside, outside = [*ranks, "view of the host's mount"], ["client", "hypervisor"]
        elif method == "volume":
            inside, outside = (
                [*ranks, f"{spec.storage.local_file_system} on a disk"],
                ["client, with the disk's file", "hypervisor"],
            )
        found.append(Processes(node, "guest", tuple(inside)))
        found.append(Processes(node, "host", tuple(outside)))
    return found
