"""Makes the phases of a model out of the ranks' parts, numbers them and finds their series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wavetank.model.across import Group, offsets_of
from wavetank.model.activity import Activity
from wavetank.model.names import ON_TWO_NAMES
from wavetank.model.phase import LinearOffsets, PatternMember, Phase, Series
from wavetank.model.rank_phase import RankPhase
from wavetank.model.row_kind import RowKind
from wavetank.trace.distinct import distinct_rows
from wavetank.trace.schema import UNKNOWN, Int32Array, Int64Array, Level, OpKind, UInt8Array

_AT_A_TIME = 1 << 19
"""Calls that move no data that are given to phases at a time: each takes 150 bytes while it is."""


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
    by_group = [_GroupTimes(*numbers) for numbers in _of_groups(groups, times, launched)]
    keys = [
        (*_order(activity.parts[group.parts[0]], activity, clock, own_ticks), number)
        for number, (group, clock) in enumerate(zip(groups, by_group, strict=True))
    ]
    order = [(groups[key[-1]], by_group[key[-1]]) for key in sorted(keys)]
    ph_id = np.zeros(len(activity.parts), dtype=np.int64)
    for number, (group, _) in enumerate(order, start=1):
        ph_id[list(group.parts)] = number
    metadata = _metadata(activity, ph_id)
    dists = _dists([activity.parts[group.parts[0]] for group, _ in order], activity)
    phases = [
        _phase(activity, number, group, clock, dist, metadata.get(number, {}), collective_unknown)
        for number, ((group, clock), dist) in enumerate(zip(order, dists, strict=True), start=1)
    ]
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


def _order(
    first: RankPhase, activity: Activity, clock: _GroupTimes, own_ticks: bool
) -> tuple[bool, int, int, int, int]:
    return (
        first.level != activity.own_level[first.file],
        clock.launched,
        clock.most_tick if own_ticks else clock.least_tick,
        clock.seq,
        first.rank,
    )


def _phase(
    activity: Activity,
    number: int,
    group: Group,
    clock: _GroupTimes,
    dists: Sequence[tuple[int, int] | None],
    metadata_ops: dict[str, int],
    collective_unknown: Collection[int],
) -> Phase:
    parts = [activity.parts[member] for member in group.parts]
    ops = activity.rows.ops
    first = parts[0]
    n_members = len(first.ops)
    offset = tuple([offsets_of(parts, member, in_view=False) for member in range(n_members)])
    in_view = first.view_members is not None
    views = tuple([part.view for part in parts])
    same_view = len(set(views)) == 1
    disp_view = first.disp_view
    moved_last = {part.moved_last for part in parts}
    short = moved_last != {tuple([member.last_size for member in first.members])}
    linear = all(isinstance(one, LinearOffsets) for one in offset)
    return Phase.model_construct(
        ph_id=number,
        file_id=activity.file_ids[first.file],
        level="mpiio" if first.level == Level.MPIIO else "posix",
        ph_processid=tuple([part.rank for part in parts]),
        ph_np=len(parts),
        ph_weight=sum([part.moved for part in parts]),
        ph_nrep=first.n_rep,
        ph_niop=first.n_rep * n_members,
        pattern=tuple([
            PatternMember.model_construct(
                iop_type=ops[op].name, handle=slot, rs=rs, disp=disp,
                disp_view=disp_view[position] if disp_view else None, dist=dist,
            )
            for position, (op, slot, rs, disp, dist) in enumerate(
                zip(first.ops, first.slots, first.rs, first.disp, dists, strict=True)
            )
        ]),
        offset=offset,
        offset_view=tuple(offsets_of(parts, member, in_view=True) for member in range(n_members))
        if in_view
        else None,
        view_id=views[0] if in_view and same_view else None,
        view_ids=views if in_view and not same_view else None,
        collective=any(ops[op].collective for op in first.ops),
        collective_unknown=first.file in collective_unknown,
        exact=linear and not (first.level == Level.MPIIO and first.file in collective_unknown),
        moved_last=first.moved_last if short and len(moved_last) == 1 else None,
        metadata_ops=metadata_ops,
        tick_first=clock.least_tick,
        tick_last=clock.tick_last,
        start_s=clock.start_ns / 1e9 if clock.timed else None,
        end_s=clock.end_ns / 1e9 if clock.timed else None,
        io_time_s=clock.busy_ns / 1e9 if clock.timed else None,
    )  # fmt: skip


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
    pairs = activity.codes(lambda op: op.name in ON_TWO_NAMES)[table.op]
    pairs[:-1] &= (table.op[1:] == table.op[:-1]) & (table.arg[:-1] == 0) & (table.arg[1:] == 1)
    pairs[-1:] = False
    index = np.flatnonzero(np.isin(rows.kind, kinds) & ~pairs)
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
    for begin in range(0, len(index), _AT_A_TIME):
        some = index[begin : begin + _AT_A_TIME]
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
        name = rows.ops[op].name + (" (failed)" if failure else _KIND_LABELS.get(RowKind(kind), ""))
        found[number][name] = total
    return found


# --- series -------------------------------------------------------------------------------------


def find_series(phases: Sequence[Phase]) -> list[Series]:
    """Equal phases at regular distance, e.g. the 40 writes of BT-IO (P15 table V: "1 to 40")."""
    by_shape: dict[object, list[Phase]] = defaultdict(list)
    for phase in phases:
        by_shape[_shape(phase)].append(phase)
    series = []
    for equal in by_shape.values():
        series.extend(_regular(equal))
    return sorted(series, key=lambda one: one.ph_ids)


def _shape(phase: Phase) -> object:
    """What equal phases have in common: all but where and when they are."""
    members = tuple((m.iop_type, m.handle, m.rs, m.disp, m.disp_view) for m in phase.pattern)
    views = phase.view_ids or phase.view_id
    return (
        phase.file_id,
        phase.level,
        phase.ph_processid,
        phase.ph_nrep,
        members,
        views,
        phase.ph_weight,
    )


def _regular(equal: list[Phase]) -> list[Series]:
    firsts = [_first_offsets(phase) for phase in equal]
    steps = [_step(a, b) for a, b in pairwise(firsts)]
    found = []
    begin = 0
    for position in range(1, len(equal) + 1):
        step = steps[begin] if begin < len(steps) else None
        if (
            position < len(equal)
            and steps[position - 1] == step
            and (step is not None or firsts[position] is None)
        ):
            continue
        if position - begin > 1:
            found.append(_series(equal[begin:position], step))
        begin = position
    return found


def _series(phases: list[Phase], offset_step: int | None) -> Series:
    ticks = {b.tick_first - a.tick_first for a, b in pairwise(phases)}
    dist = (ticks.pop(), 0) if len(ticks) == 1 else None
    return Series.model_construct(
        ph_ids=tuple(p.ph_id for p in phases), offset_step=offset_step, dist=dist
    )


def _first_offsets(phase: Phase) -> tuple[int, ...] | None:
    """First offset of every rank and member."""
    found: list[int] = []
    for offset in phase.offset:
        if offset.function == "linear":
            found.extend(offset.a * rank + offset.c for rank in phase.ph_processid)
        elif offset.function == "list":
            found.extend(offset.first_offsets())
        else:
            return None
    return tuple(found)


def _step(a: tuple[int, ...] | None, b: tuple[int, ...] | None) -> int | None:
    if a is None or b is None:
        return None
    steps = {y - x for x, y in zip(a, b, strict=True)}
    return steps.pop() if len(steps) == 1 else None
