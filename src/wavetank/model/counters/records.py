"""What the ranks of one record do, in blocks: opens, reads and writes in turns, synchronisation, closes.

Reads a record's counters with its sizes, ranks and layouts; leaves rows in a ``RowTable``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from wavetank.model.counters.layout import Layout, Row, Space, Steps, cut, lay_out
from wavetank.model.counters.row_table import Entry, RowTable
from wavetank.model.counters.shares import Share
from wavetank.model.counters.sizes import Runs, Sizes
from wavetank.trace.arguments import MpiMode
from wavetank.trace.counters import DirectionCounters, FileCounters
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import UNKNOWN, Level

_NS = 1e9


@dataclass(frozen=True)
class Use:
    """A record with what is concluded from it.

    Attributes:
        record: the counters, with times and opens that all ranks of the file agree in where calls are collective.
        share: its ranks.
        together: ranks that open the file together, by MPI-IO; those of other records are among them.
        sizes: of reads, of writes.
        collective: operations of reads, of writes that all openers make together.
        below: POSIX counters of the same operations, for records at MPI-IO level; None: there are none.
        extent: bytes up to the highest one that the ranks of the record touched, by reading and by writing.
        start: bytes that other ranks' records have in the file before this one's.
        n_rows: rows that a rank may have for the record.
        n_sweeps: see ``Space``.
    """

    record: FileCounters
    share: Share
    together: tuple[int, ...]
    sizes: tuple[Sizes, Sizes]
    collective: tuple[int, int]
    below: FileCounters | None
    extent: tuple[int | None, int | None]
    start: int
    n_rows: int
    n_sweeps: int


@dataclass(frozen=True)
class Left:
    """What of a record's counts was too much to be made: numbers of each."""

    opens: int = 0
    switches: int = 0
    compact: bool = False


@dataclass(frozen=True)
class _Part:
    """Operations of one call by some ranks."""

    op: str
    ranks: tuple[int, ...]
    layout: Layout


class Performer:
    """Puts the rows of records into a table."""

    def __init__(self, table: RowTable, communicators: Mapping[tuple[int, ...], int]) -> None:
        self._table = table
        self._communicators = communicators
        self._n_handles = 0

    def perform(self, use: Use) -> Left:
        """All that a record tells of."""
        record, n_openers = use.record, len(use.share.openers)
        ways = [
            (number, way)
            for number, way in enumerate((record.reads, record.writes))
            if use.sizes[number].n or (way.n and record.level == Level.MPIIO)
        ]
        ways.sort(key=lambda pair: (pair[1].first_s or 0.0, -pair[0]))
        wanted = 1 + -(-(record.n_switches or 0) // len(use.share.movers))
        n_blocks = max(len(ways), min(wanted if len(ways) == 2 else 1, use.n_rows))
        parts = {number: _parts(use, number) for number, _ in ways}
        blocks = _blocks(ways, parts, n_blocks)
        n_opens = max(record.n_opens // n_openers, min(record.n_opens, 1))
        sections = _sections(blocks, min(n_opens, max(use.n_rows, 1)))
        self._sections(use, sections, n_opens > 0)
        return Left(
            opens=max(0, record.n_opens - len(sections) * n_openers) if n_opens else 0,
            switches=max(0, wanted - n_blocks) * len(use.share.movers) if len(ways) == 2 else 0,
            compact=any(part.layout.compact for found in parts.values() for part in found),
        )

    def _sections(self, use: Use, sections: Sequence[Sequence[_Block]], opens: bool) -> None:
        record = use.record
        n_blocks = sum(len(section) for section in sections)
        mpi, n_openers = record.level == Level.MPIIO, len(use.share.openers)
        last_writing = max(
            (n for n, section in enumerate(sections) if any(block.way for block in section)), default=0
        )  # fmt: skip
        meta_ns = round(record.meta_time_s * _NS / (n_openers * len(sections))) if opens else 0
        clock = _Clock(record, n_blocks)
        done = 0
        for number, section in enumerate(sections):
            self._n_handles += 1
            at = clock.opened(number, done)
            if number == 0:
                self._calls(use, "stat", at, use.share.openers, record.n_stats)
            if opens:
                self._open(use, section, at, meta_ns)
            for block in section:
                at = clock.at(done)
                done += 1
                self._data(use, block, at)
            if number == last_writing and not mpi:
                self._calls(use, "fsync", at, use.share.movers, record.n_syncs)
                self._calls(use, "fdatasync", at, use.share.movers, record.n_data_syncs)
            elif number == last_writing:  # a collective call
                n = record.n_syncs // n_openers * n_openers
                self._calls(use, "MPI_File_sync", at, use.share.openers, n)
            if number == len(sections) - 1:
                self._empty(use, at)
            if opens:
                at = clock.closed(number == len(sections) - 1, at)
                self._call(use, "MPI_File_close" if mpi else "close", at)

    def _open(self, use: Use, section: Sequence[_Block], at: int, busy_ns: int) -> None:
        ways = {block.way for block in section} or {int(use.record.writes.n > 0)}
        if use.record.level == Level.POSIX:
            flags = os.O_RDWR if len(ways) == 2 else os.O_WRONLY if 1 in ways else os.O_RDONLY
            self._call(
                use, "open", at, arg=flags | (os.O_CREAT if 1 in ways else 0), busy_ns=busy_ns
            )
            return
        way = MpiMode.RDWR if len(ways) == 2 else MpiMode.WRONLY
        mode = way | MpiMode.CREATE if 1 in ways else MpiMode.RDONLY
        for some, communicator in opens_of(use):
            self._add(
                some, at, "MPI_File_open", use, offset=UNKNOWN, arg=mode,
                communicator=self._communicators[communicator], busy_ns=busy_ns,
            )  # fmt: skip

    def _call(self, use: Use, op: str, at: int, arg: int = 0, busy_ns: int = 0) -> None:
        """A call of all openers."""
        self._add(use.share.openers, at, op, use, arg=arg, busy_ns=busy_ns)

    def _calls(self, use: Use, op: str, at: int, ranks: Sequence[int], n: int) -> None:
        """``n`` calls that move no data, dealt to ranks."""
        each, more = divmod(n, len(ranks))
        for some, count in ((ranks[:more], each + 1), (ranks[more:], each)):
            if some and count:
                self._add(some, at, op, use, count=count)

    def _empty(self, use: Use, at: int) -> None:
        """Reads and writes that moved nothing, at the end."""
        for number, sizes in enumerate(use.sizes):
            if use.record.level == Level.POSIX:
                self._calls(use, ("read", "write")[number], at, use.share.movers, sizes.n_empty)

    def _data(self, use: Use, block: _Block, at: int) -> None:
        record = use.record
        way = (record.reads, record.writes)[block.way]
        each_ns = way.time_s * _NS / max(way.n, 1)
        for op, ranks, row in block.rows:
            self._add(
                ranks[row.first : row.stop], at, op, use, count=row.count, size=row.size, offset=row.offset,
                per_rank=row.per_rank, disp=row.disp, busy_ns=round(each_ns * row.count),
            )  # fmt: skip

    def _add(
        self, ranks: Sequence[int], at: int, op: str, use: Use, *, count: int = 1, size: int = 0, offset: int = 0,
        per_rank: int = 0, disp: int = 0, arg: int = 0, communicator: int = UNKNOWN, busy_ns: int = 0,
    ) -> None:  # fmt: skip
        self._table.add(
            Entry(
                self._table.group(ranks), len(ranks), at, OPS_BY_NAME[op].code, use.record.file, self._n_handles,
                count, size, offset, per_rank, disp, arg, communicator, busy_ns,
            )
        )  # fmt: skip


def opens_of(use: Use) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Who opens a file by MPI-IO: ranks of the record, and all that open it together with them."""
    if use.record.n_collective_opens:
        return [(use.share.openers, use.together)]
    return [((rank,), (rank,)) for rank in use.share.openers]


# --- parts --------------------------------------------------------------------------------------------


def _parts(use: Use, number: int) -> list[_Part]:
    """The calls that a direction's operations are made by: independent ones first, then those of all ranks together."""
    record, way = use.record, (use.record.reads, use.record.writes)[number]
    name, sizes, n_together = ("read", "write")[number], use.sizes[number], use.collective[number]
    extent = use.extent[number]
    space = Space(
        extent=extent if extent is not None else use.start + way.moved,
        gaps=record.common_gaps if use.below is None else use.below.common_gaps,
        n_rows=use.n_rows,
        n_sweeps=use.n_sweeps,
        seed=record.file,
        start=use.start,
    )
    if record.level == Level.POSIX:
        movers = use.share.movers
        steps = steps_of(way, len(movers), sizes)
        # A stream's last buffer is not full.
        runs = sizes.runs[::-1] if record.streams else sizes.runs
        return [_Part(name, movers, lay_out(runs, len(movers), steps, space))]
    counted = None if use.below is None else (use.below.reads, use.below.writes)[number]
    known = counted is not None and counted.n == way.n
    found = []
    alone, together = _split(
        ((0, sizes.n_empty), *sizes.runs) if sizes.n_empty else sizes.runs, n_together
    )
    for runs, ranks, op in (
        (alone, use.share.movers, f"MPI_File_{name}_at"),
        (together, use.share.openers, f"MPI_File_{name}_at_all"),
    ):
        if not runs:
            continue
        steps = None
        if known and counted is not None and not (alone and together):
            steps = steps_of(counted, len(ranks), sizes)
        elif runs is alone:
            n = sum(count for _, count in runs)
            steps = Steps(max(0, n - len(ranks)), 0, 0)
        found.append(_Part(op, ranks, lay_out(runs, len(ranks), steps, space)))
        moved = sum(size * count for size, count in runs)
        space = replace(space, start=space.start + moved)
    return found


def _split(runs: Runs, n_together: int) -> tuple[Runs, Runs]:
    """The smallest requests, and those ``n_together`` largest ones that are made together."""
    alone: list[tuple[int, int]] = []
    n_alone = sum(count for _, count in runs) - n_together
    together: list[tuple[int, int]] = []
    for size, count in runs:
        some = min(n_alone, count)
        n_alone -= some
        alone += [(size, some)] if some else []
        together += [(size, count - some)] if count > some else []
    return tuple(alone), tuple(together)


def steps_of(way: DirectionCounters, n_ranks: int, sizes: Sizes) -> Steps | None:
    """How the ranks go from one operation to the next one; None where that was not counted.

    Darshan counts a rank's first operation as sequential where it is not at the begin of the file: so many as can be are
    taken for that, but for one rank.
    """
    if way.n_sequential is None or way.n_consecutive is None:
        return None
    n_first = min(n_ranks, sizes.n)
    n_steps = sizes.n - n_first
    # Operations that moved nothing begin where the ones before them ended.
    consecutive = min(max(0, way.n_consecutive - sizes.n_empty), n_steps)
    beyond = max(0, way.n_sequential - sizes.n_empty - consecutive)
    first = max(beyond - (n_steps - consecutive), min(beyond, n_first - 1))
    forward = beyond - first
    return Steps(consecutive, forward, n_steps - consecutive - forward)


# --- blocks and sections --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Block:
    """Operations of one direction (0 reads, 1 writes), one after another: call, its ranks, and a row of them."""

    way: int
    rows: tuple[tuple[str, tuple[int, ...], Row], ...]


def _blocks(
    ways: Sequence[tuple[int, DirectionCounters]], parts: Mapping[int, Sequence[_Part]], n: int
) -> list[_Block]:
    """Blocks of both directions in turns, the one that began first leads."""
    found: list[_Block | None] = [None] * n
    for place, (number, _) in enumerate(ways):
        mine = range(place, n, len(ways))
        cuts = [(part, cut(part.layout, len(mine))) for part in parts[number]]
        for index, block in enumerate(mine):
            found[block] = _Block(
                number,
                tuple((part.op, part.ranks, row) for part, pieces in cuts for row in pieces[index]),
            )
    return [block for block in found if block is not None]


def _sections(blocks: Sequence[_Block], n_opens: int) -> list[list[_Block]]:
    """Blocks by the open that they go through; blocks are separated where there are more opens."""
    n_opens = max(n_opens, 1)
    if n_opens <= len(blocks):
        bounds = [number * len(blocks) // n_opens for number in range(n_opens + 1)]
        return [list(blocks[low:high]) for low, high in pairwise(bounds)]
    found: list[list[_Block]] = []
    for number, block in enumerate(blocks):
        n = n_opens // len(blocks) + (number < n_opens % len(blocks))
        groups: dict[tuple[str, tuple[int, ...], int, int], list[Row]] = {}
        for op, ranks, row in block.rows:
            groups.setdefault((op, ranks, row.first, row.stop), []).append(row)
        pieces = [(key, cut(Layout(groups=(tuple(rows),)), n)) for key, rows in groups.items()]
        for index in range(n):
            some = [(op, ranks, row) for (op, ranks, _, _), cuts in pieces for row in cuts[index]]
            found.append([_Block(block.way, tuple(some))])
    return found or [[] for _ in range(n_opens)]


class _Clock:
    """When a record's blocks begin: evenly between its first operation and its last one."""

    def __init__(self, record: FileCounters, n_blocks: int) -> None:
        ways = [way for way in (record.reads, record.writes) if way.n]
        firsts = sorted(way.first_s for way in ways if way.first_s is not None)
        first = firsts[0] if firsts else record.opened_s or 0.0
        last = max([way.last_s or first for way in ways], default=first)
        self._opened = first if record.opened_s is None else min(record.opened_s, first)
        self._closed = max(record.closed_s or last, last)
        if n_blocks == len(firsts):
            self._times = firsts
        else:
            self._times = [first + (last - first) * n / max(n_blocks, 1) for n in range(n_blocks)]

    def at(self, block: int) -> int:
        """Of a block, ns."""
        return round(self._times[block] * _NS)

    def opened(self, section: int, block: int) -> int:
        """Of the open of a section that begins with a block, ns."""
        if section == 0 or not self._times:
            return round(self._opened * _NS)
        return self.at(min(block, len(self._times) - 1))

    def closed(self, last: bool, at: int) -> int:
        """Of the close of a section, ns."""
        return round(self._closed * _NS) if last else at
