"""Which access methods guests have with which file system by which hypervisor, and why not with others.

Each that is not refused has a test (tests/contract/guest_clusters.py); docs/reference/guests.md shows the table.
"""

from __future__ import annotations

from collections.abc import Iterable

from wavetank.cluster.access import Access
from wavetank.cluster.components import HYPERVISORS, Hypervisor
from wavetank.cluster.filesystems.facts import METHODS
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


def table(kinds: Iterable[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """The combinations as documents show them.

    Args:
        kinds: of the file systems, a row each.

    Returns:
        Rows of a file system and a cell for each of METHODS: the hypervisors that have it, or the number of the reason why none has.
        The reasons, from number 1 on.
    """
    rows, reasons = [], []
    for kind in kinds:
        cells = []
        for method in METHODS:
            against = {name: reason_against(method, kind, name) for name in HYPERVISORS}
            taken = [name for name, reason in against.items() if reason is None]
            why = against["uml"] or (facts(kind).guests_untried or None)
            if why is not None and why not in reasons:
                reasons.append(why)
            cells.append(f"no ({reasons.index(why) + 1})" if why is not None else ", ".join(taken))
        rows.append((kind, *cells))
    return rows, reasons
