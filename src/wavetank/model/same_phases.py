"""Which phases of two runs of one application are the same: who does what, how much, and in which size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from wavetank.model.phase import Phase


def identity_of(phase: Phase) -> tuple[object, ...]:
    """What makes phases of two runs the same; names and numbers of files may differ."""
    operations = tuple((member.iop_type, member.rs) for member in phase.pattern)
    return phase.level, phase.ph_processid, phase.ph_weight, operations


def same_phases(ours: Sequence[Phase], theirs: Sequence[Phase]) -> dict[int, Phase]:
    """Of our phases, by ph_id, their counterparts; those without one are left out.

    The first of several alike is their first one, and so on.
    """
    alike: dict[tuple[object, ...], list[Phase]] = defaultdict(list)
    for phase in reversed(theirs):
        alike[identity_of(phase)].append(phase)
    found = {}
    for phase in ours:
        left = alike.get(identity_of(phase))
        if left:
            found[phase.ph_id] = left.pop()
    return found
