"""File systems that a cloud makes and runs: their keys in a specification, and what those stand for.

Sizes and throughputs: the CreateFileSystem operations of FSx and EFS as botocore 1.44.5 describes them. Shares of Manila have whole GiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from wavetank.cluster.components import MANAGED, FileSystem
from wavetank.units import GIB, MIB, format_size

FSX_SMALLEST_BYTES = 1200 * GIB
FSX_STEP_BYTES = 2400 * GIB
EFS_LARGEST_PROVISIONED = 3414 * MIB  # bytes per second


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
    size_bytes: int
    throughput_bytes_per_s: int | None = None
    is_paid_by_moved: bool = False


@runtime_checkable
class HasService(Protocol):
    """Nodes that a cloud made together with a file system."""

    @property
    def service(self) -> Service | None:
        """The file system; None where there is none, or not yet."""


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


def share_price_name(share_type: str | None) -> str:
    """A share of Manila in price tables, by its type; None: the cloud's default."""
    return f"manila-{share_type or 'default'}"


def is_paid_by_moved(fs: FileSystem) -> bool:
    """Whether what is read and written is paid for: EFS with elastic throughput, its default."""
    return fs.kind == "efs" and fs.throughput in (None, "elastic")


def managed_problems(fs: FileSystem) -> Iterator[str]:
    """What does not fit together among the keys of managed file systems."""
    for key in ("deployment", "throughput_per_tib"):
        if getattr(fs, key) is not None and fs.kind != "fsx-lustre":
            yield f"file_system.{key} only has a meaning with kind: fsx-lustre, not {fs.kind}"
    if fs.capacity is not None and fs.kind not in MANAGED:
        yield f"file_system.capacity only has a meaning with kind: fsx-lustre, efs or manila-share, not {fs.kind}"
    for key in ("throughput", "tls"):
        if getattr(fs, key) is not None and fs.kind != "efs":
            yield f"file_system.{key} only has a meaning with kind: efs, not {fs.kind}"
    if fs.kind in MANAGED:
        for key in ("servers", "path", "prefix", "package"):
            if getattr(fs, key) is not None:
                yield f"file_system.{key} has no meaning with kind: {fs.kind}: the cloud runs its servers"
        yield from PROBLEMS[fs.kind](fs)


def _efs_problems(fs: FileSystem) -> Iterator[str]:
    if isinstance(fs.throughput, int) and not MIB <= fs.throughput <= EFS_LARGEST_PROVISIONED:
        yield "file_system.throughput: EFS can be provisioned with 1 to 3414 MiB/s"
    if fs.capacity == 0:
        yield "file_system.capacity: what is stored at most is more than nothing"


def _fsx_problems(fs: FileSystem) -> Iterator[str]:
    size = fsx_capacity(fs)
    if size != FSX_SMALLEST_BYTES and (size == 0 or size % FSX_STEP_BYTES):
        yield (
            f"file_system.capacity {format_size(size)}: FSx for Lustre has 1200 GiB, 2400 GiB and multiples of 2400 GiB"
        )
    if fs.throughput_per_tib is not None and fsx_deployment(fs) != "PERSISTENT_2":
        yield "file_system.throughput_per_tib only has a meaning with deployment: PERSISTENT_2"


def _share_problems(fs: FileSystem) -> Iterator[str]:
    if not fs.capacity:
        yield "file_system.capacity is needed with kind: manila-share: the size of the share, e.g. 100 GiB"
    elif fs.capacity % GIB:
        yield f"file_system.capacity {format_size(fs.capacity)}: shares of Manila have whole GiB"


PROBLEMS = {"efs": _efs_problems, "fsx-lustre": _fsx_problems, "manila-share": _share_problems}
