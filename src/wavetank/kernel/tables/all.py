"""Every table of a kernel, in the order in which they are read."""

from __future__ import annotations

from pathlib import Path

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.variant_words import variant_tables
from wavetank.kernel.tables.kernel import NOT_BY_REPLAY, file_table, replay_table
from wavetank.kernel.tables.lines import ior_tables, mdtest_tables
from wavetank.model.tables.approximation_tables import approximation_tables
from wavetank.notes import texts
from wavetank.tables.table import Table


def kernel_tables(kernel: Kernel, ior_directory: Path | None = None) -> list[Table]:
    """The tables of a kernel; ``ior_directory``: of the files in IOR's lines."""
    left_out = texts(kernel.notes)
    return [
        replay_table(kernel),
        file_table(kernel),
        *variant_tables(kernel.variant),
        *approximation_tables(kernel.approximation),
        *([NOT_BY_REPLAY.table(left_out)] if left_out else []),
        *ior_tables(kernel, ior_directory),
        *mdtest_tables(kernel),
    ]
