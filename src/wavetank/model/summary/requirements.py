"""What an application asks of a storage configuration (P15 eq. 4, section 4 of the method)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Requirements
from wavetank.model.document.phase import Phase
from wavetank.model.phases.phase_table import PartTimes
from wavetank.model.phases.rank_phase import RankPhase
from wavetank.model.summary.file_table import directions, shared_files
from wavetank.trace.schema import Int64Array


def make_requirements(
    files: Sequence[ModelFile],
    phases: Sequence[Phase],
    parts: Sequence[RankPhase],
    ph_id: Int64Array,
    times: PartTimes,
    n_processes: int,
) -> Requirements:
    """Requirements of the phases at the application's own level, of ``n_processes`` ranks that do I/O.

    The rates reached are bytes over the time that the busiest rank spent in such operations; phases
    that mix reads and writes count for neither.
    """
    own = {phase.ph_id: phase for phase in phases}
    return Requirements(
        storage_capacity_bytes=sum(file.file_size for file in files if file.n_operations),
        n_processes=n_processes,
        needs_global_file_system=shared_files(files),
        reached_read_bytes_per_s=_rate("read", own, parts, ph_id, times),
        reached_write_bytes_per_s=_rate("write", own, parts, ph_id, times),
    )


def _rate(
    direction: str,
    phases: dict[int, Phase],
    parts: Sequence[RankPhase],
    ph_id: Int64Array,
    times: PartTimes,
) -> float | None:
    chosen = {
        number: phase
        for number, phase in phases.items()
        if phase.io_time_s is not None and directions(phase) == {direction}
    }
    of_chosen = np.isin(ph_id, list(chosen))
    ranks = np.array([part.rank for part in parts], dtype=np.int64)[of_chosen]
    busy_ns = np.zeros(int(ranks.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(busy_ns, ranks, times.busy_ns[of_chosen])
    longest = int(busy_ns.max())
    moved = sum(phase.ph_weight for phase in chosen.values())
    return moved / (longest / 1e9) if longest > 0 else None
