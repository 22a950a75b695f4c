"""The exact order of what each rank does, in terms of phases: the programs of a model.

Reads rows and phases; leaves one Program for all ranks that do the same. Only the application's own
level counts for each file: the POSIX calls that an MPI-IO call turns into are its own affair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavetank.model.columns import numbered, starts, until
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import Program
from wavetank.model.events.codes import CHANGES_NAMES
from wavetank.model.events.process_order import ProcessEvent
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.phases.activity import Activity
from wavetank.model.programs.file_steps import distinct_steps
from wavetank.model.programs.orders import fold
from wavetank.model.programs.steps import Steps
from wavetank.model.programs.tokens import (
    WITHOUT_DATA,
    joined,
    tokens_of,
    with_pauses,
    with_processes,
    without_null_seeks,
)
from wavetank.trace.ops import codes_where
from wavetank.trace.schema import BoolArray, Int64Array


def make_programs(
    activity: Activity,
    of_part: Int64Array,
    phases: Sequence[Phase],
    pauses_s: float | None = None,
    events: Sequence[ProcessEvent] = (),
) -> tuple[Program, ...]:
    """What the ranks do, ranks that do the same together.

    Args:
        activity: the trace.
        of_part: for each part of the activity its phase, from 0.
        phases: in order.
        pauses_s: shortest pause that is kept, seconds; None keeps none.
        events: where processes begin and end, beside what a launcher started.

    Raises:
        LoopsApartError: contracted loops are no loops of a program; see ``orders``.
    """
    rows = activity.rows
    keep = _kept(activity)
    calls = np.flatnonzero(keep & np.isin(rows.kind, WITHOUT_DATA))
    number, file_steps = distinct_steps(activity, calls)
    file_step = np.zeros(len(keep), dtype=np.int64)
    file_step[calls] = number
    tokens = tokens_of(activity, keep, of_part, file_step)
    if pauses_s is not None:
        tokens = with_pauses(activity, tokens, keep, pauses_s)
    if events:
        tokens = with_processes(activity, tokens, events)
    tokens, left_out = joined(without_null_seeks(tokens, ahead=pauses_s is None))
    if not len(tokens):
        return ()
    # A symbol is all of a step but its count.
    symbol, first = numbered(tokens.kind, tokens.what, tokens.null_seeks)
    edges = starts(tokens.rank)
    orders = fold(until(edges, len(tokens)), symbol, tokens.n, left_out, len(first))
    steps = Steps(orders, tokens.take(first), phases, file_steps)
    ranks: dict[bytes, list[int]] = {}
    sequence: dict[bytes, int] = {}
    for place, rank in enumerate(tokens.rank[edges].tolist()):
        content = orders.entries[:, orders.root[place] : orders.root[place + 1]].tobytes()
        ranks.setdefault(content, []).append(rank)
        sequence.setdefault(content, place)
    return tuple(
        Program.model_construct(ranks=tuple(of_one), steps=steps.of_sequence(sequence[content]))
        for content, of_one in ranks.items()
    )


def _kept(activity: Activity) -> BoolArray:
    """Rows of the application's own calls, and of collectives."""
    rows, table = activity.rows, activity.rows.table
    own = activity.is_own(table.file, rows.level)
    # What the application does with names of files that it uses through MPI-IO. The MPI library removes files in calls that end after
    # it, and renames and links none.
    removes = codes_where(lambda op: op.name == "unlink")[table.op]
    in_later_call = rows.inside > np.arange(len(table))
    own |= CHANGES_NAMES[table.op] & ~(removes & in_later_call) & (table.file >= 0)
    kept: BoolArray = (rows.kind == RowKind.SYNC_RANKS) | (own & (rows.kind != RowKind.IGNORED))
    return kept
