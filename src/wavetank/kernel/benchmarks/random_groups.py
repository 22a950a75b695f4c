"""Ranks that work at random at the same time, as one group: their places differ, so that each is a phase of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from wavetank.kernel.benchmarks.groups import Group, overlap
from wavetank.model.document.phase import ListedOffsets, Phase
from wavetank.trace.schema import Int64Array

_FEWEST = 8  # different steps from place to place of operations that follow no order
LOOKED_AT = 4096  # operations of each rank


def joined_at_random(groups: Iterable[Group]) -> list[Group]:
    """Groups of a kernel, those joined that one run of a benchmark at random offsets stands for.

    They make the same call with the same request size on different ranks: all on one file, or each rank on a file of
    its own. They do so at the same time, or between the same communications: that ranks of a short phase did not
    meet was chance. A joined group stands where its first one stood.
    """
    left: list[Group | None] = list(groups)
    alike: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, group in enumerate(left):
        if group is not None and (shape := _shape(group)) is not None:
            alike[shape].append(number)
    for numbers in alike.values():
        for position, number in enumerate(numbers):
            first = left[number]
            if first is None:
                continue
            together, ranks = [first], set(first.ranks())
            for other in numbers[position + 1 :]:
                theirs = left[other]
                if theirs is None or ranks & set(theirs.ranks()) or not _fits(together, theirs):
                    continue
                if any(_at_once(one, theirs) for one in together):
                    together.append(theirs)
                    ranks |= set(theirs.ranks())
                    left[other] = None
            left[number] = _joined(together)
    return [group for group in left if group is not None]


def _shape(group: Group) -> tuple[object, ...] | None:
    """What is equal where groups may be joined; None for one that is not at random."""
    phase = group.phases[0]
    if len(group.phases) > 1 or len(phase.pattern) > 1 or phase.collective:
        return None
    member = phase.pattern[0]
    return (member.iop_type, member.rs) if is_random(phase) else None


def is_random(phase: Phase) -> bool:
    """Whether most ranks' operations in a phase of one call lie at random places."""
    listed = phase.offset[0]
    if not isinstance(listed, ListedOffsets):
        return False
    n = 0
    for position in range(phase.ph_np):
        runs = listed.of_rank(position)
        head = slice(0, LOOKED_AT)
        count = np.minimum(runs.count[head], LOOKED_AT)
        within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        n += lie_at_random(
            np.repeat(runs.offset[head], count) + within * np.repeat(runs.disp[head], count)
        )
    return 2 * n > phase.ph_np


def lie_at_random(offsets: Int64Array) -> bool:
    """Whether one rank's places follow no order, by the first ``LOOKED_AT`` of them.

    Of the steps from one to the next there are ``_FEWEST`` different ones or more, none is more than a quarter of all,
    and a quarter or more lead back.

    Args:
        offsets: bytes, in the order of the operations.
    """
    offsets = offsets[:LOOKED_AT]
    different, often = np.unique(np.diff(offsets), return_counts=True)
    n_back = int(often[different < 0].sum())
    return len(different) >= _FEWEST and 4 * int(often.max()) < len(offsets) <= 4 * n_back + 1


def _at_once(group: Group, other: Group) -> bool:
    ours, theirs = group.phases[0], other.phases[0]
    between_the_same = ours.tick_first <= theirs.tick_last and theirs.tick_first <= ours.tick_last
    communicate = min(ours.tick_first, theirs.tick_first) > 0
    return (communicate and between_the_same) or overlap(group, other)


def _fits(together: Sequence[Group], other: Group) -> bool:
    """On the same file as the others, or on files of single ranks' own."""
    files = {group.files[0].file_id for group in together}
    if other.files[0].file_id in files:
        return len(files) == 1
    alone = all(group.phases[0].ph_np == 1 for group in (*together, other))
    return alone and len(files) == len(together)


def _joined(groups: Sequence[Group]) -> Group:
    if len(groups) == 1:
        return groups[0]
    ordered = sorted(groups, key=lambda group: group.ranks()[0])
    files = tuple(group.files[0] for group in ordered)
    same = len({file.file_id for file in files}) == 1
    phases = tuple(group.phases[0] for group in ordered)
    return Group(phases, files[:1] if same else files)
