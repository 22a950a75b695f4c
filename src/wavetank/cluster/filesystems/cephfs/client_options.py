"""Which client of CephFS a specification asks for, ceph-fuse or the kernel's, and the mount options of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.options import FLAG, NUMBER, Table, option_words
from wavetank.cluster.spec import ClusterSpec

# Mount options of the kernel's client: numbers, and words that are there or not (Linux 6.1, fs/ceph/super.c).
KERNEL_MOUNT_OPTIONS = Table("the kernel's client of cephfs", {
    **dict.fromkeys(("rsize", "wsize", "rasize", "caps_max", "readdir_max_bytes", "readdir_max_entries"), NUMBER),
    **dict.fromkeys(("wsync", "nodcache", "nocrc"), FLAG),
})  # fmt: skip


def client_of(spec: ClusterSpec) -> str | None:
    """The client that is asked for, "kernel" or "fuse"; None: the kernel's where a guest's kernel has it, else ceph-fuse.

    Mount options say it too: each client has its own.
    """
    asked = spec.file_system.options.get("client")
    if asked is not None:
        return str(asked)
    if not spec.clients_in_guests:
        return "fuse"
    names = set(spec.file_system.mount_options)
    if not names:
        return None
    return "kernel" if names <= set(KERNEL_MOUNT_OPTIONS.values) else "fuse"


def kernel_mount_words(spec: ClusterSpec) -> list[str]:
    """Mount options as the kernel reads them; none of another client."""
    return option_words(spec.file_system.mount_options) if client_of(spec) == "kernel" else []


def options_of_ceph_fuse(spec: ClusterSpec) -> Mapping[str, OptionValue]:
    """Mount options as ceph-fuse reads them; none of another client."""
    return {} if client_of(spec) == "kernel" else spec.file_system.mount_options


def client_problems(spec: ClusterSpec) -> Iterator[str]:
    """Finding: the kernel's client where nodes have none of their own."""
    if spec.file_system.options.get("client") == "kernel" and not spec.clients_in_guests:
        yield (
            "file_system.options.client: kernel is for guests that mount (provider vm, access virtual or client): other "
            "nodes have ceph-fuse"
        )
