"""Which client of CephFS a specification asks for, ceph-fuse or the kernel's, and the mount options of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from wavetank.cluster.components import OptionValue
from wavetank.cluster.spec import ClusterSpec

# Mount options of the kernel's client: numbers, and words that are there or not (Linux 6.1, fs/ceph/super.c).
KERNEL_NUMBERS = frozenset(
    {"rsize", "wsize", "rasize", "caps_max", "readdir_max_bytes", "readdir_max_entries"}
)
KERNEL_FLAGS = frozenset({"wsync", "nodcache", "nocrc"})


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
    return "kernel" if names <= KERNEL_NUMBERS | KERNEL_FLAGS else "fuse"


def kernel_mount_words(spec: ClusterSpec) -> list[str]:
    """Mount options as the kernel reads them; none of another client."""
    if client_of(spec) != "kernel":
        return []
    asked = spec.file_system.mount_options.items()
    return [
        name if value is True else f"{name}={value}" for name, value in asked if value is not False
    ]


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


def kernel_option_problems(name: str, value: OptionValue) -> Iterator[str]:
    """Findings: a mount option that the kernel's client does not have, or a value that it does not take."""
    if name in KERNEL_FLAGS:
        if not isinstance(value, bool):
            yield f"file_system.mount_options {name} is {value!r}: it may be true or false"
    elif name not in KERNEL_NUMBERS:
        known = ", ".join(sorted(KERNEL_NUMBERS | KERNEL_FLAGS))
        yield f"file_system.mount_options {name} is no option of the kernel's client: there are {known}"
    elif isinstance(value, bool) or re.fullmatch(r"[0-9]{1,10}", str(value)) is None:
        yield f"file_system.mount_options {name} is {value!r}: write a number"
