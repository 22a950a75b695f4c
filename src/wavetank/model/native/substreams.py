"""Calls the C passes over operations that take turns (native/model/substreams.c)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache

import numpy as np

from wavetank.model.native.survey import (
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
from wavetank.trace.schema import BoolArray, FoldTable, Int32Array, Int64Array


@dataclass(frozen=True)
class Tails:
    """Where lists of substreams go on: positions, and their addresses, by substream."""

    offset_at: Int64Array
    size_at: Int64Array
    offset_to: Int64Array
    size_to: Int64Array


class _Regions(ctypes.Structure):
    _fields_ = (("n", ctypes.c_int64), ("low", ctypes.c_void_p), ("high", ctypes.c_void_p))


class _Substreams(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("ids", "substream_of", "singles")),
        *((name, ctypes.c_int64) for name in ("n_substreams", "regular", "listed")),
        *((name, ctypes.c_double) for name in ("low", "high")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "substream", "starts", "at", "offset", "size", "marks", "first", "length", "moved", "busy", "kind",
                "head", "second", "last",
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
        ("wt_lay_substreams", number, [table, regions, ctypes.POINTER(_Substreams)]),
        ("wt_continue_interleaving", number, [table, ctypes.POINTER(_Unfinished)]),
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
    chunk: Chunk[FoldTable], kinds: OpKinds, found: Survey, owner: UInt32Array, regions: Regions, workspace: Workspace
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
class Substreams:
    """Operations substream by substream. Arrays of the workspace but for those of rows.

    Attributes:
        substream: of each operation, in the order of the run.
        starts: of the substreams, and behind the last one.
        at: rows of the chunk, substream by substream.
        offset: of the same.
        size: of the same.
        first: of the rows that are made, places in ``at``.
        length: their operations.
        moved: bytes.
        busy: ns.
        kind: 0 a single operation, 1 a run, 2 a list of one size, 3 a list of several.
        head: rows of the chunk, of their first operations,
        second: of the ones behind these, or the same where there is none,
        last: of the last ones.
        listed: where the lists of the rows are, -1 for none; None: they are not put anywhere yet.
        sized: the same of their sizes.
    """

    substream: np.ndarray
    starts: Int64Array
    at: UInt32Array
    offset: Int64Array
    size: Int64Array
    first: Int64Array
    length: Int64Array
    moved: Int64Array
    busy: Int64Array
    kind: UInt8Array
    head: Int64Array
    second: Int64Array
    last: Int64Array
    listed: Int64Array | None = None
    sized: Int64Array | None = None


def substreams(
    chunk: Chunk[FoldTable], regions: Regions, ids: UInt32Array, of_id: tuple[UInt32Array, UInt8Array],
    limits: tuple[int, int], similar: tuple[float, float], workspace: Workspace,
) -> Substreams:  # fmt: skip
    """Put operations substream by substream, and make rows of them.

    Args:
        chunk: the chunk.
        regions: of the operations.
        ids: of the operations, as ``number_pairs`` gives them.
        of_id: by id its substream; by substream whether each operation is a row of its own.
        limits: operations of a regular run that is a row of its own, and of a row without regularity.
        similar: ratios of similar sizes.
        workspace: of the arrays.
    """
    n = len(ids)
    substream_of, singles = of_id
    laid, starts = _laid(n, singles, limits, similar, workspace)
    substream = workspace.array("substreams.substream", n, np.uint32)
    laid.ids, laid.substream_of, laid.substream = (
        address(ids),
        address(substream_of),
        address(substream),
    )
    n_rows = _library().wt_lay_substreams(chunk.pointers, regions.pointers(), ctypes.byref(laid))
    return _substreams(substream, starts, n, n_rows, workspace)


_LAID: dict[str, type[np.generic]] = {
    "at": np.uint32, "offset": np.int64, "size": np.int64, "marks": np.uint8, "first": np.int64, "length": np.int64,
    "moved": np.int64, "busy": np.int64, "kind": np.uint8, "head": np.int64, "second": np.int64, "last": np.int64,
}  # fmt: skip
_OF_ROWS = ("first", "length", "moved", "busy", "kind", "head", "second", "last")


def _space(name: str, n: int, workspace: Workspace) -> np.ndarray:
    found: np.ndarray = workspace.array(f"substreams.{name}", n, _LAID[name])
    return found


def _laid(
    n: int, singles: UInt8Array, limits: tuple[int, int], similar: tuple[float, float], workspace: Workspace
) -> tuple[_Substreams, Int64Array]:  # fmt: skip
    """Room for operations substream by substream and rows of them; and for where the substreams begin."""
    starts = np.zeros(len(singles) + 1, dtype=np.int64)
    columns = {name: address(_space(name, n, workspace)) for name in _LAID}
    return _Substreams(
        None, None, address(singles), len(singles), *limits, *similar, starts=address(starts), **columns
    ), starts  # fmt: skip


def _substreams(
    substream: np.ndarray, starts: Int64Array, n: int, n_rows: int, workspace: Workspace
) -> Substreams:
    rows = {name: _space(name, n, workspace)[:n_rows].copy() for name in _OF_ROWS}
    at, offset, size = (_space(name, n, workspace) for name in ("at", "offset", "size"))
    return Substreams(substream, starts, at, offset, size, **rows)


# --- chunks that go on with an interleaving ---------------------------------------------------------------

MOST_SUBSTREAMS = 256
_NOT_ON = -1


class Role(IntEnum):
    """What the operations of a substream do: native/model/model.h, the same in a test."""

    DATA = 0  # move bytes
    SEEK = 1  # lead to where the next operation of their file begins
    STRAY = 2  # seeks that lead elsewhere


@dataclass(frozen=True)
class Unfinished:
    """Substreams of an interleaving that may go on, as struct wt_unfinished (native/model/model.h): columns by substream.

    Attributes:
        op, file, handle, given: what the operations have in common.
        apart: whether the substream is one of several of its file.
        role: ``Role``.
        owner: of seeks and what they lead to; none if nothing seeks.
        stray_of: of seeks the substream of their stray ones, -1 for none.
        stream: number of the substream's file if it is one of several, else -1.
        least: bytes that each operation moves at least.
    """

    op: UInt8Array
    file: np.ndarray
    handle: np.ndarray
    given: Int32Array
    apart: BoolArray
    role: UInt8Array
    owner: np.ndarray
    stray_of: np.ndarray
    stream: np.ndarray
    least: Int64Array

    def __len__(self) -> int:
        return len(self.op)

    def keys(self) -> list[tuple[int, ...]]:
        """What the operations of each substream have in common."""
        columns = (self.file, self.op, self.handle, self.given, self.role == Role.STRAY)
        return [tuple(key) for key in np.stack(columns, axis=1).tolist()]


@dataclass(frozen=True)
class Before:
    """The operation before a chunk."""

    rank: int
    tick: int
    is_call: bool
    is_separated: bool  # by communication


class _Unfinished(ctypes.Structure):
    _fields_ = (
        ("n_substreams", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "op", "file", "handle", "given", "role", "owner", "stray_of", "stream", "least",
            )
        ),
        *((name, ctypes.c_int64) for name in ("n_owners", "n_streams", "rank", "tick")),
        *((name, ctypes.c_bool) for name in ("calls", "parts")),
        *((name, ctypes.c_int64) for name in ("turns", "long_order", "head", "probe", "period")),
        ("often", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ("order", "scratch")),
        ("substreams", _Substreams),
        *(
            (name, ctypes.c_void_p)
            for name in ("offset_to", "size_to", "offset_at", "size_at", "listed", "sized")
        ),
    )  # fmt: skip


def continue_interleaving(
    chunk: Chunk[FoldTable], unfinished: Unfinished, before: Before, no_order: tuple[int, ...], often: float,
    limits: tuple[int, int], similar: tuple[float, float], tails: Tails | None, workspace: Workspace,
) -> Substreams | None:  # fmt: skip
    """Put the operations of a chunk substream by substream, if all of it goes on with an interleaving; None: it may not.

    Args:
        chunk: the chunk.
        unfinished: the substreams; in what is found, some may have no operation. ``substream`` is uint8, and new.
        before: what the chunk goes on from.
        no_order: limits of ``irregular``.
        often: share of operations whose substream is not that of the one before, at least.
        limits: as of ``substreams``.
        similar: as of ``substreams``.
        tails: where lists go on, and then end; None: they are put nowhere.
        workspace: of the arrays.
    """
    n = len(chunk)
    singles = (unfinished.role == Role.STRAY).astype(np.uint8)
    laid, starts = _laid(n, singles, limits, similar, workspace)
    order = np.empty(n, dtype=np.uint8)
    scratch = workspace.array("scratch", n, np.uint32)
    columns = (
        unfinished.op, unfinished.file, unfinished.handle, unfinished.given, unfinished.role, unfinished.owner,
        unfinished.stray_of, unfinished.stream, unfinished.least,
    )  # fmt: skip
    seeks = bool((unfinished.role != Role.DATA).any())
    given = _Unfinished(
        len(unfinished), *(address(column) for column in columns), int(unfinished.owner.max()) + 1 if seeks else 0,
        int(unfinished.stream.max()) + 1, before.rank, before.tick, before.is_call, before.is_separated, *no_order, often,
        address(order), address(scratch), laid,
    )  # fmt: skip
    where = [workspace.array(f"substreams.{name}", n, np.int64) for name in ("listed", "sized")]
    if tails is not None:
        given.offset_to, given.size_to = address(tails.offset_to), address(tails.size_to)
        given.offset_at, given.size_at = address(tails.offset_at), address(tails.size_at)
        given.listed, given.sized = (address(column) for column in where)
    n_rows = _library().wt_continue_interleaving(chunk.pointers, ctypes.byref(given))
    if n_rows == _NOT_ON:
        return None
    found = _substreams(order, starts, n, n_rows, workspace)
    if tails is None:
        return found
    return replace(found, listed=where[0][:n_rows].copy(), sized=where[1][:n_rows].copy())
