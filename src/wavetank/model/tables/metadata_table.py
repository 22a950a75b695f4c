"""The table of a model's phases of calls that move no data, as plain rows."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.model.document.metadata import MetadataCall, MetadataPhase
from wavetank.model.tables.table import Cell, ModelTable, ranks_text
from wavetank.units import format_duration

METADATA_COLUMNS = (
    "md_id", "ranks", "np", "call", "objects", "n", "n_failed", "n_objects", "least", "most", "n_parents", "sharing",
    "names", "times", "start_s", "end_s", "time_s", "busy_s", "calls_per_s",
)  # fmt: skip
_SHOWN = ("md_id", "ranks", "calls", "objects", "directories", "names", "time", "calls/s")
_MOST_RANKS = 24  # characters


def metadata_table(phases: Sequence[MetadataPhase]) -> ModelTable:
    """A row for each kind of call of each phase; for people a row for each phase."""
    return ModelTable(
        "Phases of calls that move no data",
        METADATA_COLUMNS,
        tuple(_row(phase, call) for phase in phases for call in phase.calls),
        tuple(_shown(phase) for phase in phases),
        "Calls on files whose data the same rank moves are in metadata_ops of the phases of that data.",
        key="metadata_phases",
        shown_columns=_SHOWN,
    )


def _row(phase: MetadataPhase, call: MetadataCall) -> tuple[Cell, ...]:
    return (
        phase.md_id, ranks_text(phase.ranks), len(phase.ranks), call.call, call.objects, call.n, call.n_failed,
        call.n_objects, call.least, call.most, phase.n_parents, phase.sharing, names_text(phase), phase.times,
        phase.start_s, phase.end_s, phase.time_s, call.busy_s, call.n / phase.time_s if phase.time_s else None,
    )  # fmt: skip


def _shown(phase: MetadataPhase) -> tuple[str, ...]:
    rate = phase.calls_per_s
    times = f" ({phase.times} times)" if phase.times > 1 else ""
    return (
        str(phase.md_id) + times,
        _ranks(phase),
        calls_text(phase),
        objects_text(phase),
        sharing_text(phase),
        names_text(phase),
        "-" if phase.time_s is None else format_duration(phase.time_s),
        "-" if rate is None else f"{rate:,.0f}",
    )


def _ranks(phase: MetadataPhase) -> str:
    text = ranks_text(phase.ranks)
    return text if len(text) <= _MOST_RANKS else f"{len(phase.ranks)} ranks"


def calls_text(phase: MetadataPhase) -> str:
    """Calls of all ranks: "create 4,000, close 4,000"."""
    parts = []
    for call in phase.calls:
        on = " of directories" if call.objects == "directories" and call.call in _EITHER else ""
        failed = f" ({call.n_failed:,} failed)" if call.n_failed else ""
        parts.append(f"{call.call}{on} {call.n:,}{failed}")
    return ", ".join(parts)


_EITHER = {
    "stat",
    "fstat",
    "access",
    "rename",
    "chmod",
    "chown",
    "utime",
    "fchmod",
    "fchown",
    "futime",
    "fsync",
}
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
