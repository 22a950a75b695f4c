"""A kernel as users of Python get it: what it replays and which lines of IOR are nearest, as tables."""

from __future__ import annotations

import os
from pathlib import Path

from wavetank.interface.table import Table, by_name
from wavetank.kernel.document import kernel as document
from wavetank.notes import Note


class Kernel:
    """What stands for the application on a cluster: ``wavetank replay``, ``measure`` and campaigns perform it.

    Attributes:
        path: its file; None until it is saved.
        application: whose I/O it has.
        n_ranks: ranks that it runs with.
        notes: what of the application the replay leaves out or changes; ``str(note)`` is a sentence.
    """

    path: Path | None
    application: str
    n_ranks: int
    notes: tuple[Note, ...]

    def __init__(self, kernel: document.Kernel, path: Path | None = None) -> None:
        self._kernel, self.path = kernel, path
        self.application, self.n_ranks = kernel.application, kernel.n_ranks
        self.notes = kernel.notes

    def __repr__(self) -> str:
        return f"<wavetank.Kernel of {self.application}: {self.n_ranks} ranks, {len(self._kernel.files):,} files>"

    @property
    def tables(self) -> dict[str, Table]:
        """What ``wavetank kernel`` prints, by name: what the replay performs, files, lines of IOR and mdtest."""
        from wavetank.kernel.tables.all import kernel_tables

        return by_name(kernel_tables(self._kernel))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the kernel file (JSON).

        Raises:
            DocumentError: it cannot be written; what was there before stays.
        """
        self._kernel.write(Path(path))
        self.path = Path(path)


def open_kernel(path: str | os.PathLike[str]) -> Kernel:
    """Open a kernel file, as ``wavetank kernel -o`` or ``Kernel.save`` left it.

    Raises:
        KernelError: it is missing, damaged, or no kernel.
    """
    return Kernel(document.Kernel.read(Path(path)), Path(path))
