"""Calls the C passes over columns of operations (native/model): columns in, small numbers and places out.

Reads chunks of folded rows and columns of lists. Memory is ours and used again from chunk to chunk: a fresh page costs
more than what is done in it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from wavetank import native
from wavetank.trace.schema import BoolArray, FoldTable, Int64Array


class Flag:
    """What a survey says of an operation and, but for INTERLEAVABLE, the next one: native/model/model.h, the same in a test.

    Plain numbers and no IntFlag: numpy widens a column of bytes to eight bytes each to combine it with an enum.
    """

    JOINABLE: Final = 1  # both whole single operations of one rank, no pause between: a row or a block may hold both
    LINKED: Final = 2  # joinable, and the same but for places and times
    TALKS: Final = 4  # communication lies between them
    INTERLEAVABLE: Final = 8  # an interleaving may hold it
    SEPARATED: Final = (
        16  # no interleaving holds both: one of them interleavable, another rank, or communication
    )


TableT_co = TypeVar("TableT_co", bound=FoldTable, covariant=True)
UInt8Array = npt.NDArray[np.uint8]
UInt32Array = npt.NDArray[np.uint32]
UInt64Array = npt.NDArray[np.uint64]

_COLUMNS: tuple[tuple[str, type[np.generic]], ...] = (
    ("op", np.uint8),
    *((name, np.int32) for name in ("rank", "file", "handle", "view", "error", "given")),
    *(
        (name, np.int64)
        for name in (
            "count", "size", "moved", "offset", "view_offset", "tick", "subtick", "loop", "start_ns", "end_ns", "busy_ns",
        )
    ),
)  # fmt: skip


class Table(ctypes.Structure):
    """struct wt_table."""

    _fields_ = (
        ("n", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name, _ in _COLUMNS),
    )


class Kinds(ctypes.Structure):
    """struct wt_kinds."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("separating", "calls", "interleaved", "seeks")
    )


class _Survey(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("flags", "code", "signature", "slots")),
        ("n_slots", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("first", "begin", "end")),
        *(
            (name, ctypes.c_int64)
            for name in ("n_codes", "n_runs", "n_barriers", "n_talks", "n_linked", "n_separating")
        ),
    )


Signature = tuple[str, object, list[object]]


def load(*signatures: Signature) -> ctypes.CDLL:
    """The library, with the results and arguments of some of its functions."""
    library = ctypes.CDLL(str(native.find("lib/libwavetank-model.so", "extract models")))
    for name, result, arguments in signatures:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@cache
def _library() -> ctypes.CDLL:
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    table, kinds = ctypes.POINTER(Table), ctypes.POINTER(Kinds)
    return load(
        (
            "wt_survey", None,
            [table, kinds, pointer, ctypes.c_bool, number, number, ctypes.POINTER(_Survey)],
        )
    )  # fmt: skip


class Workspace:
    """Arrays that are used again."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._inner: Workspace | None = None

    def array(self, name: str, n: int, dtype: type[np.generic], *, zero: bool = False) -> Any:  # noqa: ANN401
        """The first n entries of an array; with ``zero`` one that was 0 once, and is left so by who uses it."""
        found = self._arrays.get(name)
        if found is None or len(found) < n:
            found = (np.zeros if zero else np.empty)(max(n, 1), dtype=dtype)
            self._arrays[name] = found
        return found[:n]

    def inner(self) -> Workspace:
        """Arrays for who works while these are in use."""
        self._inner = self._inner or Workspace()
        return self._inner


@dataclass(frozen=True)
class OpKinds:
    """By operation code, what the passes have to know: shape (256,), 0 or 1."""

    separating: UInt8Array  # communication separates such operations
    calls: UInt8Array  # ticks themselves: MPI-IO calls
    interleaved: UInt8Array
    seeks: UInt8Array

    def pointers(self) -> Kinds:
        """For C."""
        return Kinds(
            *(
                address(getattr(self, name))
                for name in ("separating", "calls", "interleaved", "seeks")
            )
        )


def address(array: npt.NDArray[Any] | None) -> int | None:
    """Where an array's numbers are, for C."""
    return None if array is None else array.ctypes.data


class Chunk(Generic[TableT_co]):
    """Columns of a chunk as C reads them. ``table`` has them as arrays."""

    def __init__(self, table: TableT_co) -> None:
        self.table = table
        self._kept = [
            np.ascontiguousarray(getattr(table, name), dtype=dtype) for name, dtype in _COLUMNS
        ]
        self.pointers = Table(len(table), *(address(column) for column in self._kept))

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True)
class Survey:
    """What the operations of a chunk are, by row. Arrays of the workspace: they hold until the next survey.

    Attributes:
        flags: bits of ``Flag``.
        code: number of what operations have in common but their sizes, places and times.
        signature: a hash of the code and the size.
        first: by code, its first row.
        begin: first rows of the runs at regular distance.
        end: their last rows.
        n_barriers: rows that are not joinable with the next one.
        n_talks: rows between which and the next one lies communication.
        n_linked: rows that are linked with the next one.
        n_separating: operations that communication separates.
    """

    flags: UInt8Array
    code: UInt32Array
    signature: UInt64Array
    first: Int64Array
    begin: Int64Array
    end: Int64Array
    n_barriers: int
    n_talks: int
    n_linked: int
    n_separating: int


def survey(
    chunk: Chunk[FoldTable],
    kinds: OpKinds,
    gap_ns: float | None,
    workspace: Workspace,
    apart: BoolArray | None = None,
    *,
    equal_steps: int,
) -> Survey:
    """One pass over a chunk.

    Args:
        chunk: the chunk.
        kinds: of operations.
        gap_ns: shortest pause that separates operations; None: none does.
        workspace: of the arrays.
        apart: by row, whether the one that comes next in the run is missing behind it; None: none is.
        equal_steps: from one operation to the next that make a run at least.
    """
    n = len(chunk)
    n_slots = 1 << max(n.bit_length() + 1, 4)
    flags = workspace.array("flags", n, np.uint8)
    code = workspace.array("code", n, np.uint32)
    signature = workspace.array("signature", n, np.uint64)
    slots = workspace.array("slots", n_slots, np.uint32, zero=True)
    first = workspace.array("first", n, np.int64)
    begin = workspace.array("begin", n // 2 + 1, np.int64)
    end = workspace.array("end", n // 2 + 1, np.int64)
    out = _Survey(
        address(flags), address(code), address(signature), address(slots), n_slots, address(first), address(begin), address(end),
    )  # fmt: skip
    gap = 0 if gap_ns is None else int(np.ceil(min(gap_ns, 2.0**62)))
    _library().wt_survey(
        chunk.pointers,
        kinds.pointers(),
        address(apart),
        gap_ns is not None,
        gap,
        equal_steps,
        ctypes.byref(out),
    )
    return Survey(
        flags, code, signature, first[: out.n_codes],
        begin[: out.n_runs].copy(), end[: out.n_runs].copy(),
        out.n_barriers, out.n_talks, out.n_linked, out.n_separating,
    )  # fmt: skip
