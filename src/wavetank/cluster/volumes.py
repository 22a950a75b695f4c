"""Volumes of AWS (EBS): which there are, and what each is good for over long times.

Ranges of capacity, IOPS and throughput: the CreateVolume operation as botocore 1.44.5 describes it. What an IOPS may
move and how many a GiB may have: the EBS user guide, "Amazon EBS volume types". Bursts are no limit here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wavetank.cluster.components import Storage
from wavetank.units import GIB, MIB, format_rate, format_size

# The size of operation that throughput is counted with where it follows from IOPS.
BYTES_OF_AN_OPERATION = 256 * 2**10


@dataclass(frozen=True)
class VolumeType:
    """Limits of one type of volume.

    Attributes:
        smallest_bytes, largest_bytes: of its capacity.
        iops: fewest and most that can be provisioned; None where they cannot be.
        iops_per_gib: most that can be provisioned for each GiB.
        throughput: least and most bytes a second that can be provisioned; None where they cannot be.
    """

    smallest_bytes: int
    largest_bytes: int
    iops: tuple[int, int] | None = None
    iops_per_gib: int | None = None
    throughput: tuple[int, int] | None = None


VOLUME_TYPES: dict[str, VolumeType] = {
    "gp2": VolumeType(GIB, 16384 * GIB),
    "gp3": VolumeType(GIB, 65536 * GIB, (3000, 80_000), 500, (125 * MIB, 2000 * MIB)),
    "io2": VolumeType(4 * GIB, 65536 * GIB, (100, 256_000), 1000),
    "st1": VolumeType(125 * GIB, 16384 * GIB),
}
DEFAULT_TYPE = "gp3"


def volume_type(storage: Storage) -> str:
    """The type of the volumes of a storage that is on EBS."""
    return storage.volume_type or DEFAULT_TYPE


def provisioned(storage: Storage) -> tuple[int | None, int | None]:
    """IOPS and bytes a second that are bought with a volume; None where they come with its capacity."""
    kind = VOLUME_TYPES[volume_type(storage)]
    iops = (storage.iops or kind.iops[0]) if kind.iops else None
    throughput = (storage.throughput or kind.throughput[0]) if kind.throughput else None
    return iops, throughput


def volume_rates(storage: Storage) -> tuple[int, int]:
    """What a volume does for long: bytes a second, and operations a second, of reads and writes together."""
    name, size = volume_type(storage), storage.cloud_bytes
    if name == "st1":  # 40 MiB/s for each TiB, at most 500 MiB/s; 500 operations of 1 MiB
        return min(500 * MIB, 40 * MIB * size // 2**40), 500
    if (
        name == "gp2"
    ):  # 3 IOPS for each GiB, 100 to 16,000; 128 MiB/s up to 170 GiB, 250 MiB/s above
        iops = min(max(100, 3 * size // GIB), 16_000)
        most = 128 * MIB if size <= 170 * GIB else 250 * MIB
        return min(most, iops * BYTES_OF_AN_OPERATION), iops
    bought_iops, bought = provisioned(storage)
    iops = bought_iops or 0
    if name == "gp3":
        return bought or 0, iops
    return min(4000 * MIB, iops * BYTES_OF_AN_OPERATION), iops


def volume_problems(storage: Storage, key: str) -> Iterator[str]:
    """What keeps volumes from being had as they are written.

    Args:
        storage: of a cluster specification.
        key: where it is written: "storage" or "temporary".
    """
    of_volumes = ("volume_type", "volume_size", "iops", "throughput")
    if storage.on != "ebs":
        for name in of_volumes:
            if getattr(storage, name) is not None:
                yield f"{key}.{name} only has a meaning with {key}.on: ebs"
        return
    name = volume_type(storage)
    kind = VOLUME_TYPES[name]
    size = storage.cloud_bytes
    if storage.volume_size is not None and storage.volume_size < storage.size:
        yield f"{key}.volume_size {format_size(storage.volume_size)} is less than size {format_size(storage.size)}"
    if not kind.smallest_bytes <= size <= kind.largest_bytes:
        yield (
            f"a volume of {name} holds {format_size(kind.smallest_bytes)} to {format_size(kind.largest_bytes)}, not "
            f"{format_size(size)}: write {key}.volume_size (what is emulated may stay smaller: {key}.size)"
        )
    yield from _iops_problems(storage, key, name, kind)
    if storage.throughput is not None:
        yield from _throughput_problems(storage, key, name, kind)


def _iops_problems(storage: Storage, key: str, name: str, kind: VolumeType) -> Iterator[str]:
    if kind.iops is None:
        if storage.iops is not None:
            yield f"{key}.iops: those of {name} come with its capacity; only gp3 and io2 have provisioned ones"
        return
    if storage.iops is None:
        if name == "io2":
            yield f"{key}.iops is required of io2, {kind.iops[0]:,} to {kind.iops[1]:,}"
        return
    if not kind.iops[0] <= storage.iops <= kind.iops[1]:
        yield f"{key}.iops {storage.iops:,}: {name} has {kind.iops[0]:,} to {kind.iops[1]:,}"
    most = max((kind.iops_per_gib or 0) * storage.cloud_bytes // GIB, kind.iops[0])
    if storage.iops > most:
        yield (
            f"{key}.iops {storage.iops:,} are more than the {most:,} of a volume of {name} of "
            f"{format_size(storage.cloud_bytes)} ({kind.iops_per_gib} for each GiB)"
        )


def _throughput_problems(storage: Storage, key: str, name: str, kind: VolumeType) -> Iterator[str]:
    asked = storage.throughput or 0
    if kind.throughput is None:
        yield f"{key}.throughput: that of {name} follows from its capacity and IOPS; only gp3 has a provisioned one"
        return
    least, most = kind.throughput
    if not least <= asked <= most:
        yield f"{key}.throughput {format_rate(asked)}: {name} has {format_rate(least)} to {format_rate(most)}"
    iops, _ = provisioned(storage)
    # 0.25 MiB/s for each IOPS
    if asked > (iops or 0) * BYTES_OF_AN_OPERATION:
        yield (
            f"{key}.throughput {format_rate(asked)} needs {-(-asked // BYTES_OF_AN_OPERATION):,} IOPS of {name} "
            f"(256 KiB each), and {key}.iops is {iops:,}"
        )
