"""Calls the C passes over operations that take turns (native/model/strands.c)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

import numpy as np

from wavetank.model.passes import (
    BoolArray,
    Chunk,
    Kinds,
    OpKinds,
    Survey,
    Table,
    UInt8Array,
    UInt32Array,
    Workspace,
    address,
    load,
)
from wavetank.trace.schema import Int64Array


class _Regions(ctypes.Structure):
    _fields_ = (("n", ctypes.c_int64), ("low", ctypes.c_void_p), ("high", ctypes.c_void_p))


class _Strands(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("ids", "strand_of", "singles")),
        *((name, ctypes.c_int64) for name in ("n_strands", "regular", "listed")),
        *((name, ctypes.c_double) for name in ("low", "high")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "strand", "starts", "at", "offset", "size", "marks", "first", "length", "moved", "busy", "kind",
            )
        ),
    )  # fmt: skip


@cache
def _library() -> ctypes.CDLL:
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    table, kinds = ctypes.POINTER(Table), ctypes.POINTER(Kinds)
    regions = ctypes.POINTER(_Regions)
    return load(
        (
            "wt_number_pairs", number,
            [table, kinds, pointer, pointer, number, pointer, regions, pointer, number, pointer, pointer],
        ),
        ("wt_irregular", None, [pointer, number, pointer, number, pointer, pointer, pointer, pointer]),
        ("wt_strands", number, [table, regions, ctypes.POINTER(_Strands)]),
    )  # fmt: skip


@dataclass(frozen=True)
class Regions:
    """Rows [low, high) each, ascending."""

    low: Int64Array
    high: Int64Array

    @property
    def n_operations(self) -> int:
        """Rows of all regions."""
        return int((self.high - self.low).sum())

    def pointers(self) -> _Regions:
        """For C."""
        return _Regions(len(self.low), address(self.low), address(self.high))


def number_pairs(
    chunk: Chunk, kinds: OpKinds, found: Survey, owner: UInt32Array, regions: Regions, workspace: Workspace
) -> tuple[UInt32Array, Int64Array]:  # fmt: skip
    """Numbers for the pairs of a region and a code, from 0 as they come.

    A seek that does not lead to where its owner's next operation begins is told from those that do.

    Args:
        chunk: the chunk.
        kinds: of operations.
        found: in the chunk.
        owner: by code, which open of a file.
        regions: of rows that are looked at.
        workspace: of the arrays.

    Returns:
        The number of each operation, region by region; and by number, 2 * (region * codes + code), and one more of such seeks.
    """
    n_codes = len(found.first)
    n = regions.n_operations
    ids = workspace.array("ids", n, np.uint32)
    pair = workspace.array("pair", 2 * n, np.int64)
    n_owners = int(owner.max()) + 1
    known = workspace.array("known", 2 * n_codes, np.uint32, zero=True)
    pending = workspace.array("pending", n_owners, np.int64)
    n_pairs = _library().wt_number_pairs(
        chunk.pointers, kinds.pointers(), address(found.code), address(owner), n_owners, address(pending),
        regions.pointers(), address(known), n_codes, address(ids), address(pair),
    )  # fmt: skip
    return ids, pair[:n_pairs].copy()


def irregular(
    ids: UInt32Array, stream_of: UInt32Array, limits: tuple[int, ...], workspace: Workspace
) -> BoolArray:
    """By stream, whether its operations take turns often and repeat no pattern for long.

    Args:
        ids: of operations.
        stream_of: by id.
        limits: least turns; operations in order that are long; entries that recur; between places looked at; longest period.
        workspace: of the arrays.
    """
    n_streams = int(stream_of.max()) + 1
    start = workspace.array("start", n_streams + 1, np.int64)
    scratch = workspace.array("scratch", len(ids), np.uint32)
    result = np.zeros(n_streams, dtype=np.uint8)
    numbers = np.array(limits, dtype=np.int64)
    _library().wt_irregular(
        address(ids), len(ids), address(stream_of), n_streams, address(start), address(scratch), address(numbers), address(result),
    )  # fmt: skip
    return result.astype(bool)


@dataclass(frozen=True)
class Strands:
    """Operations strand by strand. Arrays of the workspace but for those of rows.

    Attributes:
        strand: of each operation, in the order of the run.
        starts: of the strands, and behind the last one.
        at: rows of the chunk, strand by strand.
        offset: of the same.
        size: of the same.
        first: of the rows that are made, places in ``at``.
        length: their operations.
        moved: bytes.
        busy: ns.
        kind: 0 a single operation, 1 a run, 2 a list of one size, 3 a list of several.
    """

    strand: UInt32Array
    starts: Int64Array
    at: UInt32Array
    offset: Int64Array
    size: Int64Array
    first: Int64Array
    length: Int64Array
    moved: Int64Array
    busy: Int64Array
    kind: UInt8Array


def strands(
    chunk: Chunk, regions: Regions, ids: UInt32Array, of_id: tuple[UInt32Array, UInt8Array],
    limits: tuple[int, int], similar: tuple[float, float], workspace: Workspace,
) -> Strands:  # fmt: skip
    """Put operations strand by strand, and make rows of them.

    Args:
        chunk: the chunk.
        regions: of the operations.
        ids: of the operations, as ``number_pairs`` gives them.
        of_id: by id its strand; by strand whether each operation is a row of its own.
        limits: operations of a regular run that is a row of its own, and of a row without regularity.
        similar: ratios of similar sizes.
        workspace: of the arrays.
    """
    n = len(ids)
    strand_of, singles = of_id
    space = {
        name: workspace.array(f"strands.{name}", n, dtype)
        for name, dtype in (
            ("strand", np.uint32), ("at", np.uint32), ("offset", np.int64), ("size", np.int64), ("marks", np.uint8),
            ("first", np.int64), ("length", np.int64), ("moved", np.int64), ("busy", np.int64), ("kind", np.uint8),
        )
    }  # fmt: skip
    starts = np.zeros(len(singles) + 1, dtype=np.int64)
    out = _Strands(
        address(ids), address(strand_of), address(singles), len(singles), *limits, *similar, address(space["strand"]), address(starts),
        *(address(space[name]) for name in ("at", "offset", "size", "marks", "first", "length", "moved", "busy", "kind")),
    )  # fmt: skip
    n_rows = _library().wt_strands(chunk.pointers, regions.pointers(), ctypes.byref(out))
    return Strands(
        space["strand"], starts, space["at"], space["offset"], space["size"],
        *(space[name][:n_rows].copy() for name in ("first", "length", "moved", "busy", "kind")),
    )  # fmt: skip
