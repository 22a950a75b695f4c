"""What the later steps of the extraction share: rows, streams and the ranks' parts of one trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from wavetank.model.columns import Numbers
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.events.file_families import Families
from wavetank.model.events.row_kinds import BESIDE_MPI
from wavetank.model.events.rows import Rows
from wavetank.model.phases.pattern_members import Members
from wavetank.model.phases.streams import Parts, Streams
from wavetank.trace.schema import BoolArray, Int64Array, UInt8Array


@dataclass(frozen=True)
class Activity:
    """A trace taken apart.

    Attributes:
        rows: all rows in rank order.
        data: those that moved data, by stream.
        parts: the ranks' parts of phases, in the order of ``data``.
        members: of the parts' patterns.
        file_ids: index into the trace's files -> file_id.
        own_level: the level at which the application itself uses a file.
        families: files that stand for several, which are used alike.
        thresholds: of the extraction.
    """

    rows: Rows
    data: Streams
    parts: Parts
    members: Members
    file_ids: Mapping[int, int]
    own_level: Mapping[int, int]
    families: Families = field(default_factory=dict)
    thresholds: Thresholds = field(default_factory=Thresholds)

    @cached_property
    def own_levels(self) -> UInt8Array:
        """``own_level`` as an array over files; 255 for others, and for -1 (its last entry)."""
        n_files = int(self.rows.table.file.max(initial=-1)) + 1
        levels = np.full(n_files + 1, 255, dtype=np.uint8)
        for file, level in self.own_level.items():
            levels[file] = level
        return levels

    def is_own(self, file: Numbers, level: Numbers) -> BoolArray:
        """Which operations are the application's: at the level at which it uses their files, or beside MPI-IO."""
        found: BoolArray = (self.own_levels[file] == level) | (level == BESIDE_MPI)
        return found

    @cached_property
    def numbers(self) -> Int64Array:
        """``file_ids`` as an array over files; 0 for others, and for -1."""
        found = np.zeros(len(self.own_levels), dtype=np.int64)
        found[list(self.file_ids)] = list(self.file_ids.values())
        return found
