"""The text of a cluster file, made from the names of instance types: every key with its unit and its default.

Reads the catalogue of instance types; leaves YAML that a person goes on with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from wavetank.cluster.components import DISK_LIMITS, WITHOUT_METADATA, WITHOUT_SERVERS
from wavetank.cluster.instance_limits import catalogue_limits
from wavetank.cluster.instance_types import InstanceType, find_instance
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import SpecError
from wavetank.units import exact_network_rate, exact_rate, exact_size, format_rate

GATEWAY_IN_FRONT_OF = "glusterfs"


@dataclass(frozen=True)
class Choices:
    """What a cluster is to be made of.

    Attributes:
        name: of the cluster.
        instance: name of the instance type of compute nodes.
        io_instance: of I/O nodes; None: the same.
        file_system: its kind.
        compute, servers: number of nodes; file systems without servers have none.
        storage_bytes: of each node that holds data.
        scale: that rates are divided by.
    """

    name: str
    instance: str
    file_system: str
    compute: int
    servers: int
    storage_bytes: int
    io_instance: str | None = None
    scale: float = 1.0

    @property
    def n_io(self) -> int:
        """I/O nodes: one for each data server."""
        return 0 if self.file_system in WITHOUT_SERVERS else self.servers


def cluster_text(choices: Choices) -> str:
    """The cluster file.

    Raises:
        CostError: an instance type is not in the catalogue; names those near it.
        SpecError: what is chosen does not make a cluster.
    """
    kind = find_instance(choices.instance)
    io_kind = find_instance(choices.io_instance) if choices.io_instance else None
    text = "\n".join(_lines(choices, kind, io_kind)) + "\n"
    try:
        ClusterSpec.model_validate(yaml.safe_load(text))
    except ValueError as error:
        raise SpecError(f"these choices make no cluster: {error}") from error
    return text


def _lines(choices: Choices, kind: InstanceType, io_kind: InstanceType | None) -> Iterator[str]:
    fs, n_io = choices.file_system, choices.n_io
    yield "# A virtual cluster: wavetank cluster plan FILE shows what it will be, check what this machine lacks for it."
    yield "# A key that is left out has its default. Sizes: 64 KiB, 2 GiB, 17 GB. Rates: 100 MB/s, 1 Gbit/s; none: no limit."
    yield _key(
        "name",
        json.dumps(choices.name),
        "of the cluster; lower case letters, digits, '-'; no default",
    )
    yield _key(
        "provider",
        "local",
        'nodes out of this machine; or ssh (hosts that exist), "null" (no nodes); default: local',
    )
    yield ""
    yield from _instance(
        "instance", "of compute nodes" + ("" if io_kind else " and I/O nodes"), kind
    )
    if io_kind is not None:
        yield ""
        yield from _instance("io_instance", "of I/O nodes; default: as instance", io_kind)
    yield ""
    yield "nodes: # number of nodes of each kind"
    yield _key("compute", choices.compute, "c1, c2, ...: where ranks run; no default", 1)
    yield _key("io", n_io, "io1, io2, ...: where servers run; default: 0", 1)
    yield _key(
        "head",
        0,
        "h1, ...: run nothing but metadata servers put there, and are paid for; default: 0",
        1,
    )
    yield ""
    yield "file_system: # the global one, that all compute nodes mount"
    yield _key(
        "kind",
        fs,
        "nfs, glusterfs, cephfs, moosefs, orangefs, gateway, lustre, existing, none; no default",
        1,
    )
    if fs == "gateway":
        yield _key(
            "behind",
            GATEWAY_IN_FRONT_OF,
            "the file system behind the NFS servers: glusterfs, cephfs; no default",
            1,
        )
    if n_io:
        yield _key(
            "servers", choices.servers, "number of data servers; default: all that have a place", 1
        )
        yield _key(
            "placement", "io", "where they are: io, compute, or a list of nodes; default: io", 1
        )
        if fs not in WITHOUT_METADATA and fs != "gateway":
            yield _key(
                "metadata_servers",
                1,
                "number of metadata servers, with the data servers; default: 1",
                1,
            )
        yield _key(
            "mount", "/wavetank", "where compute nodes mount it, a path; default: /wavetank", 1
        )
        yield "  stripe: # how the content of files is spread over the data servers"
        kind_of_stripe = "sharded" if fs in ("cephfs", "orangefs") else "distributed"
        words = "distributed (a file whole on a server), sharded, replicated, disperse; default: distributed"
        yield _key("kind", kind_of_stripe, words, 2)
        if kind_of_stripe == "sharded":
            yield _key("size", "4 MiB", "of a block, bytes; default: the file system's own", 2)
    yield ""
    yield f"storage: # the disk of each {'data server' if n_io else 'compute node'}, an image file on this machine"
    yield _key("size", _size(choices.storage_bytes), "capacity, bytes; default: 2 GiB", 1)
    yield _key("local_file_system", "xfs", "xfs or ext4; default: xfs", 1)
    yield ""
    yield _key(
        "layout",
        "striped",
        "of input files: striped, or one-server-per-file (1DFx1F); default: striped",
    )
    yield _key(
        "mapping", "1PxCN", "ranks per compute node where a command names none; default: 1PxCN"
    )
    yield _key(
        "scale",
        f"{choices.scale:g}",
        "divides rates of network and disks, for machines smaller than the instance; default: 1",
    )


def _instance(key: str, whose: str, kind: InstanceType) -> Iterator[str]:
    """An instance type with the catalogue's limits written out."""
    known = catalogue_limits(kind)
    bursts = format_rate(kind.network_peak_bytes_per_s or 0)
    volumes = format_rate(kind.ebs_maximum_bytes_per_s or 0)
    yield f"{key}: # {whose}; the values are the catalogue's, and the defaults where a key is left out"
    yield _key(
        "name",
        json.dumps(kind.name),
        "instance type, of the catalogue and the price tables; no default",
        1,
    )
    yield _key("vcpus", kind.vcpus, f"CPUs of a node, a number; default: {kind.vcpus}", 1)
    memory = _size(kind.memory_bytes)
    yield _key("memory", memory, f"of a node, page cache included, bytes; default: {memory}", 1)
    network = exact_network_rate(known["network"]) if "network" in known else "none"
    yield _key(
        "network",
        network,
        f"each way; default: {network}, the baseline (bursts to {bursts} are left out)",
        1,
    )
    for name in DISK_LIMITS:
        what = "reads" if "read" in name else "writes"
        if name.endswith("iops"):
            value = str(known.get(name, "none"))
            yield _key(name, value, f"{what} of the disk, operations a second; default: {value}", 1)
        else:
            value = exact_rate(known[name]) if name in known else "none"
            why = (
                f", of volumes (EBS; bursts to {volumes} are left out)"
                if name in known
                else ", as the catalogue does not know it"
            )
            yield _key(name, value, f"{what} of the disk, bytes a second; default: {value}{why}", 1)


def _size(size_bytes: int) -> str:
    """Exact, as a size can be written."""
    return exact_size(size_bytes).replace(",", "")


def _key(name: str, value: object, comment: str, depth: int = 0) -> str:
    return f"{'  ' * depth}{name}: {value} # {comment}"
