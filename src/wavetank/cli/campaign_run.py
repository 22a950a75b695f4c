"""Running a plan and printing what comes of it: shared by ``run`` and ``try``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.campaign_cost import bills_after, cost_words, rented
from wavetank.cli.campaign_tables import PLAN, REFUSED, Planned
from wavetank.cli.output import note_rows, print_lines, print_tables, say, terminal_width
from wavetank.errors import MeasurementError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from wavetank.campaign.executor import Outcome
    from wavetank.campaign.load import Loaded
    from wavetank.campaign.plan import Forecast, Plan
    from wavetank.campaign.schedule import Schedule
    from wavetank.campaign.store import Store
    from wavetank.cli.progress import Progress
    from wavetank.cluster.spec import ClusterSpec
    from wavetank.compare.comparison import Comparison


_GO_ON = ("run", "interfere", "try")
"""Commands that go on where they ended, when they are given again."""


def print_forecast(
    loaded: Loaded, plan: Plan, folder: Path, fresh: bool, output_format: str
) -> None:
    """Print the plan with what is done already, what is left, how long it takes and what it costs."""
    from wavetank.campaign.database import DATABASE
    from wavetank.campaign.plan import forecast
    from wavetank.campaign.results_folder import open_store, see_usable

    see_usable(folder)
    if fresh or not (folder / DATABASE).is_file():
        ahead = forecast(plan, set(), spent_s={}, prices=loaded.prices)
    else:
        with open_store(folder) as store:
            ahead = forecast(plan, store.done(), spent_s=store.spent_s(), prices=loaded.prices)
    _print_plan(loaded, plan, ahead, output_format)


def run_plan(
    loaded: Loaded,
    plan: Plan,
    folder: Path,
    fresh: bool,
    output_format: str,
) -> Comparison:
    """Measure what is left of a plan, compare, print, and keep everything in ``folder``; returns the comparison.

    Raises:
        SpecError: a program that performs kernels is on no cluster.
        MeasurementError: nothing can be measured, or a part of the plan failed.
    """
    from wavetank.campaign.baseline import read_baseline
    from wavetank.campaign.load import keep_copies
    from wavetank.compare.regression import baseline_notes

    missing = loaded.missing_everywhere()
    if missing:
        raise SpecError(f"campaign {loaded.spec.name} cannot start:\n  " + "\n  ".join(missing))
    if not plan.runs:
        _print_plan(loaded, plan, None, output_format)
        raise MeasurementError(
            f"nothing in campaign {loaded.spec.name} can be measured; the plan above says why for "
            "each part"
        )

    def measured(store: Store, progress: Progress) -> Outcome:
        keep_copies(loaded, store)
        return _measure(loaded, plan, store, progress, fresh)

    with bills_after(_specs(loaded)):
        outcome, comparison = measure_and_compare(
            folder, loaded.spec.name, fresh, measured,
            compare=lambda store: _compare(loaded, plan, store),
            holds_results=lambda store: bool(store.done()),
            kept=lambda store: _kept(loaded, plan, store),
        )  # fmt: skip
    print_comparison(comparison, output_format, folder)
    if output_format in ("answer", "table") and comparison.configurations:
        for note in baseline_notes(read_baseline(folder)):
            click.echo(f"note: {note}", err=True)
    click.echo(f"Results: {folder}", err=True)
    _judge(outcome, plan)
    return comparison


def measure_and_compare(
    folder: Path,
    name: str,
    fresh: bool,
    measure: Callable[[Store, Progress], Outcome],
    compare: Callable[[Store], Comparison],
    holds_results: Callable[[Store], bool],
    kept: Callable[[Store], str],
) -> tuple[Outcome, Comparison]:
    """Measure into the store of a folder and compare all that it holds, also when measuring is interrupted.

    Args:
        folder: of the results.
        name: of the campaign, for progress.
        fresh: forget what the store holds.
        measure: adds to the store.
        compare: writes the comparison.
        holds_results: whether there is anything to compare.
        kept: what an interrupted campaign has of what it is to have, in words.
    """
    from wavetank.campaign.results_folder import forget, write_store
    from wavetank.cli.progress import Progress

    with write_store(folder) as store:
        if fresh:
            forget(store)
        with Progress(name) as progress:
            try:
                outcome = measure(store, progress)
            except BaseException as error:  # Ctrl-C too: what was measured until now is compared
                if holds_results(store):
                    compare(store)
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    _say_how_to_go_on(kept(store))
                raise
            return outcome, compare(store)


def _say_how_to_go_on(kept: str) -> None:
    """Name the command that goes on; it is this one, without what would forget the results."""
    context = click.get_current_context(silent=True)
    if context is not None and context.find_root().invoked_subcommand in _GO_ON:
        again = shlex.join(["wavetank", *(each for each in sys.argv[1:] if each != "--fresh")])
        click.echo(f"wavetank: {kept} kept; run again: {again}", err=True)


def _kept(loaded: Loaded, plan: Plan, store: Store) -> str:
    from wavetank.campaign.plan import forecast

    ahead = forecast(plan, store.done(), spent_s=store.spent_s(), prices=loaded.prices)
    return f"{ahead.n_done} of {ahead.n_runs} measurements"


def _compare(loaded: Loaded, plan: Plan, store: Store) -> Comparison:
    from wavetank.campaign.comparison import compare_campaign
    from wavetank.campaign.database import COMPARISON

    comparison = compare_campaign(loaded.spec, plan, store, loaded.prices, loaded.other_prices)
    comparison.write(store.folder / COMPARISON)
    return comparison


def _measure(loaded: Loaded, plan: Plan, store: Store, progress: Progress, fresh: bool) -> Outcome:
    from wavetank.campaign.clusters import ClusterDeployer
    from wavetank.campaign.pauses_check import checks_of, options_of, plan_of
    from wavetank.campaign.plan import forecast
    from wavetank.campaign.run import check_with_pauses, run_campaign
    from wavetank.measure.disturbance import MachineWatch
    from wavetank.measure.perform import ReplayPerformer, campaign_options

    ahead = forecast(plan, store.done(), spent_s=store.spent_s(), prices=loaded.prices)
    progress.says(_sentence(plan, ahead, loaded))
    for application in plan.applications:
        for setting, reason in application.refused:
            progress.says(f"{application.name}: {setting} does not apply: {reason}")
    for part in plan.impossible:
        progress.says(
            f"cannot run {part.application} on {part.cluster} with {part.mapping}: {part.reason}"
        )
    if loaded.spec.executor == "slurm":
        return _measure_on_slurm(loaded, plan, store, progress, fresh)
    deployer, watch = ClusterDeployer(loaded.sources), MachineWatch()
    outcome = run_campaign(
        loaded.spec,
        plan,
        store,
        deployer=deployer,
        performer=ReplayPerformer(
            options=campaign_options(
                flush=loaded.spec.flush, pauses=loaded.spec.pauses, verify=loaded.spec.verify
            )
        ),
        observer=progress,
        prices=loaded.prices,
        watch=watch,
    )
    if checks := checks_of(loaded.spec, plan, _compare(loaded, plan, store).verdicts):
        check_with_pauses(
            loaded.spec,
            plan_of(checks, plan),
            store,
            deployer=deployer,
            performer=ReplayPerformer(options=options_of(loaded.spec)),
            observer=progress,
            prices=loaded.prices,
            watch=watch,
        )
    return outcome


def _measure_on_slurm(
    loaded: Loaded, plan: Plan, store: Store, progress: Progress, fresh: bool
) -> Outcome:
    from wavetank.campaign.clusters import specs_of
    from wavetank.campaign.slurm.backend import run_on_slurm
    from wavetank.campaign.slurm.queue import SlurmQueue

    queue = SlurmQueue()
    progress.says(f"measuring by jobs of Slurm {queue.version()}, one at a time")
    return run_on_slurm(
        loaded.spec,
        plan,
        store,
        clusters=specs_of(loaded.sources),
        queue=queue,
        observer=progress,
        options=loaded.spec.sbatch_options,
        prices=loaded.prices,
        fresh=fresh,
    )


def _judge(outcome: Outcome, plan: Plan) -> None:
    if outcome.n_not_afforded:
        click.echo(
            f"wavetank: {outcome.n_not_afforded} measurements were left out: the budget is spent. "
            "Raise it and run the same command again to go on",
            err=True,
        )
    see_all_well(outcome, f"{plan.schedule.n_at_most} measurements")


def see_all_well(outcome: Outcome, of: str) -> None:
    """End with an error where a part of the plan failed, or a cluster is still there.

    Args:
        outcome: of measuring.
        of: everything in the plan, e.g. "12 measurements".

    Raises:
        MeasurementError: it did.
    """
    said = []
    if outcome.n_failed:
        said.append(
            f"{outcome.n_failed} of {of} failed; the table 'Not measured' says why. "
            "Run the same command again to try them again"
        )
    if outcome.not_down:
        ways = ", ".join(f"'wavetank cluster down {name}'" for name in outcome.not_down)
        said.append(
            f"Not taken down, for the reason above: {', '.join(outcome.not_down)}. It costs what it costs until it is: {ways}, "
            "or the same command again, which does that first"
        )
    if said:
        raise MeasurementError(". ".join(said))


def _sentence(plan: Plan, ahead: Forecast, loaded: Loaded) -> str:
    from wavetank.campaign.spec import SearchRule
    from wavetank.units import format_estimate

    variants = sum(each.variant_of is not None for each in plan.applications)
    beside = f" and {variants} variant(s)" if variants else ""
    turned = sum(each.turned is not None for each in plan.clusters)
    layouts = f" and {turned} with another layout" if turned else ""
    search = isinstance(loaded.spec.strategy, SearchRule)
    at_most = "at most " if search else ""
    grid = f" (the full grid takes {plan.schedule.n_grid})" if search else ""
    text = (
        f"{len(plan.applications) - variants} application(s){beside} x {len(plan.clusters) - turned} cluster(s){layouts}: "
        f"{at_most}{ahead.n_runs} measurements{grid}, {ahead.n_done} done already, about "
        f"{format_estimate(ahead.duration_s)} to go"
    )
    budget = loaded.spec.budget
    if budget is not None and budget.core_hours is not None:
        text += f"; at least {ahead.core_hours:.3g} core-hours of a budget of {budget.core_hours:g}"
    return "; ".join([text, *cost_words(_specs(loaded), ahead, loaded.prices)])


def _specs(loaded: Loaded) -> tuple[ClusterSpec, ...]:
    from wavetank.campaign.clusters import specs_of

    return specs_of(loaded.sources)


def _search_words(search: Schedule) -> str:
    if not search.selection:
        return "the full grid takes no more measurements, and is measured"
    return search.words()


def _print_plan(loaded: Loaded, plan: Plan, ahead: Forecast | None, output_format: str) -> None:
    from wavetank.campaign.spec import SearchRule
    from wavetank.campaign.variant_places import belongs

    search = isinstance(loaded.spec.strategy, SearchRule)
    cannot = {(part.application, part.cluster, part.mapping): part for part in plan.impossible}
    rows = [
        Planned(application.name, cluster, mapping, plan, cannot.get((application.name, cluster.name, mapping)))
        for application in plan.applications
        for cluster in plan.clusters
        if belongs(application.kernel, cluster)
        for mapping in loaded.spec.mappings
    ]  # fmt: skip
    extra: dict[str, object] = {}
    if ahead is not None:
        of_cloud = rented(_specs(loaded), ahead)
        extra = {
            "measurements": ahead.n_runs,
            "done": ahead.n_done,
            "estimated_duration_s": ahead.duration_s,
            "estimated_cost": None if ahead.cost is None else float(ahead.cost),
            "currency": loaded.prices.currency if loaded.prices else None,
            "instances_made": {
                "clusters": of_cloud.clusters,
                "estimated_usd": None if of_cloud.usd is None else float(of_cloud.usd),
                "usd_at_most": None
                if of_cloud.usd_at_most is None
                else float(of_cloud.usd_at_most),
            },
            "estimated_core_hours": ahead.core_hours,
            "full_grid": plan.schedule.n_grid if search else None,
            "own": {
                each.name: {"argv": each.own.asked.argv, "ranks": each.own.n_ranks}
                for each in plan.applications
                if each.own is not None
            },
        }
    notes = [_sentence(plan, ahead, loaded)] if ahead is not None else []
    notes += [f"search: {_search_words(plan.schedule)}"] if search else []
    notes += [
        f"{each.name} runs {each.own.sentence()}"
        for each in plan.applications
        if each.own is not None
    ]
    note = "\n".join(notes) or None
    tables = [PLAN.table(rows, caption=note)]
    refused = [
        (each.name, setting, reason)
        for each in plan.applications
        for setting, reason in each.refused
    ]
    if refused:
        tables.append(REFUSED.table(refused))
    print_tables(tables, output_format, extra)


def print_comparison(comparison: Comparison, output_format: str, folder: Path) -> None:
    """Print what a comparison answers; or the tables of a comparison, and under them what a reader must know.

    Args:
        comparison: of a campaign or a study.
        output_format: "answer", "brief", or that of tables.
        folder: of the results.
    """
    from wavetank.cli.answer import brief_lines, comparison_lines
    from wavetank.compare.tables.all import comparison_tables
    from wavetank.interfere.tables import all_study_tables

    if output_format == "brief":
        print_lines(brief_lines(comparison))
        return
    if output_format == "answer":
        everything = shlex.join(["wavetank", "results", str(folder), "--full"])
        print_lines(comparison_lines(comparison, terminal_width(), everything))
        return
    study = comparison.interference
    extra = {
        "campaign": comparison.campaign,
        "answer": [each.sentence for each in comparison.verdicts],
        "notes": note_rows(comparison.notes),
    }
    tables = comparison_tables(comparison) if study is None else all_study_tables(comparison, study)
    print_tables(tables, output_format, extra)
    if output_format == "table":
        for note in comparison.notes:
            say(str(note))
