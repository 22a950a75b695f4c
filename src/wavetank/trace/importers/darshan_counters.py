"""Darshan's counter modules (POSIX, MPI-IO, STDIO) as ``FileCounters``.

Reads the records of ``libdarshan``; leaves one ``FileCounters`` for each. Names of counters are those of
darshan-posix-log-format.h, darshan-mpiio-log-format.h and darshan-stdio-log-format.h, 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavetank.trace.counters import DirectionCounters, FileCounters
from wavetank.trace.importers.counter_table import CounterRecord, CounterTable
from wavetank.trace.schema import Int64Array, Level

_BINS = (
    "0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS",
)  # fmt: skip
_SLOTS = (1, 2, 3, 4)  # of the most frequent values of a kind
_MODULES = (
    ("POSIX", "POSIX", Level.POSIX),
    ("MPI-IO", "MPIIO", Level.MPIIO),
    ("STDIO", "STDIO", Level.POSIX),
)


def file_counters(
    counters: Mapping[str, Iterable[CounterRecord]], numbers: Mapping[int, int]
) -> tuple[FileCounters, ...]:
    """All records of the counter modules.

    Args:
        counters: by the module's name.
        numbers: of the files, by Darshan's id.
    """
    return tuple(
        _of_record(_Values(record, prefix), numbers[record.file], level)
        for module, prefix, level in _MODULES
        for record in counters.get(module, ())
    )


@dataclass(frozen=True)
class Moved:
    """Reads and writes that a module counted: columns, a row for each record."""

    file: Int64Array  # number
    operations: Int64Array
    bytes: Int64Array


def moved(module: str, table: CounterTable, numbers: Mapping[int, int]) -> Moved:
    """The same as ``FileCounters.n_operations`` and ``moved`` of a module's records, all at once."""
    prefix = "MPIIO" if module == "MPI-IO" else module
    kinds = ("COLL_", "SPLIT_", "INDEP_", "NB_") if module == "MPI-IO" else ("",)
    operations, size = (np.zeros(len(table), dtype=np.int64) for _ in range(2))
    for way, done in (("READS", "READ"), ("WRITES", "WRITTEN")):
        n = table.count(*(f"{prefix}_{kind}{way}" for kind in kinds))
        operations += n
        size += np.where(n > 0, table.count(f"{prefix}_BYTES_{done}"), 0)
    file = np.array([numbers[one] for one in table.file.tolist()], dtype=np.int64)
    return Moved(file, operations, size)


def without_stale_counts(
    counted: Sequence[FileCounters], closed_ns: Mapping[tuple[int, int], int]
) -> tuple[list[FileCounters], int, int]:
    """Counters without what began after the last stream on a file was closed; see ``dxt_implied`` for why that is counted.

    Args:
        counted: all counters.
        closed_ns: by (file, rank), -1 for all ranks, when the last stream on a file that was opened as a stream only was
            closed, ns.

    Returns:
        The counters, how many operations were left out, and of how many files operations before and after are counted
        together.
    """
    found, n, mixed = [], 0, set()
    for record in counted:
        closed = closed_ns.get((record.file, -1 if record.rank is None else record.rank))
        if closed is None or record.level != Level.POSIX or record.streams:
            found.append(record)
            continue
        kept = record
        for name in ("reads", "writes"):
            way: DirectionCounters = getattr(record, name)
            if way.first_s is not None and way.first_s * 1e9 >= closed:
                n += way.n
                kept = (
                    replace(kept, reads=DirectionCounters())
                    if name == "reads"
                    else replace(kept, writes=DirectionCounters())
                )
            elif way.last_s is not None and way.last_s * 1e9 > closed:
                mixed.add(record.file)
        found.append(kept)
    return found, n, len(mixed)


class _Values:
    """A record's counters by their names without the module's prefix."""

    def __init__(self, record: CounterRecord, prefix: str) -> None:
        self.rank = None if record.rank < 0 else record.rank
        self.prefix = prefix
        self._counters, self._times = record.counters, record.times

    def __contains__(self, name: str) -> bool:
        return f"{self.prefix}_{name}" in self._counters

    def count(self, *names: str) -> int:
        """The sum of some counters; what a record does not have or did not count is 0."""
        return sum(max(self._counters.get(f"{self.prefix}_{name}", 0), 0) for name in names)

    def known(self, name: str) -> int | None:
        """A counter; None where there is none."""
        value = self._counters.get(f"{self.prefix}_{name}", -1)
        return None if value < 0 else value

    def seconds(self, name: str) -> float:
        """A sum of times."""
        return max(self._times.get(f"{self.prefix}_F_{name}", 0.0), 0.0)

    def at(self, name: str) -> float | None:
        """A point in time; Darshan's 0 is never."""
        return self.seconds(f"{name}_TIMESTAMP") or None

    def common(self, kind: str, value: str) -> tuple[tuple[int, int], ...]:
        """The most frequent values of a kind, and how often each came."""
        pairs = (
            (self.count(f"{kind}{slot}_{value}"), self.count(f"{kind}{slot}_COUNT"))
            for slot in _SLOTS
        )
        return tuple(pair for pair in pairs if min(pair) > 0)


def _of_record(values: _Values, file: int, level: int) -> FileCounters:
    shared = values.rank is None
    # Opens of Darshan 3.4 and later count descriptors that fileno and dup gave, too.
    opened = values.count("OPENS") - values.count("FILENOS", "DUPS")
    return FileCounters(
        file=file,
        level=level,
        rank=values.rank,
        streams=values.prefix == "STDIO",
        reads=_direction(values, "READ", level),
        writes=_direction(values, "WRITE", level),
        common_sizes=values.common("ACCESS", "ACCESS"),
        common_gaps=values.common("STRIDE", "STRIDE"),
        n_switches=values.known("RW_SWITCHES"),
        n_opens=max(opened, 0) + values.count("INDEP_OPENS", "COLL_OPENS"),
        n_collective_opens=values.count("COLL_OPENS"),
        n_seeks=values.count("SEEKS"),
        n_stats=values.count("STATS"),
        n_syncs=values.count("FSYNCS", "SYNCS"),
        n_data_syncs=values.count("FDSYNCS"),
        n_flushes=values.count("FLUSHES"),
        n_maps=values.count("MMAPS"),
        n_renames=values.count("RENAME_SOURCES"),
        n_views=values.count("VIEWS"),
        opened_s=values.at("OPEN_START"),
        closed_s=values.at("CLOSE_END"),
        meta_time_s=values.seconds("META_TIME"),
        variance_bytes=values.seconds("VARIANCE_RANK_BYTES") if shared else None,
        slowest_rank=values.known("SLOWEST_RANK") if shared else None,
        slowest_bytes=values.known("SLOWEST_RANK_BYTES") if shared else None,
        slowest_s=values.seconds("SLOWEST_RANK_TIME") if shared else None,
        fastest_s=values.seconds("FASTEST_RANK_TIME") if shared else None,
        n_unaligned=values.known("FILE_NOT_ALIGNED"),
        alignment=values.known("FILE_ALIGNMENT"),
    )


def _direction(values: _Values, way: str, level: int) -> DirectionCounters:
    """Counters of reads ("READ") or writes ("WRITE")."""
    ways, participle = f"{way}S", "READ" if way == "READ" else "WRITTEN"
    n = values.count(ways)
    together = 0
    if level == Level.MPIIO:
        together = values.count(f"COLL_{ways}", f"SPLIT_{ways}")
        n = together + values.count(f"INDEP_{ways}", f"NB_{ways}")
    if n == 0:
        return DirectionCounters()
    bins = tuple(f"SIZE_{way}_{'AGG_' * (level == Level.MPIIO)}{one}" for one in _BINS)
    return DirectionCounters(
        n=n,
        moved=values.count(f"BYTES_{participle}"),
        n_collective=together,
        n_sequential=values.known(f"SEQ_{ways}"),
        n_consecutive=values.known(f"CONSEC_{ways}"),
        highest=values.known(f"MAX_BYTE_{participle}"),
        by_size=tuple(values.count(name) for name in bins) if bins[0] in values else (),
        first_s=(first := values.at(f"{way}_START")),
        last_s=max(last, first or 0.0) if (last := values.at(f"{way}_END")) else None,
        time_s=values.seconds(f"{way}_TIME"),
    )
