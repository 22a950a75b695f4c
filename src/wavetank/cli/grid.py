"""Rows of words as lines for a terminal of some width. A word, a number and its unit are never split.

A table that is too wide wraps at spaces, its widest columns first. Where the longest words do not fit side by side, columns
without any value are left out, then the last ones. A single row becomes a line for each column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from wavetank.tables.words import DASH, printable

_GAP = 2  # spaces between columns
# "1.00-4.00 s)," is one word, and so are "64.0 KiB", "5.3 %" and "0.42 USD"; others end at spaces.
_WORD = re.compile(
    r"\S*\d (?:[kKMGTPE]?i?B(?:/s)?|[KMGT]?bit/s|[mnu\u00b5\u03bc]?s|min|h|%|[A-Z]{3})(?![\w/])\S*|\S+"
)


@dataclass(frozen=True)
class Lines:
    """A table as lines.

    Attributes:
        head: the titles of the columns; none where each line has one.
        body: the rows.
        left_out: titles of columns for which there is no room.
    """

    head: tuple[str, ...]
    body: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class TableLines(Lines):
    """A table with what stands around it.

    Attributes:
        title: above the rows.
        notes: under them: how many are left out, the caption.
    """

    title: tuple[str, ...]
    notes: tuple[str, ...]


def lay_out(
    titles: Sequence[str],
    numeric: Sequence[bool],
    rows: Sequence[Sequence[str]],
    width: int | None,
) -> Lines:
    """The lines of a table.

    Args:
        titles: of the columns.
        numeric: whether a column's values are at the right.
        rows: the text of each cell.
        width: of the terminal, characters; None: a pipe or a file, where nothing wraps.
    """
    cells = [[printable(cell).replace("\t", " ") for cell in row] for row in (titles, *rows)]
    columns = list(zip(*cells, strict=True))
    natural = [max(_width(cell) for cell in column) for column in columns]
    if width is None or sum(natural) + _GAP * (len(natural) - 1) <= width:
        return _grid(cells, natural, numeric)
    least = [max(_longest_word(cell) for cell in column) for column in columns]
    kept = list(range(len(columns)))
    if not _fits(least, kept, width):
        kept = [at for at in kept if not rows or set(columns[at][1:]) - {DASH, ""}] or [0]
        if len(rows) == 1 and len(kept) > 2 and not _fits(least, kept, width):
            pairs = [(cells[0][at], cells[1][at]) for at in kept]
            return Lines((), tuple(_column_lines(pairs, width)), tuple(_others(cells[0], kept)))
        while len(kept) > 1 and not _fits(least, kept, width):
            kept.pop()
    shown = [[row[at] for at in kept] for row in cells]
    widths = _shared(
        [natural[at] for at in kept], [least[at] for at in kept], width - _GAP * (len(kept) - 1)
    )
    grid = _grid(shown, widths, [numeric[at] for at in kept])
    return Lines(grid.head, grid.body, tuple(_others(cells[0], kept)))


def _column_lines(pairs: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """A line for each title and cell; a word without room beside its title has a line of its own."""
    label = max(_width(title) for title, _ in pairs)
    room = width - _GAP - label
    for title, cell in pairs:
        if _longest_word(cell) > room:
            yield title
            yield from (f"{' ' * _GAP}{line}" for line in wrapped(cell, width - _GAP))
        else:
            yield from _row((title, cell), [label, room], [False] * 2)


def _others(titles: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    return (title for at, title in enumerate(titles) if at not in kept)


def _fits(least: Sequence[int], kept: Sequence[int], width: int) -> bool:
    return sum(least[at] for at in kept) + _GAP * (len(kept) - 1) <= width


def wrapped(text: str, width: int) -> list[str]:
    """Text in lines of a width at most, but for words that are longer."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        if cell_len(paragraph) <= width:
            lines.append(paragraph)
            continue
        line = ""
        for word in _WORD.findall(paragraph):
            if line and cell_len(line) + 1 + cell_len(word) > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return lines


def broken(text: str, width: int) -> str:
    """Lines of words, with breaks where they are wider than a terminal; what follows a break is indented as its line is."""
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.lstrip(" ")
        indent = " " * min(len(line) - len(bare), width // 2)
        lines += (
            [line]
            if cell_len(line) <= width
            else [f"{indent}{part}" for part in wrapped(bare, width - len(indent))]
        )
    return "\n".join(lines)


def _width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _longest_word(text: str) -> int:
    return max(map(cell_len, _WORD.findall(text)), default=0)


def _shared(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fill a room: narrow columns as they are, the others alike, none below its longest word."""
    widths = list(least)
    open_ = [at for at in range(len(widths)) if natural[at] > least[at]]
    left = room - sum(least)
    while open_ and left > 0:
        # One character at a time to the narrowest of the columns that still wrap.
        at = min(open_, key=widths.__getitem__)
        widths[at] += 1
        left -= 1
        if widths[at] == natural[at]:
            open_.remove(at)
    return widths


def _grid(cells: Sequence[Sequence[str]], widths: Sequence[int], numeric: Sequence[bool]) -> Lines:
    titles, *rows = (tuple(_row(row, widths, numeric)) for row in cells)
    return Lines(titles, tuple(line for row in rows for line in row), ())


def _row(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    parts = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, parts))):
        line = [
            _padded(part[number] if number < len(part) else "", width, right=right)
            for part, width, right in zip(parts, widths, numeric, strict=True)
        ]
        yield (" " * _GAP).join(line).rstrip()


def _padded(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space
