"""QEMU: a guest with a kernel of the distribution, by KVM, or by TCG for function only.

Machine type microvm: devices by virtio-mmio, no firmware that takes time. The root is the node's, by 9p.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wavetank.cluster.guests import initramfs
from wavetank.cluster.guests.guest import CONTROL_TAP, TAP, Guest
from wavetank.errors import ProviderError
from wavetank.programs import find_program
from wavetank.units import MIB

PROGRAM = "qemu-system-x86_64"
PACKAGES = "apt-get install qemu-system-x86 linux-image-amd64 busybox-static"


@dataclass(frozen=True)
class Kernel:
    """A kernel of the distribution.

    Attributes:
        image: e.g. /boot/vmlinuz-6.1.0-56-amd64.
        modules: directory of its modules, named as its release.
    """

    image: Path
    modules: Path


def kernels(boot: Path = Path("/boot"), modules: Path = Path("/lib/modules")) -> list[Kernel]:
    """Kernels that are installed with their modules and can have a root by 9p, by name.

    Debian's kernels for clouds cannot: 6.1.0-56-cloud-amd64 has no 9p.
    """
    found = [
        Kernel(image, modules / image.name.removeprefix("vmlinuz-"))
        for image in sorted(boot.glob("vmlinuz-*"))
    ]
    return [kernel for kernel in found if _has_9p(kernel.modules)]


def _has_9p(modules: Path) -> bool:
    lists = [modules / "modules.dep", modules / "modules.builtin"]
    return lists[0].exists() and any(
        "9pnet_virtio" in path.read_text() for path in lists if path.exists()
    )


def static_busybox() -> Path | None:
    """A busybox that needs no libraries; None without one."""
    found = find_program("busybox")
    # a program with libraries names what loads them in its first page (PT_INTERP)
    if found is None or b"ld-linux" in Path(found).read_bytes()[:4096]:
        return None
    return Path(found)


def reason_against() -> str | None:
    """Why QEMU has no guests here, with what to do; None when it has."""
    if platform.machine() != "x86_64":
        return f"not for {platform.machine()}: use a machine with x86_64"
    missing = [
        what
        for what, there in (
            (PROGRAM, find_program(PROGRAM) is not None),
            ("kernel in /boot with its modules and 9p", bool(kernels())),
            ("static busybox", static_busybox() is not None),
        )
        if not there
    ]
    return f"no {', no '.join(missing)}: {PACKAGES}" if missing else None


@dataclass(frozen=True)
class Qemu:
    """Guests by QEMU."""

    with_kvm: bool
    environment: Mapping[str, str] = field(default_factory=dict)

    def modules(self) -> Path:
        """Of the kernel that guests have; see the protocol."""
        return _kernel().modules

    def devices(self, guest: Guest) -> list[str]:
        """See the protocol."""
        return [f"/dev/vd{chr(ord('a') + i)}" for i in range(len(guest.disks))]

    def command(self, guest: Guest) -> list[str]:
        """See the protocol."""
        kernel, busybox = _kernel(), static_busybox()
        if busybox is None:
            raise ProviderError(f"no static busybox: {PACKAGES}")
        return self.line(guest, kernel.image, initramfs.make(busybox, kernel.modules))

    def line(self, guest: Guest, image: Path, initial_root: Path) -> list[str]:
        """The command line with a kernel and what that needs before it sees its root.

        Disks go past this machine's page cache: their devices have limits, and what is cached here would have none.
        """
        words = [
            PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
            "-machine", f"microvm,accel={'kvm' if self.with_kvm else 'tcg'}",
            "-cpu", "host" if self.with_kvm else "max",
            "-smp", str(math.ceil(guest.vcpus)), "-m", f"{guest.memory_bytes // MIB}M",
            "-kernel", str(image), "-initrd", str(initial_root), "-append", "console=ttyS0 panic=-1 quiet",
            "-fsdev", "local,id=root,path=/,security_model=none,multidevs=remap",
            "-device", f"virtio-9p-device,fsdev=root,mount_tag={initramfs.TAG}",
            "-device", "virtio-rng-device",
        ]  # fmt: skip
        for name, tap, mac in (
            ("net0", TAP, guest.mac),
            ("net1", CONTROL_TAP, guest.control_mac),
        ):
            words += ["-netdev", f"tap,id={name},ifname={tap},script=no,downscript=no"]
            words += ["-device", f"virtio-net-device,netdev={name},mac={mac}"]
        for i, disk in enumerate(guest.disks):
            words += ["-drive", f"if=none,id=disk{i},file={disk.device},format=raw,cache=none"]
            words += ["-device", f"virtio-blk-device,drive=disk{i}"]
        return words


def _kernel() -> Kernel:
    found = kernels()
    if not found:
        raise ProviderError(f"no kernel in /boot with its modules: {PACKAGES}")
    return found[-1]
