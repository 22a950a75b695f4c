"""Sizes below 0 in a Darshan log: requests of 2 GiB and more overflow in some of its releases, at MPI-IO level above all.

Reads counters and segments; leaves those of levels whose sizes can be true. An operation of such a size is one all the
same: its file is modelled by the level below, where that has it, and else its bytes are lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wavetank.trace.importers.counter_table import CounterTable
from wavetank.trace.importers.dxt import Segments

# A counter module, its prefix, its module of segments, and the modules that hold the same operations one level below.
_LEVELS = (
    ("POSIX", "POSIX", "DXT_POSIX", None),
    ("STDIO", "STDIO", None, None),
    ("MPI-IO", "MPIIO", "DXT_MPIIO", ("POSIX", "DXT_POSIX")),
)
_SIZES = (
    "BYTES_READ", "BYTES_WRITTEN", "MAX_READ_TIME_SIZE", "MAX_WRITE_TIME_SIZE",
    *(f"ACCESS{slot}_ACCESS" for slot in (1, 2, 3, 4)),
)  # fmt: skip


@dataclass(frozen=True)
class Overflowed:
    """Files, by Darshan's id, that were left out of a level.

    Attributes:
        below: their MPI-IO operations; the POSIX ones that these were made of stay.
        lost: their operations; nothing else tells of them.
    """

    below: frozenset[int]
    lost: frozenset[int]


def leave_out_overflowed(
    counters: dict[str, CounterTable], segments: dict[str, Segments]
) -> Overflowed:
    """Take out of both each level of a file at which sizes are below 0."""
    below: set[int] = set()
    lost: set[int] = set()
    for module, prefix, traced, beneath in _LEVELS:
        bad = _with_sizes_below_0(counters.get(module), prefix, segments.get(traced or ""))
        if not bad:
            continue
        if module in counters:
            counters[module] = counters[module].without(bad)
        if traced in segments:
            segments[traced] = segments[traced].without(bad)
        known = _files_of(counters, segments, beneath) if beneath else set()
        below |= bad & known
        lost |= bad - known
    return Overflowed(frozenset(below), frozenset(lost))


def _with_sizes_below_0(table: CounterTable | None, prefix: str, part: Segments | None) -> set[int]:
    found: set[int] = set()
    if table is not None:
        found |= set(table.file[table.least(*(f"{prefix}_{name}" for name in _SIZES)) < 0].tolist())
    if part is not None and (short := part.segment["length"] < 0).any():
        found |= set(np.repeat(part.file, part.n_writes + part.n_reads)[short].tolist())
    return found


def _files_of(
    counters: dict[str, CounterTable], segments: dict[str, Segments], modules: Iterable[str]
) -> set[int]:
    """Files whose operations are known at a level: by segments where the log has any, else by counters."""
    counting, traced = modules
    if any(len(part) for part in segments.values()):
        return set(segments[traced].file.tolist()) if traced in segments else set()
    if counting not in counters:
        return set()
    table = counters[counting]
    return set(table.file[table.count(f"{counting}_READS", f"{counting}_WRITES") > 0].tolist())
