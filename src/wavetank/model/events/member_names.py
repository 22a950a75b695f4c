"""Further names of files that are used alike: written under one name, renamed or linked, and used under another one.

Reads a trace's rows and files; leaves which files may be of a family, what is done by each of their names, and names
by member.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavetank.model.document.file_members import step_name
from wavetank.model.events.file_identity import NAMED_OPS
from wavetank.trace import arguments
from wavetank.trace.ops import codes_where
from wavetank.trace.schema import FoldTable, Int64Array, OtherName
from wavetank.trace.traced_files import TracedFiles

MAKES_NAMES = ("rename", "link")
_MOST_NAMES = 4  # of a file: git and rsync need two


def odd_names(table: FoldTable, files: TracedFiles) -> list[int]:
    """Files with names that no member has: symbolic links, and names that no call of the run made.

    All names of a member but one come to be by a rename or a link, each one call on that file alone.
    """
    n_linked = np.zeros(len(files) + 1, dtype=np.int64)
    odd: set[int] = set()
    on_two = codes_where(lambda op: op.name in arguments.ON_TWO_NAMES)[table.op]
    rows = np.flatnonzero(on_two)
    if len(rows):
        new = arguments.is_new_name(table, rows)
        one = codes_where(lambda op: op.name in MAKES_NAMES)[table.op[rows]]
        one &= (table.error[rows] == 0) & (table.count[rows] == 1) & (table.loop[rows] == 0)
        other = np.where(new, rows - 1, np.minimum(rows + 1, len(table) - 1))
        for column in (table.op, table.rank, table.file):
            one &= column[other] == column[rows]
        one &= arguments.is_new_name(table, other) != new
        odd.update(table.file[rows[~one]].tolist())
        made = rows[new]
        bits = np.zeros(len(files) + 1, dtype=np.int64)
        name = np.minimum(table.details.name[table.given[made]], _MOST_NAMES)
        np.bitwise_or.at(bits, table.file[made], np.left_shift(1, name))
        for k in range(_MOST_NAMES):
            n_linked += (bits >> k) & 1
    several = files.numbers(attribute="other_names")
    for number in several:
        others = files[number].other_names
        if (
            len(others) >= _MOST_NAMES
            or any(name.symlink for name in others)
            or n_linked[number] != len(others)
        ):
            odd.add(number)
    odd.update(set(np.flatnonzero(n_linked).tolist()) - set(several))
    return sorted(odd)


def uses_of_names(
    table: FoldTable, rows: Int64Array, calls: Int64Array, n_files: int
) -> list[Int64Array]:
    """What is done by each name of each file: columns of which equal rows are used alike.

    Args:
        table: rows of the trace.
        rows: those of files that may be of a family.
        calls: a bit for each code of an operation.
        n_files: that the rows may name, and one for none.
    """
    rows = rows[codes_where(lambda op: op.name in NAMED_OPS)[table.op[rows]]]
    number = table.details.name[table.given[rows]]
    if not number.any():
        return []
    found = [np.zeros(n_files, dtype=np.int64)]  # names that come to be
    made = rows[arguments.is_new_name(table, rows)]
    bit = np.left_shift(1, table.details.name[table.given[made]])
    np.bitwise_or.at(found[0], table.file[made], bit)
    failed = table.error[rows] != 0
    for name in range(_MOST_NAMES):
        for which in (failed, ~failed):
            some = rows[which & (number == name)]
            mask = np.zeros(n_files, dtype=np.int64)
            np.bitwise_or.at(mask, table.file[some], calls[table.op[some]])
            found.append(mask)
    return found


def names_of_members(files: TracedFiles, members: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """For each further name the paths of all members, in their order; empty where they have none."""
    told = files.told  # files that are not in it have no further names
    if any(number not in told for number in members):
        return ()
    others = [[name.path for name in told[number].other_names] for number in members]
    return tuple(zip(*others, strict=True))


def pattern_names(patterns: Sequence[str]) -> tuple[OtherName, ...]:
    """Further names of the file that stands for a family."""
    return tuple(OtherName(pattern, symlink=False) for pattern in patterns)


def names_of_visits(table: FoldTable, rows: Int64Array, first: Int64Array) -> Int64Array:
    """The name of all rows' calls; those of families say whether they turn to the next member, too.

    Args:
        table: rows of the trace.
        rows: those on families.
        first: those of them that begin a visit.
    """
    name: Int64Array = table.details.name[table.given]
    turned = step_name(name[first], turns=True)
    name[rows] = step_name(name[rows], turns=False)
    name[first] = turned
    return name
