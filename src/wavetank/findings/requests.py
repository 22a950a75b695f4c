"""The data operations of an application as columns: what all findings count on.

Reads phases of a model or a kernel; leaves columns of runs, never unfolded. Sizes are those that each member, rank
and run of a phase really has, not those of its first operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from wavetank.findings.finding import (
    CRITICAL_SHARE,
    IO_SHARES,
    REQUEST_COST_BYTES,
    SEVERITIES,
    SHARE,
    WARNING_SHARE,
    Finding,
    Kind,
    Severity,
)
from wavetank.model.document.approximation import Approximation
from wavetank.model.document.metadata import MetadataPhase
from wavetank.model.document.model import View
from wavetank.model.document.offsets import is_contiguous
from wavetank.model.document.phase import Phase, writes
from wavetank.model.document.program import ProcessStep, Program, Step
from wavetank.model.document.run_times import FileTimes, RunTimes
from wavetank.model.document.step_walks import plain_steps
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import BoolArray, FileView, Int64Array


class UsedFile(Protocol):
    """A file of a model or a kernel."""

    @property
    def file_id(self) -> int:
        """Its number."""

    @property
    def n_files(self) -> int:
        """Files that it stands for: several that were used alike, one at a time."""


class Source(Protocol):
    """What a model and a kernel have in common."""

    @property
    def n_ranks(self) -> int:
        """Of the run."""

    @property
    def files(self) -> Sequence[UsedFile]:
        """All that it uses."""

    @property
    def phases(self) -> tuple[Phase, ...]:
        """At all levels."""

    @property
    def metadata(self) -> tuple[MetadataPhase, ...]:
        """Phases of calls that move no data."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """Of all ranks."""

    @property
    def views(self) -> tuple[View, ...]:
        """Of MPI files."""

    @property
    def approximation(self) -> Approximation | None:
        """Of one that no single operation is known of."""

    @property
    def run_times(self) -> RunTimes:
        """Of the traced run."""

    @property
    def communicators(self) -> tuple[tuple[int, ...], ...]:
        """MPI_COMM_WORLD ranks of each."""


@dataclass(frozen=True)
class Steps:
    """How the operations of ranks follow each other: columns, ``n`` times a step between two offsets."""

    step: Int64Array  # bytes from an operation's offset to that of the rank's next one
    size: Int64Array  # of the first of the two
    n: Int64Array


@dataclass(frozen=True)
class Requests:
    """The operations of one pattern member of a phase: columns of equal length, an entry for each run of each rank."""

    phase: Phase
    writes: bool
    collective: bool
    offsets_known: bool
    rank: Int64Array
    count: Int64Array
    size: Int64Array  # bytes asked for
    moved: Int64Array  # bytes, by all of the run
    offset: Int64Array
    disp: Int64Array
    piece: Int64Array  # bytes of a request that lie together in the file: less than its size in a view with holes

    @cached_property
    def n_operations(self) -> int:
        """Of all ranks."""
        return int(self.count.sum())

    @cached_property
    def moved_bytes(self) -> int:
        """By all ranks."""
        return int(self.moved.sum())

    @property
    def time_s(self) -> float | None:
        """Summed over ranks: the phase's, by its share of the phase's operations; None where it is not known."""
        phase = self.phase
        if phase.io_time_s is None:
            return None
        return phase.io_time_s / len(phase.pattern)

    @property
    def reach_bytes(self) -> int:
        """Highest offset + 1 that is touched; 0 where offsets are not known."""
        if not self.offsets_known:
            return 0
        last = self.offset + np.maximum(self.disp, 0) * (self.count - 1)
        return int((last + self.size).max(initial=0))

    @cached_property
    def steps(self) -> Steps:
        """Between consecutive operations of each rank."""
        same_rank = self.rank[1:] == self.rank[:-1]
        last = self.offset + (self.count - 1) * self.disp
        return Steps(
            np.concatenate([self.disp, (self.offset[1:] - last[:-1])[same_rank]]),
            np.concatenate([self.size, self.size[:-1][same_rank]]),
            np.concatenate([self.count - 1, np.ones(int(same_rank.sum()), dtype=np.int64)]),
        )


@dataclass(frozen=True)
class Tally:
    """Some operations, counted."""

    n_operations: int
    moved_bytes: int
    ph_ids: tuple[int, ...]
    time_s: float | None = None  # summed over ranks; None: not known


@dataclass(frozen=True)
class Io:
    """All I/O of an application at the level at which it uses its files itself."""

    n_ranks: int  # of its parallel program; 1 for a serial one
    requests: tuple[Requests, ...]
    programs: tuple[Program, ...]
    times: RunTimes
    counted: bool  # no single operation is known: what each rank did of a shared file is assumed
    time_s: float | None  # in all I/O calls of the application, summed over ranks
    several: Mapping[int, int]  # file_id -> files that it stands for, where these are several
    n_operations: int
    moved_bytes: int

    def share_of_bytes(self, moved_bytes: int) -> float:
        """Of all that the application moves."""
        return min(moved_bytes / self.moved_bytes, 1.0) if self.moved_bytes else 0.0

    def share_of_operations(self, n_operations: int) -> float:
        """Of all its data operations."""
        return n_operations / self.n_operations if self.n_operations else 0.0

    def finding(
        self,
        of: Tally,
        kind: Kind,
        sentence: str,
        remedy: str | None,
        *,
        paste: str | None = None,
        time_s: float | None = None,
        most: Severity = "critical",
        of_data: bool = True,
    ) -> Finding:
        """A finding on counted operations, with their shares.

        Args:
            of: the operations.
            kind: of the finding.
            sentence: what it is, with its numbers.
            remedy: what is done about it.
            paste: a line of it.
            time_s: that it is about, summed over ranks; that of the operations where it is None.
            most: severity that it has at most.
            of_data: whether these are data operations, and not calls beside them.
        """
        found_s = of.time_s if time_s is None else time_s
        share = None if found_s is None or not self.time_s else min(found_s / self.time_s, 1.0)
        weight = max(self.share_of_bytes(of.moved_bytes), self.share_of_weight(of.n_operations))
        return Finding(
            kind=kind,
            severity=self.severity(weight if share is None else share, most),
            sentence=sentence,
            remedy=remedy,
            paste=paste,
            share_of_time=share,
            ph_ids=of.ph_ids,
            n_operations=of.n_operations,
            moved_bytes=of.moved_bytes,
            share_of_operations=self.share_of_operations(of.n_operations) if of_data else None,
            share_of_bytes=self.share_of_bytes(of.moved_bytes),
        )

    def severity(self, share: float, most: Severity = "critical") -> Severity:
        """Of what takes this share of the I/O time."""
        percent = self.times.io_percent
        of_run = 1.0 if percent is None else percent / 100
        reached: Severity = "note"
        if share >= CRITICAL_SHARE and of_run >= IO_SHARES["critical"]:
            reached = "critical"
        elif share >= WARNING_SHARE and of_run >= IO_SHARES["warning"]:
            reached = "warning"
        return max(reached, most, key=SEVERITIES.index)

    def share_of_weight(self, n_calls: int) -> float:
        """What so many calls weigh beside all operations and the bytes that these move."""
        weighed = n_calls * REQUEST_COST_BYTES
        return weighed / max(
            self.moved_bytes + max(n_calls, self.n_operations) * REQUEST_COST_BYTES, 1
        )

    def n_files(self, file_ids: Iterable[int]) -> int:
        """Files that some numbers stand for."""
        return sum(self.several.get(file_id, 1) for file_id in file_ids)

    def weighs(self, n_calls: int) -> bool:
        """Whether so many small requests or calls cost enough beside the bytes that are moved."""
        return n_calls * REQUEST_COST_BYTES >= SHARE * self.moved_bytes


def io_of(source: Source) -> Io:
    """The I/O of a model or a kernel.

    Args:
        source: whose phases of the MPI library are left out: their bytes are those of the phases above.
    """
    own = [phase for phase in source.phases if not phase.by_library]
    found = tuple(one for phase in own for one in _requests(phase, source.views))
    return Io(
        n_ranks=_n_parallel(source),
        requests=found,
        programs=source.programs,
        times=source.run_times,
        counted=source.approximation is not None,
        time_s=_time_s(source.run_times, found),
        several={file.file_id: file.n_files for file in source.files if file.n_files > 1},
        n_operations=sum(one.n_operations for one in found),
        moved_bytes=sum(one.moved_bytes for one in found),
    )


def _time_s(times: RunTimes, requests: Sequence[Requests]) -> float | None:
    """As it was measured; else that of the data operations, where all are timed."""
    data = [one.time_s for one in requests]
    known = sum(time_s for time_s in data if time_s is not None)
    if times.all_s:
        return max(times.all_s, known)
    return None if None in data else known or None


def tally(requests: Sequence[Requests], chosen: Sequence[BoolArray] | None = None) -> Tally:
    """Operations, bytes and phases of requests, or of those of their runs that are chosen."""
    if chosen is None:
        chosen = [np.ones(len(one.count), dtype=bool) for one in requests]
    pairs = [(one, which) for one, which in zip(requests, chosen, strict=True) if which.any()]
    times = [
        None
        if one.time_s is None
        else one.time_s * int(one.count[which].sum()) / max(one.n_operations, 1)
        for one, which in pairs
    ]
    return Tally(
        sum(int(one.count[which].sum()) for one, which in pairs),
        sum(int(one.moved[which].sum()) for one, which in pairs),
        tuple(sorted({one.phase.ph_id for one, _ in pairs})),
        None if None in times else sum(time_s for time_s in times if time_s is not None),
    )


def verb_that_takes_longer(file: FileTimes) -> str:
    """Whether a file's reads or its writes take longer; of both the same the writes."""
    return "write" if file.write_s >= file.read_s else "read"


def line_to_gather(verb: str, requests: Sequence[Requests]) -> str:
    """The line to paste by which aggregators gather pieces: ROMIO's hint where calls are collective, else such a call."""
    if requests and all(one.collective for one in requests):
        return f"romio_cb_{verb}=enable"
    return f"MPI_File_{verb}_at_all(file, offset, buffer, count, datatype, MPI_STATUS_IGNORE)"


def by_file(requests: Sequence[Requests]) -> list[Requests]:
    """Requests of one direction joined over the phases of each file: each rank's runs in the order of the phases."""
    found: dict[int, list[Requests]] = defaultdict(list)
    for one in sorted(requests, key=lambda one: one.phase.ph_id):
        found[one.phase.file_id].append(one)
    return [_joined(of_file) for of_file in found.values()]


def _joined(requests: Sequence[Requests]) -> Requests:
    if len(requests) == 1:
        return requests[0]
    rank = np.concatenate([one.rank for one in requests])
    order = np.argsort(rank, kind="stable")

    def column(name: str) -> Int64Array:
        joined: Int64Array = np.concatenate([getattr(one, name) for one in requests])[order]
        return joined

    return replace(
        requests[0],
        rank=rank[order],
        count=column("count"),
        size=column("size"),
        moved=column("moved"),
        offset=column("offset"),
        disp=column("disp"),
        piece=column("piece"),
    )


def _requests(phase: Phase, views: Sequence[View]) -> Iterator[Requests]:
    columns = [_columns(phase, number) for number in range(len(phase.pattern))]
    excess = sum(int(one["moved"].sum()) for one in columns) - phase.ph_weight
    for member, offsets, one in zip(phase.pattern, phase.offset, columns, strict=True):
        op = OPS_BY_NAME.get(member.iop_type)
        if excess:  # last operations that moved less, by rank: the phase keeps their sum alone
            one["moved"] = one["moved"].copy()
            least = min(excess, int(one["moved"][-1]))
            one["moved"][-1] -= least
            excess -= least
        yield Requests(
            phase=phase,
            writes=writes(member.iop_type),
            collective=phase.collective if op is None else op.collective,
            offsets_known=offsets.function != "unknown",
            piece=_pieces(phase, views, one["rank"], one["size"]),
            **one,
        )


def _columns(phase: Phase, number: int) -> dict[str, Int64Array]:
    """Runs of one pattern member over all ranks."""
    ranks = np.array(phase.ph_processid, dtype=np.int64)
    offsets, rs = phase.offset[number], phase.pattern[number].rs
    in_view = None if phase.offset_view is None else phase.offset_view[number]
    if offsets.function == "unknown" and in_view is None and (sizes := offsets.sizes) is not None:
        nowhere = np.zeros(len(sizes.rs), dtype=np.int64)
        return {
            "rank": np.repeat(ranks, np.asarray(sizes.n_runs)),
            "count": sizes.count, "size": sizes.rs,
            "moved": sizes.count * sizes.rs if sizes.moved is None else sizes.moved,
            "offset": nowhere, "disp": nowhere,
        }  # fmt: skip
    listed = offsets if offsets.function == "list" else None
    if listed is None and offsets.function == "unknown" and in_view is not None:
        listed = in_view if in_view.function == "list" else None
    if listed is not None:
        moved = listed.count * listed.rs if listed.moved is None else listed.moved
        return {
            "rank": np.repeat(ranks, np.asarray(listed.n_runs)),
            "count": listed.count, "size": listed.rs, "moved": moved,
            "offset": listed.offset, "disp": listed.disp,
        }  # fmt: skip
    count = np.full(len(ranks), phase.ph_nrep, dtype=np.int64)
    moved = count * rs
    if phase.moved_last is not None:
        moved -= rs - phase.moved_last[number]
    a, b, c = (offsets.a, offsets.b, offsets.c) if offsets.function == "linear" else (0, 0, 0)
    return {
        "rank": ranks, "count": count, "size": np.full(len(ranks), rs, dtype=np.int64), "moved": moved,
        "offset": a * ranks + c, "disp": np.full(len(ranks), b, dtype=np.int64),
    }  # fmt: skip


def _pieces(phase: Phase, views: Sequence[View], rank: Int64Array, size: Int64Array) -> Int64Array:
    """Bytes that lie together: of a request through a view with holes the mean run of the view."""
    if phase.view_ids is None and phase.view_id is None:
        return size
    numbers = phase.view_ids or (phase.view_id,) * phase.ph_np
    runs = np.full(phase.ph_np, np.iinfo(np.int64).max)
    for place, number in enumerate(numbers):
        if number is None or not 0 <= number < len(views):
            continue
        view = views[number]
        if view.run_lengths and not is_contiguous(FileView(**view.model_dump())):
            runs[place] = sum(view.run_lengths) // len(view.run_lengths)
    found: Int64Array = np.minimum(runs[np.searchsorted(phase.ph_processid, rank)], size)
    return found


def _n_parallel(source: Source) -> int:
    """Ranks of the parallel program; 1 where the ranks are the processes of a script or of a program that forks."""
    if any(_starts_processes(program.steps) for program in source.programs):
        return max((len(ranks) for ranks in source.communicators), default=1)
    return source.n_ranks


def _starts_processes(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, ProcessStep) for step in plain_steps(steps))
