"""Targets of a Lustre: which there are, on which servers, on what, and how each is formatted.

The MGS knows the whole configuration, MDTs hold names and attributes, OSTs hold data. Words of ``mkfs.lustre``: mkfs.lustre(8) of 2.15.5.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from wavetank.cluster.components import OptionValue
from wavetank.cluster.spec import ClusterSpec
from wavetank.units import GIB, MIB

Kind = Literal["mgs", "mdt", "ost"]
MGS_BYTES = 128 * MIB  # of its file; logs of a configuration are small
SMALLEST_BYTES = 256 * MIB  # of a file of an MDT or OST, as Lustre's own tests have them
MDT_SHARE = 1 / 8  # of a node's storage, where it is a file
FOR_TARGETS = 0.9  # of a node's storage: the rest is the local file system's own


@dataclass(frozen=True)
class Target:
    """A target.

    Attributes:
        kinds: what it is; an MDT may be the MGS too.
        index: of an MDT or OST; None of an MGS alone.
        server: name of its node.
        device: block device; None: a file in the node's storage.
        size_bytes: of that file.
    """

    kinds: tuple[Kind, ...]
    index: int | None
    server: str
    device: str | None
    size_bytes: int

    @property
    def name(self) -> str:
        """MGS, MDT0000, OST0001 (hexadecimal), as Lustre calls it after the file system's name."""
        if self.index is None:
            return "MGS"
        return f"{self.kinds[0].upper()}{self.index:04x}"

    def pool(self, fsname: str) -> str:
        """Its pool, where ZFS is below."""
        return f"wavetank-{fsname}-{self.name}"


def option(spec: ClusterSpec, key: str) -> str | None:
    """An option as text; None where it is left out."""
    value: OptionValue | None = spec.file_system.options.get(key)
    return None if value is None else str(value)


def fsname(spec: ClusterSpec) -> str:
    """Name of the file system: 8 characters at most, so that a cluster's own name is in it as a number only."""
    return option(spec, "fsname") or f"wt{zlib.crc32(spec.name.encode()) & 0xFFFFFF:06x}"


def backend(spec: ClusterSpec) -> str:
    """What is below targets: ldiskfs or zfs."""
    return option(spec, "backend") or "ldiskfs"


def ost_devices(spec: ClusterSpec) -> tuple[str, ...]:
    """Block devices of each data server; none where OSTs are files."""
    return tuple((option(spec, "ost_devices") or "").replace(",", " ").split())


def osts_per_server(spec: ClusterSpec) -> int:
    """OSTs of each data server."""
    return len(ost_devices(spec)) or int(option(spec, "osts_per_server") or 1)


def targets(spec: ClusterSpec) -> tuple[Target, ...]:
    """All targets, in the order in which they start: MGS, MDTs, OSTs.

    OSTs that follow each other are on different servers.
    """
    metadata, data = spec.metadata_names(), spec.server_names()
    own = option(spec, "mgs") == "own"
    found = []
    if own:
        found.append(Target(("mgs",), None, metadata[0], option(spec, "mgs_device"), MGS_BYTES))
    for index, node in enumerate(metadata):
        kinds: tuple[Kind, ...] = ("mdt",) if own or index > 0 else ("mdt", "mgs")
        found.append(
            Target(kinds, index, node, option(spec, "mdt_device"), mdt_bytes(spec))
        )  # fmt: skip
    devices = ost_devices(spec)
    for level in range(osts_per_server(spec)):
        device = devices[level] if devices else None
        for position, node in enumerate(data):
            index = level * len(data) + position
            found.append(Target(("ost",), index, node, device, ost_bytes(spec)))
    return tuple(found)


def mdt_bytes(spec: ClusterSpec) -> int:
    """Size of the file of an MDT."""
    share = int(spec.storage.size * MDT_SHARE) // MIB * MIB
    return min(max(share, SMALLEST_BYTES), 64 * GIB)


def ost_bytes(spec: ClusterSpec) -> int:
    """Size of the file of an OST: the same on all servers, so that the one with most other targets says it."""
    taken = 0
    if option(spec, "mdt_device") is None and set(spec.metadata_names()) & set(spec.server_names()):
        taken = mdt_bytes(spec)
    if option(spec, "mgs") == "own" and option(spec, "mgs_device") is None:
        taken += MGS_BYTES if spec.metadata_names()[0] in spec.server_names() else 0
    free = int(spec.storage.size * FOR_TARGETS) - taken
    return max(free // osts_per_server(spec) // MIB * MIB, 0)


def mkfs_argv(target: Target, name: str, mgs_nid: str, below: str, source: str) -> list[str]:
    """Format a target.

    Args:
        target: the target.
        name: of the file system.
        mgs_nid: of the MGS.
        below: ldiskfs or zfs.
        source: block device; with zfs, block device or file.
    """
    words = [f"--{kind}" for kind in target.kinds]
    if target.index is not None:
        words += [f"--fsname={name}", f"--index={target.index}"]
    if "mgs" not in target.kinds:
        words.append(f"--mgsnode={mgs_nid}")
    on = [source] if below == "ldiskfs" else [f"{target.pool(name)}/{target.name.lower()}", source]
    return ["mkfs.lustre", *words, f"--backfstype={below}", *on]
