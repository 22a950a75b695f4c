"""``wavetank run`` and ``results``, and what looks into a campaign's folder: ``measurements``, ``raw``, ``own-model``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from wavetank.cli.currency import currency_option
from wavetank.cli.output import print_tables, prints
from wavetank.cli.table_sets import (
    campaign_definitions,
    comparison_definitions,
    measurement_definitions,
    model_definitions,
)
from wavetank.errors import UsageError

if TYPE_CHECKING:
    from wavetank.campaign.slurm.queue import Submission


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Check everything and print the plan; start nothing.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; instead of the file's own 'output'.",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Forget the results that the folder holds already.")
@click.option(
    "--executor", type=click.Choice(["here", "slurm"]),
    help="Where measurements run: on clusters that come up on this machine, or as Slurm jobs on a "
    "cluster that exists. Instead of the file's own 'executor'.  [default: here]",
)  # fmt: skip
@click.option(
    "--sbatch-option", "sbatch_options", multiple=True, metavar="OPTION",
    help="Of executor slurm, e.g. --sbatch-option=--partition=short. May be given several times.",
)  # fmt: skip
@prints(campaign_definitions, answers=True)
def run(
    file: Path,
    dry_run: bool,
    output: Path | None,
    fresh: bool,
    executor: Literal["here", "slurm"] | None,
    sbatch_options: tuple[str, ...],
    output_format: str,
) -> None:
    """Run the campaign in FILE, or go on with it where it ended.

    Finished measurements are kept and not repeated. Ctrl-C takes the cluster down and keeps what
    is finished. Exit status 1 when a part of the plan failed.

    Example: wavetank run campaign.yaml --dry-run
    """
    from wavetank.campaign.clusters import cluster_reader, specs_of
    from wavetank.campaign.load import load_campaign
    from wavetank.campaign.plan import make_plan
    from wavetank.campaign.slurm.backend import first_job
    from wavetank.campaign.slurm.queue import check_options
    from wavetank.campaign.spec import read_campaign
    from wavetank.cli.campaign_run import print_forecast, run_plan

    spec = read_campaign(file)
    spec = spec.model_copy(
        update={
            "executor": executor or spec.executor,
            "sbatch_options": (*spec.sbatch_options, *sbatch_options),
        }
    )
    problems = check_options(spec.sbatch_options)
    if spec.executor == "here" and spec.sbatch_options:
        problems.append("options of sbatch have a meaning with --executor slurm only")
    if problems:
        raise UsageError("; ".join(problems))
    folder = output.resolve() if output is not None else spec.output
    loaded = load_campaign(spec, file.resolve().parent, cluster_reader(spec.executor))
    plan = make_plan(spec, loaded.applications, loaded.clusters)
    if dry_run:
        print_forecast(loaded, plan, folder, fresh, output_format)
        if spec.executor == "slurm" and plan.runs:
            _show_job(first_job(spec, plan, specs_of(loaded.sources), folder), output_format)
    else:
        run_plan(loaded, plan, folder, fresh, output_format)


def _show_job(job: Submission, output_format: str) -> None:
    """Print the script of the first job, and see that Slurm answers."""
    from wavetank.campaign.slurm.queue import SlurmQueue

    if output_format not in ("json", "csv"):
        click.echo(job.whole_script())
    SlurmQueue().jobs(job.name)


@click.command(hidden=True)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def job(folder: Path) -> None:
    """Make the measurement that FOLDER describes, inside of a Slurm job."""
    import os

    from wavetank.campaign.slurm.job import perform_task

    perform_task(folder, os.environ)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@currency_option
@click.option(
    "--runs-per-month", type=click.IntRange(1), metavar="N",
    help="Print the cost of a month of so many runs too; instead of the campaign's own 'runs_per_month'.",
)  # fmt: skip
@prints(comparison_definitions, answers=True)
def results(
    folder: Path, currency: Path | None, runs_per_month: int | None, output_format: str
) -> None:
    """Print what a campaign found, from its output FOLDER.

    Example: wavetank results results --format csv
    """
    from wavetank.campaign.results_folder import open_store, was_stopped
    from wavetank.campaign.stored_campaign import current_comparison
    from wavetank.cli.campaign_run import print_comparison
    from wavetank.cost.prices import read_rate
    from wavetank.interfere.stored_study import current_study, is_study

    rate = None if currency is None else read_rate(currency)
    with open_store(folder) as store:
        is_free = is_study(store)
        comparison = current_study(store) if is_free else current_comparison(store, rate)
        stopped = was_stopped(store)
    if runs_per_month is not None:
        comparison = comparison.model_copy(update={"runs_per_month": runs_per_month})
    if comparison.price is None and (rate is not None or runs_per_month is not None):
        raise UsageError(
            f"--currency and --runs-per-month are about costs, and {folder} has none: "
            + (
                "a study of interference has no prices"
                if is_free
                else "its campaign names no price table with 'prices'"
            )
        )
    print_comparison(comparison, output_format, folder)
    if stopped:
        click.echo(
            f"wavetank: {folder} is of a run that was stopped before its end; run it again to go on",
            err=True,
        )


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@prints(measurement_definitions)
def measurements(folder: Path, output_format: str) -> None:
    """List every measurement in a campaign's output FOLDER, with what it was made with.

    Example: wavetank measurements results --format csv
    """
    from wavetank.campaign.measurement_table import MEASUREMENTS
    from wavetank.campaign.results_folder import open_store

    with open_store(folder) as store:
        table = MEASUREMENTS.table(store.entries())
    print_tables([table], output_format)


@click.command(short_help="Print the model of a run of the application itself.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("number", type=click.IntRange(1))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
    help="Write the model to this file (JSON).",
)  # fmt: skip
@prints(model_definitions)
def model(folder: Path, number: int, output: Path | None, output_format: str) -> None:
    """Print the model of the trace of measurement NUMBER, a run of the application itself (program: own).

    'wavetank measurements' lists the numbers.

    Example: wavetank own-model results 17 -o run.model.json
    """
    from wavetank.campaign.results_folder import open_store
    from wavetank.cli.model_output import print_model

    with open_store(folder) as store:
        found = store.own_model(number)
    if output is not None:
        found.write(output)
    print_model(found, output_format)


@click.command(short_help="Print what a measurement's programs wrote.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("number", type=click.IntRange(1))
@click.option("--stderr", is_flag=True, help="Standard error instead of standard output.")
def raw(folder: Path, number: int, stderr: bool) -> None:
    """Print what the programs of measurement NUMBER in a campaign's output FOLDER wrote.

    'wavetank measurements' lists the numbers.

    Example: wavetank raw results 17
    """
    from wavetank.campaign.results_folder import open_store

    with open_store(folder) as store:
        output = store.raw_output(number)
    click.echo(output.stderr if stderr else output.stdout, nl=False)
