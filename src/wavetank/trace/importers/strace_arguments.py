"""Arguments of the calls in strace's logs: names of files, flags, places and lengths."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from wavetank.trace.importers.strace_lines import Call, without_strings

# An open file behind its descriptor's number: a path, a device (-yy: </dev/sda<block 8:0>>), or a socket (<TCP:[a->b]>);
# behind it "(deleted)".
IN_ANGLES = r"<([A-Za-z][\w+-]*:\[.*?\]|[^<>]*(?:<[^<>]*>)?)>(?:\(deleted\))?"

AT_OFFSET = {"pread", "pwrite", "preadv", "pwritev"}
"""Operations that are given their place."""
WITH_FLAGS = {"preadv2": ("readv", "preadv"), "pwritev2": ("writev", "pwritev")}
"""Calls that go to the file's position or to an offset, and the operation that each is then."""
_RESULT_PATH = re.compile(IN_ANGLES)
# A name, behind the folder that it begins in where the call has one.
_NAME = re.compile(rf'(?:(AT_FDCWD|-?\d+)(?:{IN_ANGLES})?, )?"((?:[^"\\]|\\.)*)"')
_WORKING_DIRECTORY = re.compile(rf"\bAT_FDCWD{IN_ANGLES}")
_MODE = re.compile(r", (0[0-7]*)(?=,|$)")
_TIME = re.compile(r"tv_sec=(?!0, tv_nsec=UTIME_)")
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_VECTOR_LENGTH = re.compile(r"iov_len=(\d+)")


def flags_of_open(name: str, arguments: str) -> int:
    """The flags of an open, by their names: O_WRONLY|O_CREAT|O_TRUNC."""
    if name == "creat":
        return os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    flags = 0
    for flag in re.findall(
        r"\bO_[A-Z]+", without_strings(arguments)
    ):  # a file's name may look like a flag
        flags |= getattr(os, flag, 0)
    return flags


def path_of_open(call: Call, directory: str | None) -> str:
    """The path that an open led to, or was asked for; relative where the working directory is not known."""
    named = _RESULT_PATH.match(call.after) if call.result >= 0 else None
    if named is not None:
        return unescaped(named[1])
    names = names_of(call, directory, {})
    return names[0] if names else ""


def names_of(call: Call, directory: str | None, opened: Mapping[int, str]) -> list[str]:
    """The names that a call was given, absolute; relative where the folder that they begin in is not known.

    Args:
        call: on names.
        directory: the process's working directory; None: not known.
        opened: paths by descriptor.
    """
    found = []
    for fd, folder, quoted in _NAME.findall(call.arguments):
        name = unescaped(quoted)
        if not name.startswith("/"):
            if folder:
                base: str | None = unescaped(folder)
            else:
                base = directory if fd in ("", "AT_FDCWD") else opened.get(int(fd))
            name = name if base is None or not name else f"{base}/{name}"
        found.append(os.path.normpath(name) if name.startswith("/") else name)
    return found


def working_directory(call: Call) -> str | None:
    """The working directory of a call's process, where its line says that."""
    named = _WORKING_DIRECTORY.search(call.arguments)
    return None if named is None else unescaped(named[1])


def mode_of(call: Call) -> int:
    """The permissions that a call was given, in octal: its last such number."""
    found = _MODE.findall(without_strings(call.arguments))
    return int(found[-1], 8) if found else 0


def gives_times(call: Call) -> bool:
    """Whether utimensat and its kin give times; else the time is now."""
    return bool(_TIME.search(without_strings(call.arguments)))


def offset_of(call: Call) -> int | None:
    """The offset of a call that has one: its last argument, before the flags of preadv2 and pwritev2.

    None where it is -1, which means the file's position, or the line is cut short.
    """
    words = call.arguments.rsplit(",", 2 if call.name in WITH_FLAGS else 1)
    offset = number(words[1] if len(words) > 1 else "", -1)
    return None if offset < 0 else offset


def bytes_asked(name: str, call: Call) -> int:
    """Bytes asked for: an argument, or the sum of the parts' lengths."""
    moved = max(call.result, 0)
    if "v" in name:
        lengths = [
            int(length) for length in _VECTOR_LENGTH.findall(without_strings(call.arguments))
        ]
        return max(sum(lengths), moved)  # strace leaves out parts of long vectors
    words = call.arguments.rsplit(",", 2)
    return number(words[-2 if name in AT_OFFSET else -1], moved)


def number(word: str, otherwise: int) -> int:
    """A number in decimal; the other one where this is none."""
    try:
        return int(word.strip())
    except ValueError:
        return otherwise


def unescaped(path: str) -> str:
    """A path with the escapes of strace's strings put back; bytes that are not UTF-8 stay escapes."""
    if "\\" not in path:
        return path
    return _ESCAPE.sub(_unescape, path.encode()).decode(errors="backslashreplace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1].isdigit():
        return bytes([int(code, 8) & 255])
    return _LETTERS.get(code, code)
