"""Files, views, communicators and hints of a trace, under numbers that all its processes share.

Reads the parts of the processes; leaves their columns with common numbers and common times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wavetank.trace.clocks import CommonTime
from wavetank.trace.decoder import COLUMNS
from wavetank.trace.identities import Identities
from wavetank.trace.ops import OPS, OPS_BY_NAME
from wavetank.trace.part import HINTS_IN_FORCE, Part
from wavetank.trace.schema import (
    UNKNOWN,
    FileIdentity,
    FileView,
    Hints,
    Int32Array,
    OpKind,
    Striping,
    TracedFile,
)
from wavetank.trace.striping import parse_striping

_SYNC_OPS = np.array(
    [op.code for op in OPS.values() if op.kind is OpKind.SYNC_RANKS], dtype=np.uint8
)
_INFO_OPS = [OPS_BY_NAME[name].code for name in ("MPI_File_set_view", "MPI_File_set_info")]


class CommonTables:
    """Files, views, communicators and hints of all parts under common numbers."""

    def __init__(self, parts: Sequence[Part], started_utc_ns: int) -> None:
        """Empty ones.

        Args:
            parts: all that there are.
            started_utc_ns: of the run: what was made later was not there before.
        """
        self._identities = Identities(parts)
        self._started_utc_ns = started_utc_ns
        self.files: list[TracedFile] = []
        self.views: list[FileView] = []
        self.communicators: list[tuple[int, ...]] = []
        self.infos: list[Hints] = []
        self._file_numbers: dict[tuple[str, FileIdentity | None], int] = {}
        self._info_numbers: dict[Hints, int] = {}
        self._given: dict[int, dict[str, str]] = {}
        self._in_force: dict[int, Hints] = {}
        self._striping: dict[int, tuple[Striping, ...]] = {}
        self._view_numbers: dict[FileView, int] = {}
        self._communicator_numbers: dict[tuple[int, ...], int] = {}

    @staticmethod
    def empty() -> dict[str, np.ndarray]:
        """Columns without rows, of the right types."""
        columns: dict[str, np.ndarray] = {name: np.empty(0, dtype=dtype) for name, dtype in COLUMNS}
        columns["rank"] = np.empty(0, dtype=np.int32)
        return columns

    def globalise(self, part: Part, time: CommonTime, origin_ns: int) -> dict[str, np.ndarray]:
        """A part's columns with common numbers, and times since ``origin_ns`` on the common clock."""
        rows: dict[str, np.ndarray] = dict(part.columns)
        files = {number: self._file(part, number) for number in sorted(part.files)}
        rows["file"] = _renumber(rows["file"], files)
        views = {number: self._view(part, number) for number in sorted(part.views)}
        rows["view"] = _renumber(rows["view"], views)
        communicators = {n: self._communicator(part, n) for n in sorted(part.communicators)}
        # Rows name a communicator in arg (collectives) or, plus one, in size (MPI_File_open).
        sync = np.isin(rows["op"], _SYNC_OPS)
        rows["arg"] = np.where(
            sync, _renumber(np.where(sync, rows["arg"], -1), communicators), rows["arg"]
        )
        opens = rows["op"] == OPS_BY_NAME["MPI_File_open"].code
        on = _renumber(np.where(opens, rows["size"] - 1, -1), communicators) + 1
        rows["size"] = np.where(opens, on, rows["size"])
        rows["moved"] = np.where(opens, on, rows["moved"])
        takes = np.isin(rows["op"], _INFO_OPS)
        given = np.where(opens, rows["offset"], np.where(takes, rows["arg"] - 1, UNKNOWN))
        infos = {
            number: self._info(part.hint_sets[number])
            for number in np.unique(given).tolist()
            if number in part.hint_sets
        }
        given = _renumber(given, infos)
        rows["offset"] = np.where(opens, given, rows["offset"])
        rows["arg"] = np.where(takes, given + 1, rows["arg"])
        self._facts_of_files(part, files)
        shift = time.start_ns - origin_ns
        for name in ("start_ns", "end_ns"):
            rows[name] = time.of(rows[name]) + shift
        return rows

    def described_files(self) -> tuple[TracedFile, ...]:
        """The files, with what is known of them at the end."""
        files = list(self.files)
        for number in {*self._given, *self._in_force, *self._striping}:
            files[number] = replace(
                files[number],
                hints=tuple(self._given.get(number, {}).items()),
                hints_in_force=self._in_force.get(number, ()),
                striping=self._striping.get(number, ()),
            )
        return tuple(files)

    def _facts_of_files(self, part: Part, files: dict[int, int]) -> None:
        """Hints and striping; where ranks differ, the lowest one's."""
        in_force: dict[int, Hints] = {}
        given: dict[int, dict[str, str]] = {}
        for local, when, number in part.file_hints:
            hints, file = part.hint_sets.get(number, ()), files.get(local)
            if file is not None and when == HINTS_IN_FORCE:
                in_force[file] = hints
            elif file is not None:
                given.setdefault(file, {}).update(hints)
        for file, found in given.items():
            self._given[file] = {**found, **self._given.get(file, {})}
        self._in_force = {**in_force, **self._in_force}
        for local, attribute in part.striping.items():
            if local in files:
                self._striping.setdefault(files[local], parse_striping(attribute))

    def _info(self, hints: Hints) -> int:
        if hints not in self._info_numbers:
            self._info_numbers[hints] = len(self.infos)
            self.infos.append(hints)
        return self._info_numbers[hints]

    def _file(self, part: Part, number: int) -> int:
        seen = part.files[number]
        mount = part.mounts.get(seen.mount) if seen.mount is not None else None
        identity = self._identities.of(part, seen)
        key = (seen.path, identity)
        if key in self._file_numbers:
            return self._file_numbers[key]
        self._file_numbers[key] = len(self.files)
        size_before = seen.size_before
        if identity is not None and (identity.born_ns or 0) >= self._started_utc_ns:
            size_before = None  # another process of the run made it
        self.files.append(
            TracedFile(
                seen.path,
                mount[0] if mount else None,
                mount[1] if mount else None,
                size_before,
                identity=identity,
                symlink_to=seen.symlink_to,
                directory=seen.directory,
            )
        )
        return self._file_numbers[key]

    def _communicator(self, part: Part, number: int) -> int:
        ranks = part.communicators[number]
        if ranks not in self._communicator_numbers:
            self._communicator_numbers[ranks] = len(self.communicators)
            self.communicators.append(ranks)
        return self._communicator_numbers[ranks]

    def _view(self, part: Part, number: int) -> int:
        seen = part.views[number]
        view = FileView(
            seen.displacement,
            seen.etype_size,
            seen.extent,
            tuple(offset for offset, _ in seen.runs),
            tuple(length for _, length in seen.runs),
        )
        if view not in self._view_numbers:
            self._view_numbers[view] = len(self.views)
            self.views.append(view)
        return self._view_numbers[view]


def _renumber(numbers: np.ndarray, mapping: dict[int, int]) -> Int32Array:
    """Local numbers to common ones; what is not described (damage) becomes UNKNOWN."""
    size = max(mapping, default=-1) + 2
    table = np.full(size, UNKNOWN, dtype=np.int32)
    for local, common in mapping.items():
        table[local] = common
    known = (numbers >= 0) & (numbers < size)
    return table[np.where(known, numbers, size - 1)]
