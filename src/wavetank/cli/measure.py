"""``wavetank measure``: one kernel, once, on a cluster that is up."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.measuring import flush_option
from wavetank.cli.output import note_rows, print_tables, prints

if TYPE_CHECKING:
    from wavetank.cli.table_sets import Definitions


def _tables() -> Definitions:
    from wavetank.kernel.tables.results import IO_TIME, TOTALS
    from wavetank.measure.tables import PHASES

    return (IO_TIME, PHASES, TOTALS)


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path))
@click.argument("cluster")
@click.option(
    "--mapping",
    help="Process mapping kPxCN: k I/O processes per compute node; by default the cluster's own, or 1PxCN.",
)  # fmt: skip
@click.option(
    "--oversubscribe", is_flag=True, help="Allow more processes on a node than it has cores."
)
@click.option(
    "--cache", type=click.Choice(["cold", "warm"]), default="cold", show_default=True,
    help="Page caches of all nodes at the start.",
)  # fmt: skip
@flush_option
@click.option(
    "--pauses", type=click.Choice(["drop", "keep"]), default="drop", show_default=True,
    help="The application's pauses between operations; kept ones are no I/O time.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
    help="Write the measurement document here.",
)  # fmt: skip
@prints(_tables)
def command(
    kernel: Path,
    cluster: str,
    mapping: str | None,
    oversubscribe: bool,
    cache: str,
    flush: bool,
    pauses: str,
    output: Path | None,
    output_format: str,
) -> None:
    """Measure a KERNEL file once on the CLUSTER of that name, which is up.

    Example: wavetank measure abyss.kernel.json nfs --mapping 2PxCN
    """
    from wavetank.campaign.clusters import find_cluster
    from wavetank.cluster import deploy
    from wavetank.cluster.deployed import placing_words
    from wavetank.cluster.moved import moved_on
    from wavetank.cluster.state import directory_of
    from wavetank.document import check_writable
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.kernel.execution.moved import how_far
    from wavetank.kernel.tables.results import IO_TIME, totals_table
    from wavetank.measure.disturbance import MachineWatch
    from wavetank.measure.perform import ReplayPerformer, campaign_options
    from wavetank.measure.run import explained, measure, set_up, tear_down
    from wavetank.measure.tables import phase_table
    from wavetank.steps import doing

    read = Kernel.read(kernel)
    if output is not None:
        check_writable(output)
    mapping = mapping or deploy.find(cluster).mapping
    running = find_cluster(cluster, read, mapping, oversubscribe=oversubscribe)
    with directory_of(cluster).used("measure", alone=True), explained(running):
        with doing(placing_words(cluster), say=True):
            bench = set_up(read, running)
        try:
            what = f"measuring {read.application} with {mapping}, {cache} caches"
            with doing(what, unit="B", say=True) as measuring:
                measurement = measure(
                    bench,
                    mapping,
                    ReplayPerformer(
                        options=campaign_options(
                            flush=flush, pauses="keep" if pauses == "keep" else "drop"
                        ),
                        # Warm caches are those that a run before has left.
                        on_moved=how_far(measuring, read, n_runs=2 if cache == "warm" else 1),
                        elsewhere=partial(moved_on, running.compute_hosts),
                    ),
                    repetition=0,
                    order=0,
                    cache="warm" if cache == "warm" else "cold",
                    watch=MachineWatch(),
                )
        finally:
            tear_down(bench)
    if output is not None:
        measurement.write(output)
    print_tables(
        [
            IO_TIME.table([measurement.result]),
            phase_table(measurement),
            totals_table(measurement.result),
        ],
        output_format,
        {"cluster": cluster, "mapping": mapping, "notes": note_rows(measurement.notes)},
    )
