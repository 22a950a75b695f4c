"""What each of Recorder's call signatures stands for: an operation, its file, bytes, and place.

Reads signatures (function and arguments, as text); leaves one ``Meaning`` each. Arguments are those that
lib/recorder-posix.c and lib/recorder-mpi.c of Recorder 2.5 and 3.0 write.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from wavetank.errors import TraceError
from wavetank.trace.importers.mpi_types import SIZES
from wavetank.trace.importers.positions import LOST
from wavetank.trace.importers.recorder_format import Signature
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.paths import is_kept
from wavetank.trace.schema import UNKNOWN, Op, OpKind

# Where the arguments are: (path, bytes, offset); bytes of fread and fwrite are a product of two.
_AT_POSITION = {
    "read": ("read", 0, (2,)), "write": ("write", 0, (2,)), "readv": ("readv", 0, (1,)), "writev": ("writev", 0, (1,)),
    "fread": ("read", 3, (1, 2)), "fwrite": ("write", 3, (1, 2)), "vfprintf": ("write", 0, (2,)),
}  # fmt: skip
_AT_OFFSET = {"pread": "pread", "pread64": "pread", "pwrite": "pwrite", "pwrite64": "pwrite"}
_OPENS = {"open", "open64", "creat", "creat64", "fopen", "fopen64"}
_CLOSES = {"close", "fclose"}
_SEEKS = {"lseek", "lseek64", "fseek", "fseeko"}
_OF_FILE = {"fsync": "fsync", "fdatasync": "fdatasync", "ftruncate": "ftruncate", "unlink": "unlink", "remove": "unlink",
            "truncate": "truncate", "mkdir": "mkdir", "rmdir": "rmdir", "rename": "rename", "access": "access", "chmod": "chmod",
           "chown": "chown", "lchown": "chown", "utime": "utime", "readlink": "readlink"}  # fmt: skip
_WHENCE = {"0": "set", "1": "current", "2": "end", "MPI_SEEK_SET": "set", "MPI_SEEK_CUR": "current", "MPI_SEEK_END": "end",
           "SEEK_SET": "set", "SEEK_CUR": "current", "SEEK_END": "end"}  # fmt: skip
_STDIO = {"fread", "fwrite", "vfprintf", "fopen", "fopen64", "fclose", "fseek", "fseeko"}
_RESIZES = {"ftruncate", "truncate"}


@dataclass
class Names:
    """What the whole trace names: names, MPI files by Recorder's id, communicators with the ranks that used them."""

    numbers: dict[str, int] = field(default_factory=dict)
    mpi: dict[str, str] = field(default_factory=dict)
    communicators: dict[str, set[int]] = field(default_factory=dict)

    def number(self, path: str) -> int:
        """A file's number in the trace."""
        return self.numbers.setdefault(path, len(self.numbers))


@dataclass
class Meaning:
    """What a call signature stands for on a rank. Offsets are in the units of the file's view.

    Attributes:
        op: its code; 0: nothing that a trace keeps.
        file: number of its file.
        stream: whose position and view it uses.
        size: bytes.
        offset: where it is; UNKNOWN: see ``at_position``.
        absolute: where it puts the position, or begins a view; UNKNOWN: nowhere.
        advance: by how much it moves the position otherwise.
        advance_bytes: the same, in bytes.
        unit: bytes of a unit of the view that it sets; 0: it cannot be told; UNKNOWN: it sets none.
        arg: the number that it was given.
        communicator: that it was made on; UNKNOWN: none.
        at_position: it is where the position is.
        shared: it is where the shared pointer is.
        is_tick: it is a call of MPI.
        opens: it opens a file.
    """

    op: int = 0
    file: int = UNKNOWN
    stream: str = ""
    size: int = 0
    offset: int = UNKNOWN
    absolute: int = UNKNOWN
    advance: int = 0
    advance_bytes: int = 0
    unit: int = UNKNOWN
    arg: int = 0
    communicator: int = UNKNOWN
    at_position: bool = False
    shared: bool = False
    is_tick: bool = False
    opens: bool = False


@dataclass
class Notes:
    """Reasons for warnings."""

    stdio: int = 0
    unknown_type: int = 0
    unknown_view: int = 0
    appended: int = 0


def collect(names: Names, rank: int, signature: Signature) -> None:
    """Note what an MPI call says of names, views and communicators."""
    function, arguments = signature.function, signature.arguments
    if function == "MPI_File_open" and len(arguments) == 5:
        names.mpi[arguments[4]] = arguments[1]
    name = _communicator(signature, rank)
    if name:
        names.communicators.setdefault(name, set()).add(rank)


def refuse_rounded(signatures: Iterable[Signature], where: Path) -> None:
    """Refuse what a development version of Recorder wrote that leaves out offsets and rounds sizes up.

    Raises:
        TraceError: calls have no offset.
    """
    for one in signatures:
        if one.function in _AT_OFFSET and len(one.arguments) < 4:
            raise TraceError(
                f"{where} has calls of {one.function} without offsets: the version of Recorder that wrote it leaves them "
                "out and rounds sizes. Trace again with a release of Recorder, or by wavetank trace"
            )


def _communicator(signature: Signature, rank: int) -> str:
    """The communicator of a collective call or an MPI_File_open; empty: none."""
    function, arguments = signature.function, signature.arguments
    operation = OPS_BY_NAME.get(function)
    if operation is None or (
        function not in {"MPI_File_open"} and operation.kind is not OpKind.SYNC_RANKS
    ):
        return ""
    if function in {"MPI_Init", "MPI_Finalize"}:
        return "MPI_COMM_WORLD"
    known = (a for a in arguments if a.startswith("MPI_COMM_") and a != "MPI_COMM_NULL")
    made = (
        a
        for a in arguments
        if "-" in a and a.replace("-", "", 1).isdigit() and not a.startswith("-")
    )
    name = next(known, "") or next(made, "")
    return f"{name} of {rank}" if name == "MPI_COMM_SELF" else name


def meaning(
    rank: int, signature: Signature, names: Names, communicators: dict[str, int], notes: Notes
) -> Meaning:
    """What a call signature of a rank stands for; ``communicators`` numbers their names."""
    function, arguments = signature.function, signature.arguments
    if function.startswith("MPI_File_"):
        return replace(_mpiio(rank, signature, names, communicators, notes), is_tick=True)
    if function.startswith("MPI_"):
        operation = OPS_BY_NAME.get(function)
        name = _communicator(signature, rank)
        if operation is None or not name:
            return Meaning(is_tick=True)
        return Meaning(op=operation.code, communicator=communicators[name], is_tick=True)
    return _posix(function, arguments, names, notes)


def _posix(function: str, arguments: tuple[str, ...], names: Names, notes: Notes) -> Meaning:
    place = _AT_POSITION[function][1] if function in _AT_POSITION else 0
    path = arguments[place] if len(arguments) > place else ""
    if not path.startswith("/") or not is_kept(path):
        return Meaning()
    notes.stdio += function in _STDIO
    found = _posix_operation(function, arguments)
    if found.op == 0:
        return found
    notes.appended += found.opens and found.absolute == LOST
    return replace(found, file=names.number(path), stream=f"posix {path}")


def _posix_operation(function: str, arguments: tuple[str, ...]) -> Meaning:
    """The operation, without its file."""
    found = Meaning()
    if function in _OPENS:
        flags, absolute = _open_flags(function, arguments)
        found = Meaning(op=_code("open"), absolute=absolute, arg=flags, opens=True)
    elif function in _CLOSES:
        found = Meaning(op=_code("close"))
    elif function in _AT_POSITION:
        name, _, factors = _AT_POSITION[function]
        size = prod(max(_number(arguments, factor), 0) for factor in factors)
        found = Meaning(op=_code(name), size=size, advance_bytes=size, at_position=True)
    elif function in _AT_OFFSET:
        size, offset = _number(arguments, 2), _number(arguments, 3)
        found = Meaning(op=_code(_AT_OFFSET[function]), size=size, offset=offset)
    elif function in _SEEKS:
        absolute, advance = _seek(_number(arguments, 1), _text(arguments, 2))
        found = Meaning(op=_code("lseek"), absolute=absolute, advance=advance)
    elif function in _OF_FILE:
        arg = _number(arguments, 1) if function in _RESIZES else 0
        found = Meaning(op=_code(_OF_FILE[function]), arg=arg)
    return found


def _code(name: str) -> int:
    return OPS_BY_NAME[name].code


def _open_flags(function: str, arguments: tuple[str, ...]) -> tuple[int, int]:
    """Flags of open(2), and where the position is then."""
    if function.startswith("creat"):
        return os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0
    if function.startswith("fopen"):
        mode = arguments[1] if len(arguments) > 1 else "r"
        flags = {"r": os.O_RDONLY, "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                 "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND}.get(mode[:1], 0)  # fmt: skip
        flags = flags & ~os.O_WRONLY | os.O_RDWR if "+" in mode else flags
    else:
        flags = _number(arguments, 1)
    return flags, LOST if flags & os.O_APPEND else 0


def _seek(offset: int, whence: str) -> tuple[int, int]:
    """Where a seek puts the position, and by how much it moves it."""
    base = _WHENCE.get(whence)
    if base == "current":
        return UNKNOWN, offset
    return (offset if base == "set" else LOST), 0


def _mpiio(
    rank: int, signature: Signature, names: Names, communicators: dict[str, int], notes: Notes
) -> Meaning:
    function, arguments = signature.function, signature.arguments
    operation = OPS_BY_NAME.get(function)
    opened = function == "MPI_File_open"
    fid = _text(arguments, 4 if opened else 0)
    path = names.mpi.get(fid, "")
    if operation is None or not path or not is_kept(path):
        return Meaning()
    if opened:
        on = communicators[_communicator(signature, rank)]
        mode = _number(arguments, 2)
        found = Meaning(absolute=0, unit=1, opens=True, arg=mode, communicator=on)
    elif operation.kind in {OpKind.READ, OpKind.WRITE}:
        found = _transfer(function, arguments, notes)
        if found.size < 0:
            return Meaning()
    else:
        found = _without_data(operation, arguments)
    return replace(found, op=operation.code, file=names.number(path), stream=f"mpi {fid}")


def _without_data(operation: Op, arguments: tuple[str, ...]) -> Meaning:
    if operation.kind is OpKind.VIEW:
        etype, filetype = _text(arguments, 2), _text(arguments, 3)
        plain = etype in SIZES and filetype in SIZES and _text(arguments, 1).isdigit()
        return Meaning(absolute=_number(arguments, 1), unit=SIZES[etype] if plain else 0)
    if operation.name == "MPI_File_seek":
        absolute, advance = _seek(_number(arguments, 1), _text(arguments, 2))
        return Meaning(absolute=absolute, advance=advance)
    return Meaning(arg=_number(arguments, 1) if operation.kind is OpKind.RESIZE else 0)


def _transfer(function: str, arguments: tuple[str, ...], notes: Notes) -> Meaning:
    """An operation that moves data; size -1: how much cannot be told."""
    explicit = "_at" in function
    at = 3 if explicit else 2  # behind the offset and the buffer
    if _text(arguments, at + 1) not in SIZES:
        notes.unknown_type += 1
        return Meaning(size=-1)
    size = max(_number(arguments, at), 0) * SIZES[arguments[at + 1]]
    if explicit:
        return Meaning(size=size, offset=_number(arguments, 1))
    if "shared" in function or "ordered" in function:
        notes.unknown_view += 1
        return Meaning(size=size, shared=True)
    return Meaning(size=size, advance_bytes=size, at_position=True)


def _text(arguments: tuple[str, ...], index: int) -> str:
    return arguments[index] if len(arguments) > index else ""


def _number(arguments: tuple[str, ...], index: int) -> int:
    try:
        return int(arguments[index])
    except (IndexError, ValueError):
        return 0
