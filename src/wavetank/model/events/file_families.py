"""Finds files that a run uses alike, one at a time: hundreds of small files become one file with members.

Reads a trace's table and files; leaves a table in which all files of a family are one, and says whose turn it is:
a call's name says whether it is on the next member, see ``wavetank.model.document.file_members``. What follows
sees one file that is opened again and again, and folds. What is a family: docs/decisions/families-of-files.md.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from wavetank.model.columns import different
from wavetank.model.document.file_members import step_name
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.events.empty_copies import COPIES, offsets_of_visits
from wavetank.model.events.family_names import group_names, handed_on, pattern_of
from wavetank.model.events.file_identity import NAMED_OPS
from wavetank.model.events.file_visits import (
    Visits,
    are_sequential,
    handles_of_visits,
    highest_offsets,
    visits_of,
)
from wavetank.model.events.first_calls import begin_with
from wavetank.model.events.loop_layout import loops_of, part_rows
from wavetank.model.events.member_names import (
    MAKES_NAMES,
    names_of_members,
    names_of_visits,
    odd_names,
    pattern_names,
    uses_of_names,
)
from wavetank.trace.call_details import with_names
from wavetank.trace.distinct import distinct_rows
from wavetank.trace.ops import codes_where
from wavetank.trace.schema import (
    UNKNOWN,
    BoolArray,
    FoldTable,
    Int64Array,
    Level,
    OpKind,
    Trace,
)
from wavetank.trace.traced_files import TracedFiles

_PLAIN = (
    "open", "close", "read", "write", "pread", "pwrite", "readv", "writev", "preadv", "pwritev", *COPIES, "lseek", "fsync",
    "fdatasync", "sync_file_range", "truncate", "ftruncate", "fallocate", "stat", "fstat", "access", "unlink", "mkdir",
    "rmdir", "mknod", "chmod", "chown", "utime", "fchmod", "fchown", "futime", *MAKES_NAMES,
)  # fmt: skip
_MAKING = ("mkdir", "mknod")
"""Calls on files of families: each is on one file, by its name or through an open of its own."""


@dataclass(frozen=True)
class Family:
    """Files that are used alike.

    Attributes:
        name: for titles, with "*" for what differs.
        first_path: of the first member, whose place among the trace's files the family has.
        members: indices into the trace's files, in the order of their first visit.
        size: of each member, highest offset touched + 1, bytes.
        size_before: of each member, bytes when first opened; UNKNOWN: it did not exist, or that is not known.
        ranks: that visit members, ascending.
        n_visits: of each of these ranks.
        order: members by number, of the first rank's visits, then of the next one's.
        other_names: of each member, for each name that it has beside its own.
        sequential: whether each operation on a member follows on the one before it; False where that is not known.
    """

    name: str
    first_path: str
    members: Int64Array
    size: Int64Array
    size_before: Int64Array
    ranks: Int64Array
    n_visits: Int64Array
    order: Int64Array
    other_names: tuple[tuple[str, ...], ...]
    sequential: bool


Families = Mapping[int, Family]
"""By the index into the trace's files that stands for all members."""


def fold_alike(
    trace: Trace, table: FoldTable, thresholds: Thresholds
) -> tuple[Trace, FoldTable, Families]:
    """The trace with one file for each family of files.

    Args:
        trace: whose files the rows name.
        table: its rows, in rank order.
        thresholds: what is a family.
    """
    n_files = len(trace.files)
    if min(n_files, len(table)) < thresholds.family_files or int(table.file.max()) >= n_files:
        return trace, table, {}
    search = _Search(trace, table, thresholds)
    group = search.groups()
    if group is None:
        return trace, table, {}
    visits = visits_of(table, group)
    families = search.families(group, visits)
    return (*search.rewritten(group, visits, families), families)


class _Search:
    """One trace's files and rows."""

    def __init__(self, trace: Trace, table: FoldTable, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._trace, self._table = trace, table
        self._files = TracedFiles.of(trace.files)
        self._before = self._files.size_before
        self._names: list[str] = []

    def _codes(self, chosen: Container[str]) -> BoolArray:
        return codes_where(lambda op: op.name in chosen)

    def _kinds(self, *kinds: OpKind) -> BoolArray:
        return codes_where(lambda op: op.kind in kinds and op.level == Level.POSIX)

    # --- which files ------------------------------------------------------------------------------

    def groups(self) -> Int64Array | None:
        """For each file, and for -1, the number of its family; -1 for none. None where there is no family."""
        usable = self._usable()
        while usable.sum() >= self._thresholds.family_files:
            group = self._grouped(usable)
            if (group < 0).all():
                return None
            broken = self._broken(group)
            if not len(broken):
                return group
            usable[broken] = False
        return None

    def _usable(self) -> BoolArray:
        """Files with plain calls only."""
        table, files = self._table, self._files
        usable = np.zeros(len(files) + 1, dtype=bool)
        usable[table.file] = True
        usable[-1] = False
        odd = ~self._codes(_PLAIN)[table.op]
        odd |= (table.view != UNKNOWN) | (table.handle_step != 0)
        usable[table.file[odd]] = False
        for attribute in ("symlink_to", "collective_unknown"):
            usable[files.numbers(attribute=attribute)] = False
        usable[odd_names(table, files)] = False
        loops = loops_of(table)
        if len(loops):
            inside = np.flatnonzero(loops.of_row >= 0)
            low = np.minimum.reduceat(table.file[inside], np.searchsorted(inside, loops.start))
            high = np.maximum.reduceat(table.file[inside], np.searchsorted(inside, loops.start))
            several = (low != high)[loops.of_row[inside]]
            usable[table.file[inside[several]]] = False
        changes = self._codes((*_MAKING, "unlink", "rmdir"))[table.op]
        changes |= table.details.flags[table.given] & os.O_CREAT != 0
        usable[:-1] &= ~handed_on(table, len(files), changes)
        return usable

    def _grouped(self, usable: BoolArray) -> Int64Array:
        """Files of equal names but for numbers, or below one folder, with which the same kinds of calls are made."""
        table = self._table
        kinds = self._kinds_of_use(usable)
        numbers = np.flatnonzero(usable)
        paths = self._files.paths.take(numbers)
        of_usable, self._names = group_names(paths, kinds[numbers], self._thresholds.family_files)
        group = np.full(len(usable), -1, dtype=np.int64)
        group[numbers] = of_usable
        if not self._names:
            return group
        of_row = group[table.file]
        some = np.flatnonzero(of_row >= 0)
        n_ranks = int(table.rank.max(initial=0)) + 1
        uses = np.zeros((len(self._names), n_ranks), dtype=bool)
        uses[of_row[some], table.rank[some]] = True
        size = np.bincount(of_usable[of_usable >= 0], minlength=len(self._names))
        limits = self._thresholds
        least = uses.sum(axis=1) * limits.family_files_of_rank
        few = size < np.maximum(least, limits.family_files)
        group[few[group] & (group >= 0)] = -1
        return group

    def _kinds_of_use(self, usable: BoolArray) -> Int64Array:
        """A number for each file: equal for files that are used by the same kinds of calls.

        Equal are also the ways to open them, their state before the run, and whether the run's first call that
        succeeds may make them: a kernel makes beforehand all files of a family or none.
        """
        table, n = self._table, len(self._before)
        bit = np.zeros(256, dtype=np.int64)
        for number, name in enumerate(_PLAIN):
            bit[self._codes((name,))] = 1 << number
        rows = np.flatnonzero(usable[table.file])
        file, calls = table.file[rows], bit[table.op[rows]]
        failed = table.error[rows] != 0
        mask = [np.zeros(n, dtype=np.int64) for _ in range(5)]
        np.bitwise_or.at(mask[0], file[~failed], calls[~failed])
        np.bitwise_or.at(mask[1], file[failed], calls[failed])
        opens = self._kinds(OpKind.OPEN)[table.op[rows]] & ~failed
        flags = table.details.flags[table.given[rows]]
        np.bitwise_or.at(mask[2], file[opens], flags[opens])
        mask[3] = np.sign(self._before)
        makes = self._codes(_MAKING)[table.op[rows]]
        makes |= flags & os.O_CREAT != 0
        mask[4][begin_with(makes[~failed], table, rows[~failed], file[~failed], n)] = 1
        mask += uses_of_names(table, rows, bit, n)
        return distinct_rows([*mask, self._files.directory.astype(np.int64)])[1]

    def _broken(self, group: Int64Array) -> Int64Array:
        """Files of families with an open that outlives a visit, or that was not made in it."""
        table, visits = self._table, visits_of(self._table, group)
        first = visits.rows[visits.start]
        by_name = self._codes(NAMED_OPS)[table.op[first]] & (table.loop[first] == 0)
        bad = [table.file[first[~by_name]]]
        through = self._through_opens(visits)
        rows, number = visits.rows[through], visits.number[through]
        if not len(rows):
            return different(bad[0])
        n_handles = int(table.handle.max(initial=0)) + 1
        key = table.rank[rows].astype(np.int64) * n_handles + table.handle[rows]
        order = np.lexsort((rows, key))
        rows, number, key = rows[order], number[order], key[order]
        start = np.flatnonzero(np.diff(key, prepend=-1))
        stop = np.append(start[1:], len(key)) - 1
        opens = self._kinds(OpKind.OPEN)[table.op[rows[start]]]
        failed = opens & (table.error[rows[start]] != 0) & (start == stop)
        closes = self._kinds(OpKind.CLOSE)[table.op[rows[stop]]] & (table.loop[rows[stop]] == 0)
        whole = failed | (opens & closes & (number[start] == number[stop]))
        bad.append(table.file[rows[start[~whole]]])
        return different(np.concatenate(bad))

    def _through_opens(self, visits: Visits) -> BoolArray:
        """Rows of opens, and of calls on what is open; not of others on names."""
        table, rows = self._table, visits.rows
        by_name = self._codes(NAMED_OPS) & ~self._kinds(OpKind.OPEN)
        return (table.handle[rows] >= 0) & ~by_name[table.op[rows]]

    # --- who visits them --------------------------------------------------------------------------

    def families(self, group: Int64Array, visits: Visits) -> dict[int, Family]:
        """The families, by the file that stands for each."""
        table = self._table
        first = visits.rows[visits.start]
        of_visit = group[table.file[first]]
        moves = self._kinds(OpKind.READ, OpKind.WRITE)
        highest = highest_offsets(table, visits, moves, len(self._before))
        sequential = are_sequential(table, visits, moves, of_visit, len(self._names))
        found = {}
        bounds = np.searchsorted(of_visit, np.arange(len(self._names) + 1))
        for number, (low, high) in enumerate(pairwise(bounds.tolist())):
            if low == high:
                continue
            rows = first[low:high]
            members, came, which = np.unique(
                table.file[rows], return_index=True, return_inverse=True
            )
            in_order = np.argsort(came)
            place = np.empty(len(members), dtype=np.int64)
            place[in_order] = np.arange(len(members))
            numbers = members[in_order].astype(np.int64)
            ranks, n_visits = np.unique(table.rank[rows], return_counts=True)
            found[int(numbers[0])] = Family(
                self._names[number], self._files.paths[int(numbers[0])], numbers, highest[numbers],
                self._before[numbers], ranks.astype(np.int64), n_visits.astype(np.int64),
                place[which.reshape(-1)], names_of_members(self._files, numbers.tolist()),
                bool(sequential[number]),
            )  # fmt: skip
        return found

    # --- what follows sees ------------------------------------------------------------------------

    def rewritten(
        self, group: Int64Array, visits: Visits, families: Mapping[int, Family]
    ) -> tuple[Trace, FoldTable]:
        """The trace and its rows with one file for each family."""
        table = self._table
        stands = np.arange(len(group), dtype=np.int32)
        stands[-1] = UNKNOWN
        files = {}
        for file, family in families.items():
            stands[family.members] = file
            others = pattern_names([pattern_of(names) for names in family.other_names])
            files[file] = replace(
                self._files[file],
                path=family.name,
                size_before=None,
                identity=None,
                other_names=others,
            )
        first = visits.rows[visits.start]
        handle = handles_of_visits(table, visits, self._through_opens(visits), group)
        offset = offsets_of_visits(table, visits.rows, visits.number)
        joined = replace(table, file=stands[table.file], handle=handle, offset=offset)
        name = names_of_visits(table, visits.rows, first)
        several = np.zeros(len(table), dtype=bool)
        several[first] = table.count[first] > 1
        if several.any():  # the first call turns to the member, the others stay with it
            joined = part_rows(joined, several)
            places = np.flatnonzero(several)
            stays = step_name(table.details.name[table.given[places]], turns=False)
            name = np.insert(name, places + 1, stays)
        return replace(self._trace, files=self._files.changed(files)), with_names(joined, name)
