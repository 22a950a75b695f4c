"""Where the MPI library may make other calls below a replay's calls than it made below the application's.

Where it is not known where the gaps in the application's memory are, a replay's data lie as plain bytes, in
sequence. With gaps ROMIO takes another way: it reads a piece of a file view before it writes it (data sieving; Thakur,
Gropp and Lusk 1999, section 4).

Reads the rows of both levels; leaves notes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavetank.model.columns import different
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.phases.activity import Activity
from wavetank.model.summary.level_relations import phases_of_rows
from wavetank.notes import Note, note
from wavetank.tables.words import phases_text
from wavetank.trace.arguments import Memory
from wavetank.trace.ops import codes_where
from wavetank.trace.schema import BoolArray, Int64Array, Level, OpKind


def library_calls(activity: Activity, ph_id: Int64Array, told: BoolArray) -> tuple[Note, ...]:
    """What of the application's MPI-IO calls a replay gives the MPI library otherwise.

    Args:
        activity: the trace.
        ph_id: for each part of the activity the number of its phase.
        told: for each row whether its phase says where the gaps in its memory are.
    """
    rows, table = activity.rows, activity.rows.table
    if not (rows.level == Level.MPIIO).any():
        return ()
    phase = phases_of_rows(activity, ph_id)
    calls = np.flatnonzero((rows.level == Level.MPIIO) & (phase >= 0))
    if not len(calls):
        return ()
    is_write = codes_where(lambda op: op.kind == OpKind.WRITE)[table.op]
    reads = _reads_below(activity)
    above = rows.inside[reads]
    memory = table.details.memory[table.given]
    not_plain = (memory[above] != Memory.PLAIN) & ~told[above]
    reads = reads[(phase[above] >= 0) & is_write[above] & not_plain]
    of_reads = different(phase[rows.inside[reads]])
    with_gaps = calls[(memory[calls] == Memory.GAPS) & ~told[calls]]
    of_gaps = different(phase[with_gaps[~np.isin(phase[with_gaps], of_reads)]])
    writes = calls[is_write[calls] & np.isin(phase[calls], of_reads)]
    return (*_reading(of_reads, int(rows.n[writes].sum()), activity, reads), *_gaps(of_gaps))


def _reads_below(activity: Activity) -> Int64Array:
    """Rows of POSIX reads that were made in an MPI-IO call on the same file, and did not fail."""
    rows, table = activity.rows, activity.rows.table
    is_read = codes_where(lambda op: op.kind == OpKind.READ)[table.op]
    moved = (rows.kind == RowKind.DATA) | (
        rows.kind == RowKind.EMPTY
    )  # empty: behind the file's end
    found = np.flatnonzero(is_read & moved & (rows.level == Level.POSIX) & (rows.inside >= 0))
    same_file: Int64Array = found[table.file[rows.inside[found]] == table.file[found]]
    return same_file


def _reading(
    ph_ids: Int64Array, n_writes: int, activity: Activity, reads: Int64Array
) -> Iterator[Note]:
    """Of writes below which the library read, and whose memory is not known to be plain."""
    if not len(ph_ids):
        return
    rows = activity.rows
    n_reads, n_bytes = int(rows.n[reads].sum()), int(rows.moved[reads].sum())
    text = (
        "{phases}: below {n_writes:,} MPI-IO writes the MPI library made {n_reads:,} reads of {n_bytes:,} bytes itself; a "
        "replay's memory has no gaps, so that its library may not read"
    )
    phases = phases_text(ph_ids.tolist())
    yield note("unrecorded", "memory", text, phases=phases, n_writes=n_writes, n_reads=n_reads, n_bytes=n_bytes)  # fmt: skip


def _gaps(ph_ids: Int64Array) -> Iterator[Note]:
    """Of other calls whose memory has gaps."""
    text = (
        "{phases}: the application's memory has gaps and a replay's has none, so that the MPI library may make other calls "
        "below these"
    )
    if len(ph_ids):
        yield note("library", "memory", text, phases=phases_text(ph_ids.tolist()))
