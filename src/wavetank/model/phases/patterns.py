"""Finds the repeated operation patterns in each rank's operations on each file.

Reads ``DataRows``; leaves ranges of operations with the length of the pattern that repeats in
them. Ranges never cross a boundary, cover every operation once, and are the same however the
trace was folded. Source: method, section 2.

How: neighbouring operations of the same kind and similar size are one stretch. Inside a stretch,
displacements that change from one regular value to another split it. A part of ``Thresholds.run_operations``
operations or more stands alone unless a longer pattern repeats it (``nested_patterns``); between such parts a
pattern of several operations is looked for, the one that covers most, the shortest of those that
cover as much.

Why neighbours are compared, and not all operations with one: similar sizes are those within a window of each other. Of
three, the first may be similar to the second, the second to the third, and the first not to the third. There are no
classes of similar sizes that could be made once.

Why only a change from one regular displacement to another splits: taken to the letter, each change of displacement begins a
phase. A random reader has then nearly as many phases as operations. What lies between regular parts is one phase with a list.

Why runs stand alone, unless a pattern of runs is the shorter description: 40 writes and then 40 reads are two phases to any
reader, and (write x 5, read) x 100 is one.

Why no operation is left out, and ranges do not depend on folding: programs and kernels are made of these ranges. A trace
of single operations and one that the tracer folded are to give the same model.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.model.document.access_runs import Steps, steps_of
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.events.streams import DataRows
from wavetank.model.phases.irregular_stretches import join_irregular
from wavetank.model.phases.member_cuts import with_member_cuts
from wavetank.model.phases.nested_patterns import Stretches, find_nested
from wavetank.model.phases.periods import Found, find_each, find_periods
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN, BoolArray, Int64Array

_BEGINNING = 1 << 10  # operations of a list that are looked at first
_TOGETHER = 1 << 8
"""Short stretches in which patterns are looked for at a time."""


@dataclass(frozen=True)
class Ranges:
    """Stretches of operations, numbered as in ``DataRows.first_op``, half open, ascending."""

    low: Int64Array
    high: Int64Array
    period: Int64Array

    def __len__(self) -> int:
        return len(self.low)


def find_patterns(
    data: DataRows, separated: BoolArray, rules: Rules, several: Collection[int] = ()
) -> Ranges:
    """Ranges of operations that repeat one pattern.

    Args:
        data: operations by stream.
        separated: shape (rows - 1,), whether a boundary lies between a row and the next.
        rules: what is similar.
        several: files that stand for several, which are used one after another.
    """
    n = len(data)
    if n == 0:
        none = np.zeros(0, dtype=np.int64)
        return Ranges(none, none, none)
    symbol = _symbols(data)
    mixed = mixed_rows(data, rules)
    linked = ~separated & (symbol[1:] == symbol[:-1]) & _similar_sizes(data, rules)
    linked &= ~mixed[1:] & ~mixed[:-1]
    together = _of_several(data, symbol, separated, several, rules) if len(several) else None
    if together is not None:
        linked = np.where(
            together[1:] & together[:-1], ~separated & (symbol[1:] == symbol[:-1]), linked
        )
        linked &= together[1:] == together[:-1]
    start = np.flatnonzero(np.append(True, ~linked))  # first row of each stretch
    stop = np.append(start[1:], n)
    whole = np.zeros(len(start), dtype=bool) if together is None else together[start]
    low, high = _part_by_displacement(data, start[~whole], stop[~whole], rules)
    order = np.argsort(low)
    low, high = low[order], high[order]
    patterns, low, high = find_nested(_stretches(data, symbol, separated, low, high), rules)
    last = stop[whole] - 1
    ranges = [
        Ranges(*with_member_cuts(data, patterns, rules).T),
        Ranges(
            data.first_op[start[whole]], data.first_op[last] + data.count[last], np.ones_like(last)
        ),
    ]
    # Short pieces next to each other, with no boundary between, may hold a longer pattern.
    short = high - low < rules.thresholds.run_operations
    with_next = np.zeros(len(low), dtype=bool)
    with_next[:-1] = short[:-1] & short[1:] & _linked(data, separated, low, high)
    with_previous = np.append(False, with_next[:-1])
    alone = ~with_next & ~with_previous
    ranges.append(Ranges(low[alone], high[alone], np.ones(int(alone.sum()), dtype=np.int64)))
    first = np.flatnonzero(with_next & ~with_previous)
    last = np.flatnonzero(with_previous & ~with_next)
    found = _search(data, symbol, low[first], high[last], rules)
    ranges.append(Ranges(*with_member_cuts(data, found, rules).T))
    merged = Ranges(
        *(
            np.concatenate([getattr(part, name) for part in ranges])
            for name in ("low", "high", "period")
        )
    )
    order = np.argsort(merged.low)
    columns = merged.low[order], merged.high[order], merged.period[order]
    return Ranges(*join_irregular(data, symbol, separated, columns, rules, mixed))


def _of_several(
    data: DataRows,
    symbol: Int64Array,
    separated: BoolArray,
    several: Collection[int],
    rules: Rules,
) -> BoolArray:
    """Rows in stretches of one call on files one after another, whose sizes follow no rule.

    What a few of them have in common is chance, and parts nothing.
    """
    least = rules.thresholds.similar_operations
    found = np.isin(data.file, list(several)) & (data.block < 0) & (data.listed < 0)
    if not found.any():
        return found
    linked = ~separated & (symbol[1:] == symbol[:-1]) & found[1:] & found[:-1]
    start = np.flatnonzero(np.append(True, ~linked))
    stop = np.append(start[1:], len(data))
    long = (stop - start >= least) & found[start]
    chosen = np.zeros(len(data), dtype=bool)
    for a, b in zip(start[long].tolist(), stop[long].tolist(), strict=True):
        moved = data.moved[a : min(b, a + 4 * _BEGINNING)]
        chosen[a:b] = len(np.unique(moved)) >= least
    return chosen


def mixed_rows(data: DataRows, rules: Rules) -> BoolArray:
    """Rows whose sizes are listed and not similar throughout."""
    mixed = np.zeros(len(data), dtype=bool)
    for row in np.flatnonzero(data.sized >= 0).tolist():
        size = data.lists.size[data.sized[row] :][: data.count[row]]
        for part in (size[:_BEGINNING], size):  # most show it at once
            mixed[row] = mixed[row] or not rules.similar(part[:-1], part[1:]).all()
    return mixed


def _similar_sizes(data: DataRows, rules: Rules) -> BoolArray:
    """Whether each row's last operation and the next row's first one are of similar size: shape (rows - 1,)."""
    last = data.size.copy()
    for row in np.flatnonzero(data.sized >= 0).tolist():
        last[row] = data.lists.size[data.sized[row] + data.count[row] - 1]
    return rules.similar(last[:-1], data.size[1:])


def boundaries(data: DataRows, start_ns: Int64Array, end_ns: Int64Array, rules: Rules) -> BoolArray:
    """Whether a boundary lies between a row and the next: shape (rows - 1,).

    Args:
        data: operations by stream.
        start_ns: of the data rows, ns; UNKNOWN where not recorded.
        end_ns: likewise.
        rules: what lies between two phases.
    """
    separated: BoolArray = (data.stream[1:] != data.stream[:-1]) | (data.view[1:] != data.view[:-1])
    for level, splits in rules.split_at_communication.items():
        if splits:
            separated |= (data.level[1:] == level) & (data.comm[1:] > data.comm[:-1])
    if rules.split_at_computation_s is not None:
        gap = start_ns[1:] - end_ns[:-1]
        known = (start_ns[1:] != UNKNOWN) & (end_ns[:-1] != UNKNOWN)
        separated |= known & (gap > rules.split_at_computation_s * 1e9)
    return separated


def _symbols(data: DataRows) -> Int64Array:
    """What must be equal in operations of one pattern member: call and handle."""
    return (data.slot.astype(np.int64) << 8) | data.op


def _linked(data: DataRows, separated: BoolArray, low: Int64Array, high: Int64Array) -> BoolArray:
    """Whether each stretch is followed by the next one, with no boundary between: shape (stretches - 1,)."""
    row = np.searchsorted(data.first_op, low, side="right") - 1
    crosses = (data.first_op[row] == low) & np.append(True, separated)[row]
    linked: BoolArray = (low[1:] == high[:-1]) & ~crosses[1:]
    return linked


def _stretches(
    data: DataRows, symbol: Int64Array, separated: BoolArray, low: Int64Array, high: Int64Array
) -> Stretches:
    row = np.searchsorted(data.first_op, low, side="right") - 1
    return Stretches(low, high, symbol[row], data.size[row], _linked(data, separated, low, high))


# --- one operation --------------------------------------------------------------------------------


def _part_by_displacement(
    data: DataRows, start: Int64Array, stop: Int64Array, rules: Rules
) -> tuple[Int64Array, Int64Array]:
    """Part stretches of rows [start, stop) where the displacement changes. Ranges of operations."""
    if not len(start):
        return start, stop
    rows = np.concatenate([[0], np.cumsum(stop - start)])
    index = np.repeat(start - rows[:-1], stop - start) + np.arange(rows[-1])
    link = np.ones(max(len(index) - 1, 0), dtype=bool)
    link[rows[1:-1] - 1] = False
    offset, disp = data.offset[index], data.disp[index]
    unknown = offset == UNKNOWN
    if unknown.any():
        offset, disp = np.where(unknown, 0, offset), np.where(unknown, 0, disp)
    if len(data.gap_row):
        place = np.searchsorted(index, data.gap_row)
        offset = _over_gaps(offset, place, data.gap_members)
    listed = data.listed[index] >= 0
    steps = steps_of(data.count[index], offset, disp, link, listed)
    low = data.first_op[start]
    high = data.first_op[stop - 1] + data.count[stop - 1]
    # From positions within these rows to numbers of operations.
    count = data.count[index]
    position = np.concatenate([[0], np.cumsum(count)])[rows]
    owner = np.searchsorted(position, steps.first, side="right") - 1
    first = steps.first - position[owner] + low[owner]
    n = steps.n
    change = np.zeros(len(n), dtype=bool)
    similar = rules.similar(steps.value[:-1], steps.value[1:])
    similar &= ~steps.irregular[1:] & ~steps.irregular[:-1]
    change[1:] = (owner[1:] == owner[:-1]) & ~similar
    if not change.any():
        return low, high
    broken = np.unique(owner[change])
    kept = np.ones(len(low), dtype=bool)
    lows, highs = [], []
    edges = (np.searchsorted(owner, broken + side).tolist() for side in (0, 1))
    for stretch, a, b in zip(broken.tolist(), *edges, strict=True):
        cuts = _cuts(
            Steps(steps.value[a:b], n[a:b], first[a:b], steps.joined[a:b], steps.irregular[a:b]),
            change[a:b], int(low[stretch]), int(high[stretch]), rules.thresholds,
        )  # fmt: skip
        if len(cuts):
            kept[stretch] = False
            bounds = np.concatenate([[low[stretch]], cuts, [high[stretch]]])
            lows.append(bounds[:-1])
            highs.append(bounds[1:])
    return np.concatenate([low[kept], *lows]), np.concatenate([high[kept], *highs])


def _cuts(steps: Steps, change: BoolArray, low: int, high: int, limits: Thresholds) -> Int64Array:
    """Where a stretch of operations [low, high) comes apart: first operations of the later parts."""
    starts = np.flatnonzero(np.append(True, change[1:]))
    begin = steps.first[starts]
    end = np.append(begin[1:], high - 1) + 1  # operations [begin, end), neighbours share one
    bounds: list[int] = []
    position = low
    # A few like steps that are not equal are chance.
    single = np.diff(starts, append=len(steps.value)) == 1
    irregular = steps.irregular.any()
    of_parts = np.where(single & ~irregular, limits.run_operations, limits.similar_operations)
    some = (end - begin >= of_parts) & ~steps.irregular[starts]  # no others can be parts
    # One operation may be the part's before it. Each part but the last has a bound behind it.
    if np.count_nonzero(some & (end - begin > of_parts)) - 1 > limits.pieces:
        return np.zeros(0, dtype=np.int64)
    for a, b, least in zip(
        begin[some].tolist(), end[some].tolist(), of_parts[some].tolist(), strict=True
    ):
        first = max(a, position)
        if b - first < least:
            continue
        bounds.extend(bound for bound in (first, b) if bound not in (low, high, *bounds[-1:]))
        position = b
        if len(bounds) > limits.pieces:
            return np.zeros(0, dtype=np.int64)
    return np.array(bounds, dtype=np.int64)


# --- several operations ---------------------------------------------------------------------------


def _over_gaps(offset: Int64Array, place: Int64Array, members: Int64Array) -> Int64Array:
    """Offsets as if those behind a gap followed on those before it."""
    step = np.diff(offset, prepend=0)
    jump = np.zeros(len(offset), dtype=np.int64)
    jump[place] = step[place] - step[place - members]
    closed: Int64Array = offset - np.cumsum(jump)
    return closed


def _search(
    data: DataRows, symbol: Int64Array, low: Int64Array, high: Int64Array, rules: Rules
) -> Int64Array:
    """Patterns (low, high, period) of several operations in stretches [low, high), all in few operations per row."""
    length = high - low
    first = np.cumsum(length) - length
    index, within = data.locate(np.repeat(low - first, length) + np.arange(int(length.sum())))
    symbols, sizes = symbol[index], data.sizes(index, within)
    # Many ranks and files have stretches of the same operations.
    numbers: dict[tuple[bytes, bytes], int] = {}
    which = []
    places: list[tuple[int, int]] = []  # of the different stretches, first and number of operations
    for at, n in zip(first.tolist(), length.tolist(), strict=True):
        key = (
            (symbols[at : at + n].tobytes(), sizes[at : at + n].tobytes())
            if n <= rules.work.pattern_operations
            else (b"", b"%d" % at)
        )
        which.append(numbers.setdefault(key, len(places)))
        if which[-1] == len(places):
            places.append((at, n))
    patterns = _all_periods(symbols, sizes, places, rules)
    found = [
        (base + a, base + b, period)
        for base, number in zip(low.tolist(), which, strict=True)
        for a, b, period in patterns[number]
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _all_periods(
    symbols: Int64Array, sizes: Int64Array, places: Sequence[tuple[int, int]], rules: Rules
) -> list[Found]:
    """Patterns of each stretch: ``n`` operations from ``at`` on."""
    found: dict[int, Found] = {}
    short = [number for number, (_, n) in enumerate(places) if n <= rules.work.pattern_operations]
    for begin in range(0, len(short), _TOGETHER):
        some = short[begin : begin + _TOGETHER]
        index = np.concatenate([np.arange(at, at + n) for at, n in map(places.__getitem__, some)])
        edges = np.cumsum([0, *(places[number][1] for number in some)])
        each = find_each(symbols[index], sizes[index], edges, rules, rules.thresholds.pieces)
        found.update(
            (number, one) for number, one in zip(some, each, strict=True) if one is not None
        )
    return [
        found[number]
        if number in found
        else _periods(symbols[at : at + n], sizes[at : at + n], rules)
        for number, (at, n) in enumerate(places)
    ]


def _periods(symbols: Int64Array, sizes: Int64Array, rules: Rules) -> Found:
    found = find_periods(symbols, sizes, rules, rules.thresholds.pieces)
    if found is None:
        # Sizes without any regularity: the order of the calls alone makes the pattern.
        found = find_periods(symbols, np.ones_like(sizes), rules, len(symbols)) or []
    return found
