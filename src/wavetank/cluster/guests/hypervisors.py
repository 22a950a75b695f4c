"""Which hypervisors this machine has for guests, and which one a cluster takes.

KVM where it runs kernels of distributions; else User-mode Linux, a Linux kernel that is an ordinary process; else
QEMU without KVM, which translates every instruction and is for function only.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wavetank.cluster.components import HYPERVISORS, Hypervisor
from wavetank.cluster.guests import kvm_probe, qemu, uml
from wavetank.cluster.guests.guest import Guest
from wavetank.cluster.guests.qemu import Qemu
from wavetank.cluster.guests.uml import UserModeLinux
from wavetank.cluster.needs import Lack
from wavetank.errors import ProviderError


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


KVM_GET_API_VERSION = 0xAE00
KVM_API_VERSION = 12  # since Linux 2.6.22
TUN = Path("/dev/net/tun")
NAMES: Mapping[Hypervisor, str] = {
    "kvm": "QEMU with KVM",
    "uml": "User-mode Linux",
    "tcg": "QEMU without KVM (TCG)",
}
COMPARABLE_BYTES = 64 * 1024
"""Requests below this are decided by the cost of a system call in User-mode Linux: 50 us are 1.3 GB/s at 64 KiB."""
INCOMPARABLE = "not comparable with hardware"
RATES_KEY = "rates"  # of a cluster's limits: what rates in its guests are worth
RATES: Mapping[Hypervisor, str] = {
    "kvm": "measured",
    "uml": f"measured; a system call costs tens of microseconds: requests below 64 KiB are {INCOMPARABLE}",
    "tcg": f"{INCOMPARABLE}: every instruction is translated",
}
"""What rates that are measured in a guest are worth."""


@dataclass(frozen=True)
class Choice:
    """The hypervisor of a cluster's guests.

    Attributes:
        hypervisor: which one.
        why: for people.
    """

    hypervisor: Hypervisor
    why: str


def reasons_against(
    names: Sequence[Hypervisor] = HYPERVISORS,
) -> dict[Hypervisor, Lack | None]:
    """Why this machine cannot run guests of some hypervisors, with what to do; None when it can. The best first."""
    against: dict[Hypervisor, Callable[[], Lack | None]] = {
        "kvm": lambda: qemu.reason_against() or against_kvm() or against_its_guests(),
        "uml": uml.reason_against,
        "tcg": qemu.reason_against,
    }
    return {name: _against_taps() or against[name]() for name in names}


def choose(asked: Hypervisor | None) -> Choice | str:
    """The hypervisor that is asked for, or the best that is here; or why there is none, with what to do."""
    if asked is not None:
        reason = reasons_against((asked,))[asked]
        return Choice(asked, "asked for") if reason is None else f"hypervisor {asked}: {reason}"
    passed_over: list[str] = []
    for name in HYPERVISORS:
        reason = reasons_against((name,))[name]
        if reason is None:
            return Choice(name, "; ".join(passed_over) or "the best there is")
        passed_over.append(f"no {name}: {reason}")
    return "no hypervisor: " + "; ".join(passed_over)


def _against_taps() -> Lack | None:
    if not TUN.exists():
        return Lack(f"no {TUN}", "'modprobe tun', or give the container the device")
    return None


def against_its_guests() -> Lack | None:
    """Why a guest does not boot by KVM, which answers."""
    return kvm_probe.reason_against(qemu.the_kernel().image, qemu.the_busybox())


def against_kvm(device: Path = Path("/dev/kvm")) -> Lack | None:
    """Why KVM does not answer here."""
    try:
        descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return Lack("/dev/kvm is not ours to open", "join the group kvm, or run with sudo")
    except OSError:
        return Lack(
            "no /dev/kvm",
            "'modprobe kvm_intel' or 'modprobe kvm_amd', or virtualisation is off in the firmware",
        )
    try:
        if fcntl.ioctl(descriptor, KVM_GET_API_VERSION, 0) != KVM_API_VERSION:
            return Lack("/dev/kvm does not speak version 12", "update the kernel")
    except OSError as error:
        return Lack(f"/dev/kvm does not answer ({error.strerror})", "run with sudo")
    finally:
        os.close(descriptor)
    return None


def named(text: str) -> Hypervisor:
    """The hypervisor of this name.

    Raises:
        ProviderError: there is none.
    """
    for name in HYPERVISORS:
        if name == text:
            return name
    raise ProviderError(f"no hypervisor is called {text!r}; there are {', '.join(HYPERVISORS)}")
