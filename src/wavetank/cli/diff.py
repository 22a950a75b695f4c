"""``wavetank diff``: two models, phase by phase."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import format_option, print_tables
from wavetank.tables.table import Value, plain_table

if TYPE_CHECKING:
    from wavetank.model.document.model import Model


MAX_SHOWN = 200
"""Rows of the printed table: more than anybody reads."""


@click.command(name="diff")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@format_option
def command(first: Path, second: Path, output_format: str) -> int:
    """Compare two models phase by phase.

    Sizes and offsets are in bytes. Exit status 0 when they stand for the same I/O, 3 when they
    differ, 1 when a file cannot be read, 2 when it is a trace and no model.

    Example: wavetank diff app.model.json replay.model.json
    """
    from wavetank.model.comparison.difference import compare_models

    result = compare_models(*(_model(path) for path in (first, second)))
    rows: list[tuple[Value, ...]] = [
        (d.where, d.ph_id_a, d.ph_id_b, d.field, d.a, d.b, _ratio(d.a, d.b))
        for d in result.differences
    ]
    counts = f"{result.n_equal_phases} phases are the same, of {result.n_phases_a} and {result.n_phases_b}."
    if result.same and output_format == "table":
        click.echo(f"The models stand for the same I/O. {counts}")
    else:
        shown = _shown(rows)
        if len(shown) > MAX_SHOWN:
            counts += f" {len(shown) - MAX_SHOWN:,} more rows are in --format csv and json."
        columns = ("where", "ph_id_a", "ph_id_b", "field", "a", "b", "ratio")
        print_tables(
            [plain_table("Differences", columns, rows, shown[:MAX_SHOWN], note=counts)],
            output_format,
            extra={
                "same": result.same,
                "n_equal_phases": result.n_equal_phases,
                "notes": list(result.notes),
            },
        )
    for note in result.notes:
        click.echo(f"note: {note}", err=True)
    return 0 if result.same else 3


def _model(path: Path) -> Model:
    """The model in a file.

    Raises:
        UsageError: it is a trace or a log.
    """
    from wavetank.errors import ModelError, TraceError, UsageError
    from wavetank.model.document.model import Model
    from wavetank.trace.open import kind_of

    try:
        return Model.read(path)
    except ModelError:
        try:
            kind_of(path)
        except TraceError:
            pass
        else:
            raise UsageError(
                f"{path} is a trace, and diff compares models. Make one with: wavetank model {path} -o {path.stem}.model.json"
            ) from None
        raise


def _shown(rows: list[tuple[Value, ...]]) -> list[list[str]]:
    """Rows for people: phases in a row that differ in the same are one ("2 to 40")."""
    blocks = [list(block) for _, block in groupby(rows, key=lambda row: row[:3])]
    shown: list[list[str]] = []
    begin = 0
    for end in range(1, len(blocks) + 1):
        if end < len(blocks) and _goes_on(blocks[end - 1], blocks[end]):
            continue
        for first, last in zip(blocks[begin], blocks[end - 1], strict=True):
            ids = [_span(first[place], last[place]) for place in (1, 2)]
            texts = ["-" if cell is None else str(cell) for cell in first[3:6]]
            shown.append([str(first[0]), *ids, *texts, _shown_ratio(first[6])])
        begin = end
    return shown


def _goes_on(one: list[tuple[Value, ...]], other: list[tuple[Value, ...]]) -> bool:
    """Whether a phase differs as the one before it does."""

    def follows(a: Value, b: Value) -> bool:
        return b == a + 1 if isinstance(a, int) and isinstance(b, int) else a is b is None

    return (
        [row[3:] for row in one] == [row[3:] for row in other]
        and one[0][0] == other[0][0]
        and one[0][1:3] != (None, None)
        and all(follows(one[0][place], other[0][place]) for place in (1, 2))
    )


def _span(first: Value, last: Value) -> str:
    if first is None:
        return "-"
    return str(first) if first == last else f"{first} to {last}"


def _shown_ratio(ratio: Value) -> str:
    """Four digits are enough for people; JSON and CSV have them all."""
    return f"{ratio:.4g}" if isinstance(ratio, float) else "-"


def _ratio(a: Value, b: Value) -> float | None:
    """How many times a the second number is; None for other values."""
    if (
        isinstance(a, bool)
        or isinstance(b, bool)
        or not isinstance(a, int | float)
        or not isinstance(b, int | float)
    ):
        return None
    return b / a if a else None
