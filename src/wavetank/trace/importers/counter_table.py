"""Records of a Darshan counter module as columns: a record is a row, and single records are made when asked for.

Layout of a record in memory and, in a log of this byte order and the current version, in the log: its file's id, its
rank, all counters (int64), all times (double). Source: darshan-posix-log-format.h and its kin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from wavetank.trace.schema import Int64Array


@dataclass(frozen=True)
class CounterRecord:
    """Counters of one file; rank -1 stands for all ranks together."""

    file: int  # Darshan's record id
    rank: int
    counters: dict[str, int]
    times: dict[str, float] = field(default_factory=dict)  # and rates: Darshan's "fcounters"


class CounterTable:
    """The records of a module, in the log's order."""

    def __init__(self, names: Sequence[str], times: Sequence[str], content: bytes) -> None:
        """``content``: whole records, in sequence."""
        self._names = {name: 2 + at for at, name in enumerate(names)}
        self._times = {name: 2 + len(names) + at for at, name in enumerate(times)}
        rows = np.frombuffer(content, dtype=np.int64)
        self._ints = rows.reshape(-1, record_bytes(names, times) // 8)

    def __len__(self) -> int:
        return len(self._ints)

    def __iter__(self) -> Iterator[CounterRecord]:
        return (self._record(row) for row in range(len(self)))

    def records(self, *names: str) -> list[CounterRecord]:
        """The records with these counters alone, 0 where the module does not have one, and no times."""
        columns = [self.count(name).tolist() for name in names]
        return [
            CounterRecord(file, rank, dict(zip(names, values, strict=True)))
            for file, rank, *values in zip(
                self.file.tolist(), self.rank.tolist(), *columns, strict=True
            )
        ]

    @property
    def file(self) -> np.ndarray:
        """Darshan's id of each record's file, uint64."""
        return self._ints[:, 0].view(np.uint64)

    @property
    def rank(self) -> Int64Array:
        """Rank of each record; -1 for all ranks together."""
        return self._ints[:, 1]

    def count(self, *names: str) -> Int64Array:
        """The sum of some counters of each record; what a module does not have or a record did not count is 0."""
        total = np.zeros(len(self), dtype=np.int64)
        for name in names:
            if name in self._names:
                total += np.maximum(self._ints[:, self._names[name]], 0)
        return total

    def least(self, *names: str) -> Int64Array:
        """The least of some counters of each record, 0 where the module has none of them."""
        known = [self._names[name] for name in names if name in self._names]
        found: Int64Array = self._ints[:, known].min(axis=1, initial=0)
        return found

    def without(self, files: Collection[int]) -> CounterTable:
        """The records of other files than some."""
        table = copy(self)
        table._ints = self._ints[~np.isin(self.file, np.array([*files], dtype=np.uint64))]
        return table

    def seconds(self, name: str) -> np.ndarray:
        """A time of each record; 0 where the module does not have it."""
        if name not in self._times:
            return np.zeros(len(self))
        return self._ints[:, self._times[name]].view(np.float64)

    def latest_s(self) -> float:
        """The last point in time of all records, seconds from the start of the run."""
        ends = [self.seconds(name) for name in self._times if name.endswith("_TIMESTAMP")]
        return float(max((column.max(initial=0.0) for column in ends), default=0.0))

    def _record(self, row: int) -> CounterRecord:
        ints = self._ints[row]
        n = 2 + len(self._names)
        values, times = ints.tolist(), ints[n:].view(np.float64).tolist()
        return CounterRecord(
            int(self.file[row]),
            values[1],
            dict(zip(self._names, values[2:n], strict=True)),
            dict(zip(self._times, times, strict=True)),
        )


def record_bytes(names: Sequence[str], times: Sequence[str]) -> int:
    """Length of a record with these counters and times."""
    return 8 * (2 + len(names) + len(times))
