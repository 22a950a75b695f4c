"""Storage devices of a node: how many, what they are in a cloud, what each can do, where each is mounted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from wavetank.cluster.components import FileSystem, Instance, Storage
from wavetank.cluster.instance_types import aws_instances
from wavetank.cluster.registry import CLOUDS, file_system_kinds
from wavetank.cluster.volumes import volume_problems, volume_rates
from wavetank.units import format_size


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
