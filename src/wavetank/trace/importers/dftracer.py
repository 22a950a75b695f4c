"""Imports files of DFTracer's format (.pfw, .pfw.gz): Chrome trace events, one JSON object a line.

Written by DFTracer itself, and by DataCrumbs, which sees the system calls by eBPF.

Sample lines (DFTracer 2.2, with DFTRACER_INC_METADATA=1)
    {"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"name":"/d/x","value":"ab12"}}
    {"id":9,"name":"read","cat":"POSIX","type":3,"pid":7,"tid":7,"ts":1700,"dur":3,"ph":1,
     "args":{"fhash":"ab12","ret":4096,"count":4096}}
Without its metadata DFTracer writes neither file, size nor offset: such a file is refused with the reason.

Sample lines (DataCrumbs of 2026, then of 2025: times in ns, "hhash" in all events)
    {"id":3,"name":"FH","cat":"datacrumbs","ph":"M","args":{"hash":77,"value":"/d/x"}}
    {"id":9,"name":"read","cat":"sys","ph":"X","ts":1700,"dur":3,"pid":7,"tid":7,"args":{"fhash":77,"size":4096}}
    {"id":9,"pid":7,"tid":7,"name":"read","cat":"sys","ph":"X","ts":1700000,"dur":3000,"args":{"hhash":1,"fhash":77,"size_sum":4096}}
Its "pid" is a thread and its "tid" the process; it has no offsets, no flags of opens, and of failed calls a size below 0.
Leaves a ``Trace`` at POSIX level. Every process is a rank: with MPI's number where the log has it, else in the order of ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wavetank.errors import TraceError
from wavetank.notes import notes_of
from wavetank.trace import packed
from wavetank.trace.fold import SingleOperations, fold
from wavetank.trace.importers.dftracer_calls import (
    NS,
    SYSTEM_CALLS,
    WORKING_DIRECTORY,
    Collected,
    number_of,
    process_of,
    take,
)
from wavetank.trace.schema import UNKNOWN, Level, RankFacts, Trace, TracedFile

_COMPLETE = {"X", 1}  # 2.x writes numbers for the phases of Chrome's format
_METADATA = {"M", 4}
_COUNTERS = {"C"}  # DataCrumbs in its mode "profile"
_CATEGORIES = {"POSIX", "STDIO", SYSTEM_CALLS}
_FILES = {"FH", "file_hash"}
_HEAD_BYTES = 4096


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file holds Chrome trace events of DFTracer, or a folder holds such files only."""
    if path.is_dir():
        files = _files(path)
        return bool(files) and all(recognises(one, _head(one)) for one in files)
    text = head.decode(errors="replace").lstrip()
    events = text.startswith(("[", "{")) and '"ph"' in text and '"cat"' in text
    # DataCrumbs' log may begin with names of files, which are of no process.
    return events and ('"pid"' in text or ('"hash"' in text and '"value"' in text))


def _files(path: Path) -> list[Path]:
    """The logs at a path: DFTracer writes one for each process."""
    if not path.is_dir():
        return [path]
    return sorted(one for one in path.iterdir() if one.is_file() and one.stat().st_size > 0)


def _head(path: Path) -> bytes:
    try:
        return packed.head(path, _HEAD_BYTES)
    except TraceError:
        return b""


def read(path: Path) -> Trace:
    """Import a file, or a folder of them.

    Raises:
        TraceError: it cannot be read, or was written without metadata.
    """
    collected = Collected()
    events = sorted(
        (event for one in _files(path) for event in _events(one, collected)),
        key=lambda e: (
            number_of(e.get("ts"), 0) + number_of(e.get("dur"), 0),
            number_of(e.get("id"), 0),
        ),
    )
    for event in events:
        take(collected, event)
    if collected.n_counters and not collected.n_events:
        raise TraceError(
            f"{path} holds counters of calls, not the calls: DataCrumbs was in its mode 'profile'. Trace again in its mode "
            "'trace', or by wavetank trace"
        )
    if collected.n_system_calls == collected.n_without_file == collected.n_events > 0:
        raise TraceError(
            f"{path} names no file: DataCrumbs traced without its probes of files. Trace again with its plug-in sys_io, or "
            "by wavetank trace"
        )
    if collected.n_events and collected.n_without_file == collected.n_events:
        raise TraceError(
            f"{path} names no file, size or offset: DFTracer's metadata was off. Trace again with "
            "DFTRACER_INC_METADATA=1, or by wavetank trace"
        )
    return _trace(collected)


def _lines(path: Path, collected: Collected) -> Iterator[str]:
    number = 0
    try:
        for line in packed.lines(path):
            number += 1
            yield line
    except EOFError:  # cut short: what came before is kept, and a warning says so
        collected.damaged.append(f"{path.name} after line {number}")


def _events(path: Path, collected: Collected) -> Iterator[dict[str, Any]]:
    for line in _lines(path, collected):
        text = line.strip().rstrip(",")
        if not text.startswith("{"):
            continue
        try:
            event = json.loads(text)
        except json.JSONDecodeError:
            collected.n_broken += 1
            continue
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            event["args"] = arguments = {}
        if event.get("ph") in _METADATA:
            _metadata(collected, event, arguments)
        elif event.get("cat") in _CATEGORIES:
            collected.n_counters += event.get("ph") in _COUNTERS
            if event.get("ph") in _COMPLETE:
                yield event


def _metadata(collected: Collected, event: dict[str, Any], arguments: dict[str, Any]) -> None:
    name = event.get("name")
    if "hash" in arguments:  # DataCrumbs, under a name of the probe's
        collected.names[str(arguments["hash"])] = str(arguments.get("value"))
    elif name in _FILES:
        collected.names[str(arguments.get("value"))] = str(arguments.get("name"))
    elif name == "CM" and arguments.get("name") == "time_metric":
        collected.unit_ns = NS.get(str(arguments.get("value")), collected.unit_ns)
    elif name == "HH":
        collected.hosts[str(arguments.get("value"))] = str(arguments.get("name"))
    elif name == "PR" and arguments.get("name") == "rank":  # where it was built with MPI
        rank = number_of(arguments.get("value"), UNKNOWN)
        collected.mpi_ranks[process_of(event, arguments)] = int(rank)


def _trace(collected: Collected) -> Trace:
    rows = collected.rows
    ranks = _ranks(collected)
    paths = list(dict.fromkeys(row[2] for row in rows))
    numbers = {path: number for number, path in enumerate(paths)}
    columns = [
        np.array([row[i] for row in rows], dtype=np.int64) for i in (1, 3, 4, 5, 6, 7, 8, 9, 10)
    ]
    op, handle, size, moved, offset, start, end, error, arg = columns
    rank = np.array([ranks[row[0]] for row in rows], dtype=np.int32)
    origin = int(start.min()) if len(start) else 0
    subtick = np.zeros(len(rows), dtype=np.int64)
    for number in set(ranks.values()):
        mine = rank == number
        subtick[mine] = np.arange(int(mine.sum()))
    events = SingleOperations(
        rank=rank,
        op=op.astype(np.uint8),
        file=np.array([numbers[row[2]] for row in rows], dtype=np.int32),
        handle=handle.astype(np.int32),
        size=size,
        moved=moved,
        offset=offset,
        tick=np.zeros(len(rows), dtype=np.int64),
        subtick=subtick,
        start_ns=start - origin,
        end_ns=end - origin,
        arg=arg,
        error=error.astype(np.int32),
    )
    return Trace(
        source="dftracer",
        command=(),
        n_ranks=max(ranks.values(), default=-1) + 1,
        mpi_library=None,
        started_utc=None,
        elapsed_s=float((end - origin).max()) / 1e9 if len(end) else None,
        ranks=_facts(collected, ranks),
        files=tuple(TracedFile(path) for path in paths),
        views=(),
        communicators=(),
        folds=fold(events),
        levels=(Level.POSIX,),
        notes=(
            *notes_of("unrecorded", "operations", _unrecorded(collected)),
            *notes_of("inferred", "ranks", _numbering(collected)),
        ),
    )


def _ranks(collected: Collected) -> dict[int, int]:
    """The rank of each process's number: MPI's where the log has it, then the others by their ids."""
    found = {
        number: collected.mpi_ranks[process]
        for process, number in collected.processes.items()
        if collected.mpi_ranks.get(process, UNKNOWN) >= 0
    }
    if len(set(found.values())) < len(found):  # several runs in one folder
        found = {}
    following = max(found.values(), default=-1) + 1
    for process in sorted(collected.processes, key=lambda one: (one[1], one[0])):
        number = collected.processes[process]
        if number not in found:
            found[number] = following
            following += 1
    return found


def _facts(collected: Collected, ranks: dict[int, int]) -> tuple[RankFacts, ...]:
    facts = {
        ranks[number]: RankFacts(
            ranks[number], collected.hosts.get(host, ""), pid, True,
            of_launcher=collected.mpi_ranks.get((host, pid)) == ranks[number],
        )
        for (host, pid), number in collected.processes.items()
    }  # fmt: skip
    n = max(facts, default=-1) + 1
    return tuple(facts.get(rank, RankFacts(rank, "", 0, True)) for rank in range(n))


def _numbering(collected: Collected) -> Iterator[str]:
    if collected.n_system_calls:
        yield "DataCrumbs does not record MPI: every process is a rank, in the order of process ids"
    if collected.n_system_calls < collected.n_events:
        numbered = "with MPI's number" if collected.mpi_ranks else "in the order of process ids"
        yield f"DFTracer does not record MPI here: every process is a rank, {numbered}"


def _unrecorded(collected: Collected) -> Iterator[str]:
    """What the tracer does not tell of the operations, and what could not be read."""
    if collected.n_system_calls:
        yield (
            "DataCrumbs records neither offsets, flags of opens nor what calls asked for: places of seeks, pread, pwrite and "
            "writes are unknown, and sizes are what was moved"
        )
    if collected.n_system_calls < collected.n_events:
        yield "stdio is recorded by DFTracer as the program calls it, not as what reaches the file"
        if collected.n_without_flags:
            yield (
                f"{collected.n_without_flags} open(s) have no flags: writes to those files may be appended, and their "
                "places are unknown"
            )
    if collected.n_relative:
        yield (
            f"{collected.n_relative} operation(s) are on files that the program named without their folder, which the log does not "
            f"tell: they are taken to lie in one, {WORKING_DIRECTORY}"
        )
    if collected.n_failed:
        yield (
            f"{collected.n_failed} call(s) failed, and the log does not say why: the likeliest error of each is taken (no such "
            "file of an open)"
        )
    if collected.n_without_file:
        yield f"{collected.n_without_file} operation(s) name no file and are left out"
    if collected.n_broken:
        yield f"{collected.n_broken} line(s) are cut short or damaged, and are left out"
    for what in collected.damaged:
        yield f"the file is cut short: {what}; what comes after is lost"
