"""QEMU: a guest with a kernel of the distribution, by KVM, or by TCG for function only.

By KVM the machine is microvm: devices by virtio-mmio, no firmware that takes time. By TCG it is q35. The root is the node's, by 9p.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wavetank.cluster.guests import qemu_kernels
from wavetank.cluster.guests.guest import BOOT_TIMEOUT_S, CONTROL_TAP, PASSED_TAG, TAP, Guest
from wavetank.cluster.guests.qemu_kernels import Kernel, kernels, static_busybox, unpacked
from wavetank.cluster.needs import Lack
from wavetank.errors import ProviderError
from wavetank.programs import find_program
from wavetank.units import MIB

PROGRAM = "qemu-system-x86_64"
GET_KERNEL = "packaging/guest-kernel, or apt-get install linux-image-amd64 busybox-static"
TRANSLATED_MIB = 32
"""Of translated instructions that QEMU keeps, in what a node has beside its guest. QEMU 7.2 keeps up to 1 GiB, and was killed for it."""
# How many times longer a guest may take whose every instruction is translated.
TRANSLATED = 4


def reason_against() -> Lack | None:
    """Why QEMU has no guests here, with what to do; None when it has."""
    if platform.machine() != "x86_64":
        return Lack(f"not for {platform.machine()}", "use a machine with x86_64")
    if find_program(PROGRAM) is None:
        return Lack(f"no {PROGRAM}", "apt-get install qemu-system-x86")
    missing = [
        what
        for what, there in (
            ("kernel with its modules and 9p", bool(kernels())),
            ("static busybox", static_busybox() is not None),
        )
        if not there
    ]
    return Lack(f"no {' and no '.join(missing)}", GET_KERNEL) if missing else None


@dataclass(frozen=True)
class Qemu:
    """Guests by QEMU."""

    with_kvm: bool
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def boot_timeout_s(self) -> float:
        """See the protocol."""
        return BOOT_TIMEOUT_S * (1 if self.with_kvm else TRANSLATED)

    def modules(self) -> Path:
        """Of the kernel that guests have; see the protocol."""
        return the_kernel().modules

    def devices(self, guest: Guest) -> list[str]:
        """See the protocol."""
        return [f"/dev/vd{chr(ord('a') + i)}" for i in range(len(guest.disks))]

    def command(self, guest: Guest) -> list[str]:
        """See the protocol."""
        kernel = the_kernel()
        image = kernel.image if self.with_kvm else unpacked(kernel.image)
        return self.line(guest, image, qemu_kernels.make(the_busybox(), kernel.modules))

    def line(self, guest: Guest, image: Path, initial_root: Path) -> list[str]:
        """The command line with a kernel and what that needs before it sees its root.

        Disks bypass this machine's page cache: their devices have limits, and what is cached here would have none.
        """
        bus = "device" if self.with_kvm else "pci"
        words = start(self.with_kvm, math.ceil(guest.vcpus), guest.memory_bytes // MIB, image, initial_root)  # fmt: skip
        for tag in (qemu_kernels.TAG, *((PASSED_TAG,) if guest.has_view else ())):
            words += ["-fsdev", f"local,id={tag},path=/,security_model=none,multidevs=remap"]
            words += ["-device", f"virtio-9p-{bus},fsdev={tag},mount_tag={tag}"]
        words += ["-device", f"virtio-rng-{bus}"]
        for name, tap, mac in (
            ("net0", TAP, guest.mac),
            ("net1", CONTROL_TAP, guest.control_mac),
        ):
            words += ["-netdev", f"tap,id={name},ifname={tap},script=no,downscript=no"]
            words += ["-device", f"virtio-net-{bus},netdev={name},mac={mac}"]
        for i, disk in enumerate(guest.disks):
            words += ["-drive", f"if=none,id=disk{i},file={disk.device},format=raw,cache=none"]
            words += ["-device", f"virtio-blk-{bus},drive=disk{i}"]
        return words


def start(
    with_kvm: bool, processors: int, memory_mib: int, image: Path, initial_root: Path
) -> list[str]:
    """What every guest of QEMU begins with: the machine without devices, its kernel, and its console.

    With KVM the machine is microvm. Translated kernels hang there, for it has no clock by which they could tell how fast they run
    (QEMU 7.2, Linux 6.1): q35 has one. mitigations=off spares them work against flaws of processors that they do not have.
    """
    return [
        find_program(PROGRAM) or PROGRAM,
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
        "-machine", "microvm" if with_kvm else "q35",
        "-accel", "kvm" if with_kvm else f"tcg,tb-size={TRANSLATED_MIB}",
        "-cpu", "host" if with_kvm else "max", "-smp", str(processors), "-m", f"{memory_mib}M",
        "-kernel", str(image), "-initrd", str(initial_root),
        "-append", "console=ttyS0 panic=-1 quiet" + ("" if with_kvm else " mitigations=off"),
    ]  # fmt: skip


def the_kernel() -> Kernel:
    """The kernel that guests have.

    Raises:
        ProviderError: there is none.
    """
    found = kernels()
    if not found:
        raise ProviderError(f"no kernel with its modules: {GET_KERNEL}")
    return found[-1]


def the_busybox() -> Path:
    """A static busybox.

    Raises:
        ProviderError: there is none.
    """
    found = static_busybox()
    if found is None:
        raise ProviderError(f"no static busybox: {GET_KERNEL}")
    return found
