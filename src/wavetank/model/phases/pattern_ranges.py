"""The ranges of operations that repeat one pattern, over a whole trace.

Reads rows and data rows; leaves ranges, and the rows fit for them: irregular orders taken apart, loops cut where a pattern begins.
"""

from __future__ import annotations

from collections.abc import Collection

from wavetank.model.events.rows import Rows
from wavetank.model.events.streams import DataRows, data_rows
from wavetank.model.phases.irregular_orders import apart, find_irregular_orders, loops_inside
from wavetank.model.phases.loop_samples import sample_loops
from wavetank.model.phases.loop_splitting import cut_at, without_loops
from wavetank.model.phases.patterns import Ranges, boundaries, find_patterns
from wavetank.model.rules import Rules


def find_ranges(
    rows: Rows,
    data: DataRows,
    levels: tuple[int, ...],
    rules: Rules,
    several: Collection[int] = (),
) -> tuple[Rows, DataRows, Ranges]:
    """The patterns, and the rows with their loops cut where a pattern begins.

    Why rows come out again, and others than went in: loops were found before anybody knew of patterns. A pattern may begin
    inside a loop, and a loop may lie inside an irregular order. Such a loop is cut, or taken apart into single operations.

    Why it calls itself then: other rows have other streams, in which irregular orders are looked for anew. It ends, since
    each call has fewer loops or shorter ones.

    ``several``: files that stand for several, which are used one after another.
    """
    table = rows.table
    separated = boundaries(data, table.start_ns[data.row], table.end_ns[data.row], rules)
    spans = find_irregular_orders(data, separated, table, rules.thresholds)
    if len(loops := loops_inside(data, spans)):
        rows = without_loops(rows, data, loops)
        return find_ranges(rows, data_rows(rows, levels), levels, rules, several)
    if len(spans):
        data = apart(data, spans)
    ranges = _patterns(rows, data, rules, several)
    cut = cut_at(rows, data, ranges.low)
    if cut is rows:
        return rows, data, ranges
    again = data_rows(cut, levels)
    if not len(spans):
        return cut, again, ranges
    # The same operations are mixed whether their loops are cut or not.
    return find_ranges(cut, again, levels, rules, several)


def _patterns(rows: Rows, data: DataRows, rules: Rules, several: Collection[int]) -> Ranges:
    proxy, way = sample_loops(data, rules.thresholds.sampled_repetitions)
    table = rows.table
    separated = boundaries(proxy, table.start_ns[proxy.row], table.end_ns[proxy.row], rules)
    found = find_patterns(proxy, separated, rules, several)
    return Ranges(way.back(found.low), way.back(found.high), found.period)
