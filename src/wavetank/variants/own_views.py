"""Whether the file views of ranks show each of them bytes of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import View
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase


def why_not_alone(kernel: Kernel, phases: Sequence[Phase]) -> str | None:
    """Why what ranks see of a file cannot become a file of each; None when it can, or where there is no view.

    Positions in a rank's view are then positions in its own file, so a rank must have one view for all phases.
    """
    for phase in phases:
        for places in (*phase.offset, *(phase.offset_view or ())):
            if not isinstance(places, LinearOffsets | ListedOffsets):
                return "its places are not known"
    with_view = [phase for phase in phases if phase.offset_view is not None]
    if not with_view:
        return None
    if len(with_view) < len(phases):
        return "it is used through file views and without them"
    views: dict[int, View] = {}
    for phase in phases:
        for number, rank in enumerate(phase.ph_processid):
            index = phase.view_ids[number] if phase.view_ids is not None else phase.view_id
            if index is None:
                return "a phase does not say which file view it goes through"
            if views.setdefault(rank, kernel.views[index]) != kernel.views[index]:
                return "a rank goes through several file views"
    return (
        None
        if _are_apart(list(views.values()))
        else "its file views overlap, or differ in their tiles"
    )


def _are_apart(views: Sequence[View]) -> bool:
    """Whether views with tiles of one size, from one place on, show no byte twice."""
    if len({(view.displacement, view.extent) for view in views}) > 1:
        return False
    first = np.concatenate([np.array(view.run_offsets, dtype=np.int64) for view in views])
    length = np.concatenate([np.array(view.run_lengths, dtype=np.int64) for view in views])
    order = np.argsort(first, kind="stable")
    end = (first + length)[order]
    return bool((end[:-1] <= first[order][1:]).all()) and int(end[-1]) <= views[0].extent
