"""Virtual machines on this machine: guests in nodes out of namespaces, with their network, disks and limits.

KVM, User-mode Linux or TCG: guests/hypervisors.py says which, and why.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from wavetank import native
from wavetank.cluster.access import AROUND_BYTES, Access, method_of
from wavetank.cluster.components import Hypervisor
from wavetank.cluster.guests import hypervisors
from wavetank.cluster.guests.boot import boot, guest_of, wait_for
from wavetank.cluster.guests.hypervisors import NAMES, Choice
from wavetank.cluster.guests.nodes import MAP, GuestHost, GuestNodes, write_map
from wavetank.cluster.host import ON_THIS_MACHINE_AT_ONCE, Host, on_all
from wavetank.cluster.namespaces.host import NamespaceHost
from wavetank.cluster.namespaces.network import AROUND_FROM
from wavetank.cluster.namespaces.node import read_map
from wavetank.cluster.namespaces.nodes import LocalNodes
from wavetank.cluster.namespaces.provider import NODE_PROGRAM, NamespaceProvider
from wavetank.cluster.providers.base import Provider
from wavetank.cluster.registry import facts, file_system_kinds
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of
from wavetank.document import host_facts, write_whole
from wavetank.errors import ProviderError
from wavetank.units import format_size

CHOICE = "hypervisor.txt"


class VmProvider(Provider):
    """Makes guests."""

    name = "vm"

    def __init__(self) -> None:
        self.around = NamespaceProvider(more_memory=AROUND_BYTES)

    def check(self, spec: ClusterSpec) -> list[str]:
        """What this machine lacks."""
        if os.geteuid() != 0:
            return [
                "provider vm needs root, for networks, disks and limits around guests. Run with sudo"
            ]
        findings = self.around.check(spec)
        choice = hypervisors.choose(spec.hypervisor)
        if isinstance(choice, str):
            findings.append(f"provider vm: {choice}")
        findings += _not_brought_up(spec)
        wanted = sum(spec.instance_of(name).memory for name in spec.node_names())
        here = host_facts().memory_bytes
        if wanted > here:
            findings.append(
                f"{len(spec.node_names())} nodes want {format_size(wanted)} of memory, and this machine has "
                f"{format_size(here)}: ask for less instance.memory or fewer nodes"
            )
        return findings

    def kernel_modules(self, spec: ClusterSpec) -> Path | None:
        """Of the guests' kernel; see the protocol."""
        choice = hypervisors.choose(spec.hypervisor)
        if isinstance(choice, str):
            return None
        with contextlib.suppress(ProviderError):
            return hypervisors.machine(choice.hypervisor).modules()
        return None

    def create(self, spec: ClusterSpec, *, leave: bool = False) -> GuestNodes:
        """Make the nodes, and boot a guest in each; see the protocol."""
        choice = hypervisors.choose(spec.hypervisor)
        if isinstance(choice, str):
            raise ProviderError(f"cluster {spec.name}: {choice}")
        directory = directory_of(spec.name)
        around = self.around.create(spec, leave=leave)
        try:
            write_whole(directory.path / CHOICE, f"{choice.hypervisor}\n{choice.why}\n")
            write_map(around, spec.guest_names())
            self._boot_all(spec, around, choice)
        except BaseException:
            if not leave:
                self.destroy(spec.name)
            raise
        return self.find(spec)

    def _boot_all(self, spec: ClusterSpec, around: LocalNodes, choice: Choice) -> None:
        program = str(native.find(NODE_PROGRAM, "be the agent of guests"))
        machine = hypervisors.machine(choice.hypervisor)
        processes = read_map(Path(around.map_file))

        def start(name: str) -> None:
            guest = guest_of(spec, name, around.directory.path)
            node = around.hosts[name]
            assert isinstance(node, NamespaceHost)  # noqa: S101
            boot(node, guest, machine, program)
            named = NAMES[choice.hypervisor]
            wait_for(node, processes[name][0], named, machine.boot_timeout_s)

        on_all(spec.guest_names(), start, ON_THIS_MACHINE_AT_ONCE)

    def find(self, spec: ClusterSpec) -> GuestNodes:
        """Attach to guests that another process booted; see the protocol."""
        around = self.around.find(spec)
        directory = directory_of(spec.name).path
        if not (directory / MAP).exists():
            raise ProviderError(
                f"the guests of {spec.name} were never booted: wavetank cluster down {spec.name}"
            )
        hypervisor, why = (directory / CHOICE).read_text().splitlines()
        choice = Choice(hypervisors.named(hypervisor), why)
        hosts: dict[str, Host] = dict(around.hosts)
        for name in spec.guest_names():
            node = around.hosts[name]
            enter = (around.program, "run", str(directory / MAP), name)
            hosts[name] = GuestHost(name, node.address, enter, directory, None)
        return GuestNodes(around, hosts, choice, AROUND_BYTES)

    def destroy(self, name: str) -> None:
        """End the guests with their nodes; see the protocol."""
        self.around.destroy(name)


def _not_brought_up(spec: ClusterSpec) -> list[str]:
    """Access methods that can be planned, and not brought up."""
    method = method_of(spec.access, spec.provider)
    choice = hypervisors.choose(spec.hypervisor)
    taken = choice.hypervisor if isinstance(choice, Choice) else (spec.hypervisor or "uml")
    reason = reason_against(method, spec.file_system.kind, taken)
    if reason is not None:
        return [reason]
    if not spec.clients_in_guests and len(spec.node_names()) >= AROUND_FROM:
        return [f"access: {method} has room for {AROUND_FROM - 1} nodes: ask for fewer"]
    return []


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
