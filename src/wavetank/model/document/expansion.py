"""The data operations that a phase stands for: the exact sequence of each rank's, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavetank.errors import ModelError
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.phase import Phase
from wavetank.trace.schema import Int64Array


@dataclass(frozen=True)
class Operations:
    """Data operations of one rank in one phase, in order. Columns of equal length."""

    member: Int64Array  # index into the phase's pattern
    size: Int64Array  # bytes asked for
    moved: Int64Array
    offset: Int64Array  # in the file, bytes; UNKNOWN where the model does not know
    view_offset: Int64Array  # in the MPI file view; equals offset without one

    def __len__(self) -> int:
        return len(self.member)


def phase_operations(phase: Phase, rank: int) -> Operations:
    """What one rank does in a phase.

    Raises:
        ModelError: the rank does not take part in the phase, or the phase does not say all repetitions.
    """
    if rank not in phase.ph_processid:
        raise ModelError(f"rank {rank} takes no part in phase {phase.ph_id}")
    n_members = len(phase.pattern)
    shape = (phase.ph_nrep, n_members)
    size, moved, offset, view_offset = (np.empty(shape, dtype=np.int64) for _ in range(4))
    for member in range(n_members):
        size[:, member], moved[:, member], offset[:, member] = _member(
            phase, rank, member, in_view=False
        )
        view_offset[:, member] = (
            _member(phase, rank, member, in_view=True)[2]
            if phase.offset_view is not None
            else offset[:, member]
        )
    return Operations(
        member=np.tile(np.arange(n_members), phase.ph_nrep),
        size=size.reshape(-1),
        moved=moved.reshape(-1),
        offset=offset.reshape(-1),
        view_offset=view_offset.reshape(-1),
    )


def _member(
    phase: Phase, rank: int, member: int, in_view: bool
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Size, moved and offset of one pattern member's repetitions."""
    offsets = phase.offset_view if in_view and phase.offset_view else phase.offset
    runs = phase.runs(rank, member, offsets[member])
    if not runs.count.sum() == phase.ph_nrep > 0:
        raise ModelError(
            f"phase {phase.ph_id} does not say each of its {phase.ph_nrep} repetitions"
        )
    return _from_runs(runs)


def _from_runs(runs: RunArrays) -> tuple[Int64Array, Int64Array, Int64Array]:
    count, size = runs.count, runs.size
    moved = np.repeat(size, count)
    ends = np.cumsum(count)
    moved[ends - 1] += runs.moved - count * size
    within = np.arange(int(ends[-1])) - np.repeat(ends - count, count)
    return (
        np.repeat(size, count),
        moved,
        np.repeat(runs.offset, count) + within * np.repeat(runs.disp, count),
    )
