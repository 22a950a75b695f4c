"""Compares which members of a family two models turn to, and in which order.

Steps say that a rank goes on to the next member, not to which: that is in the visits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.model.comparison.counterparts import matched_members
from wavetank.model.document.file_members import Members
from wavetank.trace.schema import Int64Array


@dataclass(frozen=True)
class OtherVisit:
    """The first visit of a rank that differs; in words."""

    a: str
    b: str


def first_other_visit(a: Members, b: Members) -> OtherVisit | None:
    """The first visit that differs, of the first rank that has one; None where none does.

    Members are the same by their names below the family's folder, see ``matched_members``. Work is linear in visits.
    """
    same = matched_members(a, b)
    none = np.zeros(0, dtype=np.int64)
    of_a, of_b = dict(a.visits.by_rank()), dict(b.visits.by_rank())
    for rank in sorted({*of_a, *of_b}):
        one, other = of_a.get(rank, none), of_b.get(rank, none)
        n = min(len(one), len(other))
        unequal = np.flatnonzero(same[one[:n]] != other[:n])
        if not len(unequal) and len(one) == len(other):
            continue
        at = int(unequal[0]) if len(unequal) else n
        return OtherVisit(_text(a, rank, one, at), _text(b, rank, other, at))
    return None


def _text(members: Members, rank: int, visited: Int64Array, at: int) -> str:
    if at >= len(visited):
        return f"rank {rank}: no visit after {len(visited):,}"
    return f"rank {rank}, visit {at + 1}: {members.names[int(visited[at])]}"
