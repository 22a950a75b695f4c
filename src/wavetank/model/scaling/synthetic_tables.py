"""The tables of a trace that was put together: files, views, hints, communicators and rows, as they are needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wavetank.model.document.offsets import ViewPositions
from wavetank.trace.call_details import of_calls
from wavetank.trace.schema import (
    UNKNOWN,
    FileView,
    FoldTable,
    Level,
    RankFacts,
    Trace,
    TracedFile,
)

COLUMNS = (
    "rank", "seq", "op", "file", "handle", "count", "size", "moved", "offset", "disp", "view",
    "view_offset", "view_disp", "tick", "subtick", "tick_step", "subtick_step", "start_ns", "end_ns",
    "busy_ns", "error", "arg", "communicator", "hints", "name",
)  # fmt: skip
_GIVEN = ("arg", "communicator", "hints", "name")
"""Columns that say what a call was given, the number first."""
_TYPES = {"op": np.uint8, **dict.fromkeys(("rank", "file", "handle", "view", "error"), np.int32)}


class Tables:
    """What the ranks of a run share: files, views, hints, communicators, and the rows."""

    def __init__(self, n: int, folder: str) -> None:
        self.n, self._folder = n, folder
        self.files: dict[str, TracedFile] = {}
        self._file_ids: dict[str, int] = {}
        self.views: dict[FileView, int] = {}
        self.infos: dict[tuple[tuple[str, str], ...], int] = {}
        self.communicators: dict[tuple[int, ...], int] = {tuple(range(n)): 0}
        self.rows: list[tuple[int, ...]] = []
        self._positions: dict[int, ViewPositions] = {}

    def file(self, name: str, sample: TracedFile) -> int:
        """The number of a file."""
        path = self._folder + name
        if path not in self.files:
            self.files[path] = TracedFile(
                path,
                file_system=sample.file_system,
                size_before=sample.size_before,
                other_names=tuple(
                    replace(name, path=self._folder + name.path) for name in sample.other_names
                ),
            )
            self._file_ids[path] = len(self._file_ids)
        return self._file_ids[path]

    def view(self, view: FileView) -> int:
        """The number of a view."""
        number = self.views.setdefault(view, len(self.views))
        if number not in self._positions:
            self._positions[number] = ViewPositions(view)
        return number

    def absolute(self, view: int, position: int) -> int:
        """Where in the file a position of a view is."""
        found = self._positions[view].absolute(position)
        return UNKNOWN if found is None else found

    def trace(self, command: tuple[str, ...]) -> Trace:
        """All of it."""
        columns = (
            np.array(self.rows, dtype=np.int64).T
            if self.rows
            else np.zeros((len(COLUMNS), 0), dtype=np.int64)
        )
        of_rows = {
            name: column.astype(_TYPES.get(name, np.int64))
            for name, column in zip(COLUMNS, columns, strict=True)
        }
        number, *others = (of_rows.pop(name) for name in _GIVEN)
        details, given = of_calls(
            of_rows["op"], number, **dict(zip(_GIVEN[1:], others, strict=True))
        )
        table = FoldTable(**of_rows, given=given, details=details)
        return Trace(
            source="extrapolated",
            command=command,
            n_ranks=self.n,
            mpi_library=None,
            started_utc=None,
            elapsed_s=None,
            ranks=tuple(RankFacts(rank, "", 0, complete=True) for rank in range(self.n)),
            files=tuple(self.files.values()),
            views=tuple(self.views),
            communicators=tuple(self.communicators),
            folds=table,
            levels=(Level.POSIX, Level.MPIIO),
            infos=tuple(self.infos),
        )
