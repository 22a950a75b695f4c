"""How much of what a program did is not in the DXT segments of its Darshan log.

Reads the counters, which go on when DXT is out of memory, and the segments; leaves a sentence for each level.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from wavetank.trace.importers.darshan_counters import Moved
from wavetank.trace.importers.dxt import Segments
from wavetank.trace.schema import Int64Array

COUNTERS = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}
"""The module that counts what a module of segments records."""


@dataclass
class _Amount:
    operations: int = 0
    bytes: int = 0
    files: int = 0


def missing_operations(
    segments: Mapping[str, Segments],
    counted: Mapping[str, Moved],
    numbers: Mapping[int, int],
    out_of_memory: Collection[str],
    left_out: Collection[int] = (),
) -> tuple[str, ...]:
    """What is missing, a sentence for each level; empty where the log holds everything.

    Args:
        segments: by module.
        counted: what the counters of each module hold.
        numbers: a file's number by Darshan's id.
        out_of_memory: modules that ran out of memory in the traced run.
        left_out: numbers of files that are none of the application's.
    """
    found = []
    for module, counting in COUNTERS.items():
        if module in segments and counting in counted:
            recorded, missing = _amounts(segments[module], counted[counting], numbers, left_out)
            if missing.operations:
                found.append(_sentence(module, recorded, missing, module in out_of_memory))
    # Streams have no segments: their counters are used where there are no segments at all.
    for counting in (*COUNTERS.values(), *(() if segments else ("STDIO",))):
        found += [_without_records(counting)] if counting in out_of_memory else []
    return tuple(found)


def _without_records(module: str) -> str:
    return f"Darshan ran out of memory for its module {module}: files are missing, and how many is not known. {_REMEDY}"


_REMEDY = "Record the run again with more memory for Darshan (DARSHAN_MODMEM, in MiB)"


def _amounts(
    part: Segments, counted: Moved, numbers: Mapping[int, int], left_out: Collection[int]
) -> tuple[_Amount, _Amount]:
    """What the segments hold, and what the counters have beyond it, summed over files."""
    each = part.n_writes + part.n_reads
    ends = np.concatenate([[0], np.cumsum(part.segment["length"])])[np.cumsum(each)]
    file = np.array([numbers[one] for one in part.file.tolist()], dtype=np.int64)
    held_n, held_bytes = _by_file(len(numbers), file, each, np.diff(ends, prepend=0))
    n, size = _by_file(len(numbers), counted.file, counted.operations, counted.bytes)
    kept = np.ones(len(numbers), dtype=bool)
    kept[list(left_out)] = False
    more = np.flatnonzero(kept & (n > held_n))
    held = _Amount(int(held_n[kept].sum()), int(held_bytes[kept].sum()))
    beyond = np.maximum(size[more] - held_bytes[more], 0)
    return held, _Amount(int((n - held_n)[more].sum()), int(beyond.sum()), len(more))


def _by_file(n_files: int, file: Int64Array, *columns: Int64Array) -> list[Int64Array]:
    """Sums of columns over each file, exactly (weights of ``bincount`` are floats)."""
    found = []
    for column in columns:
        total = np.zeros(n_files, dtype=np.int64)
        np.add.at(total, file, column)
        found.append(total)
    return found


def _sentence(module: str, held: _Amount, missing: _Amount, out_of_memory: bool) -> str:
    counted = held.operations + missing.operations
    why = (
        f"Darshan ran out of memory for its module {module}. {_REMEDY}"
        if out_of_memory
        else f"{module} was told to leave them out (a trigger or filter of DXT's configuration)"
    )
    return (
        f"Darshan counted {counted:,} {COUNTERS[module]} operations of {held.bytes + missing.bytes:,} bytes, and its segments "
        f"hold {held.operations:,} of {held.bytes:,} bytes: {missing.operations:,} operations "
        f"({100 * missing.operations / counted:.1f} %) of {missing.bytes:,} bytes on {missing.files:,} "
        f"file{'' if missing.files == 1 else 's'} are missing, because {why}"
    )
