"""A model's phases of calls that move no data: a row for each kind of call; for people a row for each phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.model.document.metadata import MetadataCall, MetadataPhase
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import ranges, ranks_words

MAX_PHASES = 300


@dataclass(frozen=True)
class _Calls:
    """A kind of call of a phase, or its first: what is true of all is read from the phase."""

    phase: MetadataPhase
    call: MetadataCall
    n_ranks: int

    @property
    def calls_per_s(self) -> Cell | float | None:
        """Of this kind of call; people read that of the phase."""
        rate, time_s = self.phase.calls_per_s, self.phase.time_s
        return None if rate is None or not time_s else Cell(f"{rate:,.0f}", self.call.n / time_s)


def _id(item: _Calls) -> Cell:
    times = f" ({item.phase.times} times)" if item.phase.times > 1 else ""
    return Cell(f"{item.phase.md_id}{times}", item.phase.md_id)


METADATA: Definition[_Calls] = Definition(
    "metadata-phases",
    "Phases of calls that move no data",
    (
        Column("md_id", "Phase", _id, kind="integer"),
        Column("ranks", "Ranks", lambda i: Cell(ranks_words(i.phase.ranks, i.n_ranks), ranges(i.phase.ranks)), kind="list",
               help="[first, last, step] of each range"),
        Column("np", "np", lambda i: len(i.phase.ranks), kind="integer", machine=True),
        Column("calls", "Calls", lambda i: calls_text(i.phase), wide=True, people=True),
        Column("call", "Call", lambda i: i.call.call, machine=True),
        Column("objects_shown", "Files and directories", lambda i: objects_text(i.phase), people=True),
        Column("objects", "On", lambda i: i.call.objects, machine=True),
        Column("n", "Calls", lambda i: i.call.n, kind="integer", machine=True),
        Column("n_failed", "Failed", lambda i: i.call.n_failed, kind="integer", machine=True),
        Column("n_objects", "Files or directories", lambda i: i.call.n_objects, kind="integer", machine=True),
        Column("least", "Of a rank, at least", lambda i: i.call.least, kind="integer", machine=True),
        Column("most", "Of a rank, at most", lambda i: i.call.most, kind="integer", machine=True),
        Column("n_parents", "In directories", lambda i: Cell(sharing_text(i.phase), i.phase.n_parents), kind="integer",
               help="who shares them"),
        Column("sharing", "Sharing", lambda i: i.phase.sharing, machine=True),
        Column("names", "Names", lambda i: names_text(i.phase), wide=True, help="* is a number"),
        Column("times", "Times", lambda i: i.phase.times, kind="integer", machine=True),
        Column("start_s", "Start", lambda i: i.phase.start_s, unit="s", machine=True),
        Column("end_s", "End", lambda i: i.phase.end_s, unit="s", machine=True),
        Column("time_s", "Time", lambda i: i.phase.time_s, unit="s", help="of the phase, in the traced run"),
        Column("busy_s", "In these calls", lambda i: i.call.busy_s, unit="s", machine=True, help="sum over ranks"),
        Column("calls_per_s", "Calls/s", lambda i: i.calls_per_s, unit="1/s", help="in the traced run"),
    ),
)  # fmt: skip


def metadata_table(phases: Sequence[MetadataPhase], n_ranks: int = 0) -> Table:
    """The phases of calls that move no data."""
    return METADATA.table(
        [_Calls(phase, call, n_ranks) for phase in phases for call in phase.calls],
        people=[_Calls(phase, phase.calls[0], n_ranks) for phase in phases],
        caption="Calls on files whose data the same rank moves are in metadata_ops of the phases of that data.",
        max_rows=MAX_PHASES,
    )


def calls_text(phase: MetadataPhase) -> str:
    """Calls of all ranks: "create 4,000, close 4,000"."""
    parts = []
    for call in phase.calls:
        on = " of directories" if call.objects == "directories" and call.call in _EITHER else ""
        failed = f" ({call.n_failed:,} failed)" if call.n_failed else ""
        parts.append(f"{call.call}{on} {call.n:,}{failed}")
    return ", ".join(parts)


_EITHER = frozenset(
    {"stat", "fstat", "access", "rename", "chmod", "chown", "utime", "fchmod", "fchown", "futime", "fsync"}
)  # fmt: skip
"""Calls whose name does not say what they are on."""


def objects_text(phase: MetadataPhase) -> str:
    """How many files and directories."""
    parts = [
        f"{n:,} {one if n == 1 else many}"
        for n, one, many in (
            (phase.n_files, "file", "files"),
            (phase.n_directories, "directory", "directories"),
        )
        if n
    ]
    return " and ".join(parts)


def sharing_text(phase: MetadataPhase) -> str:
    """In how many directories these lie, and who shares them."""
    if phase.sharing == "one":
        return "one" if len(phase.ranks) == 1 else "one for all"
    if len(phase.ranks) == 1:
        return f"{phase.n_parents:,}"
    if phase.sharing == "own":
        return f"{phase.n_parents:,}, each rank's own"
    return f"{phase.n_parents:,}, shared"


def names_text(phase: MetadataPhase) -> str:
    """Families of names, the largest first."""
    parts = [
        family.pattern if family.n == 1 else f"{family.pattern} ({family.n:,})"
        for family in phase.names
    ]
    if phase.n_other_names:
        parts.append(f"{phase.n_other_names:,} more")
    return ", ".join(parts)
