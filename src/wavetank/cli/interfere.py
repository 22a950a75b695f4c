"""``wavetank interfere``: groups of clients on one cluster at the same time, and what they do to each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import click

from wavetank.cli.output import print_tables, prints
from wavetank.cli.table_sets import comparison_definitions
from wavetank.errors import MeasurementError, SpecError
from wavetank.tables.table import Column, Definition, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from wavetank.campaign.executor import Outcome
    from wavetank.campaign.store import Store
    from wavetank.cli.progress import Progress
    from wavetank.compare.comparison import Comparison, NotMeasured
    from wavetank.interfere.load import LoadedStudy
    from wavetank.interfere.plan import InterferePlan, Point
    from wavetank.interfere.spec import InterfereSpec

_Planned: TypeAlias = "tuple[Point | NotMeasured, bool]"
"""A run and whether it is done, or one that cannot be."""


def _of_run(of: Callable[[Point], Value]) -> Callable[[_Planned], Value]:
    return lambda item: of(cast("Point", item[0])) if hasattr(item[0], "members") else None


PLAN: Definition[_Planned] = Definition(
    "study-plan",
    "Plan",
    (
        Column("point", "Point", _of_run(lambda i: i.kind)),
        Column("run", "Run", lambda i: i[0].application),
        Column("cluster", "Cluster", lambda i: i[0].cluster),
        Column("mapping", "Mapping", lambda i: i[0].mapping),
        Column("duration_s", "Duration", _of_run(lambda i: i.duration_s), unit="s"),
        Column("repetition", "Repetition", _of_run(lambda i: i.repetition), kind="integer"),
        Column("nodes", "Nodes", _of_run(lambda i: " ".join("+".join(member.nodes) for member in i.members))),
        Column("done", "Done", lambda i: i[1], kind="boolean"),
        Column("cannot_run", "Cannot run", lambda i: getattr(i[0], "reason", None), wide=True),
    ),
    key="plan",
    command="interfere",
)  # fmt: skip
DEFINITIONS = (PLAN,)


@click.command("interfere")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Check everything and print the plan; start nothing.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; instead of the file's own 'output'.",
)  # fmt: skip
@click.option(
    "--duration", help="Of each run, e.g. '180 s', or 'to completion'; instead of the file's own."
)
@click.option("--fresh", is_flag=True, help="Forget the results that the folder holds already.")
@prints(lambda: (PLAN, *comparison_definitions()), answers=True)
def command(
    spec: Path,
    dry_run: bool,
    output: Path | None,
    duration: str | None,
    fresh: bool,
    output_format: str,
) -> None:
    """Run groups of clients alone and together, as the file SPEC says, or go on where it ended.

    Groups write or read objects, or perform modelled applications again and again. All ranks start
    at one moment, and what counts is what they move while all groups are active. Finished runs are
    kept and not repeated; Ctrl-C takes the cluster down and keeps what is finished. Exit status 1
    when a part of the plan failed. 'wavetank report' makes a page of the results.

    Example: wavetank interfere slides.yaml --duration '3 s' --dry-run
    """
    from wavetank.campaign.clusters import read_cluster
    from wavetank.campaign.results_folder import see_usable
    from wavetank.interfere.load import load_study
    from wavetank.interfere.plan import make_plan
    from wavetank.interfere.spec import read_interfere

    said = _with_duration(read_interfere(spec), duration)
    folder = output.resolve() if output is not None else said.output
    loaded = load_study(said, read_cluster)
    plan = make_plan(said, loaded.groups, loaded.clusters)
    if dry_run:
        see_usable(folder)
    if dry_run or not plan.points:
        print_study_plan(loaded, plan, folder, fresh, output_format)
    if not plan.points:
        raise MeasurementError(
            f"nothing in study {said.name} can be measured; the plan above says why"
        )
    if not dry_run:
        run_study_plan(loaded, plan, folder, fresh, output_format)


def _with_duration(spec: InterfereSpec, duration: str | None) -> InterfereSpec:
    from pydantic import ValidationError

    from wavetank.document import explain

    if duration is None:
        return spec
    body = spec.model_dump(exclude_unset=True) | {"duration": duration}
    try:
        return type(spec).model_validate(body)
    except ValidationError as error:
        raise SpecError(f"--duration {duration!r} does not fit: {explain(error)}") from error


def run_study_plan(
    loaded: LoadedStudy,
    plan: InterferePlan,
    folder: Path,
    fresh: bool,
    output_format: str,
) -> None:
    """Run what is left of a plan, compare, print, and keep everything in ``folder``.

    Raises:
        MeasurementError: a run failed.
    """
    from wavetank.cli.campaign_run import measure_and_compare, print_comparison, see_all_well
    from wavetank.interfere.load import keep_copies

    def measured(store: Store, progress: Progress) -> Outcome:
        keep_copies(loaded, store)
        return _measure(loaded, plan, store, progress)

    outcome, comparison = measure_and_compare(
        folder, loaded.spec.name, fresh, measured,
        compare=lambda store: _compare(loaded, plan, store),
        holds_results=lambda store: bool(store.together()),
        kept=lambda store: (
            f"{sum(point.key in store.together() for point in plan.points)} of {len(plan.points)} runs"
        ),
    )  # fmt: skip
    print_comparison(comparison, output_format, folder)
    click.echo(f"Results: {folder}. A page of them: wavetank report {folder}", err=True)
    see_all_well(outcome, f"{len(plan.points)} runs")


def _measure(loaded: LoadedStudy, plan: InterferePlan, store: Store, progress: Progress) -> Outcome:
    from wavetank.campaign.clusters import ClusterDeployer
    from wavetank.interfere.run import run_study
    from wavetank.measure.disturbance import MachineWatch
    from wavetank.measure.sessions import SessionPerformer

    progress.says(_sentence(plan, set(store.together())))
    for part in plan.impossible:
        progress.says(
            f"cannot run {part.application} on {part.cluster} with {part.mapping}: {part.reason}"
        )
    return run_study(
        loaded.spec,
        plan,
        store,
        deployer=ClusterDeployer(loaded.spec.cluster_sources()),
        performer=SessionPerformer(),
        observer=progress,
        watch=MachineWatch(),
    )


def _compare(loaded: LoadedStudy, plan: InterferePlan, store: Store) -> Comparison:
    from wavetank.campaign.database import COMPARISON
    from wavetank.interfere.comparison import compare_study

    comparison = compare_study(loaded.spec, plan, store)
    comparison.write(store.folder / COMPARISON)
    return comparison


def _sentence(plan: InterferePlan, done: set[str]) -> str:
    from wavetank.interfere.plan import forecast_s
    from wavetank.units import format_estimate

    n_done = sum(point.key in done for point in plan.points)
    return (
        f"{len(plan.groups)} group(s) x {len(plan.clusters)} cluster(s): {len(plan.points)} runs, "
        f"{n_done} done already, about {format_estimate(forecast_s(plan, done))} to go"
    )


def print_study_plan(
    loaded: LoadedStudy, plan: InterferePlan, folder: Path, fresh: bool, output_format: str
) -> None:
    """Print every run that will be made and every one that cannot, with the time that is left."""
    from wavetank.campaign.database import DATABASE
    from wavetank.campaign.results_folder import open_store
    from wavetank.interfere.plan import forecast_s

    done: set[str] = set()
    if not fresh and (folder / DATABASE).is_file():
        with open_store(folder) as store:
            done = set(store.together())
    rows: list[_Planned] = [
        *((point, point.key in done) for point in plan.points),
        *((part, False) for part in plan.impossible),
    ]
    print_tables(
        [PLAN.table(rows, caption=_sentence(plan, done))],
        output_format,
        {
            "study": loaded.spec.name,
            "runs": len(plan.points),
            "done": sum(point.key in done for point in plan.points),
            "estimated_duration_s": forecast_s(plan, done),
        },
    )
