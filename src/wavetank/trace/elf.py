"""Whether a program can be preloaded: an ELF file with an interpreter (the dynamic loader), not privileged.

Reads a program's headers; leaves the reason why its calls would not be seen.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

_PT_INTERP = 3
_LOADERS = ("ld-linux", "ld.so", "ld-musl")
_GO_SECTIONS = (b".go.buildinfo\0", b".note.go.buildid\0")
_MOST_SCRIPTS = 5  # one named by the other, as Linux has it
_FIRST_LINE = 256  # bytes
_NAMES_MOST_BYTES = 1 << 20  # of the section names that are looked at


@dataclass(frozen=True)
class _Elf:
    bits: int  # of an address
    kinds: frozenset[int]  # of the program headers
    section_names: bytes


def is_static(path: Path) -> bool:
    """True for an ELF program without a dynamic loader; False for scripts and what cannot be read."""
    elf = _read(path)
    if elf is None or path.name.startswith(_LOADERS):  # the loader itself loads libraries
        return False
    return bool(elf.kinds) and _PT_INTERP not in elf.kinds


def is_of_other_class(path: Path) -> bool:
    """True for an ELF program of another word size than this process, whose libraries are the tracer's."""
    elf = _read(path)
    return elf is not None and elf.bits != 8 * struct.calcsize("P")


def interpreter_of(path: Path) -> Path:
    """The program that the kernel starts for a file: of a script the interpreter named in its first line."""
    for _ in range(_MOST_SCRIPTS):
        try:
            with path.open("rb") as stream:
                head = stream.read(_FIRST_LINE)
        except OSError:
            return path
        words = head.partition(b"\n")[0][2:].split()
        if head[:2] != b"#!" or not words:
            return path
        path = Path(os.fsdecode(words[0]))
    return path


def is_go(path: Path) -> bool:
    """True for a program that the Go compiler made: it makes its system calls itself."""
    elf = _read(path)
    return elf is not None and any(name in elf.section_names for name in _GO_SECTIONS)


def is_privileged(path: Path) -> bool:
    """True where the loader ignores LD_PRELOAD: setuid or setgid to somebody else, or file capabilities."""
    try:
        facts = path.stat()
    except OSError:
        return False
    if facts.st_mode & 0o4000 and facts.st_uid != os.geteuid():
        return True
    if facts.st_mode & 0o2000 and facts.st_gid != os.getegid():
        return True
    if os.geteuid() == 0:
        return False  # nothing to gain by capabilities
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _read(path: Path) -> _Elf | None:
    try:
        with path.open("rb") as stream:
            head = stream.read(64)
            if len(head) < 52 or head[:4] != b"\x7fELF":
                return None
            wide = head[4] == 2
            order = "<" if head[5] == 1 else ">"
            address, at = ("QQ", 32) if wide else ("II", 28)
            offset, sections = struct.unpack_from(order + address, head, at)
            size, count, section_size, n_sections, names = struct.unpack_from(
                order + "HHHHH", head, 54 if wide else 42
            )
            stream.seek(offset)
            table = stream.read(size * count)
            kinds = frozenset(
                struct.unpack_from(order + "I", table, i * size)[0]
                for i in range(count)
                if size >= 4 and (i + 1) * size <= len(table)
            )
            text = b""
            if names < n_sections and section_size >= (40 if not wide else 64):
                stream.seek(sections + names * section_size)
                entry = stream.read(section_size)
                start, length = struct.unpack_from(order + address, entry, 24 if wide else 16)
                stream.seek(start)
                text = stream.read(min(length, _NAMES_MOST_BYTES))
    except (OSError, struct.error, OverflowError, ValueError):
        return None
    return _Elf(64 if wide else 32, kinds, text)
