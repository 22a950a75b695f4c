"""Which files and directories the rows of a trace are on, one by one: of a family the members that calls turn to.

Reads the rows of the extraction and its families; leaves the objects of each row as indices into the trace's files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from wavetank.model.columns import lengths, starts
from wavetank.model.document.file_members import turns_to_next
from wavetank.model.phases.activity import Activity
from wavetank.trace.schema import BoolArray, Int64Array


class Objects:
    """The objects of some rows.

    Args:
        activity: the trace.
        index: rows on files, ascending.
        paths: of the trace's files; of those that stand for a family, the family's name.
        directories: those of them that are directories.
    """

    def __init__(
        self,
        activity: Activity,
        index: Int64Array,
        paths: Sequence[str],
        directories: Collection[int],
    ) -> None:
        table, families = activity.rows.table, activity.families
        self.first_paths = {file: family.first_path for file, family in families.items()}
        self.is_directory: BoolArray = np.zeros(len(paths), dtype=bool)
        self.is_directory[list(directories)] = True
        for file, family in families.items():
            self.is_directory[family.members] = self.is_directory[file]
        self._object = table.file[index].astype(np.int64)
        named = np.intersect1d(table.file[index], np.array(sorted(families), dtype=np.int64))
        if len(named):
            self._find_visits(activity, index, named)

    def _find_visits(self, activity: Activity, index: Int64Array, numbers: Int64Array) -> None:
        """Of rows on families, which member each is on.

        Args:
            activity: the trace.
            index: rows on files, ascending.
            numbers: of the families that these rows are on, ascending.
        """
        table = activity.rows.table
        at = np.flatnonzero(np.isin(table.file, numbers))
        n_ranks = int(table.rank.max(initial=0)) + 1
        key = table.file[at].astype(np.int64) * n_ranks + table.rank[at]
        order = np.argsort(key, kind="stable")
        at, key = at[order], key[order]
        turns = np.cumsum(turns_to_next(table.details.name[table.given[at]]) == 1)
        begin = starts(key)  # with a turn
        visit = turns - np.repeat(turns[begin], lengths(begin, len(at)))
        keys, first, visited = _all_visits(activity, numbers, n_ranks)
        wanted = np.searchsorted(index, at)
        kept = (wanted < len(index)) & (index[np.minimum(wanted, len(index) - 1)] == at)
        place = first[np.searchsorted(keys, key[kept])] + visit[kept]
        self._object[wanted[kept]] = visited[place]

    def of(self, at: Int64Array) -> Int64Array:
        """The objects of some rows, by their places in the index."""
        return self._object[at]


def _all_visits(
    activity: Activity, numbers: Int64Array, n_ranks: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Keys of each of some families and a rank, where its visits begin, and the object of each visit."""
    keys, counts, visited = [], [], []
    for file in numbers.tolist():
        family = activity.families[file]
        keys.append(file * n_ranks + family.ranks)
        counts.append(family.n_visits)
        visited.append(family.members[family.order])
    n = np.concatenate(counts)
    return np.concatenate(keys), np.cumsum(n) - n, np.concatenate(visited)
