"""Which names are of one family: they differ in numbers only, or lie below one folder.

Reads paths, and for each how the file is used; leaves groups of those that are used alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from posixpath import commonpath

import numpy as np

from wavetank.trace.schema import BoolArray, FoldTable, Int64Array
from wavetank.trace.texts import Texts

_DIGITS = re.compile(r"[0-9]+")


def group_names(paths: Texts, kinds: Int64Array, fewest: int) -> tuple[Int64Array, list[str]]:
    """Group paths of one kind each.

    First those that are equal but for numbers; of the rest those of one folder; of what is left then those of the
    folder above it, and so on. A group has ``fewest`` paths at least. The root folder holds no group.

    Args:
        paths: of files.
        kinds: of each path; paths of different kinds are in different groups.
        fewest: paths of a group.

    Returns:
        The number of each path's group, -1 for none; and the groups' names, with "*" for what differs.
    """
    group = np.full(len(paths), -1, dtype=np.int64)
    first = paths.first_alike(kinds, digits=True)
    left, firsts = _taken(np.arange(len(paths)), first, group, 0, fewest)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(firsts) + 1)).tolist()
    names = [_numbered(paths.take(order[low:high])) for low, high in pairwise(bounds)]
    folders = paths.take(left).folders()
    while len(left):
        below_root = folders.length > 0
        left, folders = left[below_root], folders.take(np.flatnonzero(below_root))
        first = folders.first_alike(kinds[left], digits=False)
        still, firsts = _taken(left, first, group, len(names), fewest)
        names += [f"{folders[place]}/*" for place in firsts]
        folders = folders.take(np.searchsorted(left, still)).folders()
        left = still
    return group, _apart(names)


def _taken(
    left: Int64Array, first: Int64Array, group: Int64Array, n_groups: int, fewest: int
) -> tuple[Int64Array, list[int]]:
    """Make groups of those that are alike and many enough.

    Args:
        left: paths that are in no group, by number, ascending.
        first: of each of them the place in ``left`` of the first one that is like it.
        group: of all paths; filled in.
        n_groups: that there are already.
        fewest: paths of a group.

    Returns:
        The paths that are in no group still; and of each new group the place in ``left`` of its first path.
    """
    n_alike = np.bincount(first, minlength=len(left))
    firsts = np.flatnonzero(n_alike >= fewest)
    number = np.full(len(left), -1, dtype=np.int64)
    number[firsts] = n_groups + np.arange(len(firsts))
    group[left] = number[first]
    return left[number[first] < 0], firsts.tolist()


def _numbered(paths: Texts) -> str:
    """Names that are equal but for numbers, with "*" for those that differ."""
    varies = paths.varying_numbers()
    texts, numbers = _DIGITS.split(paths[0]), _DIGITS.findall(paths[0])
    shown = ["*" if differs else digits for digits, differs in zip(numbers, varies, strict=False)]
    return texts[0] + "".join(digits + text for digits, text in zip(shown, texts[1:], strict=True))


def pattern_of(paths: Sequence[str]) -> str:
    """One name for several paths, with "*" for what differs."""
    texts = Texts.of(paths)
    alike = texts.first_alike(np.zeros(len(texts), dtype=np.int64), digits=True)
    if not alike.any():
        return _numbered(texts)
    return f"{commonpath({path.rpartition('/')[0] for path in paths})}/*"


def _apart(names: list[str]) -> list[str]:
    """Equal names (of files that are used in different ways) get a number."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


_ENDS = 2  # collectives: MPI_Init and MPI_Finalize


def handed_on(table: FoldTable, n_files: int, changes: BoolArray) -> BoolArray:
    """Which files without data are such.

    Args:
        table: rows of all ranks.
        n_files: files that they may name.
        changes: of each row, whether it makes or removes a name.
    """
    found = np.zeros(n_files, dtype=bool)
    meets = np.bincount(table.rank, weights=np.where(table.file < 0, table.count, 0))
    if meets.max(initial=0) > _ENDS:
        return found
    on_file = table.file >= 0
    file, rank = table.file[on_file], table.rank[on_file]
    lowest, highest = np.full(n_files, len(meets)), np.zeros(n_files, dtype=np.int64)
    np.minimum.at(lowest, file, rank)
    np.maximum.at(highest, file, rank)
    found[table.file[on_file & changes]] = True
    found[table.file[on_file & (table.moved > 0)]] = False
    return found & (lowest < highest)
