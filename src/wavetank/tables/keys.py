"""Keys of tables and columns in JSON and CSV: where two are the same, the later one would take the place of the earlier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def repeated(keys: Iterable[str]) -> list[str]:
    """The keys that are there more than once, each once."""
    return [key for key, n in Counter(keys).items() if n > 1]


def distinct(keys: Iterable[str]) -> list[str]:
    """The keys in their order, with ``_2``, ``_3`` and so on behind those that were there before."""
    given = list(keys)
    taken = set(given)
    found: list[str] = []
    for key in given:
        name, number = key, 1
        while name in found or (number > 1 and name in taken):
            number += 1
            name = f"{key}_{number}"
        found.append(name)
    return found
