"""``wavetank campaign``: measure kernels on clusters by a plan, and rank the clusters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import Cell, Table, format_option, print_tables
from wavetank.errors import MeasurementError

if TYPE_CHECKING:
    from wavetank.campaign.load import Loaded
    from wavetank.campaign.plan import Forecast, Plan
    from wavetank.compare.comparison import Comparison


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
    from wavetank.campaign.clusters import ClusterDeployer, read_cluster
    from wavetank.campaign.judge import compare_campaign
    from wavetank.campaign.load import keep_copies, load_campaign
    from wavetank.campaign.plan import forecast, make_plan
    from wavetank.campaign.run import run_campaign
    from wavetank.campaign.spec import read_campaign
    from wavetank.campaign.store import COMPARISON, forget, write_store
    from wavetank.cli.progress import Progress
    from wavetank.measure.perform import ReplayPerformer

    spec = read_campaign(file)
    folder = output.resolve() if output is not None else spec.output
    loaded = load_campaign(spec, file.resolve().parent, read_cluster)
    plan = make_plan(spec, loaded.applications, loaded.clusters)
    deployer = ClusterDeployer(spec.cluster_sources())
    if dry_run:
        done, spent = _finished(folder, fresh)
        ahead = forecast(plan, done, spent_s=spent, prices=loaded.prices)
        _print_plan(loaded, plan, ahead, output_format)
        return
    if not plan.runs:
        _print_plan(loaded, plan, None, output_format)
        raise MeasurementError(
            f"nothing in {file} can be measured; the plan above says why for each part"
        )
    deployer.check()
    with write_store(folder) as store:
        if fresh:
            forget(store)
        keep_copies(loaded, store)
        ahead = forecast(plan, store.done(), spent_s=store.spent_s(), prices=loaded.prices)
        with Progress(spec.name) as progress:
            progress.says(_sentence(plan, ahead, loaded))
            for part in plan.impossible:
                progress.says(
                    f"cannot run {part.application} on {part.cluster} with {part.mapping}: "
                    f"{part.reason}"
                )
            try:
                outcome = run_campaign(
                    spec,
                    plan,
                    store,
                    deployer=deployer,
                    performer=ReplayPerformer(),
                    observer=progress,
                    prices=loaded.prices,
                )
            finally:
                comparison = compare_campaign(spec, plan, store, loaded.prices)
                comparison.write(folder / COMPARISON)
    _print_comparison(comparison, output_format)
    click.echo(f"Results: {folder}", err=True)
    if outcome.n_not_afforded:
        click.echo(
            f"wavetank: {outcome.n_not_afforded} measurements were left out: the budget is spent. "
            "Raise it and run the same command again to go on",
            err=True,
        )
    if outcome.n_failed:
        raise MeasurementError(
            f"{outcome.n_failed} of {len(plan.runs)} measurements failed; the table "
            "'Not measured' says why. Run the same command again to try them again"
        )


@command.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@format_option
def results(folder: Path, output_format: str) -> None:
    """Print what a campaign found, from its output FOLDER.

    Example: wavetank campaign results results --format csv
    """
    from wavetank.campaign.store import open_store

    with open_store(folder) as store:
        comparison = store.comparison()
    _print_comparison(comparison, output_format)


def _finished(folder: Path, fresh: bool):  # type: ignore[no-untyped-def]  # noqa: ANN202
    from wavetank.campaign.store import DATABASE, open_store

    if fresh or not (folder / DATABASE).is_file():
        return set(), {}
    with open_store(folder) as store:
        return store.done(), store.spent_s()


def _sentence(plan: Plan, ahead: Forecast, loaded: Loaded) -> str:
    from wavetank.units import format_duration

    text = (
        f"{len(plan.applications)} application(s) x {len(plan.clusters)} cluster(s): "
        f"{ahead.n_runs} measurements, {ahead.n_done} done already, about "
        f"{format_duration(ahead.duration_s)} to go"
    )
    if ahead.cost is not None and loaded.prices is not None:
        text += (
            f"; the same on rented instances would cost {ahead.cost:.2f} {loaded.prices.currency}"
        )
    return text


def _print_plan(loaded: Loaded, plan: Plan, ahead: Forecast | None, output_format: str) -> None:
    cannot = {(part.application, part.cluster, part.mapping): part for part in plan.impossible}
    rows: list[list[Cell]] = []
    for application in plan.applications:
        for cluster in plan.clusters:
            for mapping in loaded.spec.mappings:
                part = cannot.get((application.name, cluster.name, mapping))
                rows.append(
                    [
                        application.name, cluster.name, cluster.title, mapping,
                        f"{cluster.n_instances} x {cluster.instance_type}",
                        0 if part else loaded.spec.repetitions,
                        part.reason if part else None,
                    ]
                )  # fmt: skip
    columns = (
        "application", "cluster", "title", "mapping", "instances", "repetitions", "cannot_run",
    )  # fmt: skip
    extra = {}
    if ahead is not None:
        extra = {
            "measurements": ahead.n_runs,
            "done": ahead.n_done,
            "estimated_duration_s": ahead.duration_s,
            "estimated_cost": None if ahead.cost is None else str(ahead.cost),
            "currency": loaded.prices.currency if loaded.prices else None,
        }
    note = _sentence(plan, ahead, loaded) if ahead is not None else None
    print_tables([Table("Plan", columns, rows, note=note)], output_format, extra)


def _print_comparison(comparison: Comparison, output_format: str) -> None:
    from wavetank.campaign.tables import all_rows

    people = output_format == "table"
    tables = [
        Table(
            rows.title,
            rows.shown_columns if people else rows.columns,
            rows.shown if people else rows.rows,
            note=rows.note,
        )
        for rows in all_rows(comparison)
    ]
    print_tables(
        tables, output_format, {"campaign": comparison.campaign, "notes": comparison.notes}
    )
    if people:
        for note in comparison.notes:
            click.echo(note)
