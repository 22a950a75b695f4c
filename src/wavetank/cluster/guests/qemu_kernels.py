"""Kernels of distributions for guests of QEMU: installed on this machine, or unpacked from their packages and not installed.

QEMU without KVM takes ten times longer to unpack a kernel than to boot it, so kernels are unpacked here, once for each.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import shlex
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.guests.guest import INIT, OPTIONS_9P
from wavetank.document import write_whole
from wavetank.errors import ProviderError
from wavetank.programs import find_program

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
