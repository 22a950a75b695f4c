"""What the later steps of the extraction share: rows, streams and the ranks' parts of one trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wavetank.model.document.thresholds import Thresholds
from wavetank.model.events.file_families import Families
from wavetank.model.events.row_kinds import BESIDE_MPI
from wavetank.model.events.rows import Rows
from wavetank.model.events.streams import DataRows
from wavetank.model.phases.rank_phase import RankPhase
from wavetank.model.work_limits import WorkLimits
from wavetank.trace.ops import codes_where
from wavetank.trace.schema import BoolArray, Int32Array, Int64Array, Op, UInt8Array


@dataclass(frozen=True)
class Activity:
    """A trace taken apart.

    Attributes:
        rows: all rows in rank order.
        data: those that moved data, by stream.
        parts: the ranks' parts of phases, in the order of ``data``.
        file_ids: index into the trace's files -> file_id.
        own_level: the level at which the application itself uses a file.
        families: files that stand for several, which are used alike.
        thresholds: of the extraction.
        work: what it works on at a time.
        library_files: index of those of the trace's files that only the MPI library used, which are left out.
    """

    rows: Rows
    data: DataRows
    parts: Sequence[RankPhase]
    file_ids: Mapping[int, int]
    own_level: Mapping[int, int]
    families: Families = field(default_factory=dict)
    thresholds: Thresholds = field(default_factory=Thresholds)
    work: WorkLimits = field(default_factory=WorkLimits)
    library_files: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def own_levels(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """``own_level`` as an array over files; 255 for others, and for -1 (its last entry)."""
        n_files = int(self.rows.table.file.max(initial=-1)) + 1
        levels = np.full(n_files + 1, 255, dtype=np.uint8)
        for file, level in self.own_level.items():
            levels[file] = level
        return levels

    def is_own(self, file: Int32Array, level: UInt8Array) -> BoolArray:
        """Which operations are the application's: at the level at which it uses their files, or beside MPI-IO."""
        found: BoolArray = (self.own_levels()[file] == level) | (level == BESIDE_MPI)
        return found

    def codes(self, chosen: Callable[[Op], bool]) -> BoolArray:
        """Which operation codes satisfy a condition: shape (256,)."""
        return codes_where(chosen, self.rows.ops)
