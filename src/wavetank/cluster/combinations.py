"""Why guests do not have an access method with a file system by a hypervisor; docs/reference/guests.md shows the combinations."""

from __future__ import annotations

from wavetank.cluster.access import Access
from wavetank.cluster.components import Hypervisor
from wavetank.cluster.registry import facts, file_system_kinds


def reason_against(access: Access, kind: str, hypervisor: Hypervisor) -> str | None:
    """Why guests do not reach a file system so, with what to do; None: they do.

    Args:
        access: a method of guests.
        kind: of the file system.
        hypervisor: of the guests.
    """
    reason = _against_file_system(access, kind)
    if reason is None and access == "volume" and hypervisor != "uml":
        return (
            f"access: volume with hypervisor {hypervisor}: QEMU keeps a disk's file open, and the file system is mounted later. "
            "Use hypervisor: uml, or access: passthrough"
        )
    return reason


def _against_file_system(access: Access, kind: str) -> str | None:
    its = facts(kind)
    if access in its.guest_methods:
        return None
    if its.made_by is not None:
        return f"file_system {kind} is made and run by a cloud: use provider {its.made_by}"
    if its.against_guests:
        return its.against_guests
    known = file_system_kinds(lambda other: access in other.guest_methods)
    return (
        f"file_system {kind} was never served from host nodes to guests: use access: virtual, or file_system "
        f"{', '.join(known[:-1])} or {known[-1]}"
    )
