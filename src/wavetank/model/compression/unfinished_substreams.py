"""Substreams of an interleaving that may go on in the next chunk: what their operations have in common.

Reads the rows that substreams begin with; leaves the columns that C compares the next chunk's operations with.
"""

from __future__ import annotations

import numpy as np

from wavetank.model.compression.folded_table import Folded
from wavetank.model.native.substreams import MOST_SUBSTREAMS, Role, Unfinished
from wavetank.model.native.survey import OpKinds
from wavetank.trace.schema import BoolArray, Int64Array

_NOTHING = 0  # given to a seek but its place, SEEK_SET: interleavable whatever it moved
_ANY = -1  # bytes that such a seek moves at least; -1 is not known


def unfinished_substreams(
    table: Folded, head: Int64Array, apart: BoolArray, stray: BoolArray, kinds: OpKinds
) -> Unfinished | None:
    """The substreams, and those of stray seeks where there are none yet; None if they are too many.

    Args:
        table: the chunk.
        head: a row of each substream.
        apart: whether it is one of several of its file.
        stray: whether it is of stray seeks.
        kinds: of operations.
    """
    keys = [
        getattr(table, name)[head].astype(np.int64) for name in ("file", "op", "handle", "given")
    ]
    columns = np.stack([*keys, stray, apart], axis=1)
    # A stray seek may come in any chunk.
    seeks = (kinds.seeks[columns[:, 1]] > 0) & apart & ~stray
    more = columns[seeks]
    more[:, 4] = 1
    columns = np.unique(np.concatenate([columns, more]), axis=0)
    return _of_columns(columns, kinds) if len(columns) <= MOST_SUBSTREAMS else None


def union(unfinished: Unfinished, before: Unfinished, kinds: OpKinds) -> Unfinished:
    """Substreams of an interleaving and of the one that it continues, where files are split alike; else the first ones."""
    mine, others = _columns(unfinished), _columns(before)
    apart = dict(mine[:, [0, 5]].tolist())
    if any(apart.get(file, how) != how for file, how in others[:, [0, 5]].tolist()):
        return unfinished
    both = np.unique(np.concatenate([mine, others]), axis=0)
    single = both[both[:, 5] == 0]
    if len(both) > MOST_SUBSTREAMS or len(np.unique(single[:, 0])) < len(single):
        return unfinished
    return _of_columns(both, kinds)


def _columns(unfinished: Unfinished) -> Int64Array:
    columns = (
        unfinished.file,
        unfinished.op,
        unfinished.handle,
        unfinished.given,
        unfinished.role == Role.STRAY,
        unfinished.apart,
    )
    return np.stack([column.astype(np.int64) for column in columns], axis=1)


def _of_columns(columns: Int64Array, kinds: OpKinds) -> Unfinished:
    """Of substreams in order: file, op, handle, given, whether stray, whether apart."""
    file, op, handle, given, is_stray, is_apart = columns.T
    role = np.where(is_stray > 0, Role.STRAY, np.where(kinds.seeks[op] > 0, Role.SEEK, Role.DATA))
    stray_of = np.full(len(columns), -1, dtype=np.int32)
    same = (columns[1:, :4] == columns[:-1, :4]).all(axis=1)  # a seek, and its stray ones behind it
    stray_of[:-1][same] = 1 + np.flatnonzero(same)
    _, owner = np.unique(columns[:, [0, 2]], axis=0, return_inverse=True)
    stream = np.full(len(columns), -1, dtype=np.int32)
    several = is_apart > 0
    stream[several] = np.unique(file[several], return_inverse=True)[1]
    least = np.where((role != Role.DATA) & (given == _NOTHING), _ANY, 1)
    return Unfinished(
        op.astype(np.uint8), file.astype(np.int32), handle.astype(np.int32), given.astype(np.int32), several,
        role.astype(np.uint8), owner.reshape(-1).astype(np.int32), stray_of, stream, least,
    )  # fmt: skip
