"""Holes that an application looked for in its input files: those of a kernel are written whole, and have none."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from wavetank.model.document.program import FileStep, Step
from wavetank.model.document.step_walks import flat

_MAKE_HOLES = frozenset({"truncate", "ftruncate", "fallocate"})


def holes_missed(steps: Sequence[Step], sizes: Mapping[int, int]) -> Counter[int]:
    """Seeks of one rank that found a hole (SEEK_HOLE) where the file of the replay has none.

    The end of a file counts as a hole, and is there. A file that the rank cut or extended before has the holes that it
    made itself, as the application's had.

    Args:
        steps: of the rank.
        sizes: bytes of each file beforehand, by file; of several members those of the largest.

    Returns:
        How many, by file.
    """
    found: Counter[int] = Counter()
    changed: set[int] = set()
    for step, times in flat(steps):
        if not isinstance(step, FileStep) or step.error:
            continue
        if step.iop_type in _MAKE_HOLES or step.flags & os.O_TRUNC:
            changed.add(step.file_id)
        elif step.origin == os.SEEK_HOLE and step.file_id not in changed:
            is_inside = step.offset is not None and step.offset < sizes.get(step.file_id, 0)
            found[step.file_id] += times * is_inside
    return +found
