"""What the I/O of an application is and why it is slow, in sentences: the most important one first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from wavetank.findings.finding import HEADLINES, Finding, percent
from wavetank.findings.requests import Io, Source, io_of
from wavetank.model.document.run_times import FileTimes, RunTimes
from wavetank.units import format_duration, format_size

MOST_FILES = 3
"""Files that are described one by one."""


class Application(Source, Protocol):
    """A model or a kernel."""

    @property
    def application(self) -> str:
        """Its name, for titles."""


def why_slow(source: Application, findings: Sequence[Finding]) -> str:
    """The answer: the causes that weigh most, and how much of the run the I/O takes."""
    io = _io_share(source.run_times)
    grave = [one for one in findings if one.severity != "note"]
    if not grave:
        why = "nothing that is known to be slow"
        if findings:
            why += f", {len(findings)} {'note' if len(findings) == 1 else 'notes'}"
        return f"{source.application}: {why}{f'; {io}' if io else ''}."
    first = grave[0]
    share = (
        "" if first.share_of_time is None else f" ({percent(first.share_of_time)} of the I/O time)"
    )
    also = f"; also: {HEADLINES[grave[1].kind]}" if len(grave) > 1 else ""
    return f"{source.application}: {HEADLINES[first.kind]}{share}{also}{f'; {io}' if io else ''}."


def _io_share(times: RunTimes) -> str:
    if times.io_percent is None or times.elapsed_s is None:
        return ""
    return f"I/O takes {percent(times.io_percent / 100)} of the run"


def what_it_is(source: Application) -> list[str]:
    """What is read and written, by whom, how long that took, and the files that took most time."""
    io, times = io_of(source), source.run_times
    lines = [_moved(source, io)]
    if times.all_s:
        ways = (
            (times.read_s, "reads"),
            (times.write_s, "writes"),
            (times.metadata_s, "opens, stats and closes"),
        )
        shares = ", ".join(f"{name} {percent(s / times.all_s)}" for s, name in ways if s)
        lines.append(f"Time at I/O calls: {shares}{_by_rank(source)}.")
    lines += [_of_file(file, times.all_s) for file in times.files[:MOST_FILES]]
    if (more := times.n_files - MOST_FILES) > 0:
        lines.append(f"  and {more:,} more {'file' if more == 1 else 'files'}")
    return lines


def _moved(source: Application, io: Io) -> str:
    read = sum(one.moved_bytes for one in io.requests if not one.writes)
    n_read = sum(one.n_operations for one in io.requests if not one.writes)
    written = io.moved_bytes - read
    n_written = io.n_operations - n_read
    parts = [
        f"{verb} {format_size(size)} in {n:,} {'request' if n == 1 else 'requests'}"
        for verb, size, n in (("read", read, n_read), ("write", written, n_written))
        if n
    ]
    movers = {rank for one in io.requests for rank in one.phase.ph_processid}
    n_files = io.n_files({one.phase.file_id for one in io.requests})
    who = f"{len(movers):,} of {source.n_ranks:,} ranks" if source.n_ranks > 1 else "One process"
    if not parts:
        return f"{who if source.n_ranks == 1 else f'{source.n_ranks:,} ranks'}: no data is moved."
    verbs = " and ".join(parts)
    if source.n_ranks == 1:
        verbs = verbs.replace("read ", "reads ", 1).replace("write ", "writes ", 1)
    return f"{who} {verbs}, {n_files:,} {'file' if n_files == 1 else 'files'}."


def _by_rank(source: Application) -> str:
    """The share of the run by rank, with its spread."""
    spread, elapsed_s = source.run_times.spread, source.run_times.elapsed_s
    if spread is None:
        return ""
    if source.n_ranks == 1:
        return (
            f"; {format_duration(spread.most_s)} of {format_duration(elapsed_s)}"
            if elapsed_s
            else ""
        )
    shortest, longest = format_duration(spread.least_s), format_duration(spread.most_s)
    if shortest == longest:
        of_run = (
            f", {percent(min(spread.mean_s / elapsed_s, 1.0))} of the run of {format_duration(elapsed_s)}"
            if elapsed_s
            else ""
        )
        return f"; {longest} on each rank{of_run}"
    text = (
        f"; by rank {shortest} to {longest} (rank {spread.most_rank}), mean "
        f"{format_duration(spread.mean_s)}"
    )
    if not elapsed_s:
        return text
    low, mean, high = (
        percent(min(s / elapsed_s, 1.0)) for s in (spread.least_s, spread.mean_s, spread.most_s)
    )
    return f"{text}: {low} to {high} of the run of {format_duration(elapsed_s)}, mean {mean}"


def _of_file(file: FileTimes, all_s: float) -> str:
    how = "MPI-IO" if file.level == "mpiio" else "C streams" if file.streams else "POSIX"
    ranks = "one rank" if file.n_ranks == 1 else f"{file.n_ranks:,} ranks"
    n = file.n_operations
    moved = (
        f"{format_size(file.moved)} by {ranks}, {how}, {n:,} {'request' if n == 1 else 'requests'}"
    )
    return (
        f"  {file.name.rpartition('/')[2]}: {moved if n else f'no data, {ranks}, {how}'}, "
        f"{percent(file.time_s / all_s)} of the I/O time"
    )
