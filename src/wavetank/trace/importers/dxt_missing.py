"""How much of what a program did is not in the DXT segments of its Darshan log.

Reads the counters, which go on when DXT is out of memory, and the segments; leaves a sentence for each level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from wavetank.trace.counters import FileCounters
from wavetank.trace.importers.dxt import LEVELS, Segments

COUNTERS = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}
"""The module that counts what a module of segments records."""


@dataclass
class _Amount:
    operations: int = 0
    bytes: int = 0
    files: int = 0


def missing_operations(
    segments: Mapping[str, Segments],
    counted: Iterable[FileCounters],
    numbers: Mapping[int, int],
    out_of_memory: Collection[str],
    left_out: Collection[int] = (),
) -> tuple[str, ...]:
    """What is missing, a sentence for each level; empty where the log holds everything.

    Args:
        segments: by module.
        counted: all counters of the application's files.
        numbers: a file's number by Darshan's id.
        out_of_memory: modules that ran out of memory in the traced run.
        left_out: numbers of files that are none of the application's.
    """
    found = []
    counted = tuple(counted)
    for module in COUNTERS:
        if module in segments:
            level = LEVELS[module]
            mine = [one for one in counted if one.level is level and not one.streams]
            recorded, missing = _amounts(segments[module], mine, numbers, left_out)
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
    part: Segments,
    counted: Iterable[FileCounters],
    numbers: Mapping[int, int],
    left_out: Collection[int],
) -> tuple[_Amount, _Amount]:
    """What the segments hold, and what the counters have beyond it, summed over files."""
    each = part.n_writes + part.n_reads
    ends = np.concatenate([[0], np.cumsum(part.segment["length"])])[np.cumsum(each)]
    recorded: dict[int, list[int]] = {}
    for file, n, moved in zip(
        part.file.tolist(), each.tolist(), np.diff(ends, prepend=0).tolist(), strict=True
    ):
        of_file = recorded.setdefault(numbers[file], [0, 0])
        of_file[0] += n
        of_file[1] += moved
    totals: dict[int, _Amount] = {}
    for one in counted:
        total = totals.setdefault(one.file, _Amount())
        total.operations += one.n_operations
        total.bytes += one.moved
    held, missing = _Amount(), _Amount()
    for number in {*recorded, *totals} - set(left_out):
        n, moved = recorded.get(number, (0, 0))
        held.operations += n
        held.bytes += moved
        amount = totals.get(number)
        if amount is not None and amount.operations > n:
            missing.operations += amount.operations - n
            missing.bytes += max(0, amount.bytes - moved)
            missing.files += 1
    return held, missing


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
