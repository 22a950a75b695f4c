"""A trace and the facts about it, out of the counters of a run of which no single operation is known.

Reads a ``Trace`` that has counters and no folds; leaves one with folds, from which the extraction makes the model as from
any other, and an ``Approximation``. Time and memory are linear in records, times ranks for records of all ranks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wavetank.model.counters.records import Left, Performer, Use, opens_of
from wavetank.model.counters.row_table import RowTable
from wavetank.model.counters.shares import share_of
from wavetank.model.counters.sizes import request_sizes
from wavetank.trace.counters import DirectionCounters, FileCounters
from wavetank.trace.schema import Level, Trace, TracedFile

_SWEEPS = 64
"""Backward jumps of a rank, of which only counters are known, from which on places are random. Fewer are passes over the file, each a
row: as many as pieces."""
_ROWS = 400_000
"""Rows of all records together that irregular patterns may take where only counters are known: 72 MB of rows."""
_ROWS_OF_RECORD = 16
"""Rows that each record may take at least, however many records there are."""


@dataclass(frozen=True)
class Approximated:
    """A trace that was put together.

    Attributes:
        trace: with folds.
        uses: each record that it is made from, with what was concluded.
        left: what of each record was too much.
    """

    trace: Trace
    uses: tuple[Use, ...]
    left: tuple[Left, ...]


def approximate_trace(trace: Trace, levels: Sequence[int]) -> Approximated | None:
    """A trace with operations as its counters allow them; None where they count none at these levels.

    Args:
        trace: with counters.
        levels: to look at; a file that MPI-IO operations use is used at that level.
    """
    by_file: dict[int, list[FileCounters]] = defaultdict(list)
    for record in trace.counters:
        if record.level in levels:
            by_file[record.file].append(record)
    uses: list[Use] = []
    some = [_own_records(records) for records in by_file.values()]
    n_rows = sum(trace.n_ranks if record.rank is None else 1 for own, _ in some for record in own)
    room = max(_ROWS_OF_RECORD, _ROWS // max(n_rows, 1))
    for own, below in some:
        uses += _uses(own, below, trace.n_ranks, room, _SWEEPS)
    if not uses:
        return None
    uses.sort(key=lambda use: (use.record.opened_s or 0.0, use.record.file))
    communicators = _communicators(uses, trace.n_ranks)
    table = RowTable()
    performer = Performer(table, communicators)
    left = tuple(performer.perform(use) for use in uses)
    return Approximated(
        replace(
            trace,
            folds=table.table(),
            counters=(),
            communicators=tuple(communicators),
            files=_files(trace, uses),
            levels=tuple(sorted({use.record.level for use in uses})),
        ),
        tuple(uses),
        left,
    )


def _files(trace: Trace, uses: Sequence[Use]) -> tuple[TracedFile, ...]:
    """The files; of those that are read beyond what is written, how large they were before at least."""
    read: dict[int, int] = defaultdict(int)
    written: dict[int, int] = defaultdict(int)
    for use in uses:
        for way, extent, found in zip(
            (use.record.reads, use.record.writes), use.extent, (read, written), strict=True
        ):
            if way.moved:
                found[use.record.file] = max(found[use.record.file], extent or 0)
    return tuple(
        replace(
            file,
            collective_unknown=False,
            size_before=read[number] if read[number] > written[number] else file.size_before,
        )
        for number, file in enumerate(trace.files)
    )


def _own_records(
    records: Sequence[FileCounters],
) -> tuple[list[FileCounters], list[FileCounters]]:
    """The records of a file at the level at which the application uses it, and those of the level below."""
    mpi = [record for record in records if record.level == Level.MPIIO]
    posix = [record for record in records if record.level == Level.POSIX]
    if any(record.n_operations for record in mpi) or (mpi and not posix):
        return _in_step(mpi), [record for record in posix if not record.streams]
    return [
        record for record in posix if record.n_operations or record.n_opens or record.n_stats
    ], []


def _in_step(records: Sequence[FileCounters]) -> list[FileCounters]:
    """MPI-IO records of single ranks with one time and one number of opens: opens and some operations are collective."""
    if len(records) < 2:
        return list(records)
    opens = min(record.n_opens for record in records)
    times = {
        name: min((at for record in records if (at := getattr(record, name)) is not None), default=None)
        for name in ("opened_s", "closed_s")
    }  # fmt: skip
    reads, writes = (
        min((at for way in ways if (at := way.first_s) is not None), default=None)
        for ways in ([record.reads for record in records], [record.writes for record in records])
    )
    return [
        replace(
            record,
            opened_s=times["opened_s"],
            closed_s=times["closed_s"],
            n_opens=opens,
            n_switches=0,
            n_syncs=min(one.n_syncs for one in records),
            reads=replace(record.reads, first_s=reads if record.reads.n else None),
            writes=replace(record.writes, first_s=writes if record.writes.n else None),
        )
        for record in records
    ]


def _uses(
    own: Sequence[FileCounters], below: Sequence[FileCounters], n_ranks: int, n_rows: int, n_sweeps: int,
) -> list[Use]:  # fmt: skip
    """The records of a file, each with what is concluded from it."""
    by_rank = {record.rank: record for record in below}
    start = 0
    found = []
    ordered = sorted(own, key=lambda one: (-1 if one.rank is None else one.rank, one.streams))
    ranks = tuple(sorted({one.rank for one in own if one.rank is not None}))
    alike = len({(one.reads.n_collective, one.writes.n_collective) for one in ordered}) == 1
    for record in ordered:
        share = share_of(record, n_ranks)
        beneath = by_rank.get(record.rank)
        spread = by_rank.get(None) or (
            below[0] if len(below) == 1 and record.rank is None else None
        )
        extents = _extents(record, below if record.rank is None else [beneath] if beneath else [])
        n_openers = len(share.openers)
        found.append(
            Use(
                record=record,
                share=share,
                together=share.openers if record.rank is None else ranks,
                sizes=request_sizes(record, len(share.movers)),
                collective=(
                    _together(record.reads, n_openers, alike),
                    _together(record.writes, n_openers, alike),
                ),
                below=beneath or spread,
                extent=extents,
                start=0 if any(one is not None for one in extents) else start,
                n_rows=n_rows,
                n_sweeps=n_sweeps,
            )
        )
        if record.rank is not None and record.level == Level.MPIIO:
            start += max(record.reads.moved, record.writes.moved)
    return found


def _together(way: DirectionCounters, n_openers: int, alike: bool) -> int:
    """Operations that all ranks that opened the file make together."""
    return way.n_collective // n_openers * n_openers if alike else 0


def _extents(record: FileCounters, below: Sequence[FileCounters]) -> tuple[int | None, int | None]:
    """Bytes of the file that were read and written, up to the highest one, by its own counters or those below."""
    found = []
    for way in ("reads", "writes"):
        known = [
            counted.highest + 1
            for one in (record, *below)
            if (counted := getattr(one, way)).highest is not None and counted.n
        ]
        found.append(max(known, default=None))
    return found[0], found[1]


def _communicators(uses: Sequence[Use], n_ranks: int) -> Mapping[tuple[int, ...], int]:
    """Communicators that files are opened with: of all openers of a file, or of one rank each."""
    found = {tuple(range(n_ranks)): 0}
    for use in uses:
        if use.record.level == Level.MPIIO:
            for _, ranks in opens_of(use):
                found.setdefault(ranks, len(found))
    return found
