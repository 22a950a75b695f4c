"""Names of files that differ in numbers only, for tables that show one line for many.

A file of its own: the metadata phases and the tables of models and of kernels must show equal names alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"\d+")


def name_shape(name: str) -> str:
    """The name with * for each number: equal for names that differ in numbers only."""
    return _NUMBER.sub("*", name)


def where_they_differ(names: Sequence[str]) -> str:
    """Names that differ in numbers only, with * for the numbers that do."""
    if len(names) == 1:
        return names[0]
    texts = _NUMBER.split(names[0])
    columns = zip(*map(_NUMBER.findall, names), strict=True)
    told = [column[0] if len(set(column)) == 1 else "*" for column in columns]
    return texts[0] + "".join(digits + text for digits, text in zip(told, texts[1:], strict=True))
