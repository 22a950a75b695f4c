"""Which files and directories the rows of a trace are on, one by one: of a family the members that calls turn to.

Reads the rows of the extraction and its families; leaves the objects of each row as indices into the trace's files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from wavetank.model.compression.folded_table import blocks
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
        self._first = table.file[index].astype(np.int64)  # where it is one object: its number
        self._n = np.ones(len(index), dtype=np.int64)
        self._step = np.zeros(len(index), dtype=np.int64)
        self._several = np.zeros(len(index), dtype=bool)
        self._visited = np.zeros(0, dtype=np.int64)
        named = np.intersect1d(table.file[index], np.array(sorted(families), dtype=np.int64))
        if len(named):
            self._find_visits(activity, index, named)

    def _find_visits(self, activity: Activity, index: Int64Array, numbers: Int64Array) -> None:
        """Of rows on families, which visits they are: the first one, how many, and at which distance.

        Args:
            activity: the trace.
            index: rows on files, ascending.
            numbers: of the families that these rows are on, ascending.
        """
        table = activity.rows.table
        at = np.flatnonzero(np.isin(table.file, numbers))
        n_ranks = int(table.rank.max(initial=0)) + 1
        order = np.argsort(
            table.file[at].astype(np.int64) * n_ranks + table.rank[at], kind="stable"
        )
        at = at[order]
        key = table.file[at].astype(np.int64) * n_ranks + table.rank[at]
        turns = turns_to_next(table.details.name[table.given[at]]) == 1
        begin = np.flatnonzero(np.diff(key, prepend=-1))
        before = _from_start(np.where(turns, table.count[at], 0), begin)
        loop = blocks(table).of_row[at]
        n = np.where(turns, table.count[at], 1)
        step = turns.astype(np.int64)
        ahead = turns.astype(np.int64)  # turns of a loop's body up to the row and with it
        inside = np.flatnonzero(loop >= 0)
        if len(inside):
            # Of a loop's body the rows on one family are neighbours here.
            new = np.diff(loop[inside], prepend=-1) != 0
            new |= np.diff(key[inside], prepend=-1) != 0
            body = np.cumsum(new) - 1
            first = inside[new]
            of_body = np.bincount(body, weights=turns[inside]).astype(np.int64)
            ahead[inside] += _from_start(turns[inside].astype(np.int64), np.flatnonzero(new))
            before[inside] = before[first][body]
            step[inside] = of_body[body]
            n[inside] = np.where(step[inside] > 0, table.count[at[inside]], 1)
        keys, starts, self._visited = _all_visits(activity, numbers, n_ranks)
        wanted = np.searchsorted(index, at)
        kept = (wanted < len(index)) & (index[np.minimum(wanted, len(index) - 1)] == at)
        wanted = wanted[kept]
        self._several[wanted] = True
        visit = (before + ahead - 1)[kept]
        self._first[wanted] = starts[np.searchsorted(keys, key[kept])] + visit
        self._n[wanted], self._step[wanted] = n[kept], step[kept]

    def of(self, at: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The objects of some rows, row by row, and how many each row has.

        Args:
            at: places in the index.
        """
        n = self._n[at]
        place = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
        found = np.repeat(self._first[at], n) + place * np.repeat(self._step[at], n)
        several = np.repeat(self._several[at], n)
        found[several] = self._visited[found[several]]
        return found, n


def _from_start(values: Int64Array, begin: Int64Array) -> Int64Array:
    """The sum of the values before each one, from the latest place of ``begin`` on."""
    before: Int64Array = np.cumsum(values) - values
    return before - np.repeat(before[begin], np.diff(begin, append=len(values)))


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
