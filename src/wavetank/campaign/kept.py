"""What a store keeps beside its measurements, compressed: what programs wrote, models of the application's own runs."""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path
from typing import Literal

from wavetank.errors import MeasurementError

Kept = Literal["raw_output", "own_model"]
_WORDS: dict[Kept, str] = {
    "raw_output": "raw output of a measurement with number {}",
    "own_model": "model of a measurement with number {}, which is none of the application itself",
}


def packed(text: str) -> bytes:
    """A text as a store keeps it."""
    return zlib.compress(text.encode())


def kept_texts(
    connection: sqlite3.Connection, path: Path, table: Kept, columns: tuple[str, ...], number: int
) -> tuple[str, ...]:
    """The texts that a table keeps of a measurement.

    Args:
        connection: to the store.
        path: of its file.
        table: where they are.
        columns: of the table.
        number: of the measurement.

    Raises:
        MeasurementError: nothing is kept of such a measurement, or it is damaged.
    """
    asked = f"SELECT {', '.join(columns)} FROM {table} WHERE measurement_id = ?"  # noqa: S608 - names of the store
    rows = connection.execute(asked, (number,)).fetchall()
    if not rows:
        raise MeasurementError(
            f"{path.parent} keeps no {_WORDS[table].format(number)}. "
            f"'wavetank measurements {path.parent}' lists the numbers"
        )
    try:
        return tuple(zlib.decompress(part).decode() for part in rows[0])
    except (zlib.error, UnicodeDecodeError) as error:
        raise MeasurementError(
            f"the {table.replace('_', ' ')} {number} in {path} is damaged: {error}"
        ) from error
