"""``wavetank fit``: models at several process counts become functions of the process count."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import Cell, Table, format_option, print_tables

if TYPE_CHECKING:
    from wavetank.model.scaling import Fit


@click.command(name="fit")
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--np",
    "n_processes",
    type=click.IntRange(min=1),
    help="Make the model of a run with this many processes, never traced.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write that model to this file (JSON).",
)
@format_option
def command(
    models: tuple[Path, ...], n_processes: int | None, output: Path | None, output_format: str
) -> None:
    """Fit models of one application at several process counts, and extrapolate.

    MODELS are model files of runs that differ in the number of processes alone. Prints each field as the
    function of np that fits exactly, sizes in bytes.

    Example: wavetank fit bt4.json bt9.json bt16.json --np 36 -o bt36.json
    """  # fmt: skip
    from wavetank.cli.model_output import print_model
    from wavetank.document import provenance
    from wavetank.errors import UsageError
    from wavetank.model.application import Model
    from wavetank.model.extrapolate import extrapolate
    from wavetank.model.scaling import fit_models

    if output is not None and n_processes is None:
        raise UsageError("-o writes the extrapolated model: say for how many processes with --np")
    fit = fit_models([Model.read(path) for path in models])
    if n_processes is None:
        print_tables([_table(fit)], output_format)
        return
    model = extrapolate(fit, n_processes, provenance(models))
    if output is not None:
        model.write(output)
    print_model(model, output_format)
    if output is not None:
        click.echo(f"wrote {output}", err=True)


def _table(fit: Fit) -> Table:
    """A row for each field; phases with the same rows are joined for people."""
    counts = list(fit.models)
    rows: list[tuple[Cell, ...]] = []
    for field in fit.fields:
        if all(value is None for value in field.values.values()):
            continue
        values = [None if value is None else str(value) for value in field.values.values()]
        function = "no function fits" if field.function is None else str(field.function)
        rows.append((field.ph_id, field.field, *values, function))
    shown: list[list[str]] = []
    spans: dict[tuple[Cell, ...], list[int]] = {}
    for row in rows:
        if isinstance(row[0], int):
            spans.setdefault(row[1:], []).append(row[0])
        else:
            shown.append(["application", *("-" if cell is None else str(cell) for cell in row[1:])])
    for rest, numbers in spans.items():
        span = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
        contiguous = numbers == list(range(numbers[0], numbers[-1] + 1))
        shown.append(
            [
                span if contiguous else ", ".join(map(str, numbers)),
                *("-" if cell is None else str(cell) for cell in rest),
            ]
        )
    columns = ("ph_id", "field", *(f"np {count}" for count in counts), "function")
    return Table("Fields by number of processes", columns, rows, shown)
