"""Which names are of one family: they differ in numbers only, or lie below one folder.

Reads paths, and for each how the file is used; leaves groups of those that are used alike.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from wavetank.model.plain_names import folder_of
from wavetank.trace.schema import Int64Array

_DIGITS = re.compile(r"[0-9]+")


def group_names(paths: list[str], kinds: Int64Array, fewest: int) -> tuple[Int64Array, list[str]]:
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
    names: list[str] = []
    left = list(range(len(paths)))
    kind = kinds.tolist()
    left = _taken(left, [(kind[i], _DIGITS.sub("0", paths[i])) for i in left], group, names, fewest)
    numbered = len(names)
    folder = {i: folder_of(paths[i]) for i in left}
    left = [i for i in left if folder[i] != ""]
    while left:
        keys = [(kind[i], folder[i]) for i in left]
        left = _taken(left, keys, group, names, fewest)
        above = {path: folder_of(path) for path in {folder[i] for i in left}}
        folder = {i: above[folder[i]] for i in left}
        left = [i for i in left if folder[i] != ""]
    for number in range(numbered, len(names)):
        names[number] = f"{names[number]}/*"
    _name_numbered(paths, group, names[:numbered], names)
    return group, _apart(names)


def _taken(
    left: list[int],
    keys: list[tuple[int, str]],
    group: Int64Array,
    names: list[str],
    fewest: int,
) -> list[int]:
    """Make groups of keys that come often enough; what is in none is left."""
    numbers: dict[tuple[int, str], int] = {}
    for key, n in Counter(keys).items():
        if n >= fewest:
            numbers[key] = len(names)
            names.append(key[1])
    for path, key in zip(left, keys, strict=True):
        group[path] = numbers.get(key, -1)
    return [path for path, key in zip(left, keys, strict=True) if key not in numbers]


def _name_numbered(
    paths: list[str], group: Int64Array, numbered: list[str], names: list[str]
) -> None:
    """Names with "*" for the numbers that differ; those that do not stay."""
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(numbered) + 1))
    for number in range(len(numbered)):
        members = [paths[i] for i in order[bounds[number] : bounds[number + 1]].tolist()]
        texts = _DIGITS.split(members[0])
        columns = zip(*(_DIGITS.findall(path) for path in members), strict=True)
        shown = [column[0] if len(set(column)) == 1 else "*" for column in columns]
        names[number] = texts[0] + "".join(
            digits + text for digits, text in zip(shown, texts[1:], strict=True)
        )


def _apart(names: list[str]) -> list[str]:
    """Equal names (of files that are used in different ways) get a number."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
