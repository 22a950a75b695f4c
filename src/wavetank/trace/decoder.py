"""Calls the C decoder of ROWS blocks (native/tracer/decode.c): payload in, columns out.

Reads the payloads of a part; leaves numpy columns in the layout of ``FoldTable``.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank import native

# struct wt_columns of native/tracer/decode.h, in order: FoldTable without the rank.
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
)

Columns = dict[str, npt.NDArray[Any]]


class DamagedRowsError(Exception):
    """A payload that is not what the tracer writes, although its checksum fits."""


@cache
def _library() -> ctypes.CDLL:
    path = native.find("lib/libwavetank-trace-decode.so", "read traces")
    library = ctypes.CDLL(str(path))
    library.wt_count_rows.restype = ctypes.c_int64
    library.wt_count_rows.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.wt_decode_rows.restype = ctypes.c_int64
    library.wt_decode_rows.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_int64,
    ]
    return library


def empty_columns(n_rows: int) -> Columns:
    """Columns of ``n_rows`` rows, not filled."""
    return {name: np.empty(n_rows, dtype=dtype) for name, dtype in COLUMNS}


def decode_rows(payload: bytes) -> Columns:
    """Decode one payload, or several one after another.

    Raises:
        DamagedRowsError: the payload does not hold groups of rows.
        NativeError: the decoder is not built.
    """
    library = _library()
    n_rows = library.wt_count_rows(payload, len(payload))
    if n_rows < 0:
        raise DamagedRowsError
    columns = empty_columns(n_rows)
    pointers = (ctypes.c_void_p * len(COLUMNS))(*(columns[name].ctypes.data for name, _ in COLUMNS))
    if library.wt_decode_rows(payload, len(payload), pointers, n_rows) != n_rows:
        raise DamagedRowsError
    return columns
