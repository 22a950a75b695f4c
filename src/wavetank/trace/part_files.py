"""The files of one part as columns, decoded by native/decode/decode_files.c: a part may name a million.

Reads payloads of META blocks; leaves the files, and the places of all records that are not of files.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank import native
from wavetank.trace.schema import Int64Array
from wavetank.trace.texts import Texts

_IDENTITY, _MADE, _DIRECTORY = 1, 2, 4  # enum wt_file_flag of decode_files.h
_COLUMNS: tuple[tuple[str, type[np.generic]], ...] = (
    ("number", np.int64),
    ("path", np.int64),
    ("link", np.int64),
    ("size_before", np.int64),
    ("mount", np.int64),
    ("device", np.uint64),
    ("inode", np.uint64),
    ("born", np.int64),
    ("generation", np.int64),
    ("flags", np.uint8),
)
_SIZES = ("entries", "texts", "bytes", "highest", "others")


class _Sizes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int64) for name in _SIZES)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native.find("lib/libwavetank-trace-decode.so", "read traces")))
    sizes, columns = ctypes.POINTER(_Sizes), ctypes.POINTER(ctypes.c_void_p)
    library.wt_count_files.restype = library.wt_decode_files.restype = ctypes.c_int64
    library.wt_count_files.argtypes = [ctypes.c_char_p, ctypes.c_size_t, sizes]
    library.wt_decode_files.argtypes = [ctypes.c_char_p, ctypes.c_size_t, sizes, columns]
    library.wt_other_records.restype = None
    library.wt_other_records.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, sizes, ctypes.c_void_p,
    ]  # fmt: skip
    return library


def _none() -> Int64Array:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class PartFiles:
    """Files as one process saw them, by ascending number. -1 in columns: there is none, or it is not known.

    Attributes:
        texts: names, and what symbolic links lead to.
        number: that rows and other records have for a file.
        path, link: index of the name, and of what the name leads to.
        size_before: bytes, when first opened.
        mount: number of the mount.
        device, inode, born: which file it was; ns since 1970, 0 where the file system does not say.
        generation: among files of equal inode and birth, as the process counted them.
    """

    texts: Texts = field(default_factory=lambda: Texts.of(()))
    number: Int64Array = field(default_factory=_none)
    path: Int64Array = field(default_factory=_none)
    link: Int64Array = field(default_factory=_none)
    size_before: Int64Array = field(default_factory=_none)
    mount: Int64Array = field(default_factory=_none)
    device: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    inode: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    born: Int64Array = field(default_factory=_none)
    generation: Int64Array = field(default_factory=_none)
    flags: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.number)

    @property
    def identified(self) -> npt.NDArray[np.bool_]:
        """Whether device, inode, birth and generation are known."""
        return (self.flags & _IDENTITY) > 0

    @property
    def made(self) -> npt.NDArray[np.bool_]:
        """Whether the open that met it first made it."""
        return (self.flags & _MADE) > 0

    @property
    def directory(self) -> npt.NDArray[np.bool_]:
        """Whether it is one."""
        return (self.flags & _DIRECTORY) > 0


@dataclass(frozen=True)
class OtherRecord:
    """A record that is not of files: its fields lie at [begin, end) of the payload."""

    kind: int
    begin: int
    end: int


def _count(payload: bytes) -> tuple[_Sizes, int]:
    sizes = _Sizes()
    return sizes, int(_library().wt_count_files(payload, len(payload), sizes))


def other_records(payload: bytes) -> tuple[list[OtherRecord], int]:
    """The records that are not of files, and how many bytes of the payload make sense, from its start."""
    sizes, n_good = _count(payload)
    found = np.empty((sizes.others, 3), dtype=np.int64)
    _library().wt_other_records(payload, len(payload), sizes, found.ctypes.data)
    return [OtherRecord(*record) for record in found.tolist()], n_good


def decode_files(content: bytes) -> PartFiles:
    """The files that the payloads of a part describe, one payload after another; as far as they make sense."""
    sizes, _ = _count(content)
    columns = {name: np.empty(sizes.entries, dtype=dtype) for name, dtype in _COLUMNS}
    end = np.empty(sizes.texts, dtype=np.int64)
    texts = np.empty(sizes.bytes, dtype=np.uint8)
    places = [*(columns[name].ctypes.data for name, _ in _COLUMNS), end.ctypes.data, texts.ctypes.data]  # fmt: skip
    status = _library().wt_decode_files(
        content, len(content), sizes, (ctypes.c_void_p * len(places))(*places)
    )
    if status != 0:
        raise MemoryError
    found: dict[str, Any] = {name: column[: sizes.entries] for name, column in columns.items()}
    if (np.diff(found["number"]) < 0).any():
        order = np.argsort(found["number"])
        found = {name: column[order] for name, column in found.items()}
    names = Texts.of_names(texts[: sizes.bytes].tobytes(), end[: sizes.texts])
    return PartFiles(texts=names, **found)
