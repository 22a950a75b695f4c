"""Kernels of distributions for guests of QEMU: installed on this machine, or unpacked from their packages and not installed.

QEMU without KVM takes ten times longer to unpack a kernel than to boot it, so kernels are unpacked here, once for each.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.guests.initramfs import CACHE
from wavetank.document import write_whole
from wavetank.errors import ProviderError
from wavetank.programs import find_program

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
