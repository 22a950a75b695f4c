"""What a cluster's file system holds, and what of it each guest has as a disk with access: volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wavetank.cluster.components import SMALLEST_STORAGE_BYTES
from wavetank.units import MIB, format_size

if TYPE_CHECKING:
    from wavetank.cluster.spec import ClusterSpec


def capacity_bytes(spec: ClusterSpec) -> int:
    """Bytes that the application's file system holds, before its own overhead."""
    servers = max(len(spec.server_names()), 1)
    stripe = spec.file_system.stripe
    if stripe.kind == "replicated":
        return spec.storage.node_bytes
    if stripe.kind == "disperse":
        return spec.storage.node_bytes * max(servers - (stripe.redundancy or 1), 1)
    return spec.storage.node_bytes * servers


def volume_bytes(spec: ClusterSpec) -> int:
    """Size of a guest's volume: guests have equal shares of the file system, in whole MiB."""
    fs = spec.file_system
    share = capacity_bytes(spec) * fs.keeper.usable_share / len(spec.compute_names())
    return int(share) // MIB * MIB


def volume_problems(spec: ClusterSpec) -> Iterator[str]:
    """Why guests cannot have their files on volumes, with what to do; nothing with another access."""
    if spec.access != "volume" or spec.provider != "vm":
        return
    if spec.layout == "one-server-per-file":
        yield (
            "layout one-server-per-file: with access: volume the application's files are on disks of guests, "
            "which have no layout: remove it"
        )
    size = volume_bytes(spec)
    if size < SMALLEST_STORAGE_BYTES:
        yield (
            f"access: volume: {len(spec.compute_names())} guests would have disks of {format_size(size)}, and "
            f"{spec.storage.local_file_system} needs {format_size(SMALLEST_STORAGE_BYTES)}: give more storage.size"
        )
