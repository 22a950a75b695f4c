"""The files of a trace as columns, of which each is a ``TracedFile`` on demand: a trace may name a million.

Reads what readers and importers know of files; leaves a sequence, and columns of what is asked of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np
import numpy.typing as npt

from wavetank.trace.distinct import distinct_rows
from wavetank.trace.schema import UNKNOWN, BoolArray, FileIdentity, Int64Array, TracedFile
from wavetank.trace.texts import Texts


@dataclass(frozen=True, eq=False)
class TracedFiles(Sequence[TracedFile]):
    """Files in the order of their numbers; columns of equal length.

    Attributes:
        paths: of each.
        places: mount point and file system, of several files each.
        place: index into them; UNKNOWN: not known.
        size_before: bytes, when first opened; UNKNOWN: it did not exist, or is not known.
        volumes: of the identities.
        volume: index into them; UNKNOWN: the identity is not known.
        inode, born, generation: of the identities; born 0: not known.
        directory: whether it is one.
        told: files of which there is more to say than the columns hold, by number.
    """

    paths: Texts
    places: tuple[tuple[str, str], ...]
    place: Int64Array
    size_before: Int64Array
    volumes: tuple[str, ...]
    volume: Int64Array
    inode: npt.NDArray[np.uint64]
    born: Int64Array
    generation: Int64Array
    directory: BoolArray
    told: Mapping[int, TracedFile] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Sequence[TracedFile]) -> TracedFiles:
        """From single ones; what is columns already stays as it is."""
        if isinstance(files, TracedFiles):
            return files
        n = len(files)
        none = np.full(n, UNKNOWN, dtype=np.int64)
        empty = cls(
            Texts.of([""] * n), (), none, none, (), none, np.zeros(n, dtype=np.uint64),
            np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool),
        )  # fmt: skip
        return empty.changed(dict(enumerate(files)))

    def changed(self, files: Mapping[int, TracedFile]) -> TracedFiles:
        """With other files under some numbers."""
        if not files:
            return self
        index = np.fromiter(files, dtype=np.int64, count=len(files))
        size_before, volume, directory = (
            self.size_before.copy(), self.volume.copy(), self.directory.copy(),
        )  # fmt: skip
        inode, born, generation = self.inode.copy(), self.born.copy(), self.generation.copy()
        volumes = {name: number for number, name in enumerate(self.volumes)}
        for number, file in files.items():
            size_before[number] = UNKNOWN if file.size_before is None else file.size_before
            directory[number] = file.directory
            identity = file.identity
            volume[number] = UNKNOWN
            if identity is not None:
                volume[number] = volumes.setdefault(identity.volume, len(volumes))
                inode[number], born[number] = identity.inode, identity.born_ns or 0
                generation[number] = identity.generation
        return replace(
            self,
            paths=self.paths.changed(index, Texts.of(file.path for file in files.values())),
            size_before=size_before,
            volumes=tuple(volumes),
            volume=volume,
            inode=inode,
            born=born,
            generation=generation,
            directory=directory,
            told={**self.told, **files},
        )

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, at: int) -> TracedFile: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[TracedFile, ...]: ...
    def __getitem__(self, at: int | slice) -> TracedFile | tuple[TracedFile, ...]:
        if isinstance(at, slice):
            return tuple(self[number] for number in range(*at.indices(len(self))))
        number = range(len(self))[at]
        if number in self.told:
            return self.told[number]
        place = int(self.place[number])
        mount_point, file_system = self.places[place] if place >= 0 else (None, None)
        size = int(self.size_before[number])
        return TracedFile(
            self.paths[number],
            mount_point,
            file_system,
            None if size == UNKNOWN else size,
            identity=self._identity(number),
            directory=bool(self.directory[number]),
        )

    def _identity(self, number: int) -> FileIdentity | None:
        volume = int(self.volume[number])
        if volume == UNKNOWN:
            return None
        return FileIdentity(
            self.volumes[volume],
            int(self.inode[number]),
            int(self.born[number]) or None,
            int(self.generation[number]),
        )

    def __iter__(self) -> Iterator[TracedFile]:
        return (self[number] for number in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def identity_numbers(self) -> Int64Array:
        """For each file a number of its identity, equal where identities are; UNKNOWN where it is not known."""
        known = np.flatnonzero(self.volume != UNKNOWN)
        key = (self.volume, self.inode.view(np.int64), self.born, self.generation)
        found = np.full(len(self), UNKNOWN, dtype=np.int64)
        found[known] = distinct_rows([column[known] for column in key])[1]
        return found

    @property
    def apart(self) -> bool:
        """Whether each name leads to a file of its own, as far as is known; False where one is a symbolic link."""
        if any(file.symlink_to is not None for file in self.told.values()):
            return False
        n_known = int((self.volume != UNKNOWN).sum())
        return int(self.identity_numbers().max(initial=UNKNOWN)) + 1 == n_known

    def numbers(self, *, attribute: str) -> list[int]:
        """Files of which an attribute that is no column here holds something, ascending."""
        return sorted(n for n, file in self.told.items() if getattr(file, attribute))
