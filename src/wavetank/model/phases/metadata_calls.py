"""Calls that move no data, by the phases that they belong to."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from wavetank.model.columns import starts, sums
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.phases.activity import Activity
from wavetank.trace import arguments
from wavetank.trace.distinct import distinct_rows
from wavetank.trace.ops import OPS, codes_where
from wavetank.trace.schema import Int32Array, Int64Array, OpKind, UInt8Array

_LABELS = {RowKind.NULL_SEEK: " (moves nothing)", RowKind.EMPTY: " (moves nothing)"}


def calls_of_phases(activity: Activity, of_part: Int64Array) -> dict[int, dict[str, int]]:
    """How often each call was made, by phase (``of_part`` of each part) and name.

    Calls belong to the phase of the rank's last data operation on the file before them; opens, and
    what comes before its first data operation, to that of the next.
    """
    rows, data, parts = activity.rows, activity.data, activity.parts
    table = rows.table
    kinds = (RowKind.EMPTY, RowKind.NULL_SEEK, RowKind.SEEK, RowKind.FILE)
    # Of a call on two names of a file the row of the new name counts.
    some = np.flatnonzero(np.isin(rows.kind, kinds) & ~arguments.is_old_of_two_names(table))
    if not len(some) or not len(parts):
        return {}
    n_files, n_ranks = int(table.file.max()) + 1, int(table.rank.max()) + 1

    def key(level: UInt8Array, file: Int32Array, rank: Int32Array) -> Int64Array:
        joined: Int64Array = (level.astype(np.int64) * n_files + file) * n_ranks + rank
        return joined

    # Rows of streams by level, file, rank and time: those of irregular orders lie apart by call.
    of_data = key(rows.level[data.row], table.file[data.row], table.rank[data.row])
    order = np.lexsort((data.row, of_data))
    of_data, row, phase = of_data[order], data.row[order], of_part[_parts_at(activity)][order]
    first = starts(of_data)
    wanted = key(rows.level[some], table.file[some], table.rank[some])
    stream = np.minimum(np.searchsorted(of_data[first], wanted), len(first) - 1)
    known = of_data[first][stream] == wanted
    some, stream = some[known], stream[known]
    n_rows = len(table) + 1
    before = np.searchsorted(np.cumsum(np.append(0, of_data[1:] != of_data[:-1])) * n_rows + row, stream * n_rows + some) - 1  # fmt: skip
    after = np.minimum(before + 1, len(row) - 1)
    opening = codes_where(lambda op: op.kind == OpKind.OPEN)[table.op[some]]
    has_next = (after > before) & (of_data[after] == of_data[first][stream])
    leading = (before < first[stream]) | (opening & has_next)
    last = of_part[_parts_at(activity, last=True)][order]
    of = np.where(leading, phase[np.where(leading, after, 0)], last[before])
    failed = table.error[some] != 0
    columns = [of, rows.kind[some], failed.astype(np.int64), table.op[some]]
    distinct, which = distinct_rows(columns)
    n = sums(rows.n[some], which, len(distinct))
    found: dict[int, dict[str, int]] = defaultdict(dict)
    listed = np.column_stack([distinct, n])[np.lexsort(distinct.T[::-1])]
    for number, kind, failure, op, total in listed.tolist():
        name = OPS[op].name + (" (failed)" if failure else _LABELS.get(kind, ""))
        found[number][name] = total
    return found


def _parts_at(activity: Activity, *, last: bool = False) -> Int64Array:
    """The part that the first or the last operation of each row of the streams is of."""
    data = activity.data
    operation = data.first_op
    if last:
        operation = operation + activity.rows.table.count[data.row] - 1
    return np.searchsorted(activity.parts.low, operation, side="right") - 1
