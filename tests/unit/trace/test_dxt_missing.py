"""How much of a log's operations its segments do not hold."""

from __future__ import annotations

import numpy as np

from wavetank.trace.importers.darshan_counters import Moved
from wavetank.trace.importers.dxt import SEGMENT, Segments
from wavetank.trace.importers.dxt_missing import missing_operations

NUMBERS = {70: 0, 71: 1}


def segments(*records: tuple[int, int, int, int]) -> Segments:
    """(file's id, rank, operations, bytes of each): writes."""
    file, rank, n, size = (np.array(column) for column in zip(*records, strict=True))
    rows = np.zeros(int(n.sum()), dtype=SEGMENT)
    rows["length"] = np.repeat(size, n)
    return Segments(
        rank.astype(np.int32), file.astype(np.uint64), n.astype(np.int64), np.zeros(len(n), np.int64),
        rows, {},
    )  # fmt: skip


def counted(*records: tuple[int, int, int], module: str = "POSIX") -> dict[str, Moved]:
    """(file's number, operations, bytes of each)."""
    file, n, size = (np.array(column) for column in zip(*records, strict=True))
    return {module: Moved(file, n, n * size)}


def test_counters_beyond_the_segments_are_missing_with_their_numbers() -> None:
    # 655,360 of 1,000 bytes were counted, 443,376 recorded: 211,984 of 211,984,000 bytes, 32.3 %, are missing.
    held = {"DXT_POSIX": segments((70, 0, 400_000, 1000), (71, 0, 43_376, 1000))}
    totals = counted((0, 400_000, 1000), (1, 255_360, 1000))
    (sentence,) = missing_operations(held, totals, NUMBERS, {"DXT_POSIX"})
    for part in (
        "counted 655,360 POSIX operations of 655,360,000 bytes",
        "hold 443,376 of 443,376,000 bytes",
        "211,984 operations (32.3 %) of 211,984,000 bytes on 1 file are missing",
        "ran out of memory for its module DXT_POSIX",
        "DARSHAN_MODMEM",
    ):
        assert part in sentence


def test_a_whole_log_misses_nothing_even_where_darshan_says_that_memory_ran_out() -> None:
    held = {"DXT_POSIX": segments((70, 0, 4, 10))}
    assert missing_operations(held, counted((0, 4, 10)), NUMBERS, {"DXT_POSIX"}) == ()


def test_counters_that_ran_out_of_memory_hide_how_much_is_missing() -> None:
    held = {"DXT_POSIX": segments((70, 0, 4, 10))}
    (sentence,) = missing_operations(held, {}, NUMBERS, {"POSIX"})
    assert "how many is not known" in sentence
    (sentence,) = missing_operations({}, {}, NUMBERS, {"MPI-IO"})
    assert "module MPI-IO" in sentence


def test_records_of_streams_are_missing_where_the_counters_are_all_that_there_is() -> None:
    (sentence,) = missing_operations({}, {}, NUMBERS, {"STDIO"})
    assert "module STDIO" in sentence
    assert missing_operations({"DXT_POSIX": segments((70, 0, 1, 1))}, {}, NUMBERS, {"STDIO"}) == ()
