"""What holds of every table that people are shown, whatever it holds: checked at any width of a terminal."""

from __future__ import annotations

import re

from rich.cells import cell_len

from wavetank.cli.output import MOST_SHOWN, text_of
from wavetank.tables.table import Table
from wavetank.tables.words import printable

_QUANTITY = re.compile(r"\S*\d [A-Za-z%\u00b5/]{1,6}[^\w\s]*")
"""A number and its unit, which stay together: "64.0 KiB", "1.17 s)", "0.42 USD/h"."""


def see_that_it_fits(table: Table, width: int | None) -> None:
    """No line is wider than the terminal but for a word that is longer; no word of a column that is shown is split or lost."""
    found = text_of(table, width)
    lines = [*found.title, *found.head, *found.body, *found.notes]
    assert [line for line in lines if line != line.rstrip()] == []
    printed = {word for line in lines for word in line.split()}
    titles = [printable(column.title) for column in table.columns_shown]
    texts = [table.title, table.caption, *titles]
    texts += [
        cell.text
        for row in table.for_people[:MOST_SHOWN]
        for title, (_, cell) in zip(titles, table.cells_shown(row), strict=True)
        if title not in found.left_out
    ]
    wanted = {word for text in texts for word in printable(text).split()}
    assert {word.rstrip(",.") for word in wanted} - {word.rstrip(",.") for word in printed} == set()
    if width is None:
        return
    for line in lines:
        if cell_len(line) > width:
            rest = _QUANTITY.sub("x", line.strip())
            assert cell_len(line.strip()) > width - 2 and " " not in rest, (table.name, width, line)
