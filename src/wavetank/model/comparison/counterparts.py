"""Which files of two models are the same ones: by their names, of which a replay may have changed folders and characters.

Reads files, and members of families; leaves pairs. Work grows with names times the parts that a path has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import PurePath

import numpy as np

from wavetank.model.document.file import ROOT, ModelFile, plain_name
from wavetank.model.document.file_members import Members
from wavetank.model.document.phase import Phase
from wavetank.trace.schema import UNKNOWN, Int64Array

FilePairs = list[tuple[ModelFile | None, ModelFile | None]]


def matched_files(a: Sequence[ModelFile], b: Sequence[ModelFile]) -> FilePairs:
    """Pairs of files, in the order of ``a``; last those without an equal, of which those with data stand side by side."""
    found = _by_name([file.file_name for file in a], [file.file_name for file in b])
    pairs: FilePairs = [(a[one], b[other]) for one, other in sorted(found.items())]
    others = set(found.values())
    left_a = [file for number, file in enumerate(a) if number not in found]
    left_b = [file for number, file in enumerate(b) if number not in others]
    return [
        *pairs,
        *zip_longest(
            (file for file in left_a if file.n_operations),
            (file for file in left_b if file.n_operations),
        ),
        *((file, None) for file in left_a if not file.n_operations),
        *((None, file) for file in left_b if not file.n_operations),
    ]


def matched_members(a: Members, b: Members) -> Int64Array:
    """For each member of ``a`` the number of the same one of ``b``; UNKNOWN: none.

    Those whose names say nothing, of temporary files for example, are matched in the order of their first visits.
    """
    same = np.full(len(a), UNKNOWN, dtype=np.int64)
    number_of = {names: number for number, names in reversed([*enumerate(_all_names(b))])}
    for number, names in enumerate(_all_names(a)):
        same[number] = number_of.pop(names, UNKNOWN)
    left_a = np.flatnonzero(same < 0)
    left_b = np.setdiff1d(np.arange(len(b)), same)
    if len(left_a) and len(left_b):
        found = _by_name(
            *([m.path(n) for n in left.tolist()] for m, left in ((a, left_a), (b, left_b)))
        )
        for one, other in found.items():
            same[left_a[one]] = left_b[other]
        rest_a = np.flatnonzero(same < 0)
        rest_b = np.setdiff1d(left_b, same)
        n = min(len(rest_a), len(rest_b))
        same[_by_first_visit(a, rest_a)[:n]] = _by_first_visit(b, rest_b)[:n]
    return same


def _all_names(members: Members) -> Iterator[tuple[str, ...]]:
    """The names of each member, whichever is its own."""
    return (tuple(sorted(names)) for names in zip(members.names, *members.other_names, strict=True))


def _by_first_visit(members: Members, chosen: Int64Array) -> Int64Array:
    """Some members in the order in which they are visited first, rank by rank."""
    visited, first = np.unique(members.visits.all(), return_index=True)
    at = np.full(len(members), len(members.visits.all()), dtype=np.int64)
    at[visited] = first
    return chosen[np.argsort(at[chosen], kind="stable")]


def _by_name(a: Sequence[str], b: Sequence[str]) -> dict[int, int]:
    """Numbers of paths of which the longest ends are equal; each is in one pair."""
    parts_a = {number: PurePath(path).parts for number, path in enumerate(a)}
    parts_b = {number: PurePath(path).parts for number, path in enumerate(b)}
    found: dict[int, int] = {}
    longest = max((len(parts) for parts in (*parts_a.values(), *parts_b.values())), default=0)
    for length in range(longest, 0, -1):
        if not parts_a or not parts_b:
            break
        # Of several files with one name, one in the other's place, the first first.
        first = [*reversed(parts_b.items())]
        by_name = {parts[-length:]: number for number, parts in first if len(parts) >= length}
        by_base = {parts[-1]: number for number, parts in first if parts}
        for number, parts in list(parts_a.items()):
            if len(parts) < length:
                continue
            other = by_name.get(parts[-length:])
            if other is None:
                other = by_base.get(_flat_name(parts[-length:]))
            if other is not None and other in parts_b:
                found[number] = other
                del parts_a[number], parts_b[other]
    return found


def _flat_name(parts: Sequence[str]) -> str:
    """The end of a path in a replay that has one folder: "dir-f_3" below its root stands for "dir/f 3"."""
    return ROOT if tuple(parts) == ("/",) else "-".join(map(plain_name, parts))


def identity_of(phase: Phase) -> tuple[object, ...]:
    """What makes phases of two runs the same; names and numbers of files may differ."""
    operations = tuple((member.iop_type, member.rs) for member in phase.pattern)
    return phase.level, phase.ph_processid, phase.ph_weight, operations


def same_phases(ours: Sequence[Phase], theirs: Sequence[Phase]) -> dict[int, Phase]:
    """Of our phases, by ph_id, their counterparts; those without one are left out.

    The first of several alike is their first one, and so on.
    """
    alike: dict[tuple[object, ...], list[Phase]] = defaultdict(list)
    for phase in reversed(theirs):
        alike[identity_of(phase)].append(phase)
    found = {}
    for phase in ours:
        left = alike.get(identity_of(phase))
        if left:
            found[phase.ph_id] = left.pop()
    return found
