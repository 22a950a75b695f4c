"""Finds the phases of calls that move no data (document.metadata) in a trace.

Reads the rows of the extraction; leaves the phases in order. Calls on a file whose data the same rank moves belong to
the phases of that data (``Phase.metadata_ops``); all others are here, each in one phase.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.columns import different
from wavetank.model.document.metadata import MetadataCall, MetadataPhase, call_name
from wavetank.model.events.file_identity import NAMED_OPS
from wavetank.model.events.mpi_calls import counted_before
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.events.rows import Rows
from wavetank.model.metadata.names import Names
from wavetank.model.metadata.objects import Objects
from wavetank.model.phases.activity import Activity
from wavetank.trace import arguments
from wavetank.trace.ops import OPS, codes_where
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array
from wavetank.trace.traced_files import TracedFiles

_CREATED, _DIRECTORY = 1, 2  # bits of a label


@dataclass(frozen=True)
class _Segment:
    """A stretch of one rank in which the kinds of calls stay the same."""

    rank: int
    stage: int  # collectives of the rank before it
    labels: tuple[int, ...]


def metadata_phases(
    activity: Activity, paths: Sequence[str], directories: Collection[int], *, by_time: bool
) -> tuple[MetadataPhase, ...]:
    """The phases, in the order of their first calls.

    Args:
        activity: the trace.
        paths: of the trace's files.
        directories: those of the trace's files that are directories, by index.
        by_time: whether times order the ranks, not ticks: processes that make no MPI calls.
    """
    index = _beside_data(activity)
    if not len(index):
        return ()
    label = _labels(activity, index, directories)
    stage, alike = _stages(activity.rows)
    segment_of, segments = _segments(activity.rows.table.rank[index], stage[index], label)
    groups = _together(segments, activity.thresholds.metadata_phases, alike=alike)
    objects = Objects(activity, index, paths, directories)
    describe = _Phase(activity, index, label, segment_of, objects, paths).of
    found = [
        describe(rows, n_segments)
        for rows, n_segments in _rows_of(groups, segment_of, len(segments))
    ]
    keys = [
        (phase.start_s if by_time and phase.start_s is not None else 0.0, phase.tick_first, number)
        for number, phase in enumerate(found)
    ]
    order = sorted(range(len(found)), key=keys.__getitem__)
    return tuple(
        found[number].model_copy(update={"md_id": md_id})
        for md_id, number in enumerate(order, start=1)
    )


def _beside_data(activity: Activity) -> Int64Array:
    """Rows of calls that move no data, on files whose data the rank does not move; of two names the new one."""
    rows, table = activity.rows, activity.rows.table
    moves = (rows.kind == RowKind.DATA) | (rows.kind == RowKind.IGNORED)
    some = np.flatnonzero(~moves & (rows.kind != RowKind.SYNC_RANKS) & (table.file >= 0))
    own = activity.is_own(table.file[some], rows.level[some])
    some = some[own & ~arguments.is_old_of_two_names(table)[some]]
    n_files = int(table.file.max(initial=0)) + 1
    parts = activity.parts
    moved = different(parts.rank * n_files + parts.file)
    mine = table.rank[some].astype(np.int64) * n_files + table.file[some]
    return some[~np.isin(mine, moved)]


def _labels(activity: Activity, index: Int64Array, directories: Collection[int]) -> Int64Array:
    """What each call is: its code, whether it is on a directory, and whether its open may have created the file."""
    table = activity.rows.table
    is_directory = np.isin(table.file[index], np.array(sorted(directories), dtype=np.int64))
    opens = codes_where(lambda op: op.name == "open")[table.op]
    flags = table.details.flags[table.given]
    creating = (flags & os.O_CREAT != 0) & (table.handle >= 0)
    n_handles = int(table.handle.max(initial=0)) + 2
    handle = table.rank.astype(np.int64) * n_handles + table.handle + 1
    named = codes_where(lambda op: op.name in NAMED_OPS)[table.op[index]]
    created = _latest_creates(handle, index, opens, creating)
    created &= (table.handle[index] >= 0) & (~named | opens[index])
    created |= flags[index] & os.O_CREAT != 0
    label: Int64Array = (
        table.op[index].astype(np.int64) * 4 + is_directory * _DIRECTORY + created * _CREATED
    )
    return label


def _latest_creates(
    handle: Int64Array, index: Int64Array, opens: BoolArray, creating: BoolArray
) -> BoolArray:
    """Whether the latest open with the handle of each row of the index may have created the file."""
    order = np.argsort(handle[index], kind="stable")
    at = index[order]
    begin = np.flatnonzero(np.diff(handle[at], prepend=-1))
    first = np.repeat(begin, np.diff(begin, append=len(at)))
    latest = np.maximum.accumulate(np.where(opens[at], np.arange(len(at)), -1))
    found = np.zeros(len(index), dtype=bool)
    found[order] = (latest >= first) & creating[at[latest]]
    return found


def _stages(rows: Rows) -> tuple[Int64Array, bool]:
    """Collectives of the rank before each row, and whether all ranks meet equally often."""
    table = rows.table
    meets = rows.kind == RowKind.SYNC_RANKS
    starts = np.flatnonzero(np.diff(table.rank, prepend=table.rank[0] - 1))
    in_all = np.add.reduceat(np.where(meets, rows.n, 0), starts)
    return counted_before(table, rows.around, meets), bool((in_all == in_all[0]).all())


def _segments(
    rank: np.ndarray, stage: Int64Array, label: Int64Array
) -> tuple[Int64Array, list[_Segment]]:
    """Parts of each stretch between collectives, so that no kind of call is in two of them.

    Args:
        rank: of each row.
        stage: collectives of the rank before it.
        label: what it is.

    Returns:
        For each row the number of its segment, and the segments.
    """
    new = (np.diff(rank, prepend=-1) != 0) | (np.diff(stage, prepend=-1) != 0)
    stretch = np.cumsum(new) - 1
    n_labels = int(label.max()) + 1
    entries, inverse = np.unique(stretch * n_labels + label, return_inverse=True)
    first = np.full(len(entries), len(label), dtype=np.int64)
    last = np.zeros(len(entries), dtype=np.int64)
    np.minimum.at(first, inverse, np.arange(len(label)))
    np.maximum.at(last, inverse, np.arange(len(label)))
    number_of = np.zeros(len(entries), dtype=np.int64)
    parts: list[tuple[int, list[int]]] = []  # first row, labels
    reached, before = -1, -1
    for entry in np.lexsort((first, entries // n_labels)).tolist():
        at = int(entries[entry]) // n_labels
        if at != before or first[entry] > reached:
            parts.append((int(first[entry]), []))
            reached, before = -1, at
        parts[-1][1].append(int(entries[entry]) % n_labels)
        number_of[entry] = len(parts) - 1
        reached = max(reached, int(last[entry]))
    segments = [
        _Segment(int(rank[row]), int(stage[row]), tuple(sorted(labels))) for row, labels in parts
    ]
    return number_of[inverse], segments


def _together(segments: Sequence[_Segment], most: int, *, alike: bool) -> list[list[int]]:
    """Segments of ranks that do the same between the same collectives; of one rank, one after another, too.

    Args:
        segments: of all ranks.
        most: groups, beyond which those of the same ranks and calls are one.
        alike: all ranks meet equally often. Where they do not, their first segments of the same calls are together,
            their second ones, and so on.
    """
    seen: Counter[tuple[int, tuple[int, ...]]] = Counter()
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, one in enumerate(segments):
        nth = seen[one.rank, one.labels]
        seen[one.rank, one.labels] += 1
        groups.setdefault((one.stage if alike else nth, one.labels), []).append(number)
    found = _joined_in_turn(list(groups.values()), segments)
    if len(found) <= most:
        return found
    by_shape: dict[object, list[int]] = {}
    for group in found:
        ranks = tuple(sorted({segments[number].rank for number in group}))
        by_shape.setdefault((ranks, segments[group[0]].labels), []).extend(group)
    return list(by_shape.values())


def _joined_in_turn(groups: list[list[int]], segments: Sequence[_Segment]) -> list[list[int]]:
    """Groups of the same ranks and calls that follow each other, with collectives between them only, are one."""
    ranks = [tuple(sorted({segments[number].rank for number in group})) for group in groups]
    preceding: list[int] = []  # the segment of the same rank before each
    last: dict[int, int] = {}
    for number, one in enumerate(segments):
        preceding.append(last.get(one.rank, -1))
        last[one.rank] = number
    owner = {number: place for place, group in enumerate(groups) for number in group}
    into = list(range(len(groups)))
    for place, group in enumerate(groups):
        before = {owner.get(preceding[number], -1) for number in group}
        if len(before) != 1:
            continue
        (other,) = before
        if (
            0 <= other < place
            and ranks[other] == ranks[place]
            and segments[groups[other][0]].labels == segments[group[0]].labels
        ):
            into[place] = into[other]
    joined: dict[int, list[int]] = {}
    for place, group in enumerate(groups):
        joined.setdefault(into[place], []).extend(group)
    return list(joined.values())


def _rows_of(
    groups: Sequence[Sequence[int]], segment_of: Int64Array, n_segments: int
) -> list[tuple[Int64Array, int]]:
    """The rows of each group, as places in the index, and how many segments it has."""
    group_of = np.zeros(n_segments, dtype=np.int64)
    for place, group in enumerate(groups):
        group_of[list(group)] = place
    of_row = group_of[segment_of]
    order = np.argsort(of_row, kind="stable")
    bounds = np.searchsorted(of_row[order], np.arange(len(groups) + 1))
    return [
        (order[bounds[place] : bounds[place + 1]], len(group)) for place, group in enumerate(groups)
    ]


class _Phase:
    """Describes the rows of one phase."""

    def __init__(
        self, activity: Activity, index: Int64Array, label: Int64Array, segment_of: Int64Array, objects: Objects,
        paths: Sequence[str],
    ) -> None:  # fmt: skip
        self._activity, self._index, self._label = activity, index, label
        self._segment_of, self._objects = segment_of, objects
        self._names = Names(paths, objects.first_paths)

    def of(self, at: Int64Array, n_segments: int) -> MetadataPhase:
        """The phase of some rows, by their places in the index."""
        table = self._activity.rows.table
        rows = self._index[at]
        ranks = different(table.rank[rows])
        timed = bool((table.start_ns[rows] != UNKNOWN).all())
        used = different(table.rank[rows].astype(np.int64) << 32 | self._objects.of(at))
        objects = different(used & 0xFFFFFFFF)
        n_directories = int(self._objects.is_directory[objects].sum())
        parents, sharing = self._names.parents(used, len(ranks))
        names, others = self._names.families(objects)
        return MetadataPhase(
            md_id=0,
            ranks=tuple(ranks.tolist()),
            calls=self._calls(at, ranks, timed=timed),
            n_calls=int(self._activity.rows.n[rows].sum()),
            n_files=len(objects) - n_directories,
            n_directories=n_directories,
            n_parents=parents,
            sharing=sharing,
            names=names,
            n_other_names=others,
            times=-(-n_segments // len(ranks)),
            tick_first=int(table.tick[rows].min()),
            tick_last=int((table.tick[rows] + (table.count[rows] - 1) * table.tick_step[rows]).max()),
            start_s=int(table.start_ns[rows].min()) / 1e9 if timed else None,
            end_s=int(table.end_ns[rows].max()) / 1e9 if timed else None,
            time_s=_under_way(
                self._segment_of[at], table.start_ns[rows], table.end_ns[rows]
            ) / 1e9 if timed else None,
            busy_s=int(table.busy_ns[rows].sum()) / 1e9 if timed else None,
        )  # fmt: skip

    def _calls(self, at: Int64Array, ranks: np.ndarray, *, timed: bool) -> tuple[MetadataCall, ...]:
        """Each kind of call, in the order in which they come first."""
        table, n = self._activity.rows.table, self._activity.rows.n
        rows, label = self._index[at], self._label[at]
        named: dict[tuple[str, bool], BoolArray] = {}
        _, first = np.unique(label, return_index=True)
        for place in np.sort(first).tolist():
            code = int(label[place])
            folder = bool(code & _DIRECTORY)
            flags = os.O_CREAT if code & _CREATED else 0
            key = (call_name(OPS[code >> 2].name, flags, directory=folder), folder)
            some = label == code
            named[key] = named[key] | some if key in named else some
        found = []
        for (name, folder), some in named.items():
            mine = rows[some]
            per_rank = np.zeros(len(ranks), dtype=np.int64)
            np.add.at(per_rank, np.searchsorted(ranks, table.rank[mine]), n[mine])
            found.append(
                MetadataCall(
                    call=name,
                    objects="directories" if folder else "files",
                    n=int(per_rank.sum()),
                    n_failed=int(n[mine][table.error[mine] != 0].sum()),
                    n_objects=len(different(self._objects.of(at[some]))),
                    least=int(per_rank.min()),
                    most=int(per_rank.max()),
                    busy_s=int(table.busy_ns[mine].sum()) / 1e9 if timed else None,
                )
            )
        return tuple(found)


def _under_way(segment: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> int:
    """Nanoseconds in which a segment was between its first call and its last one; segments at once count once."""
    order = np.argsort(segment, kind="stable")
    begin = np.flatnonzero(np.diff(segment[order], prepend=-1))
    first = np.minimum.reduceat(start_ns[order], begin)
    last = np.maximum.reduceat(end_ns[order], begin)
    by_start = np.argsort(first, kind="stable")
    first, last = first[by_start], last[by_start]
    reached = np.maximum.accumulate(last)
    since = np.maximum(first[1:], reached[:-1])
    return int(last[0] - first[0] + np.maximum(last[1:] - since, 0).sum())


def directories_of(files: TracedFiles, activity: Activity) -> set[int]:
    """The files of a trace that are directories, by index: those that it says are, and those of calls on directories."""
    table = activity.rows.table
    done = (table.error == 0) & (table.file >= 0)
    names = codes_where(lambda op: op.name in ("mkdir", "rmdir", "readdir"))[table.op]
    flags = table.details.flags[table.given]
    some = done & (names | (flags & os.O_DIRECTORY == os.O_DIRECTORY))
    some &= flags & os.O_TMPFILE != os.O_TMPFILE
    found = set(different(table.file[some]).tolist())
    return found.union(np.flatnonzero(files.directory).tolist())
