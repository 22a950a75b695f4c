"""Files, views, communicators and hints of a trace, under numbers that all its processes share.

Reads the parts of the processes; leaves their columns with common numbers and common times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavetank.trace.call_details import sets_of_shared_columns
from wavetank.trace.clocks import CommonTime
from wavetank.trace.distinct import distinct_rows, first_places
from wavetank.trace.identities import SeenFiles, seen_files
from wavetank.trace.part import HINTS_IN_FORCE, Part
from wavetank.trace.schema import (
    UNKNOWN,
    CallDetails,
    FileView,
    Hints,
    Int32Array,
    Int64Array,
    Striping,
)
from wavetank.trace.striping import parse_striping
from wavetank.trace.traced_files import TracedFiles


class CommonTables:
    """Files, views, communicators and hints of all parts under common numbers."""

    def __init__(
        self, parts: Sequence[Part], of_ranks: Sequence[Part], started_utc_ns: int
    ) -> None:
        """Those of parts, which forget their files.

        Args:
            parts: all that there are.
            of_ranks: those of ranks, in the order of ranks: what they saw gets common numbers.
            started_utc_ns: of the run: what was made later was not there before.
        """
        self._started_utc_ns = started_utc_ns
        self.views: list[FileView] = []
        self.communicators: list[tuple[int, ...]] = []
        self.infos: list[Hints] = []
        self._info_numbers: dict[Hints, int] = {}
        self._given: dict[int, dict[str, str]] = {}
        self._in_force: dict[int, Hints] = {}
        self._striping: dict[int, tuple[Striping, ...]] = {}
        self._view_numbers: dict[FileView, int] = {}
        self._communicator_numbers: dict[tuple[int, ...], int] = {}
        self._of_part: dict[int, _LocalNumbers] = {}
        self.files = self._number_files(parts, of_ranks)

    def globalise(
        self, part: Part, time: CommonTime, origin_ns: int
    ) -> tuple[dict[str, np.ndarray], CallDetails]:
        """A part's columns with common numbers, and times since ``origin_ns`` on the common clock; what its calls were given."""
        rows: dict[str, np.ndarray] = dict(part.columns)
        details = sets_of_shared_columns(rows)
        files = self._of_part[id(part)]
        rows["file"] = files.common(rows["file"])
        views = {number: self._view(part, number) for number in sorted(part.views)}
        rows["view"] = _renumber(rows["view"], views)
        shift = time.start_ns - origin_ns
        for name in ("start_ns", "end_ns"):
            rows[name] = time.of(rows[name]) + shift
        return rows, self._with_common_numbers(part, details, views)

    def _with_common_numbers(
        self, part: Part, details: CallDetails, views: dict[int, int]
    ) -> CallDetails:
        """Communicators, hints and views of memory that calls were given."""
        on = {n: self._communicator(part, n) for n in sorted(part.communicators)}
        sets = part.hint_sets
        infos = {n: self._info(sets[n]) for n in np.unique(details.hints).tolist() if n in sets}
        return replace(
            details,
            communicator=_renumber(details.communicator, on).astype(np.int64),
            hints=_renumber(details.hints, infos).astype(np.int64),
            memory_view=_renumber(details.memory_view, views).astype(np.int64),
        )

    def described_files(self, of_ranks: Sequence[Part]) -> TracedFiles:
        """The files, with what the parts of ranks know of them at the end; of ranks that differ the lowest one's."""
        for part in of_ranks:
            self._facts_of_files(part, self._of_part[id(part)])
        numbers = sorted({*self._given, *self._in_force, *self._striping})
        return self.files.changed(
            {
                number: replace(
                    self.files[number],
                    hints=tuple(self._given.get(number, {}).items()),
                    hints_in_force=self._in_force.get(number, ()),
                    striping=self._striping.get(number, ()),
                )
                for number in numbers
            }
        )

    def _facts_of_files(self, part: Part, files: _LocalNumbers) -> None:
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
            if (file := files.get(local)) is not None:
                self._striping.setdefault(file, parse_striping(attribute))

    def _info(self, hints: Hints) -> int:
        if hints not in self._info_numbers:
            self._info_numbers[hints] = len(self.infos)
            self.infos.append(hints)
        return self._info_numbers[hints]

    def _number_files(self, parts: Sequence[Part], of_ranks: Sequence[Part]) -> TracedFiles:
        """Give a number to each name of a file, in the order in which the ranks' parts describe them."""
        seen = seen_files(parts)
        place = {id(part): number for number, part in enumerate(parts)}
        stretches = [
            np.arange(seen.start[place[id(part)]], seen.start[place[id(part)] + 1])
            for part in of_ranks
        ]
        index = np.concatenate([np.zeros(0, dtype=np.int64), *stretches])
        key = (seen.path[index], seen.inode[index], seen.generation[index])
        which = distinct_rows(key)[1]
        came = first_places(which)
        order = np.argsort(came)
        number = np.empty(len(came), dtype=np.int64)
        number[order] = np.arange(len(came))
        common = number[which]
        begin = 0
        for part, stretch in zip(of_ranks, stretches, strict=True):
            own = common[begin : begin + len(stretch)]
            self._of_part[id(part)] = _LocalNumbers(part.files.number, own)
            begin += len(stretch)
        return self._traced(parts, seen, index[came[order]])

    def _traced(self, parts: Sequence[Part], seen: SeenFiles, first: Int64Array) -> TracedFiles:
        """The files that are described first at some places of what was seen."""
        places: dict[tuple[str, str], int] = {}
        place = [np.zeros(0, dtype=np.int64)]
        size_before, born = place.copy(), place.copy()
        inode, directory = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.bool_)]
        for part in parts:
            described = part.files
            found = {
                number: places.setdefault((point, kind), len(places))
                for number, (point, kind, _) in part.mounts.items()
            }
            place.append(_renumber(described.mount, found).astype(np.int64))
            size_before.append(described.size_before)
            inode.append(described.inode)
            born.append(described.born)
            directory.append(described.directory)
            part.forget_files()
        birth = np.concatenate(born)[first]
        # Another process of the run made it.
        made_later = (seen.volume[first] != UNKNOWN) & (birth >= self._started_utc_ns)
        links = np.flatnonzero(seen.link[first] >= 0)
        files = TracedFiles(
            paths=seen.texts.take(seen.path[first]).copied(),
            places=tuple(places),
            place=np.concatenate(place)[first],
            size_before=np.where(made_later, UNKNOWN, np.concatenate(size_before)[first]),
            volumes=seen.volumes,
            volume=seen.volume[first],
            inode=np.concatenate(inode)[first],
            born=birth,
            generation=seen.generation[first],
            directory=np.concatenate(directory)[first],
        )
        return files.changed(
            {
                number: replace(files[number], symlink_to=seen.texts[int(seen.link[first[number]])])
                for number in links.tolist()
            }
        )

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


@dataclass(frozen=True)
class _LocalNumbers:
    """The numbers that a part has for files, ascending, and their common ones."""

    own: Int64Array
    of_all: Int64Array

    def common(self, numbers: np.ndarray) -> Int32Array:
        """Common numbers; UNKNOWN for what is not described."""
        size = int(self.own.max(initial=-1)) + 2
        table = np.full(size, UNKNOWN, dtype=np.int32)
        table[self.own] = self.of_all
        return table[np.where((numbers >= 0) & (numbers < size), numbers, size - 1)]

    def get(self, number: int) -> int | None:
        """The common number of one file; None where it is not described."""
        at = int(np.searchsorted(self.own, number))
        known = at < len(self.own) and self.own[at] == number
        return int(self.of_all[at]) if known else None


def _renumber(numbers: np.ndarray, mapping: dict[int, int]) -> Int32Array:
    """Local numbers to common ones; what is not described (damage) becomes UNKNOWN."""
    size = max(mapping, default=-1) + 2
    table = np.full(size, UNKNOWN, dtype=np.int32)
    for local, common in mapping.items():
        table[local] = common
    known = (numbers >= 0) & (numbers < size)
    return table[np.where(known, numbers, size - 1)]
