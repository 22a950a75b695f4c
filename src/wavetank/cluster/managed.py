"""File systems that a cloud makes and runs: their keys in a specification, and what those stand for.

Sizes: the CreateFileSystem operation of FSx as botocore 1.44.5 describes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.cluster.components import FileSystem
from wavetank.units import GIB

FSX_SMALLEST_BYTES = 1200 * GIB


@dataclass(frozen=True)
class Service:
    """A file system that the cloud runs, as clients reach it.

    Attributes:
        address: what is mounted: of FSx for Lustre "NAME@tcp:/MOUNT-NAME", of EFS the address of its mount target, of a share of Manila
            its export location, "ADDRESS:/PATH".
        name: of its servers in the domain name system.
    """

    address: str
    name: str


@dataclass(frozen=True)
class Stored:
    """What is paid for of a file system that the cloud runs.

    Attributes:
        name: in price tables.
        size_bytes: capacity of FSx and of a share; of EFS what it says that it stores.
        throughput_bytes_per_s: provisioned, of EFS; None: none is bought.
        is_paid_by_moved: whether what is read and written is paid for too.
    """

    name: str
    size_bytes: int | None
    throughput_bytes_per_s: int | None = None
    is_paid_by_moved: bool = False


def fsx_deployment(fs: FileSystem) -> str:
    """SCRATCH_2 or PERSISTENT_2."""
    return fs.deployment or "SCRATCH_2"


def fsx_capacity(fs: FileSystem) -> int:
    """Capacity of a file system of FSx for Lustre, bytes."""
    return FSX_SMALLEST_BYTES if fs.capacity is None else fs.capacity


def fsx_throughput_per_tib(fs: FileSystem) -> int | None:
    """MB/s for each TiB of PERSISTENT_2; None of SCRATCH_2, which has one of its own."""
    return (fs.throughput_per_tib or 125) if fsx_deployment(fs) == "PERSISTENT_2" else None


def fsx_price_name(deployment: str, per_tib: int | None) -> str:
    """A file system of FSx for Lustre in price tables; with what it moves for each TiB where that is bought."""
    name = "fsx-lustre-" + deployment.lower().replace("_", "-")
    return name if per_tib is None else f"{name}-{per_tib}"
