"""Which way a phase moves data."""

from __future__ import annotations

from typing import Literal

from wavetank.model.document.phase import Phase

Direction = Literal["read", "write", "mixed"]


def direction(phase: Phase) -> Direction:
    """Whether a phase reads, writes or does both, by the names of its operations."""
    reads = [_reads(member.iop_type) for member in phase.pattern]
    if all(reads):
        return "read"
    return "mixed" if any(reads) else "write"


def _reads(iop_type: str) -> bool:
    # Every data call of POSIX, stdio and MPI-IO has one of the two words in its name,
    # but fgets and its like.
    name = iop_type.lower()
    return "read" in name or "get" in name
