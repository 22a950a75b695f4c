"""What people read in a table."""

from __future__ import annotations

from wavetank.tables.table import Table


def texts(table: Table) -> list[dict[str, str]]:
    """Rows that are shown: key of each column -> text."""
    return [
        {column.key: cell.text for column, cell in table.cells_shown(row)} for row in table.shown
    ]
