"""Makes the phases of a model out of the merged parts: columns to records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wavetank.model.columns import spread
from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.phase import (  # fmt: skip
    LinearOffsets,
    ListedOffsets,
    Offsets,
    PatternMember,
    Phase,
    UnknownOffsets,
)
from wavetank.model.events.row_kinds import BESIDE_MPI
from wavetank.model.phases.activity import Activity
from wavetank.model.phases.memory_layouts import MemoryLayouts
from wavetank.model.phases.metadata_calls import calls_of_phases
from wavetank.model.phases.pattern_members import Runs
from wavetank.model.phases.rank_merging import Merged
from wavetank.trace.ops import OPS
from wavetank.trace.schema import LEVEL_NAMES, UNKNOWN, BoolArray, Int64Array, Level


def make_phases(
    activity: Activity,
    merged: Merged,
    layouts: MemoryLayouts,
    collective_unknown: Collection[int] = (),
) -> list[Phase]:
    """The phases in order.

    ``collective_unknown``: files of which it is not known which operations are, or stand for, collective MPI-IO ones.
    """
    n = len(merged)
    if not n:
        return []
    parts, members = activity.parts, activity.members
    lead, listed, first = merged.lead, merged.parts, merged.first[:-1]
    n_members = np.diff(members.part_first)[lead]
    edges = merged.first.tolist()
    bounds = np.cumsum(np.append(0, n_members)).tolist()
    patterns = _patterns(activity, lead)
    offset = _offsets(activity, merged, members.runs)
    offset_view: list[tuple[Offsets, ...] | None] = [None] * n
    view_id: list[int | None] = [None] * n
    view_ids: list[tuple[int, ...] | None] = [None] * n
    if members.runs_view is not None:
        in_view = _offsets(activity, merged, members.runs_view)
        views = parts.view[listed]
        same = np.maximum.reduceat(views, first) == np.minimum.reduceat(views, first)
        for number in np.flatnonzero(parts.view[lead] != UNKNOWN).tolist():
            offset_view[number] = in_view[number]
            if same[number]:
                view_id[number] = int(views[edges[number]])
            else:
                view_ids[number] = tuple(views[edges[number] : edges[number + 1]].tolist())
    ranks = parts.rank[listed].tolist()
    weight = np.add.reduceat(np.add.reduceat(members.moved, members.part_first[:-1])[listed], first)
    undecided = np.isin(parts.file[lead], np.array(sorted(collective_unknown), dtype=np.int64))
    collective = np.zeros(256, dtype=bool)
    collective[[code for code, op in OPS.items() if op.collective]] = True
    in_all = spread(n_members)
    of_lead = members.part_first[lead][in_all[0]] + in_all[1]
    heads = np.array(bounds[:-1], dtype=np.int64)
    is_collective = np.logical_or.reduceat(collective[members.op[of_lead]], heads)
    linear = [
        not [one for one in of_phase if type(one) is not LinearOffsets] for of_phase in offset
    ]
    exact = np.array(linear) & ~(undecided & (parts.level[lead] == Level.MPIIO))
    level = np.where(parts.level[lead] == BESIDE_MPI, Level.POSIX, parts.level[lead])
    times = merged.times
    least, most = np.minimum.reduceat, np.maximum.reduceat
    start, end = least(times.start_ns[listed], first), most(times.end_ns[listed], first)
    busy = np.add.reduceat(times.busy_ns[listed], first)
    timed = start != UNKNOWN
    metadata = calls_of_phases(activity, merged.of_part)
    return list(
        Phase.of_columns(
            ph_id=range(1, n + 1),
            file_id=activity.numbers[parts.file[lead]].tolist(),
            level=[LEVEL_NAMES[level] for level in level.tolist()],
            by_library=(~activity.is_own(parts.file[lead], parts.level[lead])).tolist(),
            ph_processid=[tuple(ranks[a:z]) for a, z in pairwise(edges)],
            ph_np=np.diff(merged.first).tolist(),
            ph_weight=weight.tolist(),
            ph_nrep=parts.n_rep[lead].tolist(),
            ph_niop=(parts.n_rep[lead] * n_members).tolist(),
            pattern=patterns,
            offset=offset,
            offset_view=offset_view,
            view_id=view_id,
            view_ids=view_ids,
            memory=layouts.of_phases(merged, n_members),
            collective=is_collective.tolist(),
            collective_unknown=undecided.tolist(),
            exact=exact.tolist(),
            moved_last=_short_ends(activity, merged),
            metadata_ops=[metadata.get(number, {}) for number in range(n)],
            not_extrapolated=[None] * n,
            tick_first=least(times.tick_first[listed], first).tolist(),
            tick_last=most(times.tick_last[listed], first).tolist(),
            start_s=_seconds(start, timed),
            end_s=_seconds(end, timed),
            io_time_s=_seconds(busy, timed),
        )
    )


def _seconds(ns: Int64Array, timed: BoolArray) -> list[float | None]:
    return [
        value / 1e9 if known else None
        for value, known in zip(ns.tolist(), timed.tolist(), strict=True)
    ]


def _cut_up(values: Sequence[Any], counts: Int64Array) -> list[tuple[Any, ...]]:
    edges = np.cumsum(np.append(0, counts)).tolist()
    return [tuple(values[a:z]) for a, z in pairwise(edges)]


def _patterns(activity: Activity, lead: Int64Array) -> list[tuple[PatternMember, ...]]:
    """The patterns of some parts."""
    parts, members = activity.parts, activity.members
    n_members = np.diff(members.part_first)[lead]
    of, nth = spread(n_members)
    at = members.part_first[lead][of] + nth
    part = lead[of]
    known = members.runs.at_first("offset")[members.part_first[part]] != UNKNOWN
    several = parts.n_rep[part] > 1

    def told(values: Int64Array, which: BoolArray) -> list[int | None]:
        return [
            value if tells else None
            for value, tells in zip(values.tolist(), which.tolist(), strict=True)
        ]

    in_view = members.runs_view.step[at] if members.runs_view else np.zeros_like(at)
    names = {code: op.name for code, op in OPS.items()}
    found = PatternMember.of_columns(
        iop_type=[names[op] for op in members.op[at].tolist()],
        handle=members.slot[at].tolist(),
        rs=members.runs.at_first("size")[at].tolist(),
        disp=told(members.runs.step[at], several & known),
        disp_view=told(in_view, several & (parts.view[part] != UNKNOWN)),
        dist=[
            (tick, subtick) if tells else None
            for (tick, subtick), tells in zip(
                members.dist[at].tolist(), several.tolist(), strict=True
            )
        ],
    )
    return _cut_up(found, n_members)


def _short_ends(activity: Activity, merged: Merged) -> list[tuple[int, ...] | None]:
    """Bytes that each member's last repetition moved, where they are not all that was asked for, alike on all ranks."""
    members = activity.members
    size, moved = members.last
    lead = merged.lead
    found: list[tuple[int, ...] | None] = [None] * len(merged)
    short = np.logical_or.reduceat(size != moved, members.part_first[:-1])
    for number in np.flatnonzero(short[lead]).tolist():
        ends = [
            tuple(moved[members.part_first[part] : members.part_first[part + 1]].tolist())
            for part in merged.parts[merged.first[number] : merged.first[number + 1]].tolist()
        ]
        if ends.count(ends[0]) == len(ends):
            found[number] = ends[0]
    return found


# --- places --------------------------------------------------------------------------------------


def _offsets(activity: Activity, merged: Merged, runs: Runs) -> list[tuple[Offsets, ...]]:
    """Where the repetitions of each pattern member of each phase lie: by a function, exactly, or as a list."""
    parts, members = activity.parts, activity.members
    n_members = np.diff(members.part_first)[merged.lead]
    n_parts = np.diff(merged.first)
    phase, nth = spread(n_members)
    owner, place = spread(n_parts[phase])  # of each member of each phase its parts
    part = merged.parts[merged.first[phase][owner] + place]
    at = members.part_first[part] + nth[owner]
    edges = np.cumsum(np.append(0, n_parts[phase]))
    head, last = edges[:-1], edges[1:] - 1
    columns = {name: runs.at_first(name)[at] for name in ("size", "moved", "disp", "offset")}
    rank, offset = parts.rank[part], columns["offset"]
    alike = runs.n[at] == 1
    for name in ("size", "moved", "disp"):
        alike &= columns[name] == columns[name][head][owner]
    span = np.maximum(rank[last] - rank[head], 1)
    a, rest = np.divmod(offset[last] - offset[head], span)
    c = offset[head] - a * rank[head]
    fits = alike & (rest == 0)[owner] & (offset == a[owner] * rank + c[owner])
    is_linear = np.logical_and.reduceat(fits & (offset != UNKNOWN), head)
    some = np.flatnonzero(is_linear)
    found: list[Offsets | None] = [None] * len(phase)
    made = LinearOffsets.of_columns(
        function=["linear"] * len(some), a=a[some].tolist(), b=columns["disp"][head[some]].tolist(), c=c[some].tolist(),
    )  # fmt: skip
    for number, one in zip(some.tolist(), made, strict=True):
        found[number] = one
    known = offset[edges[np.cumsum(np.append(0, n_members))[:-1]]][phase] != UNKNOWN
    equal = np.logical_and.reduceat(alike, head)
    for number in np.flatnonzero(~is_linear).tolist():
        mine = at[edges[number] : edges[number + 1]].tolist()
        if known[number]:
            found[number] = ListedOffsets.of([runs.of(member) for member in mine])
        else:
            sizes = None if equal[number] else ListedSizes.of([runs.of(one) for one in mine])
            found[number] = UnknownOffsets.model_construct(sizes=sizes)
    return _cut_up(found, n_members)
