"""Relates the levels of a run: which POSIX phases an MPI-IO phase became, and on which ranks.

A collective MPI-IO call is performed by a few ranks, the aggregators, in requests of another size
(P16 works this out by hand). A POSIX call belongs to the MPI-IO call that contains it in time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wavetank.model.document.model import LevelRelation
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.phases.activity import Activity
from wavetank.trace.schema import Int64Array, Level


def phases_of_rows(activity: Activity, ph_id: Int64Array) -> Int64Array:
    """For each row of the trace the number of its phase, -1 where it is in none.

    Args:
        activity: the trace.
        ph_id: for each part of the activity the number of its phase.
    """
    found = np.full(len(activity.rows.table), -1, dtype=np.int64)
    found[activity.data.row] = ph_id[activity.parts.of_rows(activity.data)]
    return found


def relate_levels(activity: Activity, ph_id: Int64Array) -> tuple[LevelRelation, ...]:
    """One relation for each pair of an MPI-IO phase and a POSIX phase made in its calls.

    Args:
        activity: the trace.
        ph_id: for each part of the activity the number of its phase.
    """
    rows, table = activity.rows, activity.rows.table
    made = activity.data.row  # rows by stream
    made = made[(rows.level[made] == Level.POSIX) & (rows.inside[made] >= 0)]
    made = made[rows.kind[rows.inside[made]] == RowKind.DATA]
    if not len(made):
        return ()
    phase = phases_of_rows(activity, ph_id)
    above, below = phase[rows.inside[made]], phase[made]
    some = above >= 0  # the MPI-IO level may be left out
    made, above, below = made[some], above[some], below[some]
    n_phases = int(ph_id.max()) + 1
    if not len(made):
        return ()
    # The rows of each pair of phases in sequence, those of each rank together.
    pair = above * n_phases + below
    order = np.lexsort((table.rank[made], pair))
    pair, made = pair[order], made[order]
    rank = table.rank[made]
    new_pair = np.append(True, pair[1:] != pair[:-1])
    start = np.flatnonzero(new_pair)
    of_rank = np.flatnonzero(new_pair | np.append(True, rank[1:] != rank[:-1]))
    ranks = rank[of_rank].tolist()
    bounds = pairwise([*np.searchsorted(of_rank, start).tolist(), len(ranks)])
    size = table.size[made]
    return LevelRelation.of_columns(
        ph_id=(pair[start] // n_phases).tolist(),
        below=(pair[start] % n_phases).tolist(),
        ranks=[tuple(ranks[low:high]) for low, high in bounds],
        n_operations=np.add.reduceat(rows.n[made], start).tolist(),
        moved=np.add.reduceat(rows.moved[made], start).tolist(),
        rs_min=np.minimum.reduceat(size, start).tolist(),
        rs_max=np.maximum.reduceat(size, start).tolist(),
    )
