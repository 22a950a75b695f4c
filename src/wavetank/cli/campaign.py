"""``wavetank campaign``: measure kernels on clusters by a plan, and rank the clusters."""

from __future__ import annotations

from pathlib import Path

import click

from wavetank.cli.output import format_option


@click.group()
def command() -> None:
    """Measure kernels on clusters by a plan, and rank the clusters.

    Example: wavetank campaign run campaign.yaml
    """


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Check everything and print the plan; start nothing.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; instead of the file's own 'output'.",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Forget the results that the folder holds already.")
@format_option
def run(file: Path, dry_run: bool, output: Path | None, fresh: bool, output_format: str) -> None:
    """Run the campaign in FILE, or go on with it where it ended.

    Finished measurements are kept and not repeated. Ctrl-C takes the cluster down and keeps what
    is finished. Exit status 1 when a part of the plan failed.

    Example: wavetank campaign run campaign.yaml --dry-run
    """
    from wavetank.campaign.clusters import read_cluster
    from wavetank.campaign.load import load_campaign
    from wavetank.campaign.plan import make_plan
    from wavetank.campaign.spec import read_campaign
    from wavetank.cli.campaign_run import print_forecast, run_plan

    spec = read_campaign(file)
    folder = output.resolve() if output is not None else spec.output
    loaded = load_campaign(spec, file.resolve().parent, read_cluster)
    plan = make_plan(spec, loaded.applications, loaded.clusters)
    if dry_run:
        print_forecast(loaded, plan, folder, fresh, output_format)
    else:
        run_plan(loaded, plan, folder, fresh, output_format)


@command.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@format_option
def results(folder: Path, output_format: str) -> None:
    """Print what a campaign found, from its output FOLDER.

    Example: wavetank campaign results results --format csv
    """
    from wavetank.campaign.store import open_store
    from wavetank.cli.campaign_run import print_comparison

    with open_store(folder) as store:
        comparison = store.comparison()
    print_comparison(comparison, output_format)
