"""How each hypervisor starts a guest: its command line, its kernel's modules, its names of disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from wavetank.cluster.components import Hypervisor
from wavetank.cluster.guests.guest import Guest
from wavetank.cluster.guests.qemu import Qemu
from wavetank.cluster.guests.uml import UserModeLinux


class Machine(Protocol):
    """A hypervisor with a kernel for guests."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Of the hypervisor, beside what every command in a node has."""

    @property
    def boot_timeout_s(self) -> float:
        """Within which a guest boots, also on a machine with much other work."""

    def modules(self) -> Path:
        """Directory with the modules of the guests' kernel; its name is the kernel's release.

        Raises:
            ProviderError: there is none.
        """

    def devices(self, guest: Guest) -> Sequence[str]:
        """The guest's disks, as its kernel names them."""

    def command(self, guest: Guest) -> Sequence[str]:
        """The argv that is a guest, in its node; its console is the standard output.

        Raises:
            ProviderError: what it needs cannot be made.
        """


def machine(hypervisor: Hypervisor) -> Machine:
    """A hypervisor's machine."""
    return UserModeLinux() if hypervisor == "uml" else Qemu(with_kvm=hypervisor == "kvm")
