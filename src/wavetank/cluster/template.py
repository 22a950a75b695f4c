"""The text of a cluster file, made from the names of instance types: every key with its unit and its default.

Reads the catalogue of instance types; leaves YAML that a person goes on with.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import yaml
from pydantic import ValidationError

from wavetank.cluster.components import DISK_LIMITS, FileSystem
from wavetank.cluster.filesystems.facts import Facts
from wavetank.cluster.instance_types import InstanceType, catalogue_limits, find_instance
from wavetank.cluster.registry import facts, file_system_kinds
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import explain
from wavetank.errors import SpecError
from wavetank.units import exact_network_rate, exact_rate, exact_size, format_rate


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
        return self.servers if facts(self.file_system).has_servers else 0


def cluster_text(choices: Choices) -> str:
    """The cluster file.

    Raises:
        CostError: an instance type is not in the catalogue; names those near it.
        SpecError: what is chosen does not make a cluster.
    """
    kind = find_instance(choices.instance)
    io_kind = find_instance(choices.io_instance) if choices.io_instance else None
    text = _text(choices, kind, io_kind)
    try:
        ClusterSpec.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        raise SpecError(f"these choices make no cluster: {explain(error)}") from error
    return text


def _text(choices: Choices, kind: InstanceType, io_kind: InstanceType | None) -> str:
    fs, n_io = choices.file_system, choices.n_io
    kinds = ", ".join(file_system_kinds(lambda facts: facts.made_by is None))
    instances = _instance(
        "instance", "of compute nodes" + ("" if io_kind else " and I/O nodes"), kind
    )
    if io_kind is not None:
        instances += "\n" + _instance("io_instance", "of I/O nodes; default: as instance", io_kind)
    return f"""\
# A virtual cluster: wavetank cluster plan FILE shows what it will be, check what this machine lacks for it.
# A key that is left out has its default. Sizes: 64 KiB, 2 GiB, 17 GB. Rates: 100 MB/s, 1 Gbit/s; none: no limit.
name: {json.dumps(choices.name)} # of the cluster; lower case letters, digits, '-'; no default
provider: local # nodes out of this machine; or ssh (hosts that exist), "null" (no nodes); default: local

{instances}
nodes: # number of nodes of each kind
  compute: {choices.compute} # c1, c2, ...: where ranks run; no default
  io: {n_io} # io1, io2, ...: where servers run; default: 0
  head: 0 # h1, ...: run nothing but metadata servers put there, and are paid for; default: 0

file_system: # the global one, that all compute nodes mount
  kind: {fs} # {kinds}; no default
{"".join(f"  {_required(key, value)}" for key, value in facts(fs).required.items())}\
{_servers(facts(fs), choices.servers) if n_io else ""}
storage: # the disk of each {"data server" if n_io else "compute node"}, an image file on this machine
  size: {_size(choices.storage_bytes)} # capacity, bytes; default: 2 GiB
  local_file_system: xfs # xfs or ext4; default: xfs

layout: striped # of input files: striped, or one-server-per-file (1DFx1F); default: striped
mapping: 1PxCN # ranks per compute node where a command names none; default: 1PxCN
scale: {choices.scale:g} # divides rates of network and disks, for machines smaller than the instance; default: 1
"""


def _required(key: str, value: str) -> str:
    return f"{key}: {value} # {FileSystem.model_fields[key].description}; no default\n"


def _servers(fs: Facts, n: int) -> str:
    metadata = """\
  metadata_servers: 1 # number of metadata servers, with the data servers; default: 1
"""
    stripe = fs.tried[0].stripe if fs.tried else None
    size = (
        ""
        if stripe is None
        else f"    size: {_size(stripe)} # of a block, bytes; default: the file system's own\n"
    )
    return f"""\
  servers: {n} # number of data servers; default: all that have a place
  placement: io # where they are: io, compute, or a list of nodes; default: io
{metadata if fs.own_metadata else ""}\
  mount: /wavetank # where compute nodes mount it, a path; default: /wavetank
  stripe: # how the content of files is spread over the data servers
    kind: {"sharded" if size else "distributed"} # distributed (a file whole on a server), sharded, replicated, \
disperse; default: distributed
{size}"""


def _instance(key: str, whose: str, kind: InstanceType) -> str:
    """An instance type with the catalogue's limits written out."""
    known = catalogue_limits(kind)
    volumes = format_rate(kind.ebs_maximum_bytes_per_s or 0)
    memory = _size(kind.memory_bytes)
    network = exact_network_rate(known["network"]) if "network" in known else "none"
    text = f"""\
{key}: # {whose}; the values are the catalogue's, and the defaults where a key is left out
  name: {json.dumps(kind.name)} # instance type, of the catalogue and the price tables; no default
  vcpus: {kind.vcpus} # CPUs of a node, a number; default: {kind.vcpus}
  memory: {memory} # of a node, page cache included, bytes; default: {memory}
  network: {network} # each way; default: {network}, the baseline \
(bursts to {format_rate(kind.network_peak_bytes_per_s or 0)} are left out)
"""
    for name in DISK_LIMITS:
        of, why = "operations", ""
        value = str(known.get(name, "none"))
        if not name.endswith("iops"):
            of, why = "bytes", ", as the catalogue does not know it"
            if name in known:
                value = exact_rate(known[name])
                why = f", of volumes (EBS; bursts to {volumes} are left out)"
        what = "reads" if "read" in name else "writes"
        text += f"  {name}: {value} # {what} of the disk, {of} a second; default: {value}{why}\n"
    return text


def _size(size_bytes: int) -> str:
    """Exact, as a size can be written."""
    return exact_size(size_bytes).replace(",", "")
