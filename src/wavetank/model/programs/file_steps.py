"""The different calls that move no data, as steps of programs."""

from __future__ import annotations

import numpy as np

from wavetank.model.columns import numbered
from wavetank.model.document.program import FileStep, given_by_number
from wavetank.model.events.codes import MOVES_DATA
from wavetank.model.events.file_identity import NAMED_OPS
from wavetank.model.events.row_kinds import NEXT_DATA, RowKind
from wavetank.model.phases.activity import Activity
from wavetank.trace.ops import OPS, codes_where
from wavetank.trace.schema import UNKNOWN, Int64Array, OpKind

_BY_POINTER = frozenset({"read", "readv", "write", "writev"})


def distinct_steps(activity: Activity, index: Int64Array) -> tuple[Int64Array, list[FileStep]]:
    """The different file steps of some rows, in the order in which they come first, and for each row its number."""
    rows, table = activity.rows, activity.rows.table
    if not len(index):
        return index, []
    kind, codes, file = rows.kind[index], table.op[index], table.file[index]
    position = np.full(len(index), UNKNOWN, dtype=np.int64)
    seeks = np.flatnonzero((kind == RowKind.SEEK) | (kind == RowKind.NULL_SEEK))
    position[seeks] = rows.target[index[seeks]]
    empty = kind == RowKind.EMPTY
    sized = empty | (MOVES_DATA[codes] & (kind == RowKind.FILE))  # of no bytes, or failed
    position[sized] = table.offset[index[sized]]
    if activity.families:  # where a member ends is no part of what is done with it
        by_pointer = codes_where(lambda op: op.name in _BY_POINTER)[codes]
        position[empty & by_pointer & np.isin(file, list(activity.families))] = UNKNOWN
    details, given = table.details, table.given[index]
    columns = (
        file, rows.slot[index], codes, position, np.where(sized, table.size[index], 0), details.communicator[given],
        details.number[given], details.hints[given], table.view[index], details.name[given], table.error[index],
    )  # fmt: skip
    numbers, first = numbered(*columns)
    found = []
    for row in zip(*(column[first].tolist() for column in columns), strict=True):
        of_file, slot, code, at, asked, communicator, number, info_id, view, name, error = row
        op = OPS[code]
        found.append(
            FileStep.model_construct(
                iop_type=op.name,
                file_id=activity.file_ids[of_file],
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
    return numbers, found
