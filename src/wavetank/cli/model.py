"""``wavetank model``: a trace becomes the I/O model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.numpy_start import import_numpy
from wavetank.cli.output import prints
from wavetank.cli.table_sets import model_definitions

if TYPE_CHECKING:
    from wavetank.trace.schema import Trace

_LEVEL_SETS = (
    "none",
    "posix",
    "mpiio",
    "both",
)  # wavetank.model.rules.LEVEL_SETS, which takes numpy


@click.command(name="model")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the model to this file (JSON).",
)
@click.option("--name", help="The application's name, for titles.  [default: the program's]")
@click.option(
    "--split-at-communication",
    "communication",
    type=click.Choice(_LEVEL_SETS),
    default="mpiio",
    show_default=True,
    help="Levels at which MPI communication between two operations separates phases.",
)
@click.option(
    "--computation-gap",
    "gap_s",
    type=float,
    metavar="SECONDS",
    help="Separate phases where a rank does no I/O for this long, seconds.  [default: never]",
)
@click.option(
    "--similarity",
    type=(float, float),
    metavar="LOW HIGH",
    default=(0.8, 1.2),
    show_default=True,
    help="Ratios of request size and displacement between which operations are similar.",
)
@click.option("--exact", is_flag=True, help="Ask for equality instead of similarity.")
@click.option(
    "--levels",
    metavar="LEVEL[,LEVEL]",
    help="Model only these levels: posix, mpiio.  [default: all in the trace]",
)
@click.option(
    "--pauses",
    "pauses_s",
    type=float,
    metavar="SECONDS",
    help="Keep pauses of at least this long in the programs, seconds.  [default: none]",
)
@click.option(
    "--each-file",
    is_flag=True,
    help="Model each file by itself, also where hundreds are used alike.  [default: those are one file with members]",
)
@click.option(
    "--allow-damaged",
    is_flag=True,
    help="Model what is left of a trace that was damaged.  [default: refuse it]",
)
@prints(model_definitions)
def command(
    trace: Path,
    output: Path | None,
    name: str | None,
    communication: str,
    gap_s: float | None,
    similarity: tuple[float, float],
    exact: bool,
    levels: str | None,
    pauses_s: float | None,
    each_file: bool,
    allow_damaged: bool,
    output_format: str,
) -> None:
    """Turn a trace into the I/O model: application, files, phases.

    Prints the model's tables; sizes and offsets are in bytes.

    Example: wavetank model run.trace -o run.model.json
    """  # fmt: skip
    import_numpy()
    from wavetank.cli.model_output import print_model
    from wavetank.document import NOT_WRITTEN, provenance
    from wavetank.model.extract import extract_model
    from wavetank.model.rules import rules_of
    from wavetank.trace.open import open_trace

    named = None if levels is None else [part.strip() for part in levels.split(",")]
    rules = rules_of(
        communication, gap_s, None if exact else similarity, named, pauses_s, not each_file
    )
    # Not kept here: the extraction drops what it has no more use for, and a large trace takes much room.
    recorded = [_whole(open_trace(trace), allow_damaged)]
    made_by = NOT_WRITTEN if output is None else provenance([trace])
    model = extract_model(recorded.pop(), made_by, rules, name=name)
    if output is not None:
        model.write(output)
    print_model(model, output_format)
    if output is not None:
        click.echo(f"wrote {output}", err=True)


def _whole(trace: Trace, allow_damaged: bool) -> Trace:
    """Refuse a trace that has lost something, unless that is wanted."""
    from wavetank.trace.open import require_whole

    if not allow_damaged:
        require_whole(trace, "model what is left with --allow-damaged")
    return trace
