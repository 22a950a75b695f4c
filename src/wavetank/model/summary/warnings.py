"""What a reader of a model must know about the trace that it was made from: what is missing, cut short or left out.

Reads the trace and its rows; leaves notes.
"""

from __future__ import annotations

from pathlib import PurePath

from wavetank.model.columns import different
from wavetank.model.events.codes import MOVES_DATA
from wavetank.model.events.row_kinds import RowKind
from wavetank.model.events.rows import Rows
from wavetank.model.phases.activity import Activity
from wavetank.model.rules import Rules
from wavetank.notes import Note, note, texts
from wavetank.tables.words import listed
from wavetank.trace.schema import LEVEL_NAMES, UNKNOWN, Level, Trace


def nothing_to_model(trace: Trace, rules: Rules) -> str:
    """The message of a trace without operations on files, at the levels asked for."""
    asked = " and ".join(LEVEL_NAMES[level] for level in rules.levels) if rules.levels else None
    n_rows = len(trace.folds)
    command = " ".join(trace.command) or trace.source
    held = "I/O at all" if n_rows == 0 else "operation on a file"
    what = f"the trace of '{command}' holds no {held}"
    if asked:
        what += f" at level {asked}"
    hint = "Check that the program uses files that the tracer was told to keep"
    if trace.notes:
        hint += "; the trace says: " + "; ".join(texts(trace.notes))
    return f"{what}, so there is nothing to model. {hint}"


def shortcomings(activity: Activity, trace: Trace, rules: Rules) -> list[Note]:
    """What a reader of the model must know about it."""
    found = []
    rows = activity.rows
    table = rows.table
    beside = (
        (rows.kind == RowKind.DATA)
        & (rows.level == Level.POSIX)
        & (rows.inside < 0)
        & (table.start_ns != UNKNOWN)
    )
    beside &= activity.own_levels[table.file] == Level.MPIIO
    if beside.any():
        names = sorted(
            {
                PurePath(trace.files[file].path).name
                for file in different(table.file[beside]).tolist()
            }
        )
        text = (
            f"{', '.join(names)} was used through MPI-IO and beside it: {int(rows.n[beside].sum())} POSIX operations "
            "outside of MPI-IO calls, on files that the MPI library opened, are phases of the level below, and in no program"
        )
        found.append(note("inferred", "levels", text))
    lost = [facts.rank for facts in trace.ranks if not facts.complete]
    if lost:
        text = "the trace of rank {ranks} is cut short (killed, or damaged): the model holds what was recorded"
        found.append(note("unfinished", "ranks", text, ranks=listed(lost, 8)))
    missing = sorted(set(range(trace.n_ranks)) - {facts.rank for facts in trace.ranks})
    if missing:
        text = "the trace has no part for rank {ranks}: its I/O is not in the model"
        found.append(note("unfinished", "ranks", text, ranks=listed(missing, 8)))
    failed = (table.error != 0) & (rows.kind == RowKind.FILE) & (table.file >= 0)
    n_failed = int(rows.n[failed & MOVES_DATA[table.op]].sum())
    if n_failed:
        text = "{n} reads or writes failed; they are no part of any phase"
        found.append(note("inferred", "operations", text, n=n_failed))
    for level, splits in rules.split_at_communication.items():
        at = (rows.level == level) & (rows.kind == RowKind.DATA)
        unseen = trace.source.startswith("darshan") or (
            not (rows.communication[at] > 0).any() and trace.source != "wavetank"
        )
        if splits and at.any() and (unseen or not (table.tick[at] > 0).any()):
            text = "the trace counts no communication, so that it could not split phases at level {level}"
            found.append(note("unseen", "communication", text, level=LEVEL_NAMES[level]))
    if rules.split_at_computation_s is not None:
        found.extend(_hidden_gaps(rows, rules.split_at_computation_s))
    unknown = sorted(
        {
            PurePath(trace.files[file].path).name
            for file in different(
                table.file[(rows.kind == RowKind.DATA) & (table.offset < 0)]
            ).tolist()
        }
    )
    if unknown:
        text = f"the trace does not say at which offsets {', '.join(unknown)} was accessed"
        found.append(note("unseen", "offsets", text))
    if len(rows.library_files):
        names = [PurePath(trace.files[file].path).name for file in rows.library_files.tolist()]
        text = f"files that only the MPI library used are left out: {listed(names, 4)}"
        found.append(note("inferred", "files", text))
    return found


def _hidden_gaps(rows: Rows, gap_s: float) -> list[Note]:
    """Folded rows whose inner pauses might be longer than the gap."""
    table = rows.table
    some = (rows.kind == RowKind.DATA) & (table.count > 1) & (table.start_ns >= 0)
    idle = (table.end_ns - table.start_ns - table.busy_ns)[some]
    n = int((idle > gap_s * 1e9).sum())
    if not n:
        return []
    text = (
        "{n} folded rows of the trace hold pauses of {gap_s:g} s or more in all; where in them is not recorded, so computation "
        "could not split there"
    )
    return [note("unseen", "pauses", text, n=n, gap_s=gap_s)]
