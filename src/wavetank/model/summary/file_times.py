"""Where the time of a run went: by file, by kind of call, by level, over ranks.

Reads what a source counted of each file, or a trace's rows; leaves the fields of ``RunTimes``. Both become the same
columns: an entry for each file, level and rank, or for all ranks together where the source added them up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from wavetank.model.columns import different, distinct
from wavetank.model.document.run_times import NOT_TIMED, FileTimes, RankSpread, RunTimes
from wavetank.model.events.row_kinds import BESIDE_MPI, RowKind
from wavetank.model.events.rows import Rows
from wavetank.trace.counters import FileCounters
from wavetank.trace.ops import codes_where
from wavetank.trace.schema import (
    UNKNOWN,
    BoolArray,
    Int64Array,
    Level,
    OpKind,
    Trace,
)

MOST_FILES = 32
"""Files that are told by themselves. The totals are of all files."""

_NS = 1e-9
_IO = (RowKind.DATA, RowKind.EMPTY, RowKind.NULL_SEEK, RowKind.SEEK, RowKind.FILE)
_LEVELS = BESIDE_MPI + 1  # numbers of levels
_COUNTS = ("operations", "moved", "opens", "stats", "syncs", "streamed")
_TIMES = (
    "read_s",
    "write_s",
    "metadata_s",
)  # ns here, so that sums do not depend on how rows are folded


@dataclass(frozen=True)
class _Entries:
    """Columns of equal length: what a rank, or all (-1), did with a file at a level.

    Attributes:
        file: index into the trace's files.
        of: further columns by name: ``_COUNTS`` and ``_TIMES``.
        records: of counters, the record of each entry.
    """

    file: Int64Array
    level: Int64Array
    rank: Int64Array
    of: Mapping[str, npt.NDArray[Any]]
    records: Sequence[FileCounters] = field(default=())

    @property
    def time_ns(self) -> npt.NDArray[np.float64]:
        """In all calls."""
        found: npt.NDArray[np.float64] = np.sum([self.of[name] for name in _TIMES], axis=0)
        return found

    def where(self, some: BoolArray) -> _Entries:
        """Some of them."""
        records = [self.records[n] for n in np.flatnonzero(some).tolist()] if self.records else ()
        columns = {name: column[some] for name, column in self.of.items()}
        return _Entries(self.file[some], self.level[some], self.rank[some], columns, records)


def times_of_counters(trace: Trace) -> RunTimes:
    """Of a trace with counters, which must not be of a source that counts no times."""
    records = [one for one in trace.counters if one.level in (Level.POSIX, Level.MPIIO)]
    rows = [
        (
            one.file, one.level, -1 if one.rank is None else one.rank, one.n_operations, one.moved,
            one.n_opens, one.n_stats, one.n_syncs + one.n_data_syncs, one.moved if one.streams else 0,
            one.reads.time_s / _NS, one.writes.time_s / _NS, one.meta_time_s / _NS,
        )
        for one in records
    ]  # fmt: skip
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 12).T
    file, level, rank, *counts = (column.astype(np.int64) for column in columns[:9])
    of: dict[str, npt.NDArray[Any]] = dict(zip(_COUNTS, counts, strict=True))
    of |= zip(_TIMES, columns[9:], strict=True)
    return _run_times(_Entries(file, level, rank, of, records), trace)


def with_aggregators(counted: RunTimes, seen: RunTimes) -> RunTimes:
    """Counted times, with the ranks and hosts below MPI-IO that single operations show."""
    of = {one.name: (one.below_ranks, one.below_hosts) for one in seen.files}
    files = []
    for one in counted.files:
        ranks, hosts = of.get(one.name, (None, None))
        known = {"below_ranks": ranks, "below_hosts": hosts}
        files.append(one.model_copy(update=known) if ranks else one)
    return counted.model_copy(update={"files": tuple(files)})


def times_of_rows(rows: Rows, trace: Trace) -> RunTimes:
    """Of a trace's rows; only the elapsed time where not all of them are timed."""
    table = rows.table
    io = np.isin(rows.kind, _IO) & (table.file >= 0)
    if not io.any() or (table.start_ns[io] == UNKNOWN).any():
        return NOT_TIMED.model_copy(update={"elapsed_s": trace.elapsed_s})
    index = np.flatnonzero(io & ((rows.inside < 0) | (rows.level == Level.POSIX)))
    file, rank = table.file[index].astype(np.int64), table.rank[index].astype(np.int64)
    level = rows.level[index].astype(np.int64)
    n_ranks = max(trace.n_ranks, int(rank.max(initial=0)) + 1)
    key = (file * _LEVELS + level) * n_ranks + rank
    keys, group = distinct(key)

    def total(some: BoolArray, weights: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        found = np.bincount(group[some], weights=weights[index][some], minlength=len(keys))
        return found.astype(np.float64)

    code = table.op[index]
    data = np.isin(rows.kind[index], (RowKind.DATA, RowKind.EMPTY))
    reads = data & codes_where(lambda op: op.kind == OpKind.READ)[code]
    syncs = codes_where(lambda op: op.kind == OpKind.SYNC)[code]
    writes = data & ~reads | syncs  # Darshan, too, counts a flush as time of writes
    kinds = (
        codes_where(lambda op: op.kind == OpKind.OPEN),
        codes_where(lambda op: op.kind == OpKind.STAT and op.name != "fstat"),  # of an open file
        codes_where(lambda op: op.kind == OpKind.SYNC),
    )
    counts = [total(data, rows.n), total(data, rows.moved)]
    counts += [total(codes[code] & ~data, rows.n) for codes in kinds]
    of: dict[str, npt.NDArray[Any]] = {
        name: column.astype(np.int64)
        for name, column in zip(_COUNTS, [*counts, np.zeros(len(keys))], strict=True)
    }
    of |= zip(
        _TIMES,
        (total(some, table.busy_ns) for some in (reads, writes, ~(reads | writes))),
        strict=True,
    )
    entries = _Entries(keys // n_ranks // _LEVELS, keys // n_ranks % _LEVELS, keys % n_ranks, of)
    return _run_times(entries, trace)


def _run_times(entries: _Entries, trace: Trace) -> RunTimes:
    """The entries as a document."""
    n_files = int(entries.file.max(initial=-1)) + 1
    by_mpi = np.zeros(n_files, dtype=bool)
    is_mpi = entries.level == Level.MPIIO
    by_mpi[entries.file[is_mpi]] = True
    beside = entries.level == BESIDE_MPI
    own = entries.where((is_mpi | beside) == by_mpi[entries.file])
    below = entries.where(~(is_mpi | beside) & by_mpi[entries.file] & (entries.of["streamed"] == 0))
    time_ns = np.bincount(own.file, weights=own.time_ns, minlength=n_files)
    order = np.argsort(-time_ns, kind="stable")[:MOST_FILES]
    some = [file for file in order.tolist() if time_ns[file] > 0]
    spread = _spread(own, trace.n_ranks)
    hosts = {one.rank: one.host for one in trace.ranks if one.host}
    return RunTimes.model_construct(
        elapsed_s=trace.elapsed_s,
        io_s=spread.most_s if spread else None,
        io_rank=spread.most_rank if spread else None,
        with_metadata=True,
        read_s=_seconds(own.of["read_s"]),
        write_s=_seconds(own.of["write_s"]),
        metadata_s=_seconds(own.of["metadata_s"]),
        mpiio_s=_seconds(own.time_ns[by_mpi[own.file]]),
        below_s=_seconds(below.time_ns) if len(below.file) else None,
        n_opens=int(own.of["opens"].sum()),
        n_stats=int(own.of["stats"].sum()),
        n_files=len(different(own.file)),
        n_hosts=len({one.host for one in trace.ranks if one.host}),
        moved=int(own.of["moved"].sum()),
        streamed=int(own.of["streamed"].sum()),
        spread=spread,
        files=tuple(
            _file_times(own.where(own.file == file), below.where(below.file == file), trace, hosts)
            for file in some
        ),
    )


def _spread(own: _Entries, n_ranks: int) -> RankSpread | None:
    """Over ranks. Of what all ranks use, the slowest and fastest of the file that took most time; else the mean."""
    if not len(own.file):
        return None
    single, time_s = own.rank >= 0, own.time_ns * _NS
    n_ranks = max(n_ranks, int(own.rank.max()) + 1)
    by_rank = np.bincount(own.rank[single], weights=own.time_ns[single], minlength=n_ranks) * _NS
    shared = float(time_s[~single].sum())
    mean_s = (_seconds(own.time_ns[single]) + shared) / n_ranks
    least, most = float(by_rank.min()), float(by_rank.max())
    most_rank = int(by_rank.argmax())
    if shared:
        longest = own.records[int(np.where(single, -1.0, time_s).argmax())]
        rest = (shared - _time_s(longest)) / n_ranks
        if longest.slowest_rank is None or longest.slowest_s is None or longest.fastest_s is None:
            return None
        most = max(by_rank[longest.slowest_rank] + longest.slowest_s, most + longest.fastest_s)
        if most == by_rank[longest.slowest_rank] + longest.slowest_s:
            most_rank = longest.slowest_rank
        most, least = most + rest, min(least + longest.fastest_s + rest, mean_s)
    return RankSpread.model_construct(
        mean_s=mean_s, least_s=least, most_s=max(most, mean_s), most_rank=most_rank
    )


def _seconds(column: npt.NDArray[Any]) -> float:
    return float(column.sum()) * _NS


def _time_s(record: FileCounters) -> float:
    return record.reads.time_s + record.writes.time_s + record.meta_time_s


def _file_times(
    own: _Entries, below: _Entries, trace: Trace, hosts: Mapping[int, str]
) -> FileTimes:
    """Of one file. ``hosts``: of ranks, where they are known."""
    file = trace.files[int(own.file[0])]
    of_all = bool((own.rank < 0).any())
    n_ranks = trace.n_ranks if of_all else len(different(own.rank))
    counted = below.records or own.records
    unaligned = [one for one in counted if one.n_unaligned is not None and not one.streams]
    movers = below.rank[below.of["moved"] > 0]
    known = len(movers) > 0 and bool((movers >= 0).all())
    hosts_below = {hosts.get(rank, "") for rank in different(movers).tolist()}
    stripes = file.striping[-1:]
    return FileTimes.model_construct(
        name=file.path,
        level="mpiio" if own.level[0] == Level.MPIIO else "posix",
        streams=int(own.of["streamed"].sum()) * 2 > int(own.of["moved"].sum()),
        n_ranks=n_ranks,
        n_operations=int(own.of["operations"].sum()),
        moved=int(own.of["moved"].sum()),
        read_s=_seconds(own.of["read_s"]),
        write_s=_seconds(own.of["write_s"]),
        metadata_s=_seconds(own.of["metadata_s"]),
        n_posix=int((below if len(below.file) else own).of["operations"].sum()),
        n_syncs=int(own.of["syncs"].sum()),
        n_unaligned=sum(one.n_unaligned or 0 for one in unaligned) if unaligned else None,
        alignment=max((one.alignment or 0 for one in unaligned), default=0) or None,
        stripe_count=stripes[0].stripe_count if stripes else None,
        stripe_size=stripes[0].stripe_size if stripes else None,
        below_s=_seconds(below.time_ns) if len(below.file) else None,
        below_ranks=len(different(movers)) if known else None,
        **_slowest_below(below),
        below_hosts=len(hosts_below) if known and "" not in hosts_below else None,
        **_extremes(own, of_all=of_all),
    )


def _slowest_below(below: _Entries) -> dict[str, Any]:
    """Time and bytes of the rank that takes longest below MPI-IO: of a record of all ranks as it was counted."""
    found = {"below_slowest_s": None, "below_slowest_bytes": None}
    if len(below.file) == 0:
        return found
    if (below.rank < 0).any():
        record = next(one for one in below.records if one.rank is None)
        return {
            "below_slowest_s": record.slowest_s,
            "below_slowest_bytes": record.slowest_bytes,
        }
    ranks = _by_rank(below)
    return {"below_slowest_s": ranks.slowest_s, "below_slowest_bytes": ranks.slowest_bytes}


def _extremes(own: _Entries, *, of_all: bool) -> dict[str, Any]:
    """The slowest rank and the fastest."""
    none = dict.fromkeys(("slowest_rank", "slowest_s", "slowest_bytes", "fastest_s"))
    if of_all:
        record = next(one for one in own.records if one.rank is None)
        return none if len(own.file) > 1 else {name: getattr(record, name) for name in none}
    ranks = _by_rank(own)
    return none if ranks.n < 2 else {name: getattr(ranks, name) for name in none}


@dataclass(frozen=True)
class _Ranks:
    """The slowest and the fastest of some ranks."""

    n: int
    slowest_rank: int
    slowest_s: float
    slowest_bytes: int
    fastest_s: float


def _by_rank(entries: _Entries) -> _Ranks:
    """Of entries of single ranks, one at least."""
    ranks, group = distinct(entries.rank)
    time_s = np.bincount(group, weights=entries.time_ns) * _NS
    moved = np.bincount(group, weights=entries.of["moved"])
    slowest = int(time_s.argmax())
    return _Ranks(
        n=len(ranks),
        slowest_rank=int(ranks[slowest]),
        slowest_s=float(time_s[slowest]),
        slowest_bytes=int(moved[slowest]),
        fastest_s=float(time_s.min()),
    )
