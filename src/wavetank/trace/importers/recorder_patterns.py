"""Offsets that Recorder 3 wrote as patterns, put back to numbers.

Between ranks an offset that is one function of the rank is written as text, ``16384*r+65536``. ``r`` counts, in the order
of ranks, those that have as many different calls of the function. Within a rank the first offset of a function is
written as it is, and each later one as its distance from that, whichever file it is of.
Source: Recorder's lib/recorder-pattern-recognition.c, lib/recorder-posix.c and lib/recorder-mpi.c of November 2023, the
last before 3.0.0. There ``pread`` keeps its offsets, but is named among the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wavetank.trace.importers.recorder_format import RankCalls, Signature
from wavetank.trace.schema import Int64Array

# Where the offset is among a function's arguments.
_BETWEEN = {
    "lseek": 1, "lseek64": 1, "pread": 3, "pread64": 3, "pwrite": 3, "pwrite64": 3, "MPI_File_read_at": 1,
    "MPI_File_read_at_all": 1, "MPI_File_write_at": 1, "MPI_File_write_at_all": 1,
}  # fmt: skip
_WITHIN = {name: at for name, at in _BETWEEN.items() if not name.startswith("pread")} | {
    "MPI_File_set_view": 1
}
_PATTERN = re.compile(r"(-?\d+)\*r\+(-?\d+)")


def without_patterns(ranks: Sequence[RankCalls]) -> tuple[RankCalls, ...]:
    """Signatures with numbers where they have patterns between ranks."""
    patterns = {
        signature.function
        for calls in ranks
        for signature in calls.signatures
        if _pattern(signature) is not None
    }
    if not patterns:
        return tuple(ranks)
    places: list[dict[str, int]] = [{} for _ in ranks]
    for function in patterns:
        seen: dict[int, int] = {}
        for rank, calls in enumerate(ranks):
            n = sum(one.function == function for one in calls.signatures)
            places[rank][function] = seen[n] = seen.get(n, -1) + 1
    return tuple(
        replace(calls, signatures=tuple(_at(one, places[rank]) for one in calls.signatures))
        for rank, calls in enumerate(ranks)
    )


def _pattern(signature: Signature) -> re.Match[str] | None:
    at = _BETWEEN.get(signature.function)
    if at is None or len(signature.arguments) <= at:
        return None
    return _PATTERN.fullmatch(signature.arguments[at])


def _at(signature: Signature, places: dict[str, int]) -> Signature:
    found = _pattern(signature)
    if found is None:
        return signature
    at = _BETWEEN[signature.function]
    number = int(found[1]) * places[signature.function] + int(found[2])
    arguments = (*signature.arguments[:at], str(number), *signature.arguments[at + 1 :])
    return replace(signature, arguments=arguments)


def distances_begin(calls: RankCalls) -> Int64Array:
    """What is to be added to each call's offset, where offsets are distances within the rank; shape (n,)."""
    added = np.zeros(len(calls.signature), dtype=np.int64)
    for function, at in _WITHIN.items():
        of_function = [
            i
            for i, one in enumerate(calls.signatures)
            if one.function == function and len(one.arguments) > at
        ]
        if not of_function:
            continue
        mine = np.flatnonzero(np.isin(calls.signature, of_function))
        if len(mine) > 1:
            first = calls.signatures[int(calls.signature[mine[0]])].arguments[at]
            added[mine[1:]] = int(first) if first.lstrip("-").isdigit() else 0
    return added
