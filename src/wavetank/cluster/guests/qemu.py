"""QEMU: a guest with a kernel of the distribution, by KVM, or by TCG for function only.

By KVM the machine is microvm: devices by virtio-mmio, no firmware that takes time. By TCG it is q35. The root is the node's, by 9p.
"""

from __future__ import annotations

import hashlib
import lzma
import math
import os
import platform
import shlex
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wavetank.cluster.guests.guest import (
    BOOT_TIMEOUT_S,
    CONTROL_TAP,
    INIT,
    OPTIONS_9P,
    PASSED_TAG,
    TAP,
    Guest,
)
from wavetank.cluster.needs import Lack
from wavetank.document import write_whole
from wavetank.errors import ProviderError
from wavetank.programs import find_program
from wavetank.units import MIB

CACHE = Path("/var/cache/wavetank")
# In the order in which they can be loaded; what they depend on comes before each. Not those of the kernel itself.
MODULES = ("virtio_mmio", "virtio_pci", "virtio_net", "virtio_blk", "9pnet_virtio", "9p")
TAG = "root"


def make(busybox: Path, modules: Path, cache: Path = CACHE) -> Path:
    """The initial root for a kernel, made when there is none of this content yet.

    Args:
        busybox: a static one.
        modules: directory of the kernel's modules.
        cache: where it is kept.

    Raises:
        ProviderError: a module is missing or packed, or the cache cannot be written.
    """
    order = load_order(modules, MODULES)
    script = _script([f"/modules/{path.name}" for path in order])
    entries = [
        *((name, 0o40755, b"") for name in ("bin", "dev", "modules", "root")),
        ("bin/busybox", 0o100755, busybox.read_bytes()),
        *((f"modules/{path.name}", 0o100644, path.read_bytes()) for path in order),
        ("init", 0o100755, script.encode()),
    ]
    content = archive(entries)
    path = cache / f"guest-{hashlib.sha256(content).hexdigest()[:16]}.cpio"
    try:
        if not path.exists():
            cache.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
    except OSError as error:
        raise ProviderError(f"cannot write {path}: {error.strerror}") from error
    return path


def load_order(modules: Path, wanted: Sequence[str]) -> list[Path]:
    """Files of modules and of what they depend on, each once, each after what it needs; without what is built in.

    Sample of modules.dep (kmod 30): ``kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/fscache/fscache.ko``.

    Raises:
        ProviderError: one is neither a module nor built in, or is packed.
    """
    needs: dict[str, list[str]] = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
    by_name = {_name(path): path for path in needs}
    built_in = {_name(line) for line in (modules / "modules.builtin").read_text().splitlines()}
    order: dict[str, None] = {}
    for name in wanted:
        if name in built_in:
            continue
        if name not in by_name:
            raise ProviderError(
                f"the kernel {modules.name} has no module {name}: guests need it to see their root"
            )
        path = by_name[name]
        # each line names all that is needed, the deepest last
        for each in (*reversed(needs[path]), path):
            order.setdefault(each)
    packed = [path for path in order if not path.endswith(".ko")]
    if packed:
        raise ProviderError(
            f"modules of the kernel {modules.name} are packed ({packed[0]}), and busybox loads none of those"
        )
    return [modules / path for path in order]


def archive(entries: Iterable[tuple[str, int, bytes]]) -> bytes:
    """A cpio archive in the format newc, the same for the same content.

    Args:
        entries: name, mode and content of each; directories before what is in them.

    Source: Documentation/driver-api/early-userspace/buffer-format.rst of Linux.
    """
    parts = []
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        encoded = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % value for value in fields) + encoded
        parts += [header, bytes(-len(header) % 4), content, bytes(-len(content) % 4)]
    return b"".join(parts)


def _name(path: str) -> str:
    """A module's name: "kernel/net/9p/9pnet.ko.xz" is 9pnet."""
    return path.rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def _script(modules: Sequence[str]) -> str:
    return "\n".join(
        [
            "#!/bin/busybox sh",
            "/bin/busybox mount -t devtmpfs devtmpfs /dev",
            *(f"/bin/busybox insmod {shlex.quote(path)}" for path in modules),
            f"/bin/busybox mount -t 9p -o {OPTIONS_9P} {TAG} /root || echo 'wavetank: no root by 9p'",
            f"exec /bin/busybox switch_root /root {INIT}",
            "",
        ]
    )


FOLDER = Path("/usr/local/lib/wavetank/guest-kernel")
"""Where packaging/guest-kernel puts one, with its modules and a static busybox; the variable names another."""
FOLDER_VARIABLE = "WAVETANK_GUEST_KERNEL"

# Of a kernel image for x86, all numbers little endian (Documentation/x86/boot.rst of Linux 6.1).
SETUP_SECTORS_AT = 0x1F1
MAGIC_AT, MAGIC = 0x202, b"HdrS"
PAYLOAD_AT = 0x248  # offset behind the setup sectors, and bytes
SECTOR_BYTES = 512
XZ_MAGIC = b"\xfd7zXZ\x00"
ELF_MAGIC = b"\x7fELF"


@dataclass(frozen=True)
class Kernel:
    """A kernel of the distribution.

    Attributes:
        image: e.g. /boot/vmlinuz-6.1.0-56-amd64.
        modules: directory of its modules, named as its release.
    """

    image: Path
    modules: Path


def folder() -> Path:
    """Where kernels are that are not installed."""
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER)


def kernels(roots: Iterable[Path] | None = None) -> list[Kernel]:
    """Kernels that are there with their modules and can have a root by 9p: those not installed last, each by name.

    Debian's kernels for clouds cannot: 6.1.0-56-cloud-amd64 has no 9p.

    Args:
        roots: directories with boot/ and lib/modules/; None: of this machine.
    """
    found = [
        Kernel(image, root / "lib/modules" / image.name.removeprefix("vmlinuz-"))
        for root in (roots if roots is not None else (Path("/"), folder()))
        for image in sorted((root / "boot").glob("vmlinuz-*"))
    ]
    return [kernel for kernel in found if _has_9p(kernel.modules)]


def _has_9p(modules: Path) -> bool:
    lists = [modules / "modules.dep", modules / "modules.builtin"]
    return lists[0].exists() and any(
        "9pnet_virtio" in path.read_text() for path in lists if path.exists()
    )


def static_busybox() -> Path | None:
    """A busybox that needs no libraries; None without one."""
    for found in (folder() / "bin/busybox", find_program("busybox")):
        # a program with libraries names what loads them in its first page (PT_INTERP)
        if found and Path(found).exists() and b"ld-linux" not in Path(found).read_bytes()[:4096]:
            return Path(found)
    return None


def unpacked(image: Path, cache: Path = CACHE) -> Path:
    """The program in a kernel's image, which QEMU starts by itself (PVH); the image where it is packed by another than xz.

    Raises:
        ProviderError: it is no kernel for x86, is damaged, or the cache cannot be written.
    """
    content = image.read_bytes()
    if content[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        raise ProviderError(f"{image} is no kernel for x86: it has no {MAGIC.decode()}")
    path = cache / f"vmlinux-{hashlib.sha256(content).hexdigest()[:16]}"
    if path.exists():
        return path
    offset, size = struct.unpack_from("<II", content, PAYLOAD_AT)
    start = (content[SETUP_SECTORS_AT] + 1) * SECTOR_BYTES + offset
    payload = content[start : start + size]
    if not payload.startswith(XZ_MAGIC):
        return image
    try:
        program = lzma.LZMADecompressor().decompress(payload)
    except lzma.LZMAError as error:
        raise ProviderError(f"{image} is damaged: {error}. Install its package again") from error
    if not program.startswith(ELF_MAGIC):
        return image
    try:
        cache.mkdir(parents=True, exist_ok=True)
        write_whole(path, program)
    except OSError as error:
        raise ProviderError(f"cannot write {path}: {error.strerror}") from error
    return path


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
        return self.line(guest, image, make(the_busybox(), kernel.modules))

    def line(self, guest: Guest, image: Path, initial_root: Path) -> list[str]:
        """The command line with a kernel and what that needs before it sees its root.

        Disks bypass this machine's page cache: their devices have limits, and what is cached here would have none.
        """
        bus = "device" if self.with_kvm else "pci"
        words = start(self.with_kvm, math.ceil(guest.vcpus), guest.memory_bytes // MIB, image, initial_root)  # fmt: skip
        for tag in (TAG, *((PASSED_TAG,) if guest.has_view else ())):
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
