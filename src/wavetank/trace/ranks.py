"""Which process is which rank: MPI's number, or the order of their start.

Reads the parts of a trace; leaves the ranks with their parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wavetank.notes import Note, notes_of
from wavetank.trace.part import Part


@dataclass(frozen=True)
class RankParts:
    """The parts of one rank in the order of their start (a rank that calls exec leaves several)."""

    rank: int
    parts: tuple[Part, ...]


def number_ranks(parts: list[Part]) -> tuple[list[RankParts], tuple[Note, ...]]:
    """Give every process a rank: MPI's own; else in the order of start, after them.

    Source: docs/reference/trace-format.md, "Ranks".
    """
    notes: list[str] = []
    by_start = sorted(parts, key=lambda p: (p.start_utc_ns, p.pid, p.path.name))
    by_process: dict[tuple[str, int], list[Part]] = {}
    for part in by_start:
        by_process.setdefault((part.host, part.pid), []).append(part)
    ranked: dict[int, list[Part]] = {}
    others: list[list[Part]] = []
    for process in by_process.values():
        named = max(process, key=lambda p: p.rank_source)
        if named.rank is None:
            others.append(process)
        elif named.rank not in ranked:
            ranked[named.rank] = process
        elif named.rank_source == 1 or not _has_rows(process):
            others.append(process)  # a child of a rank inherits its environment
        else:
            others.append(process)
            notes.append(
                f"more than one process says that it is rank {named.rank}: the command started several MPI "
                "programs. The later ones are numbered after the first"
            )
    entries = [RankParts(rank, tuple(process)) for rank, process in sorted(ranked.items())]
    following = max([*ranked, *((p.n_ranks or 0) - 1 for p in parts), -1]) + 1
    others = [process for process in others if _has_rows(process)] or (others if not ranked else [])
    for number, process in enumerate(others):
        entries.append(RankParts(following + number, tuple(process)))
    if others and ranked:
        notes.append(
            f"{len(others)} process(es) outside the MPI program did I/O; they are numbered from {following}: "
            + ", ".join(
                sorted(
                    {Path(p[0].command[0]).name if p[0].command else str(p[0].pid) for p in others}
                )
            )
        )
    elif len(others) > 1:
        notes.append(
            f"{len(others)} processes did I/O; each is a rank of its own, in the order of their start"
        )
    return entries, notes_of("inferred", "ranks", dict.fromkeys(notes))


def _has_rows(process: list[Part]) -> bool:
    return any(part.totals.operations for part in process)
