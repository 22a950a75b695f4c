"""Stripes of a file system as a cluster file asks for them, and how much files can fill."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wavetank.cluster.components import SMALLEST_STORAGE_BYTES, Stripe
from wavetank.cluster.registry import file_system_kinds
from wavetank.units import MIB, format_size

if TYPE_CHECKING:
    from wavetank.cluster.spec import ClusterSpec


def stripe_problems(spec: ClusterSpec) -> Iterator[str]:
    """What does not fit together among stripes, servers and the layout of input files, whatever the file system's driver says."""
    fs = spec.file_system
    known = fs.keeper.stripes
    if not known:
        if fs.stripe != Stripe():
            yield f"file_system.stripe has no meaning with kind: {fs.kind}: remove it"
        return
    if fs.stripe.kind not in known:
        others = file_system_kinds(lambda facts: fs.stripe.kind in facts.stripes)
        yield (
            f"file_system.stripe.kind {fs.stripe.kind}: {fs.behind or fs.kind} has {' and '.join(known)}. Take one of these, or "
            f"{' or '.join(others)}"
        )
    if fs.stripe.size == 0:
        yield "file_system.stripe.size is 0: a block has at least one byte"
    if spec.layout == "one-server-per-file" and fs.stripe.kind != "distributed":
        yield f"layout one-server-per-file needs whole files: file_system.stripe.kind must be distributed, not {fs.stripe.kind}"
    if fs.stripe.size is not None and fs.stripe.kind != "sharded":
        yield f"file_system.stripe.size only has a meaning with kind: sharded, not {fs.stripe.kind}"
    if fs.stripe.count is not None and fs.stripe.kind != "sharded":
        yield f"file_system.stripe.count only has a meaning with kind: sharded, not {fs.stripe.kind}"
    elif fs.stripe.count is not None and fs.facts.made_by is None:
        servers = len(spec.server_names())
        if fs.stripe.count > servers:
            yield (
                f"file_system.stripe.count {fs.stripe.count} is more than the {servers} data "
                f"{'server' if servers == 1 else 'servers'}"
            )
    if fs.stripe.redundancy is not None and fs.stripe.kind != "disperse":
        yield f"file_system.stripe.redundancy only has a meaning with kind: disperse, not {fs.stripe.kind}"


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
