"""What a Darshan log says of its run as a whole: when it ended, and whose records it holds.

Reads its job record, counters and segments; leaves the run's length and notes on what is not as in a run that ended in
order and was recorded as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wavetank.errors import TraceError
from wavetank.notes import Note, note
from wavetank.trace.importers.counter_table import CounterTable
from wavetank.trace.importers.dxt import Segments
from wavetank.trace.importers.libdarshan import DarshanJob

_NO_END = (
    "the log has no end of the run behind its start: the process did not end in order (it was killed, or left by _exit), and the "
    "log is what was in memory until then. The run is taken to end with its last operation"
)
_ONE_RANK = (
    "the log holds rank {} of {} alone: it is what was left of one process. Merge the logs of all of them: darshan-merge "
    "--output RUN.darshan LOG..."
)
_MERGED = (
    "{} records are of a file and rank that have another record: the log was merged (darshan-merge) from logs of processes "
    "that were no ranks of one MPI program. They count as one process, and times of each begin at its own start. Import the "
    "logs one by one for a model of each process"
)


def run_of(
    path: Path,
    job: DarshanJob,
    counters: Mapping[str, CounterTable],
    segments: Mapping[str, Segments],
) -> tuple[float, tuple[Note, ...]]:
    """How long the run was, seconds, and what is to be said of it.

    Raises:
        TraceError: records are of ranks that the run did not have.
    """
    tables: list[CounterTable | Segments] = [*counters.values(), *segments.values()]
    ranks = {rank for table in tables for rank in table.rank.tolist()}
    if max(ranks, default=0) >= job.n_processes:
        raise TraceError(
            f"{path} is damaged: it has records of rank {max(ranks)}, and its job record says {job.n_processes} processes"
        )
    notes = []
    if repeated := sum([_repeated(table) for table in tables]):
        notes.append(note("assumed", "ranks", _MERGED.format(repeated)))
    if job.ended_ns is not None:
        return (job.ended_ns - job.started_ns) / 1e9, tuple(notes)
    notes.append(note("unfinished", "run", _NO_END))
    if job.n_processes > 1 and len(ranks) == 1 and min(ranks) >= 0:
        notes.append(note("lost", "ranks", _ONE_RANK.format(*ranks, job.n_processes)))
    ends = [table.latest_s() for table in counters.values()]
    ends += [float(part.segment["end_s"].max(initial=0.0)) for part in segments.values()]
    return max(ends, default=0.0), tuple(notes)


def _repeated(records: CounterTable | Segments) -> int:
    """Records beyond the first one of a file and rank."""
    pairs = set(zip(records.file.tolist(), records.rank.tolist(), strict=True))
    return len(records.file) - len(pairs)
