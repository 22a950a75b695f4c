"""What IOR writes: its JSON summary, and the times of single operations.

Sample of IOR 4.1's summary, cut down:

    {"Version": "4.1.0+dev", "tests": [{"Parameters": {...}, "Results": [{"access": "write", "bwMiB": 7810.6220,
     "iops": 33893.3657, "openTime": 0.0001, "wrRdTime": 0.0002, "closeTime": 0.0000, "totalTime": 0.0003}]}]}

and of the operations of one task (-O savePerOpDataCSV, from 4.0 on), seconds:

    time,runtime,tp
    9.53674316e-07,9.79900360e-05,2.675211e+09
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wavetank.kernel.results.replay_output import latency_bucket

_NS = 1_000_000_000
_NOT_JSON = ("WARNING:", "ERROR:", "Writing output to")


@dataclass(frozen=True)
class IorTimes:
    """One test of a summary. Seconds; IOR writes them with four decimals."""

    version: str
    open_s: float
    transfer_s: float
    close_s: float
    total_s: float


@dataclass
class TaskOperations:
    """A stretch of one task's operations. Nanoseconds since the task began."""

    operations: int = 0
    io_ns: int = 0
    first_ns: int = 0
    last_ns: int = 0
    max_ns: int = 0
    latencies: Counter[int] = field(default_factory=Counter)

    def add(self, start_ns: int, duration_ns: int) -> None:
        """Count one operation."""
        if self.operations == 0:
            self.first_ns = start_ns
        self.operations += 1
        self.io_ns += duration_ns
        self.last_ns = start_ns + duration_ns
        self.max_ns = max(self.max_ns, duration_ns)
        self.latencies[latency_bucket(duration_ns)] += 1


def parse_summary(text: str, access: str) -> IorTimes:
    """The result of one access ("write" or "read") in a summary.

    IOR's warnings may stand between the lines of its JSON, where it goes to standard output.

    Raises:
        ValueError: it is not such a summary, or has no result of the access: IOR was ended early.
    """
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(_NOT_JSON))
    summary = json.loads(kept[kept.find("{") :] if "{" in kept else kept)
    try:
        (found,) = (
            result
            for test in summary["tests"]
            for entry in test["Results"]
            # IOR 3 has a list for each repetition there
            for result in (entry if isinstance(entry, list) else [entry])
            if result["access"] == access
        )
        return IorTimes(
            version=str(summary["Version"]),
            open_s=float(found["openTime"]),
            transfer_s=float(found["wrRdTime"]),
            close_s=float(found["closeTime"]),
            total_s=float(found["totalTime"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"IOR's summary lacks {error}") from error


def read_operations(path: Path, counts: Iterable[int]) -> list[TaskOperations]:
    """One task's operations in stretches of so many; what is left belongs to the last one.

    Raises:
        OSError, ValueError: there is no such file, or it is damaged.
    """
    with path.open() as stream:
        if not next(stream, "").startswith("time,runtime"):
            raise ValueError(f"{path.name} is not a table of operations")
        return _stretches((_times(line) for line in stream if line.strip()), list(counts))


def _times(line: str) -> tuple[int, int]:
    start, duration, _ = line.split(",")
    return round(float(start) * _NS), round(float(duration) * _NS)


def _stretches(times: Iterator[tuple[int, int]], counts: list[int]) -> list[TaskOperations]:
    stretches = [TaskOperations() for _ in counts]
    number = 0
    for start_ns, duration_ns in times:
        while number + 1 < len(counts) and stretches[number].operations >= counts[number]:
            number += 1
        stretches[number].add(start_ns, duration_ns)
    return stretches
