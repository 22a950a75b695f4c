"""Storage devices of a node: how many, what they are in a cloud, what each can do, where each is mounted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from wavetank.cluster.components import FileSystem, Instance, Storage
from wavetank.cluster.instance_types import aws_instances
from wavetank.cluster.registry import CLOUDS, file_system_kinds
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


def is_on_instance(storage: object) -> bool:
    """Whether a storage, as it is written or validated, is on the instance's own disks."""
    if isinstance(storage, Storage):
        return storage.on == "instance"
    return isinstance(storage, Mapping) and storage.get("on") == "instance"


def device_rates(instance: Instance, storage: Storage) -> dict[str, int]:
    """Limits of each device: read and write (bytes/s), read_iops, write_iops; those that are set.

    What storage says of a limit wins. Else it is that of the volume, and of the instance: several devices share the
    instance's limit in equal parts.
    """
    asked = {
        "read": (storage.read, instance.disk_read),
        "write": (storage.write, instance.disk_write),
        "read_iops": (storage.read_iops, instance.disk_read_iops),
        "write_iops": (storage.write_iops, instance.disk_write_iops),
    }
    volume: dict[str, int] = {}
    if storage.on == "ebs":
        rate, iops = volume_rates(storage)
        volume = {"read": rate, "write": rate, "read_iops": iops, "write_iops": iops}
    found = {}
    for name, (own, whole) in asked.items():
        bounds = [volume[name]] if name in volume else []
        if whole is not None:
            bounds.append(max(1, whole // storage.devices))
        value = own or min(bounds, default=None)
        if value is not None:
            found[name] = value
    return found


def device_paths(storage: Storage, base: str) -> tuple[str, ...]:
    """Where each device of a node is mounted: /storage, /storage2, /storage3, ...; one path where they are one (RAID 0).

    Args:
        storage: of the specification.
        base: where the first is, e.g. "/storage".
    """
    return (base, *(f"{base}{i}" for i in range(2, n_mounted(storage) + 1)))


def n_mounted(storage: Storage) -> int:
    """Local file systems of a node: one on each device, or one on all of them (RAID 0)."""
    return storage.devices // storage.striped


def emulated_words(storage: Storage) -> str:
    """How devices that are striped in a cloud are emulated; empty where there are none.

    One device stands for all: kernels of small machines and containers have neither md nor the device mapper.
    """
    n = storage.striped
    return (
        ""
        if n == 1
        else f"one device in place of {n} striped ones (RAID 0), with {n} times the capacity and the rates"
    )


def device_problems(key: str, storage: Storage, instances: Iterable[Instance]) -> Iterator[str]:
    """What keeps devices from being had as they are written.

    Args:
        key: where they are written: "storage" or "temporary".
        storage: the devices.
        instances: of the nodes that have them.
    """
    yield from volume_problems(storage, key)
    if key == "temporary" and storage.devices > 1:
        yield "temporary.devices: temporary storage is one device; several are of storage only"
    if storage.on != "instance":
        return
    for name in dict.fromkeys(instance.name for instance in instances):
        kind = aws_instances().get(name)
        if kind is None:  # of a name that the catalogue does not have nothing is known
            continue
        if kind.n_local_disks == 0:
            yield f"{key}.on: instance, but {name} has no disks of its own: write on: ebs, or take a type that has"
        elif storage.devices > kind.n_local_disks:
            yield f"{key}.devices asks for {storage.devices}, and {name} has {kind.n_local_disks} disks of its own"
        elif storage.size > kind.local_disk_bytes:
            yield (
                f"{key}.size {format_size(storage.size)} is more than the {format_size(kind.local_disk_bytes)} of a disk "
                f"of {name}"
            )


def unmade_devices(storage: Storage, provider: str, fs: FileSystem) -> Iterator[str]:
    """What of several devices of a node a provider or a file system does not make.

    Args:
        storage: of the specification.
        provider: its name.
        fs: of the specification.
    """
    if storage.devices == 1:
        return
    if provider not in ("local", *CLOUDS):
        yield f"storage.devices: provider {provider} has one device on a node; leave devices out, or take provider local"
    elif storage.devices_as == "servers" and not fs.facts.serves_each_device:
        yield (
            f"storage.devices: {fs.kind} has one server with one device on a node here. Take "
            f"{' or '.join(file_system_kinds(lambda facts: facts.serves_each_device))}, write devices_as: raid0, or leave devices out"
        )
