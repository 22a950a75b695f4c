"""``wavetank plot``: a model's plots as files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

if TYPE_CHECKING:
    from wavetank.report.plots.kinds import PlotKind

KINDS: tuple[PlotKind, ...] = ("heat", "temporal", "spatial", "sizes", "operations", "gantt")


@click.command("plot")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("plots"),
    show_default=True,
    help="The folder to write to; made when it is not there.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="What to plot; may be given several times.  [default: all]",
)
@click.option(
    "--axis",
    type=click.Choice(["time", "tick"]),
    default="time",
    show_default=True,
    help="Seconds, or MPI calls before the operation.",
)
@click.option(
    "--format",
    "image_format",
    type=click.Choice(["svg", "png"]),
    default="svg",
    show_default=True,
    help="Format of the files.",
)
def command(
    model: Path,
    output: Path,
    kinds: tuple[PlotKind, ...],
    axis: Literal["time", "tick"],
    image_format: Literal["svg", "png"],
) -> None:
    """Write plots of MODEL, a file that 'wavetank model' left, and print their names.

    heat: bytes by rank over time. temporal: ranks over time, coloured by request size. spatial: offset over time. sizes: a
    histogram of request sizes. operations: how often each was called. gantt: phases over time.

    Example: wavetank plot abyss.model.json -o plots --kind temporal --format png
    """
    from wavetank.errors import ReportError
    from wavetank.model.document.model import Model
    from wavetank.report.plots.kinds import draw
    from wavetank.report.plots.svg import save

    read = Model.read(model)
    plots = [draw(read, kind, axis) for kind in kinds or KINDS]
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(
            f"cannot make the folder {output}: {error.strerror}. Choose another with -o"
        ) from error
    for plot in plots:
        path = output / f"{plot.name}.{image_format}"
        save(plot, path, image_format)
        click.echo(path)
