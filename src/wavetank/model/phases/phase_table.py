"""Makes the phases of a model out of the ranks' parts, and numbers them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from wavetank.model.document.phase import LinearOffsets, Offsets, PatternMember, Phase
from wavetank.model.events.row_kinds import BESIDE_MPI, RowKind
from wavetank.model.phases.activity import Activity
from wavetank.model.phases.memory_layouts import MemoryLayouts
from wavetank.model.phases.rank_merging import Group, offsets_of_each
from wavetank.model.phases.rank_phase import RankPhase
from wavetank.trace import arguments
from wavetank.trace.distinct import distinct_rows
from wavetank.trace.schema import (
    LEVEL_NAMES,
    UNKNOWN,
    Int32Array,
    Int64Array,
    Level,
    OpKind,
    UInt8Array,
)


@dataclass(frozen=True)
class PartTimes:
    """Clocks of each part: arrays over the list of rank phases."""

    tick_first: Int64Array
    tick_last: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    busy_ns: Int64Array
    seq: Int64Array  # of the first operation within its rank


def clocks(activity: Activity) -> PartTimes:
    """When each part happened. A row that two parts share gives each its share of the time."""
    data, parts, table = activity.data, activity.parts, activity.rows.table
    low = np.array([part.low for part in parts], dtype=np.int64)
    high = np.array([part.high for part in parts], dtype=np.int64)
    first = np.array([part.first_row for part in parts], dtype=np.int64)
    last = np.array([part.last_row for part in parts], dtype=np.int64)
    row_first, row_last = data.row[first], data.row[last]
    # Parts begin and end beside blocks, never inside one.
    skipped = low - data.first_op[first]
    loop = data.block[last] >= 0
    dropped = np.where(loop, 0, data.first_op[last] + data.count[last] - high)
    busy = table.busy_ns[data.row]
    total = np.concatenate([[0], np.cumsum(busy)])
    per_op = busy // np.maximum(data.count, 1)
    timed = (table.start_ns[row_first] != UNKNOWN) & (table.end_ns[row_last] != UNKNOWN)
    start = table.start_ns[row_first] + _share(
        table.start_ns, table.end_ns, row_first, skipped, data.count[first]
    )
    end = table.end_ns[row_last] - _share(
        table.start_ns, table.end_ns, row_last, dropped, data.count[last]
    )
    return PartTimes(
        tick_first=table.tick[row_first] + skipped * table.tick_step[row_first],
        tick_last=table.tick[row_last]
        + (data.count[last] - 1 - dropped) * table.tick_step[row_last],
        start_ns=np.where(timed, start, UNKNOWN),
        end_ns=np.where(timed, end, UNKNOWN),
        busy_ns=total[last + 1] - total[first] - skipped * per_op[first] - dropped * per_op[last],
        seq=table.seq[row_first] + skipped,
    )


def _share(
    start_ns: Int64Array, end_ns: Int64Array, row: Int64Array, n: Int64Array, count: Int64Array
) -> Int64Array:
    share: Int64Array = (end_ns[row] - start_ns[row]) * n // np.maximum(count, 1)
    return share


def make_phases(
    activity: Activity,
    groups: Sequence[Group],
    times: PartTimes,
    by_time: bool,
    own_ticks: bool,
    layouts: MemoryLayouts,
    collective_unknown: Collection[int] = (),
) -> tuple[list[Phase], Int64Array]:
    """The phases in order, and for each part the ``ph_id`` of its phase.

    ``collective_unknown``: files of which it is not known which operations are, or stand for, collective MPI-IO ones.

    Phases at the level at which the application itself uses their file come first. Ticks order them; where
    processes take part that make no MPI calls, whose ticks say nothing, times do. With ``own_ticks`` a rank's ticks
    are its MPI-IO calls alone: of ranks that made more and less of them before a phase the most counts.
    """
    launched = np.zeros(len(activity.parts), dtype=np.int64)
    if by_time:
        ranks = np.array([part.rank for part in activity.parts], dtype=np.int64)
        launched = activity.rows.launched(ranks, times.start_ns)
    by_group = list(map(_GroupTimes._make, _of_groups(groups, times, launched)))
    keys = [
        (*_order(activity.parts[group.parts[0]], activity, clock, own_ticks), number)
        for number, (group, clock) in enumerate(zip(groups, by_group, strict=True))
    ]
    order = [(groups[key[-1]], by_group[key[-1]]) for key in sorted(keys)]
    ph_id = np.zeros(len(activity.parts), dtype=np.int64)
    lengths = [len(group.parts) for group, _ in order]
    in_order = [part for group, _ in order for part in group.parts]
    ph_id[in_order] = np.repeat(np.arange(1, len(order) + 1), lengths)
    phases = _phases(
        activity,
        [group.parts for group, _ in order],
        layouts,
        [clock for _, clock in order],
        _metadata(activity, ph_id),
        collective_unknown,
    )
    return phases, ph_id


class _GroupTimes(NamedTuple):
    """Clocks of the parts of a group: ``PartTimes`` of the first and last, and their sums."""

    launched: int
    least_tick: int
    most_tick: int  # of the parts' first ticks
    seq: int
    tick_last: int
    start_ns: int
    end_ns: int
    busy_ns: int
    timed: bool


def _of_groups(
    groups: Sequence[Group], times: PartTimes, launched: Int64Array
) -> Iterable[tuple[Any, ...]]:
    """The numbers of each group's ``_GroupTimes``."""
    if not groups:
        return []
    part = np.array([part for group in groups for part in group.parts], dtype=np.int64)
    length = np.array([len(group.parts) for group in groups], dtype=np.int64)
    starts = np.cumsum(length) - length
    least, most = np.minimum.reduceat, np.maximum.reduceat
    columns = (
        least(launched[part], starts), least(times.tick_first[part], starts), most(times.tick_first[part], starts),
        least(times.seq[part], starts), most(times.tick_last[part], starts), least(times.start_ns[part], starts),
        most(times.end_ns[part], starts), np.add.reduceat(times.busy_ns[part], starts),
        np.logical_and.reduceat(times.start_ns[part] != UNKNOWN, starts),
    )  # fmt: skip
    return zip(*(column.tolist() for column in columns), strict=True)


def _is_of_library(part: RankPhase, activity: Activity) -> bool:
    return part.level not in (activity.own_level[part.file], BESIDE_MPI)


def _order(
    first: RankPhase, activity: Activity, clock: _GroupTimes, own_ticks: bool
) -> tuple[bool, int, int, int, int]:
    return (
        _is_of_library(first, activity),
        clock.launched,
        clock.most_tick if own_ticks else clock.least_tick,
        clock.seq,
        first.rank,
    )


def _phases(
    activity: Activity,
    numbers: Sequence[Sequence[int]],
    layouts: MemoryLayouts,
    clocks: Sequence[_GroupTimes],
    metadata: Mapping[int, dict[str, int]],
    collective_unknown: Collection[int],
) -> list[Phase]:
    """The phases of these parts, by number: a column of each field, of which the records are made at once."""
    parts = [tuple([activity.parts[part] for part in of_phase]) for of_phase in numbers]
    ops, n = activity.rows.ops, len(parts)
    first = [of_phase[0] for of_phase in parts]
    calls = {part.ops for part in first}
    collective = {codes: True in [ops[code].collective for code in codes] for codes in calls}
    offset = offsets_of_each(parts, in_view=False)
    in_view = [number for number, part in enumerate(first) if part.view_members is not None]
    offset_view: list[tuple[Offsets, ...] | None] = [None] * n
    view_id: list[int | None] = [None] * n
    view_ids: list[tuple[int, ...] | None] = [None] * n
    places = offsets_of_each([parts[number] for number in in_view], in_view=True)
    for number, place in zip(in_view, places, strict=True):
        views = tuple([part.view for part in parts[number]])
        offset_view[number] = place
        if len(set(views)) == 1:
            view_id[number] = views[0]
        else:
            view_ids[number] = views
    undecided = [part.file in collective_unknown for part in first]
    found = Phase.of_columns(
        ph_id=range(1, n + 1),
        file_id=[activity.file_ids[part.file] for part in first],
        level=[
            LEVEL_NAMES[Level.POSIX if part.level == BESIDE_MPI else part.level] for part in first
        ],
        by_library=[_is_of_library(part, activity) for part in first],
        ph_processid=[tuple([part.rank for part in of_phase]) for of_phase in parts],
        ph_np=[len(of_phase) for of_phase in parts],
        ph_weight=[
            sum([member.total for part in of_phase for member in part.members])
            for of_phase in parts
        ],
        ph_nrep=[part.n_rep for part in first],
        ph_niop=[part.n_rep * len(part.ops) for part in first],
        pattern=_patterns(activity, first),
        offset=offset,
        offset_view=offset_view,
        view_id=view_id,
        view_ids=view_ids,
        memory=[
            layouts.of_phase(of_phase, len(part.ops))
            for of_phase, part in zip(numbers, first, strict=True)
        ],
        collective=[collective[part.ops] for part in first],
        collective_unknown=undecided,
        exact=[
            _is_linear(offsets) and not (unknown and part.level == Level.MPIIO)
            for part, offsets, unknown in zip(first, offset, undecided, strict=True)
        ],
        moved_last=[_short_end(of_phase) for of_phase in parts],
        metadata_ops=[metadata.get(number, {}) for number in range(1, n + 1)],
        not_extrapolated=[None] * n,
        tick_first=[clock.least_tick for clock in clocks],
        tick_last=[clock.tick_last for clock in clocks],
        start_s=[clock.start_ns / 1e9 if clock.timed else None for clock in clocks],
        end_s=[clock.end_ns / 1e9 if clock.timed else None for clock in clocks],
        io_time_s=[clock.busy_ns / 1e9 if clock.timed else None for clock in clocks],
    )
    return list(found)


def _short_end(parts: Sequence[RankPhase]) -> tuple[int, ...] | None:
    """Bytes that each member's last repetition moved, where they are not all that was asked for, alike on all ranks."""
    members = parts[0].members
    if len(parts) == len(members) == 1:  # most are
        (member,) = members
        return None if member.last_moved == member.last_size else (member.last_moved,)
    last = tuple([member.last_moved for member in members])
    if len(parts) > 1 and [one for one in parts[1:] if one.moved_last != last]:
        return None
    return None if last == tuple([member.last_size for member in members]) else last


def _is_linear(offsets: Sequence[Offsets]) -> bool:
    return not [one for one in offsets if not isinstance(one, LinearOffsets)]


def _patterns(activity: Activity, parts: Sequence[RankPhase]) -> list[tuple[PatternMember, ...]]:
    """The pattern of each of these parts."""
    names = {code: op.name for code, op in activity.rows.ops.items()}
    single = [part.n_rep == 1 or not part.offsets_known for part in parts]
    members = PatternMember.of_columns(
        iop_type=[names[op] for part in parts for op in part.ops],
        handle=[slot for part in parts for slot in part.slots],
        rs=[member.size for part in parts for member in part.members],
        disp=[
            None if alone else member.step
            for part, alone in zip(parts, single, strict=True)
            for member in part.members
        ],
        disp_view=[disp for part in parts for disp in part.disp_view or (None,) * len(part.ops)],
        dist=[dist for of_part in _dists(parts, activity) for dist in of_part],
    )
    ends = list(accumulate([len(part.ops) for part in parts], initial=0))
    return [members[low:high] for low, high in pairwise(ends)]


def _dists(parts: Sequence[RankPhase], activity: Activity) -> list[list[tuple[int, int] | None]]:
    """(tick, subtick) between the first two repetitions of each member, of each part."""
    data, table = activity.data, activity.rows.table
    n_members = [len(part.ops) if part.n_rep > 1 else 0 for part in parts]
    n = np.array(n_members, dtype=np.int64)
    low = np.repeat(np.array([part.low for part in parts], dtype=np.int64), n)
    ends = np.cumsum(n)
    first = low + np.arange(len(low)) - np.repeat(ends - n, n)
    ticks = []
    for operation in (first, first + np.repeat(n, n)):
        row, within = data.locate(operation)
        source = data.row[row]
        ticks.append(
            (
                table.tick[source] + within * table.tick_step[source],
                table.subtick[source] + within * table.subtick_step[source],
            )
        )
    both = ((after - before).tolist() for before, after in zip(*ticks, strict=True))
    dists = list(zip(*both, strict=True))
    return [
        list(dists[end - count : end]) if count else [None] * len(part.ops)
        for part, count, end in zip(parts, n_members, ends.tolist(), strict=True)
    ]


# --- operations that move no data -----------------------------------------------------------------

_KIND_LABELS = {RowKind.NULL_SEEK: " (moves nothing)", RowKind.EMPTY: " (moves nothing)"}


def _metadata(activity: Activity, ph_id: Int64Array) -> dict[int, dict[str, int]]:
    """Calls that move no data, by phase and name.

    They belong to the phase of the rank's last data operation on the file before them; opens, and
    what comes before its first data operation, to that of the next.
    """
    rows, data, parts = activity.rows, activity.data, activity.parts
    table = rows.table
    kinds = (RowKind.EMPTY, RowKind.NULL_SEEK, RowKind.SEEK, RowKind.FILE)
    # Of a call on two names of a file the row of the new name counts.
    index = np.flatnonzero(np.isin(rows.kind, kinds) & ~arguments.is_old_of_two_names(table))
    if not len(index) or not parts:
        return {}
    starts = np.flatnonzero(np.diff(data.stream, prepend=-1))
    n_files = int(table.file.max()) + 1
    n_ranks = int(table.rank.max()) + 1

    def key(level: UInt8Array, file: Int32Array, rank: Int32Array) -> Int64Array:
        joined: Int64Array = (level.astype(np.int64) * n_files + file) * n_ranks + rank
        return joined

    keys = key(data.level[starts], data.file[starts], data.rank[starts])
    n_rows = len(table) + 1
    places = data.stream * n_rows + data.row
    lows = np.array([part.low for part in parts], dtype=np.int64)
    opening = activity.codes(lambda op: op.kind == OpKind.OPEN)
    totals: dict[int, int] = defaultdict(int)
    at_once = activity.work.metadata_rows
    for begin in range(0, len(index), at_once):
        some = index[begin : begin + at_once]
        wanted = key(rows.level[some], table.file[some], table.rank[some])
        stream = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        known = keys[stream] == wanted
        some, stream = some[known], stream[known]
        before = np.searchsorted(places, stream * n_rows + some) - 1
        after = np.minimum(before + 1, len(data) - 1)
        leading = (before < starts[stream]) | (
            opening[table.op[some]] & (after > before) & (data.stream[after] == stream)
        )
        before = np.where(leading, after, before)
        # Of a block's row the first operation: no part ends inside a block.
        last = np.where(data.block[before] >= 0, 0, data.count[before] - 1)
        operation = data.first_op[before] + np.where(leading, 0, last)
        phase = ph_id[np.searchsorted(lows, operation, side="right") - 1]
        failed = (table.error[some] != 0).astype(np.int64)
        joined = ((phase * 8 + rows.kind[some]) * 2 + failed) * 256 + table.op[some]
        distinct, which = distinct_rows([joined])
        sums = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(sums, which, table.count[some])
        for value, total in zip(distinct[:, 0].tolist(), sums.tolist(), strict=True):
            totals[value] += total
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for value, total in sorted(totals.items()):
        rest, op = divmod(value, 256)
        rest, failure = divmod(rest, 2)
        number, kind = divmod(rest, 8)
        name = rows.ops[op].name + (" (failed)" if failure else _KIND_LABELS.get(kind, ""))
        found[number][name] = total
    return found
