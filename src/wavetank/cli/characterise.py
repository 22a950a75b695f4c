"""``wavetank characterise``: what the storage and network of a cluster that is up can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import format_option, print_tables
from wavetank.errors import MeasurementError
from wavetank.tables.table import Table, plain_table

if TYPE_CHECKING:
    from wavetank.measure.characterisation import Characterisation


class DiscardedError(MeasurementError):
    """An instance that gives less than was required."""

    exit_status = 3


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
@format_option
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
    from wavetank.document import check_writable
    from wavetank.errors import UsageError
    from wavetank.measure.characterise import (
        Effort,
        characterise,
        request_sizes,
        shortfalls,
    )
    from wavetank.measure.requirement import parse_requirement
    from wavetank.model.document.model import Model
    from wavetank.report.plots.characterisation import check_plot_name, save_rates
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
    found = characterise(
        running,
        effort,
        lambda text: click.echo(f"measuring: {text}", err=True),
    )
    if output is not None:
        found.write(output)
    if plot is not None:
        save_rates(found, plot)
    print_tables(_tables(found), output_format, {"cluster": found.cluster, "origin": found.origin})
    missed = shortfalls(found, requirements)
    if missed:
        raise DiscardedError("; ".join(missed))


def _tables(found: Characterisation) -> list[Table]:
    from wavetank.measure.characterisation import TESTS
    from wavetank.units import format_rate, format_size

    storage = plain_table(
        f"Storage of {found.cluster} ({found.instance_type}, {found.origin})",
        ("node", "where", "rs", "test", "bytes_per_s", "iops"),
        [[r.node, r.where, r.rs, r.test, r.bytes_per_s, r.iops] for r in found.storage],
        [
            [
                r.node,
                r.where,
                format_size(r.rs),
                r.test,
                format_rate(r.bytes_per_s),
                f"{r.iops:.0f}",
            ]
            for r in found.storage
        ],
    )
    peaks = [(test, found.peak(test)) for test in TESTS]
    peak = plain_table(
        "Peak BW_PK",
        ("test", "bytes_per_s"),
        [[test, rate] for test, rate in peaks],
        [[test, "-" if rate is None else format_rate(rate)] for test, rate in peaks],
        note=f"sum over the local file systems of {', '.join(found.storage_nodes())}",
    )
    network = plain_table(
        "Network",
        ("sender", "receiver", "bytes_per_s"),
        [[n.sender, n.receiver, n.bytes_per_s] for n in found.network],
        [[n.sender, n.receiver, format_rate(n.bytes_per_s)] for n in found.network],
    )
    metadata = plain_table(
        "Metadata",
        ("node", "where", "creates_per_s"),
        [[m.node, m.where, m.creates_per_s] for m in found.metadata],
        [[m.node, m.where, f"{m.creates_per_s:.0f}"] for m in found.metadata],
    )
    limits = plain_table(
        "Limits",
        ("node", "limit", "asked_bytes_per_s", "measured_bytes_per_s", "holds"),
        [
            [c.node, c.what, c.asked_bytes_per_s, c.measured_bytes_per_s, c.within]
            for c in found.limits
        ],
        [
            [
                c.node, c.what, format_rate(c.asked_bytes_per_s),
                "-" if c.measured_bytes_per_s is None else format_rate(c.measured_bytes_per_s),
                {True: "yes", False: "NO", None: "not known: give a larger --file-size"}[c.within],
            ]
            for c in found.limits
        ],
    )  # fmt: skip
    notes = plain_table(
        "Notes", ("note",), [[note] for note in found.notes], [[n] for n in found.notes]
    )
    return [table for table in (storage, peak, network, metadata, limits, notes) if table.rows]
