"""The different calls that move no data, as steps of programs."""

from __future__ import annotations

import numpy as np

from wavetank.model.document.program import FileStep, given_by_number
from wavetank.model.events.file_identity import NAMED_OPS
from wavetank.model.events.row_kinds import NEXT_DATA, RowKind
from wavetank.model.phases.activity import Activity
from wavetank.trace.distinct import distinct_rows
from wavetank.trace.ops import DATA_KINDS
from wavetank.trace.schema import UNKNOWN, Int64Array, OpKind

_BY_POINTER = frozenset({"read", "readv", "write", "writev"})


Known = dict[tuple[int, ...], int]
"""Numbers of file steps by what they are made from."""


def distinct_steps(
    activity: Activity, index: Int64Array, file_steps: list[FileStep], known: Known | None = None
) -> Int64Array:
    """Number the different file steps of some rows, and append those that are not ``known`` to ``file_steps``."""
    known = {} if known is None else known
    rows, table = activity.rows, activity.rows.table
    if not len(index):
        return index
    kind, codes, file = rows.kind[index], table.op[index], table.file[index]
    position = np.full(len(index), UNKNOWN, dtype=np.int64)
    seeks = np.flatnonzero((kind == RowKind.SEEK) | (kind == RowKind.NULL_SEEK))
    position[seeks] = rows.target[index[seeks]]
    empty = kind == RowKind.EMPTY
    is_data = activity.codes(lambda op: op.kind in DATA_KINDS)
    sized = empty | (is_data[codes] & (kind == RowKind.FILE))  # of no bytes, or failed
    position[sized] = table.offset[index[sized]]
    if activity.families:  # where a member ends is no part of what is done with it
        by_pointer = activity.codes(lambda op: op.name in _BY_POINTER)[codes]
        position[empty & by_pointer & np.isin(file, list(activity.families))] = UNKNOWN
    details, given = table.details, table.given[index]
    distinct, inverse = distinct_rows(
        (
            file,
            rows.slot[index],
            codes,
            position,
            np.where(sized, table.size[index], 0),
            details.communicator[given],
            details.number[given],
            details.hints[given],
            table.view[index],
            details.name[given],
            table.error[index],
        )
    )
    numbers = np.empty(len(distinct), dtype=np.int64)
    for place, row in enumerate(distinct.tolist()):
        numbers[place] = known.setdefault(tuple(row), len(file_steps))
        if numbers[place] < len(file_steps):
            continue
        file, slot, code, at, asked, communicator, number, info_id, view, name, error = row
        op = rows.ops[code]
        file_steps.append(
            FileStep.model_construct(
                iop_type=op.name,
                file_id=activity.file_ids[file],
                handle=slot,
                size=asked,
                offset=None if at in (NEXT_DATA, UNKNOWN) else at,
                view_id=view if op.kind == OpKind.VIEW and view != UNKNOWN else None,
                info_id=info_id if info_id != UNKNOWN else None,
                communicator=communicator if communicator != UNKNOWN else None,
                name=name if op.name in NAMED_OPS else 0,
                error=error,
                **given_by_number(op.name, number),
            )
        )
    return numbers[inverse]
