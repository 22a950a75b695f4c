"""What an application asks of a storage configuration (P15 eq. 4, section 4 of the method)."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Requirements
from wavetank.model.document.phase import Phase
from wavetank.model.phases.rank_merging import PartTimes
from wavetank.model.summary.file_table import directions, shared_files
from wavetank.trace.schema import Int64Array


def make_requirements(
    files: Sequence[ModelFile],
    phases: Sequence[Phase],
    rank: Int64Array,
    ph_id: Int64Array,
    times: PartTimes,
    n_processes: int,
) -> Requirements:
    """Requirements of the phases at the application's own level, of ``n_processes`` ranks that do I/O.

    ``rank``, ``ph_id`` and ``times`` are those of the ranks' parts of phases.

    The rates reached are bytes over the time that the busiest rank spent in such operations; phases
    that mix reads and writes count for neither.
    """
    timed = [phase for phase in phases if phase.io_time_s is not None]
    by_directions: dict[Set[str], list[Phase]] = {}
    for phase in timed:
        by_directions.setdefault(directions(phase), []).append(phase)

    def rate(direction: str) -> float | None:
        return _rate(by_directions.get(frozenset({direction}), []), rank, ph_id, times)

    return Requirements.model_construct(
        storage_capacity_bytes=sum(file.file_size for file in files if file.n_operations),
        n_processes=n_processes,
        needs_global_file_system=shared_files(files),
        reached_read_bytes_per_s=rate("read"),
        reached_write_bytes_per_s=rate("write"),
    )


def _rate(
    phases: Sequence[Phase], rank: Int64Array, ph_id: Int64Array, times: PartTimes
) -> float | None:
    """Of these phases; ``rank`` and ``ph_id`` are those of the parts."""
    if not phases:
        return None
    of_chosen = np.isin(ph_id, [phase.ph_id for phase in phases])
    busy_ns = np.zeros(int(rank[of_chosen].max(initial=0)) + 1, dtype=np.int64)
    np.add.at(busy_ns, rank[of_chosen], times.busy_ns[of_chosen])
    longest = int(busy_ns.max())
    moved = sum([phase.ph_weight for phase in phases])
    return moved / (longest / 1e9) if longest > 0 else None
