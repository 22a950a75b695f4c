"""A column of texts, such as the names of a million files: their bytes one after another, and no object for each.

Reads UTF-8 with a zero behind each text; leaves which are equal (native/decode/texts.c) and the texts on demand.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import overload

import numpy as np
import numpy.typing as npt

from wavetank import native
from wavetank.trace.schema import Int64Array

_SLASH, _DOT = ord("/"), ord(".")
_AS_THEY_ARE = "surrogatepass"  # texts that came as str may hold halves of surrogate pairs


class _Texts(ctypes.Structure):
    _fields_ = (
        ("bytes", ctypes.c_void_p),
        ("start", ctypes.c_void_p),
        ("length", ctypes.c_void_p),
        ("n", ctypes.c_int64),
    )


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native.find("lib/libwavetank-trace-decode.so", "read traces")))
    texts = ctypes.POINTER(_Texts)
    library.wt_first_alike.restype = ctypes.c_int64
    library.wt_first_alike.argtypes = [texts, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    library.wt_varying_numbers.restype = None
    library.wt_varying_numbers.argtypes = [texts, ctypes.c_void_p]
    return library


class Texts(Sequence[str]):
    """Texts in order.

    Attributes:
        content: UTF-8 of all of them.
        start, length: of each in ``content``, bytes.
    """

    def __init__(self, content: bytes, start: Int64Array, length: Int64Array) -> None:
        self.content = content
        self.start = np.ascontiguousarray(start, dtype=np.int64)
        self.length = np.ascontiguousarray(length, dtype=np.int64)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """From single ones."""
        found = [text.encode(errors=_AS_THEY_ARE) for text in texts]
        length = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        return cls(b"".join(found), np.cumsum(length) - length, length)

    @classmethod
    def of_names(cls, content: bytes, end: Int64Array) -> Texts:
        """From names of files, which are bytes: what is not UTF-8 is shown escaped.

        Args:
            content: names with a zero behind each.
            end: of each, behind its zero.
        """
        try:
            content.decode()
        except UnicodeDecodeError:
            content = content.decode(errors="backslashreplace").encode()
            end = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == 0) + 1
        start = np.append(0, end[:-1]) if len(end) else end
        return cls(content, start, end - 1 - start)

    @classmethod
    def joined(cls, columns: Sequence[Texts]) -> Texts:
        """Columns one after another."""
        if len(columns) == 1:
            return columns[0]
        before, starts = 0, [np.zeros(0, dtype=np.int64)]
        for column in columns:
            starts.append(column.start + before)
            before += len(column.content)
        lengths = [np.zeros(0, dtype=np.int64), *(column.length for column in columns)]
        content = b"".join(column.content for column in columns)
        return cls(content, np.concatenate(starts), np.concatenate(lengths))

    def __len__(self) -> int:
        return len(self.start)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Texts: ...
    def __getitem__(self, at: int | slice) -> str | Texts:
        if isinstance(at, slice):
            return Texts(self.content, self.start[at], self.length[at])
        start = int(self.start[at])
        return self.content[start : start + int(self.length[at])].decode(errors=_AS_THEY_ARE)

    def __iter__(self) -> Iterator[str]:
        content = self.content
        for start, stop in zip(
            self.start.tolist(), (self.start + self.length).tolist(), strict=True
        ):
            yield content[start:stop].decode(errors=_AS_THEY_ARE)

    def take(self, index: Int64Array) -> Texts:
        """Some of them, in this order."""
        return Texts(self.content, self.start[index], self.length[index])

    def changed(self, index: Int64Array, texts: Texts) -> Texts:
        """With other texts at some places."""
        start, length = self.start.copy(), self.length.copy()
        start[index], length[index] = texts.start + len(self.content), texts.length
        return Texts(self.content + texts.content, start, length)

    def copied(self) -> Texts:
        """The same texts without what lies between them."""
        n = int(self.length.sum())
        start = np.cumsum(self.length) - self.length
        if len(self.content) <= 2 * n:
            return self
        at = np.repeat(self.start - start, self.length) + np.arange(n)
        return Texts(np.frombuffer(self.content, dtype=np.uint8)[at].tobytes(), start, self.length)

    def folders(self) -> Texts:
        """The folder that each path is in, without a slash at its end; empty where there is none."""
        slash = np.flatnonzero(np.frombuffer(self.content, dtype=np.uint8) == _SLASH)
        if not len(slash):
            return Texts(self.content, self.start, np.zeros_like(self.start))
        number = np.searchsorted(slash, self.start + self.length) - 1
        length = slash[np.maximum(number, 0)] - self.start
        return Texts(self.content, self.start, np.where(number < 0, 0, np.maximum(length, 0)))

    def first_equal(self) -> Int64Array:
        """For each text the index of the first one that is equal to it."""
        return self.first_alike(np.zeros(len(self), dtype=np.int64), digits=False)

    def first_alike(self, kind: Int64Array, *, digits: bool) -> Int64Array:
        """For each text the index of the first one of its kind that is equal to it.

        Args:
            kind: of each.
            digits: any run of digits is equal to any other.
        """
        first = np.empty(len(self), dtype=np.int64)
        kind = np.ascontiguousarray(kind, dtype=np.int64)
        status = _library().wt_first_alike(
            self._for_c(), kind.ctypes.data, int(digits), first.ctypes.data
        )
        if status != 0:
            raise MemoryError
        return first

    def varying_numbers(self) -> npt.NDArray[np.bool_]:
        """Which runs of digits differ between texts that are equal but for these.

        Returns:
            shape (runs of digits of each,)
        """
        varies = np.zeros(int(self.length[0]) + 1, dtype=np.uint8)
        _library().wt_varying_numbers(self._for_c(), varies.ctypes.data)
        return varies.astype(bool)

    def are_plain_paths(self) -> bool:
        """Whether no path holds empty and "." parts; False also where one might."""
        if b"//" in self.content or b"/./" in self.content or not self.length.all():
            return False
        content = np.frombuffer(b"/" + self.content + b"/", dtype=np.uint8)
        first, last = content[self.start + 1], content[self.start + self.length]
        before_last = content[np.maximum(self.start + self.length - 1, 0)]
        odd = (last == _SLASH) | ((last == _DOT) & ((before_last == _SLASH) | (self.length == 1)))
        odd |= (first == _DOT) & (content[self.start + 2] == _SLASH)
        return not odd.any()

    def _for_c(self) -> _Texts:
        return _Texts(
            ctypes.cast(ctypes.c_char_p(self.content), ctypes.c_void_p),
            self.start.ctypes.data,
            self.length.ctypes.data,
            len(self),
        )
