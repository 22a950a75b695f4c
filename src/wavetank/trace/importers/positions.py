"""Where operations at a file's own position took place, from the sequence of calls, a whole column at a time."""

from __future__ import annotations

import numpy as np

from wavetank.trace.schema import UNKNOWN, Int64Array


def follow(stream: np.ndarray, absolute: Int64Array, advance: Int64Array) -> Int64Array:
    """Position of each call before it is made, bytes; UNKNOWN until something told it.

    Args:
        stream: which position each call uses, shape (n,); calls of a stream are in order.
        absolute: where a call puts the position (open, seek from the start), UNKNOWN if it does not,
            LOST if it puts it where cannot be told (seek from an unknown end).
        advance: by how much a call moves it otherwise (read, write, seek from here), bytes.
    """
    order = np.argsort(stream, kind="stable")
    put, step = absolute[order], np.where(absolute[order] == UNKNOWN, advance[order], 0)
    position = np.arange(len(order), dtype=np.int64)
    new = np.append(True, stream[order][1:] != stream[order][:-1])[: len(order)]
    # Number of the last call before each one that put the position; -1: none in its stream.
    anchor = (
        np.maximum.accumulate(np.where(put != UNKNOWN, position, -1)) if len(order) else position
    )
    anchor = np.append(-1, anchor[:-1])[: len(order)]
    anchor[anchor < np.maximum.accumulate(np.where(new, position, 0))] = -1
    moved = np.append(0, np.cumsum(step))
    known = (anchor >= 0) & (put[anchor] != LOST)
    found = np.full(len(order), UNKNOWN, dtype=np.int64)
    at = anchor[known]
    found[known] = put[at] + moved[position[known]] - moved[at + 1]
    back = np.empty_like(found)
    back[order] = found
    return back


LOST = -2
"""Puts the position somewhere that is not known."""
