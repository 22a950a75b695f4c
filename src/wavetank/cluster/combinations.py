"""Which access methods guests have with which file system by which hypervisor, and why not with others.

Each that is not refused has a test (tests/contract/guest_clusters.py); docs/reference/guests.md shows the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wavetank.cluster.access import Access
from wavetank.cluster.components import HYPERVISORS, MADE_BY, Hypervisor

METHODS: tuple[Access, ...] = ("virtual", "client", "passthrough", "volume")
"""Access methods of guests."""
BROUGHT_UP: Mapping[str, tuple[Access, ...]] = {
    "none": ("virtual",),
    "nfs": METHODS,
    "glusterfs": METHODS,
    "cephfs": METHODS,
    "moosefs": METHODS,
    "gateway": METHODS,
    "orangefs": ("virtual",),
}
"""File systems with the methods that a test brings up with them, by User-mode Linux; of OrangeFS where it is installed."""

UNTRIED = {
    "lustre": "not yet run: guests need a kernel with Lustre's modules, and Debian's have none",
}
"""What nothing refuses, and no test brings up."""
NOT_FOR_GUESTS = {
    "existing": 'file_system existing is this machine\'s, and guests must not write to it: use provider "null"',
    "none": "file_system none is local disks, which no access method reaches: remove access",
}
ONE_LNET = (
    "file_system lustre cannot be served from host nodes: these share this machine's kernel, which has one LNet: use access: "
    "virtual with a kernel for guests that has Lustre's modules, or provider ssh"
)


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
    if access in BROUGHT_UP.get(kind, ()):
        return None
    if kind in MADE_BY:
        return f"file_system {kind} is made and run by a cloud: use provider {MADE_BY[kind]}"
    if kind in NOT_FOR_GUESTS:
        return NOT_FOR_GUESTS[kind]
    if access == "virtual":  # its driver says what it lacks
        return None
    if kind == "lustre":
        return ONE_LNET
    known = [name for name, methods in BROUGHT_UP.items() if access in methods]
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
            why = against["uml"] or UNTRIED.get(kind)
            if why is not None and why not in reasons:
                reasons.append(why)
            cells.append(f"no ({reasons.index(why) + 1})" if why is not None else ", ".join(taken))
        rows.append((kind, *cells))
    return rows, reasons
