"""Components of a virtual cluster, as a person writes them: instance types, nodes, file system, storage, hosts, MPI-IO.

Those of the method, section 4. What a value may be is said here, how they fit together in spec.py.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from wavetank.cluster.filesystems.facts import Facts, StripeKind
from wavetank.cluster.registry import facts, file_system_title
from wavetank.document import Record
from wavetank.refusals import Written
from wavetank.units import Rate, Size, format_size

# A name becomes part of paths, cgroups and host names: nothing else may be in it.
Name = Annotated[
    str,
    Written(
        r"^[a-z][a-z0-9-]{0,30}$",
        "lower case letters, digits and '-', first a letter, 31 characters at most",
    ),
]
DriverName = Annotated[
    str, Written(r"^[a-z][a-z0-9_-]*$", "lower case letters, digits, '_' and '-', first a letter")
]
Option = Annotated[
    str,
    Written(r"^[A-Za-z0-9_.:/-]{1,64}$", "letters, digits and _ . : / -, 64 characters at most"),
]
UserAtHost = Annotated[
    str,
    Written(
        r"^[a-z_][a-z0-9_-]{0,31}@[A-Za-z0-9][A-Za-z0-9.-]{0,252}(:[1-9][0-9]{0,4})?$",
        "USER@HOST or USER@HOST:PORT",
    ),
]
KeyPath = Annotated[
    str,
    Written(r"^/[A-Za-z0-9_./-]{1,250}$", "an absolute path of letters, digits and _ . / -"),
]
OptionValue = str | int | float | bool

# The cloud whose instance types the catalogue has.
AWS = "aws"
OPENSTACK = "openstack"

# Directories that nodes and hosts need as they are.
NEEDED_DIRECTORIES = frozenset(
    f"/{name}"
    for name in ("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc",
                 "root", "run", "sbin", "scratch", "srv", "storage", "sys", "tmp", "usr", "var")
)  # fmt: skip

# Of guests of provider vm, the best first.
Hypervisor = Literal["kvm", "uml", "tcg"]
HYPERVISORS: tuple[Hypervisor, ...] = ("kvm", "uml", "tcg")

# Providers that make nodes of this machine, with the limits of their instance types and disks of their own.
MAKES_NODES = frozenset({"local", "vm"})

SCRATCH_PATH = "/scratch"  # of the temporary storage of compute nodes

# mkfs.xfs refuses less than 300 MB since version 5.19; one size for all local file systems.
SMALLEST_STORAGE_BYTES = 320 * 2**20


DISK_LIMITS = ("disk_read", "disk_write", "disk_read_iops", "disk_write_iops")
NO_LIMIT = ("none", "no limit")


def _or_none(value: object) -> object:
    """None where a person wrote that there is no limit."""
    return None if isinstance(value, str) and value.strip().lower() in NO_LIMIT else value


Unlimited = BeforeValidator(_or_none)


class Instance(Record):
    """An instance type: its name, and the limits that a node of it has.

    With provider local, what is left out is as the catalogue has it for the name (instance_types.py); the defaults
    here are those of a name that it does not have.
    """

    name: Annotated[
        str,
        Written(
            r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
            "letters, digits and . _ -, 64 characters at most, e.g. c5.large",
        ),
    ] = Field(description="joins the catalogue of instance types and the price table")
    vcpus: float = Field(
        default=2, gt=0, le=1024, description="CPUs of a node; left out: the catalogue's"
    )
    memory: Size = Field(
        default=2 * 2**30, description="bytes, or e.g. '2 GiB'; left out: the catalogue's"
    )
    network: Annotated[Rate | None, Unlimited] = Field(
        default=None,
        description="each way, e.g. '1 Gbit/s'; none: no limit; left out: the catalogue's baseline",
    )
    disk_read: Annotated[Rate | None, Unlimited] = Field(
        default=None,
        description="e.g. '100 MB/s'; none: no limit; all four of the disk left out: the catalogue's baseline of volumes",
    )
    disk_write: Annotated[Rate | None, Unlimited] = Field(
        default=None, description="e.g. '100 MB/s'; none: no limit"
    )
    disk_read_iops: Annotated[Annotated[int, Field(gt=0)] | None, Unlimited] = Field(
        default=None, description="operations a second; none: no limit"
    )
    disk_write_iops: Annotated[Annotated[int, Field(gt=0)] | None, Unlimited] = Field(
        default=None, description="operations a second; none: no limit"
    )
    device: str = Field(default="ssd", description="kind of the storage device, for the record")

    @model_validator(mode="after")
    def _has_memory(self) -> Self:
        if self.memory < 64 * 2**20:
            raise ValueError(
                f"memory {format_size(self.memory)} is less than 64 MiB: no server runs in it"
            )
        return self


class Nodes(Record):
    """How many nodes of which kind. Compute nodes are c1, c2, ...; I/O nodes io1, ...; head nodes h1, ..."""

    compute: int = Field(ge=1, le=64)
    io: int = Field(default=0, ge=0, le=64)
    head: int = Field(default=0, ge=0, le=4)


class Stripe(Record):
    """How a file's content is spread over the data servers."""

    kind: StripeKind = Field(
        default="distributed",
        description="distributed: each file whole on one server; sharded: in blocks over all; replicated: a copy on "
        "each; disperse: erasure coded over all",
    )
    size: Size | None = Field(default=None, description="block size of 'sharded', bytes")
    count: int | None = Field(
        default=None, ge=1, le=64,
        description="of 'sharded': data servers that a file is spread over; the default is all",
    )  # fmt: skip
    redundancy: int | None = Field(
        default=None, ge=1, le=16, description="servers of 'disperse' that may be lost"
    )


class FileSystem(Record):
    """The global file system."""

    kind: DriverName = Field(description="a registered file system: none, nfs, glusterfs, ...")
    servers: int | None = Field(
        default=None, ge=1, le=64, description="data servers; the default is all nodes of placement"
    )
    placement: Literal["io", "compute"] | tuple[Name, ...] = Field(
        default="io",
        description="data servers on nodes of their own, on compute nodes, or on the nodes named",
    )
    metadata_servers: int | None = Field(
        default=None, ge=1, le=64, description="metadata servers; the default is one, or all named"
    )
    metadata_placement: Literal["io", "compute", "head"] | tuple[Name, ...] | None = Field(
        default=None,
        description="metadata servers on I/O, compute or head nodes, or on the nodes named; "
        "the default is with the data servers",
    )
    behind: DriverName | None = Field(
        default=None,
        description="of 'gateway' only: the parallel file system behind the NFS servers, glusterfs or cephfs",
    )
    gateways: int | None = Field(
        default=None, ge=1, le=64, description="of 'gateway' only: NFS servers; the default is all"
    )
    gateway_placement: Literal["io", "compute", "head"] | tuple[Name, ...] | None = Field(
        default=None,
        description="of 'gateway' only: NFS servers on I/O, compute or head nodes, or on the nodes named; "
        "the default is with the data servers",
    )
    mount: Annotated[
        str,
        Written(
            r"^/[A-Za-z0-9_/-]{1,60}$",
            "an absolute path of letters, digits and _ / -, 61 characters at most",
        ),
    ] = Field(
        default="/wavetank", description="not of 'none' and 'existing', which are where they are"
    )
    prefix: (
        Annotated[
            str,
            Written(
                r"^/[A-Za-z0-9_./-]{1,200}$", "an absolute path of letters, digits and _ . / -"
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="of 'orangefs' only: where its programs are installed; the default is the PATH",
    )
    package: (
        Annotated[
            str,
            Written(
                r"^/[A-Za-z0-9_./+~-]{1,240}\.(deb|tar\.gz)$",
                "an absolute path of letters, digits and _ . / + ~ -, with .deb or .tar.gz at its end",
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="of 'orangefs' on hosts only: a file of this machine that is copied to them and installed (.deb), or "
        "unpacked at the prefix (.tar.gz)",
    )
    path: Annotated[str, Written(r"^/[^\x00-\x1f]{0,250}$", "an absolute path")] | None = Field(
        default=None,
        description="of 'existing' only: a directory of a file system that is mounted already",
    )
    deployment: Literal["SCRATCH_2", "PERSISTENT_2"] | None = Field(
        default=None, description="of 'fsx-lustre' only; the default is SCRATCH_2"
    )
    capacity: Size | None = Field(
        default=None,
        description="of 'fsx-lustre': 1200 GiB, 2400 GiB or a multiple of 2400 GiB, the default is 1200 GiB; of 'efs', which "
        "grows by itself: what is stored at most, by which it is priced; of 'manila-share', which needs it: its size",
    )
    throughput_per_tib: Literal[125, 250, 500, 1000] | None = Field(
        default=None,
        description="of 'fsx-lustre' with PERSISTENT_2 only: MB/s for each TiB; the default is 125",
    )
    throughput: Literal["elastic", "bursting"] | Rate | None = Field(
        default=None,
        description="of 'efs' only: elastic, bursting, or a provisioned rate, e.g. '100 MiB/s'; the default is elastic",
    )
    tls: bool | None = Field(
        default=None,
        description="of 'efs' only: whether data are encrypted on their way; the default is not",
    )
    stripe: Stripe = Stripe()
    options: dict[Option, OptionValue] = Field(
        default_factory=dict,
        description="expert mode: options of the file system's own configuration",
    )
    mount_options: dict[Option, OptionValue] = Field(
        default_factory=dict, description="expert mode: options of the mount on the compute nodes"
    )

    @property
    def facts(self) -> Facts:
        """What is known of its kind."""
        return facts(self.kind)

    @property
    def keeper(self) -> Facts:
        """What is known of the kind that keeps the data: of the one behind the gateways, where there are any."""
        return facts(self.behind or self.kind)

    @property
    def title(self) -> str:
        """As its project writes it: "GlusterFS", "NFS gateways to CephFS", "existing /scratch"."""
        behind = file_system_title(self.behind) if self.behind else ""
        return file_system_title(self.kind).format(path=self.path, behind=behind)


class Storage(Record):
    """Storage of a node: its devices, their capacity, local file system and limits. All numbers are of one device."""

    on: Literal["instance", "ebs"] | None = Field(
        default=None,
        description="what the devices are in a cloud: the instance's own disks, or volumes (EBS); the default is not said",
    )
    devices: int = Field(default=1, ge=1, le=24, description="devices of each node")
    devices_as: Literal["servers", "raid0"] = Field(
        default="servers",
        description="several devices of a node: a data server each, or one device striped over them (RAID 0)",
    )
    volume_type: Literal["gp2", "gp3", "io2", "st1"] | None = Field(
        default=None, description="of 'on: ebs' only; the default is gp3"
    )
    volume_size: Size | None = Field(
        default=None,
        description="of 'on: ebs' only: capacity of a volume in the cloud, by which it is rated and priced, where "
        "'size' is smaller because nodes are emulated; the default is size",
    )
    iops: int | None = Field(
        default=None, gt=0, description="provisioned, of gp3 (default 3000) and io2 (required)"
    )
    throughput: Rate | None = Field(
        default=None, description="provisioned, of gp3 only; the default is 125 MiB/s"
    )
    size: Size = Field(
        default=2 * 2**30, description="capacity, e.g. '2 GiB'; taken from this machine as it fills"
    )
    local_file_system: Literal["xfs", "ext4"] = "xfs"
    device: str | None = Field(
        default=None,
        description="kind of the device, for the record; the default is the instance's",
    )
    read: Rate | None = Field(
        default=None, description="e.g. '100 MB/s'; the default is the instance's disk_read"
    )
    write: Rate | None = Field(default=None, description="the default is the instance's disk_write")
    read_iops: int | None = Field(default=None, gt=0)
    write_iops: int | None = Field(default=None, gt=0)

    @property
    def node_bytes(self) -> int:
        """Capacity of all devices of a node."""
        return self.size * self.devices

    @property
    def striped(self) -> int:
        """Devices that are one: all of a node (RAID 0), else each by itself."""
        return self.devices if self.devices_as == "raid0" else 1

    @property
    def mounted_bytes(self) -> int:
        """Capacity of each local file system of a node."""
        return self.size * self.striped

    @property
    def cloud_bytes(self) -> int:
        """Capacity of one device as it is in the cloud."""
        return self.size if self.volume_size is None else self.volume_size


class Mpi(Record):
    """How ranks do their MPI-IO."""

    io_library: Literal["ompio", "romio"] | None = Field(
        default=None,
        description="of Open MPI; the default is its own (ompio), or romio where hints are given. MPICH has romio",
    )
    hints: dict[
        Annotated[
            str,
            Written(
                r"^[a-z][a-z0-9_]{0,63}$", "lower case letters, digits and '_', first a letter"
            ),
        ],
        Annotated[str, Written(r"^[A-Za-z0-9_.:/,-]{1,128}$", "letters, digits and _ . : / , -")]
        | int,
    ] = Field(
        default_factory=dict,
        description="expert mode: hints of ROMIO (cb_nodes, romio_cb_write, striping_unit, ...) for every file",
    )

    @model_validator(mode="after")
    def _has_hints_for_romio(self) -> Self:
        if self.hints and self.io_library == "ompio":
            raise ValueError("hints for every file are ROMIO's: leave io_library out, or say romio")
        return self


class Ssh(Record):
    """Hosts that exist, for provider ssh. What is named here goes into an ssh_config: nothing else may be in it."""

    hosts: dict[
        Name,
        Annotated[
            str, Written(r"^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$", "an address or a host name")
        ],
    ] = Field(description="node name -> address or host name")
    user: Annotated[
        str,
        Written(
            r"^[a-z_][a-z0-9_-]{0,31}$", "a user's name: lower case letters, digits, '_' and '-'"
        ),
    ]
    port: int = Field(default=22, ge=1, le=65535)
    identity_file: KeyPath = Field(description="private key; never copied, logged or stored")
    known_hosts: KeyPath = Field(description="host keys that are accepted")
    sudo: bool = Field(default=False, description="run commands by 'sudo -n'")
    directory: Annotated[
        str,
        Written(r"^/[A-Za-z0-9_./-]{1,200}$", "an absolute path of letters, digits and _ . / -"),
    ] = Field(
        default="/var/tmp",  # noqa: S108
        description="where each host keeps data, in a directory of the cluster's own",
    )
    network: (
        Annotated[str, Written(r"^[0-9a-fA-F.:]+/[0-9]{1,3}$", "a network, e.g. 192.168.10.0/24")]
        | None
    ) = Field(default=None, description="CIDR of the network that ranks use")
    jump: UserAtHost | None = Field(
        default=None, description="USER@HOST or USER@HOST:PORT that all hosts are reached by"
    )
