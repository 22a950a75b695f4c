"""``wavetank characterise``: what the storage and network of a cluster that is up can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_tables, prints
from wavetank.errors import MeasurementError

if TYPE_CHECKING:
    from wavetank.cli.table_sets import Definitions


class DiscardedError(MeasurementError):
    """An instance that gives less than was required."""

    exit_status = 3


def _tables() -> Definitions:
    from wavetank.measure.tables import LIMITS, METADATA, NETWORK, NOTES, PEAK, STORAGE

    return (STORAGE, PEAK, NETWORK, METADATA, LIMITS, NOTES)


@click.command()
@click.argument("cluster")
@click.option(
    "--for", "model", type=click.Path(path_type=Path),
    help="Model file: only the request sizes that the application uses, instead of 4 KiB to 1 GiB.",
)  # fmt: skip
@click.option(
    "--file-size", default="64 MiB", show_default=True,
    help="Of the test file, or more where a request is larger; larger than a node's memory when reread must not "
    "come from its cache.",
)  # fmt: skip
@click.option(
    "--require", multiple=True, metavar="QUANTITY>=VALUE",
    help="read, write (local file systems) or network, e.g. 'read>=200MB/s'. Less than that "
    "discards the instance: exit status 3. May be given several times.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
    help="Write the characterisation here.",
)  # fmt: skip
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False),
    help="Draw rates over request sizes into this .svg or .png.",
)  # fmt: skip
@prints(_tables)
def command(
    cluster: str,
    model: Path | None,
    file_size: str,
    require: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
    output_format: str,
) -> None:
    """Measure the storage and network of the CLUSTER of that name, which is up.

    IOzone's four tests (write, rewrite, read, reread) by fio on the local file systems that hold
    data and through the global mount, network streams, creation of files, and each limit that
    wavetank set against what was measured.

    Example: wavetank characterise nfs --for abyss.model.json --require 'read>=100MB/s'
    """
    from wavetank.cluster.deploy import find
    from wavetank.cluster.state import directory_of
    from wavetank.document import check_writable
    from wavetank.errors import UsageError
    from wavetank.measure.characterise import (
        Effort,
        characterise,
        request_sizes,
        shortfalls,
    )
    from wavetank.measure.requirement import parse_requirement
    from wavetank.measure.tables import characterisation_tables
    from wavetank.model.document.model import Model
    from wavetank.report.plots.characterisation import check_plot_name, save_rates
    from wavetank.steps import doing, steps
    from wavetank.units import parse_size

    requirements = [parse_requirement(text, ("read", "write", "network")) for text in require]
    sizes = request_sizes(Model.read(model)) if model is not None else None
    try:
        file_bytes = parse_size(file_size)
    except ValueError as error:
        raise UsageError(f"--file-size: {error}") from error
    for file in (output, plot):
        if file is not None:
            check_writable(file)
    if plot is not None:
        check_plot_name(plot)
    running = find(cluster)
    effort = Effort(file_bytes=file_bytes) if sizes is None else Effort(sizes, file_bytes)
    with directory_of(cluster).used("characterise", alone=True), doing(f"characterising {cluster}"):
        found = characterise(running, effort, lambda text: steps.info("measuring: %s", text))
    if output is not None:
        found.write(output)
    if plot is not None:
        save_rates(found, plot)
    print_tables(
        characterisation_tables(found),
        output_format,
        {"cluster": found.cluster, "origin": found.origin},
    )
    missed = shortfalls(found, requirements)
    if missed:
        raise DiscardedError("; ".join(missed))
