"""Calls the C decoder of ROWS blocks and tails (native/decode/decode.c): bytes in, columns out.

Reads the payloads of a part, or its tail; leaves numpy columns in the layout of ``FoldTable``.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank import native

# struct wt_columns of native/decode/decode.h, in order: FoldTable without the rank.
COLUMNS: tuple[tuple[str, type[np.generic]], ...] = (
    ("seq", np.int64),
    ("op", np.uint8),
    ("file", np.int32),
    ("handle", np.int32),
    ("count", np.int64),
    ("size", np.int64),
    ("moved", np.int64),
    ("offset", np.int64),
    ("disp", np.int64),
    ("view", np.int32),
    ("view_offset", np.int64),
    ("view_disp", np.int64),
    ("tick", np.int64),
    ("subtick", np.int64),
    ("tick_step", np.int64),
    ("subtick_step", np.int64),
    ("start_ns", np.int64),
    ("end_ns", np.int64),
    ("busy_ns", np.int64),
    ("arg", np.int64),
    ("error", np.int32),
    ("loop", np.int64),
    ("handle_step", np.int32),
)
N_BUCKETS = 32  # WT_TIMES_BUCKETS
MOST_ROWS = 1 << 24  # WT_MOST_ROWS
MOST_MEMBERS = 4096  # WT_MOST_MEMBERS
MOST_ROWS_APART = (
    1 << 21
)  # more rows than this are not made of loops that rows can hold: 350 MB of columns
_TOO_MANY = -2

Columns = dict[str, npt.NDArray[Any]]


class DamagedRowsError(Exception):
    """A payload that is not what the tracer writes, although its checksum fits."""


class TooManyRowsError(Exception):
    """Loops that no table of rows can hold stand for more than ``MOST_ROWS`` rows."""


@dataclass(frozen=True)
class Decoded:
    """What bytes of a part hold.

    Attributes:
        columns: of the fold table.
        n_folds: rows as they are stored, each once however often a loop repeats it.
        times_row: shape (n,), the first row of each fold of several operations.
        times_counts: shape (n, N_BUCKETS), how many of its operations took 2^b to 2^(b+1) - 1 ns.
    """

    columns: Columns
    n_folds: int
    times_row: npt.NDArray[np.int64]
    times_counts: npt.NDArray[np.int64]


class _Sizes(ctypes.Structure):
    _fields_ = (("rows", ctypes.c_int64), ("folds", ctypes.c_int64), ("times", ctypes.c_int64))


@cache
def _library() -> ctypes.CDLL:
    path = native.find("lib/libwavetank-trace-decode.so", "read traces")
    library = ctypes.CDLL(str(path))
    pointers = ctypes.POINTER(ctypes.c_void_p)
    for kind in ("rows", "tail"):
        counts = getattr(library, f"wt_count_{kind}")
        decodes = getattr(library, f"wt_decode_{kind}")
        counts.restype = decodes.restype = ctypes.c_int64
        counts.argtypes = [
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.POINTER(_Sizes),
        ]  # fmt: skip
        decodes.argtypes = [
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, pointers, pointers, ctypes.POINTER(_Sizes),
        ]  # fmt: skip
    return library


def empty_columns(n_rows: int) -> Columns:
    """Columns of ``n_rows`` rows, not filled."""
    return {name: np.empty(n_rows, dtype=dtype) for name, dtype in COLUMNS}


def decode_rows(payload: bytes, loops: bool = False) -> Decoded:
    """Decode one payload, or several one after another.

    Args:
        payload: of ROWS blocks.
        loops: keep loops as rows with a loop number, where they can be; else take them apart, unless that gives
            more than ``MOST_ROWS_APART`` rows.

    Raises:
        DamagedRowsError: the payload does not hold groups of rows.
        TooManyRowsError: they stand for more than can be held.
        NativeError: the decoder is not built.
    """
    return _decode("rows", payload, loops)


def decode_tail(content: bytes, loops: bool = False) -> Decoded:
    """Decode the rows of a tail, the whole file; raises as ``decode_rows``."""
    return _decode("tail", content, loops)


def _decode(kind: str, content: bytes, loops: bool) -> Decoded:
    library, sizes = _library(), _Sizes()
    members = MOST_MEMBERS if loops else 0
    count = getattr(library, f"wt_count_{kind}")
    status = count(content, len(content), members, sizes)
    if not loops and (status == _TOO_MANY or sizes.rows > MOST_ROWS_APART):
        members = MOST_MEMBERS
        status = count(content, len(content), members, sizes)
    if status == _TOO_MANY:
        raise TooManyRowsError
    if status != 0:
        raise DamagedRowsError
    columns = empty_columns(sizes.rows)
    times_row = np.empty(sizes.times, dtype=np.int64)
    times_counts = np.empty((sizes.times, N_BUCKETS), dtype=np.int64)
    places = (ctypes.c_void_p * len(COLUMNS))(*(columns[name].ctypes.data for name, _ in COLUMNS))
    times = (ctypes.c_void_p * 2)(times_row.ctypes.data, times_counts.ctypes.data)
    if (
        getattr(library, f"wt_decode_{kind}")(content, len(content), members, places, times, sizes)
        != 0
    ):
        raise DamagedRowsError
    return Decoded(columns, sizes.folds, times_row, times_counts)


def joined(first: Decoded, second: Decoded) -> Decoded:
    """Two of one part, one after the other."""
    n_loops = int(first.columns["loop"].max(initial=0))
    behind = dict(second.columns)
    behind["loop"] = np.where(behind["loop"] > 0, behind["loop"] + n_loops, 0)
    return Decoded(
        {name: np.concatenate([first.columns[name], behind[name]]) for name, _ in COLUMNS},
        first.n_folds + second.n_folds,
        np.concatenate([first.times_row, second.times_row + len(first.columns["seq"])]),
        np.concatenate([first.times_counts, second.times_counts]),
    )
