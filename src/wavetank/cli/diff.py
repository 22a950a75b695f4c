"""``wavetank diff``: two models, phase by phase."""

from __future__ import annotations

from pathlib import Path

import click

from wavetank.cli.output import Cell, Table, format_option, print_tables


@click.command(name="diff")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@format_option
def command(first: Path, second: Path, output_format: str) -> int:
    """Compare two models phase by phase.

    Sizes and offsets are in bytes. Exit status 0 when they stand for the same I/O, 3 when not.

    Example: wavetank diff app.model.json replay.model.json
    """
    from wavetank.model.application import Model
    from wavetank.model.difference import compare_models

    result = compare_models(Model.read(first), Model.read(second))
    rows: list[tuple[Cell, ...]] = [
        (d.where, d.ph_id_a, d.ph_id_b, d.field, d.a, d.b, _ratio(d.a, d.b))
        for d in result.differences
    ]
    shown = [
        [*("-" if cell is None else str(cell) for cell in row[:-1]), _shown_ratio(row[-1])]
        for row in rows
    ]
    columns = ("where", "ph_id_a", "ph_id_b", "field", "a", "b", "ratio")
    print_tables(
        [
            Table(
                "Differences", columns, rows, shown,
                note=f"{result.n_equal_phases} phases are the same, of {result.n_phases_a} and {result.n_phases_b}.",
            )
        ],
        output_format,
        extra={"same": result.same, "n_equal_phases": result.n_equal_phases, "notes": list(result.notes)},
    )  # fmt: skip
    for note in result.notes:
        click.echo(f"note: {note}", err=True)
    return 0 if result.same else 3


def _shown_ratio(ratio: Cell) -> str:
    """Four digits are enough for people; JSON and CSV have them all."""
    return f"{ratio:.4g}" if isinstance(ratio, float) else "-"


def _ratio(a: Cell, b: Cell) -> float | None:
    """How many times a the second number is; None for other values."""
    if (
        isinstance(a, bool)
        or isinstance(b, bool)
        or not isinstance(a, int | float)
        or not isinstance(b, int | float)
    ):
        return None
    return b / a if a else None
