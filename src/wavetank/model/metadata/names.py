"""Names of the files and directories of phases of calls: families of equal names but for numbers, and directories.

Reads paths by number; leaves what a phase says of its names. Each path is looked at once, whatever the number of phases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import commonpath

import numpy as np

from wavetank.model.columns import different
from wavetank.model.document.metadata import NameFamily, Sharing
from wavetank.model.document.name_shapes import name_shape, where_they_differ
from wavetank.trace.schema import Int64Array

_TOLD = 4  # families of a phase


class Names:
    """The names of one trace.

    Args:
        paths: of files and directories.
        others: paths that some have instead.
    """

    def __init__(self, paths: Sequence[str], others: Mapping[int, str]) -> None:
        self._paths, self._others = paths, others
        self._shape = np.full(
            len(paths), -1, dtype=np.int64
        )  # number of the path with * for numbers
        self._shapes: dict[str, int] = {}
        self._folder = np.full(len(paths), -1, dtype=np.int64)  # number of the directory
        self._folders: dict[str, int] = {}
        self._told: dict[bytes, tuple[tuple[NameFamily, ...], int]] = {}

    def _path(self, number: int) -> str:
        return self._others.get(number) or self._paths[number]

    def _look_at(self, objects: Int64Array) -> None:
        for number in objects[self._shape[objects] < 0].tolist():
            path = self._path(number)
            folder = path.rpartition("/")[0]
            self._shape[number] = self._shapes.setdefault(name_shape(path), len(self._shapes))
            self._folder[number] = self._folders.setdefault(folder, len(self._folders))

    def parents(self, used: Int64Array, n_ranks: int) -> tuple[int, Sharing]:
        """How many directories the objects lie in, and how ranks share them.

        Args:
            used: rank << 32 | object, each once.
            n_ranks: that use them.
        """
        objects = used & 0xFFFFFFFF
        self._look_at(objects)
        folder = self._folder[objects]
        n_folders = len(different(folder))
        if n_folders == 1:
            return 1, "one"
        n_pairs = len(different(used >> 32 << 32 | folder))
        return n_folders, "own" if n_ranks == 1 or n_pairs == n_folders else "several"

    def families(self, objects: Int64Array) -> tuple[tuple[NameFamily, ...], int]:
        """The largest families of names below their common folder, and how many names are in none of them.

        Args:
            objects: different ones, ascending.
        """
        key = objects.tobytes()
        if key not in self._told:
            self._told[key] = self._families(objects)
        return self._told[key]

    def _families(self, objects: Int64Array) -> tuple[tuple[NameFamily, ...], int]:
        self._look_at(objects)
        shapes, first, n = np.unique(self._shape[objects], return_index=True, return_counts=True)
        largest = np.lexsort((first, -n))[:_TOLD]
        start = self._start(objects)
        told = tuple(
            NameFamily(
                pattern=where_they_differ(
                    [
                        self._path(number)[start:]
                        for number in objects[self._shape[objects] == shapes[place]].tolist()
                    ]
                ),
                n=int(n[place]),
            )
            for place in largest.tolist()
        )
        return told, len(objects) - sum(one.n for one in told)

    def _start(self, objects: Int64Array) -> int:
        """Where names below the objects' common folder begin in their paths."""
        numbers = set(different(self._folder[objects]).tolist())
        folders = [path or "/" for path, number in self._folders.items() if number in numbers]
        absolute = all(self._path(number).startswith("/") for number in objects.tolist())
        common = commonpath(folders) if absolute else ""
        return len(common) + 1 if common not in ("", "/") else 0
