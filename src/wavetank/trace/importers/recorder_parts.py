"""Where Recorder's traces keep their parts: the facts of the run, call signatures, grammars and times.

Reads a folder of Recorder 2.4 to 3; leaves ``Parts``, whose bytes ``recorder_format`` unfolds. The layouts, from
include/recorder-logger.h, lib/recorder-timestamps.c and tools/reader.c (github.com/uiuc-hpc/Recorder):

    2.4, 2.5    VERSION, recorder.mt; R.cst, R.cfg, R.ts of each rank R, or 0.cst, N.cfg and ug.mt
    3.0         VERSION, recorder.mt, recorder.ts; packed by zlib: recorder.cst and ug.cfg with ug.mt, or R.cst, R.cfg.
                Its development versions call themselves 2.5.0
    3 without   as 3.0; the version and the names of functions, 64 bytes each, are in recorder.mt
      VERSION
    recorder.dat  the same parts as sections of one file
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from wavetank.errors import TraceError

_METADATA_2 = struct.Struct("<i4xddiii4x")  # ranks, start, resolution, buffer, packed, merged
# Ranks, 8 switches of what is recorded, start, resolution, buffer; packed times, merged, patterns between, within ranks.
_METADATA_3 = struct.Struct("<i8?4xddi4?")
_METADATA_3_VERSION = struct.Struct("<5i8?4xddi4?")  # major, minor, patch; ranks; functions; ...
_RESERVED = 1024  # bytes before the names of functions
_NAME_BYTES = 64
_MAGIC = b"RECORDER"
_HEADER = struct.Struct("<8sII")  # magic, format, sections
_SECTION = struct.Struct("<IiQQ")  # kind, rank (-1: all), offset, size
_FORMAT = 1
_KINDS = ("recorder.mt", "recorder.ts", "recorder.cst", "ug.cfg", "ug.mt", "{}.cst", "{}.cfg")
_BLOCK = struct.Struct("<QQ")  # bytes packed, bytes unpacked
_MOST_UNPACKED = 1100  # times a block's bytes; zlib reaches 1032
_LATEST_S = 1 << 40
_KNOWN = "2.4, 2.5 and 3 are known here"


@dataclass(frozen=True)
class Parts:
    """A trace's parts.

    Attributes:
        version: as the trace says.
        started_s: UTC.
        resolution_s: unit of times.
        functions: names, by number.
        signatures: bytes of each table of call signatures: one for all ranks, or one for each.
        grammars: bytes of each grammar.
        grammar_of: of each rank, index into ``grammars``.
        times: of each rank, pairs of 4-byte numbers.
        wide: a signature's function has 4 bytes (else 1); None: either.
        patterns_within: offsets may be distances from the function's first one.
        recorded: which of POSIX calls, communication and MPI-IO were recorded.
    """

    version: str
    started_s: float
    resolution_s: float
    functions: tuple[str, ...]
    signatures: tuple[bytes, ...]
    grammars: tuple[bytes, ...]
    grammar_of: tuple[int, ...]
    times: tuple[bytes, ...]
    wide: bool | None = False
    patterns_within: bool = False
    recorded: tuple[bool, bool, bool] = (True, True, True)

    @property
    def is_3(self) -> bool:
        """Whether it has the layout of Recorder 3."""
        return self.wide is not False


@dataclass
class _Folder:
    """The files of a trace, or the sections of its one file, by the files' names."""

    path: Path
    sections: dict[str, bytes] = field(default_factory=dict)

    def where(self, name: str) -> str:
        """For messages."""
        return f"{self.path / 'recorder.dat'} ({name})" if self.sections else str(self.path / name)

    def content(self, name: str) -> bytes:
        """All bytes of a part."""
        if self.sections:
            if name not in self.sections:
                raise TraceError(f"{self.path / 'recorder.dat'} has no section {name}")
            return self.sections[name]
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise TraceError(f"cannot read {self.path / name}: {error.strerror}") from error

    def damaged(self, name: str, what: str = "") -> TraceError:
        """The error for a part that does not fit."""
        return TraceError(
            f"{self.where(name)} is damaged or cut short{what}. Copy the folder again, or trace again"
        )


def is_recorder_folder(path: Path) -> bool:
    """Whether a folder holds a trace of Recorder."""
    if (path / "recorder.mt").is_file():
        return (path / "VERSION").is_file() or (path / "recorder.ts").is_file()
    try:
        with (path / "recorder.dat").open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_parts(path: Path) -> Parts:
    """The parts of a trace.

    Raises:
        TraceError: one is missing, damaged, or of a version that is not known.
    """
    folder = _Folder(path)
    if not (path / "recorder.mt").is_file():
        folder.sections = _sections(folder)
    elif (path / "VERSION").is_file():
        version = folder.content("VERSION").decode(errors="replace").strip()
        numbers = re.match(r"(\d+)\.(\d+)", version)
        known = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
        is_3 = (path / "recorder.ts").is_file()
        if known in {(2, 4), (2, 5)} and not is_3:
            return _parts_2(folder, version)
        if known != (2, 5) and known[0] != 3:
            raise _unknown(path, version)
        return _parts_3(folder, version)
    return _parts_3(folder, None)


def _unknown(path: Path, version: str) -> TraceError:
    return TraceError(
        f"{path} is a trace of Recorder {version}; {_KNOWN}. Trace the program again with one of those, or by wavetank trace"
    )


def _sections(folder: _Folder) -> dict[str, bytes]:
    content = folder.content("recorder.dat")
    if len(content) < _HEADER.size:
        raise folder.damaged("recorder.dat")
    magic, layout, n = _HEADER.unpack_from(content)
    if magic == _MAGIC and layout != _FORMAT:
        raise _unknown(folder.path, f"with recorder.dat of format {layout}")
    if magic != _MAGIC or len(content) < _HEADER.size + n * _SECTION.size:
        raise folder.damaged("recorder.dat")
    found = {}
    for i in range(n):
        kind, rank, offset, size = _SECTION.unpack_from(content, _HEADER.size + i * _SECTION.size)
        if offset + size > len(content):
            raise folder.damaged("recorder.dat", f": section {i} ends behind the file")
        if kind < len(_KINDS):
            found[_KINDS[kind].format(rank)] = content[offset : offset + size]
    return found


def _checked(
    folder: _Folder, n_ranks: int, started_s: float, resolution_s: float, packing: int = 0
) -> None:
    if n_ranks < 1 or packing or not 0 < resolution_s <= 1 or not 0 < started_s < _LATEST_S:
        raise folder.damaged("recorder.mt", f": {n_ranks} ranks, resolution {resolution_s}")


def _parts_2(folder: _Folder, version: str) -> Parts:
    content = folder.content("recorder.mt")
    if len(content) < _METADATA_2.size or not content.endswith(b"\n"):
        raise folder.damaged("recorder.mt")
    n_ranks, started, resolution, _buffer, packing, merged = _METADATA_2.unpack_from(content)
    _checked(folder, n_ranks, started, resolution, packing)
    numbers = _grammar_numbers(folder, n_ranks) if merged else tuple(range(n_ranks))
    of_grammar = {number: i for i, number in enumerate(dict.fromkeys(numbers))}
    return Parts(
        version, started, resolution,
        functions=_lines(content[_METADATA_2.size :]),
        signatures=tuple(folder.content(f"{rank}.cst") for rank in range(1 if merged else n_ranks)),
        grammars=tuple(folder.content(f"{number}.cfg") for number in of_grammar),
        grammar_of=tuple(of_grammar[number] for number in numbers),
        times=tuple(folder.content(f"{rank}.ts") for rank in range(n_ranks)),
    )  # fmt: skip


def _parts_3(folder: _Folder, version: str | None) -> Parts:
    content = folder.content("recorder.mt")
    layout = _METADATA_3 if version is not None else _METADATA_3_VERSION
    if len(content) < layout.size:
        raise folder.damaged("recorder.mt")
    values = layout.unpack_from(content)
    if version is None:
        version = ".".join(map(str, values[:3]))
        if values[0] != 3:
            raise _unknown(folder.path, version)
        functions = _padded(folder, content[layout.size :], values[4])
        values = values[3:4] + values[5:]
    else:
        # The development versions did not reserve room before the names.
        names = _RESERVED if not any(content[layout.size : _RESERVED]) else layout.size
        if len(content) <= names or not content.endswith(b"\n"):
            raise folder.damaged("recorder.mt")
        functions = _lines(content[names:])
    n_ranks, started, resolution = values[0], values[9], values[10]
    packed, merged, _between, within = values[12:16]
    _checked(folder, n_ranks, started, resolution)
    if merged:
        numbers = _grammar_numbers(folder, n_ranks)
        signatures: tuple[bytes, ...] = (_block(folder, "recorder.cst", 0)[0],)
        grammars = _blocks(folder, "ug.cfg", max(numbers) + 1)
    else:
        numbers = tuple(range(n_ranks))
        signatures = tuple(_block(folder, f"{rank}.cst", 0)[0] for rank in range(n_ranks))
        grammars = tuple(_block(folder, f"{rank}.cfg", 0)[0] for rank in range(n_ranks))
    return Parts(
        version, started, resolution, functions, signatures, grammars, numbers,
        times=_times(folder, n_ranks, packed), wide=None, patterns_within=within, recorded=values[1:4],
    )  # fmt: skip


def _lines(content: bytes) -> tuple[str, ...]:
    return tuple(content.decode(errors="replace").split("\n")[:-1])


def _padded(folder: _Folder, content: bytes, n: int) -> tuple[str, ...]:
    if not 0 < n * _NAME_BYTES <= len(content):
        raise folder.damaged("recorder.mt", f": {n} functions")
    names = (content[i * _NAME_BYTES :][:_NAME_BYTES] for i in range(n))
    return tuple(name.split(b"\0", 1)[0].decode(errors="replace") for name in names)


def _grammar_numbers(folder: _Folder, n_ranks: int) -> tuple[int, ...]:
    content = folder.content("ug.mt")
    if len(content) < 4 * n_ranks + 4:  # the last is how many grammars there are
        raise folder.damaged("ug.mt")
    numbers: tuple[int, ...] = struct.unpack_from(f"<{n_ranks}i", content)
    if min(numbers) < 0 or max(numbers) >= n_ranks:
        raise folder.damaged("ug.mt")
    return numbers


def _block(folder: _Folder, name: str, at: int, content: bytes | None = None) -> tuple[bytes, int]:
    """A block packed by zlib, and where it ends."""
    content = folder.content(name) if content is None else content
    if len(content) < at + _BLOCK.size:
        raise folder.damaged(name)
    packed, unpacked = _BLOCK.unpack_from(content, at)
    at += _BLOCK.size
    if at + packed > len(content) or unpacked > _MOST_UNPACKED * packed:
        raise folder.damaged(name)
    try:
        block = zlib.decompressobj().decompress(content[at : at + packed], unpacked + 1)
    except zlib.error:
        raise folder.damaged(name) from None
    if len(block) != unpacked:
        raise folder.damaged(name)
    return block, at + packed


def _blocks(folder: _Folder, name: str, n: int) -> tuple[bytes, ...]:
    content, at, found = folder.content(name), 0, []
    for _ in range(n):
        block, at = _block(folder, name, at, content)
        found.append(block)
    return tuple(found)


def _times(folder: _Folder, n_ranks: int, packed: bool) -> tuple[bytes, ...]:
    """The times of each rank; those of a rank that the file does not hold whole are empty."""
    content = folder.content("recorder.ts")
    if len(content) < 8 * n_ranks:
        raise folder.damaged("recorder.ts")
    at, found = 8 * n_ranks, []
    for size in struct.unpack_from(f"<{n_ranks}Q", content):
        part = content[at : at + size]
        at += size
        if packed and part:
            part = _block(folder, "recorder.ts", 0, part)[0]
        elif len(part) < size:
            part = part[: len(part) // 8 * 8]
        found.append(part)
    return tuple(found)
