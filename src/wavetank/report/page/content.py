"""The content of a report in the order in which it is read: answer first, evidence after it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from markupsafe import Markup

from wavetank.compare.comparison import Advice, Comparison, Price, Verdict
from wavetank.compare.configuration import Configuration
from wavetank.compare.regression import Check
from wavetank.compare.tables.check import check_table, summary
from wavetank.compare.tables.choice import choice_table
from wavetank.compare.tables.cost import cost_table, other_cost_table
from wavetank.compare.tables.effects import effects_table, knobs_table
from wavetank.compare.tables.left_out import dropped_table, not_measured_table
from wavetank.compare.tables.month import month_table
from wavetank.compare.tables.phases import call_results_table, phase_results_table
from wavetank.compare.tables.ranking import ranking_table
from wavetank.compare.tables.runs import baseline_table, whole_run_table
from wavetank.compare.tables.trust import own_times_table
from wavetank.compare.tables.use import use_table
from wavetank.compare.tables.what_if import what_if_tables
from wavetank.compare.words import origins_words
from wavetank.findings.all_findings import all_findings
from wavetank.findings.findings_table import findings_table
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.tables.lines import ior_table, mdtest_table
from wavetank.measure.result import Measurement
from wavetank.measure.statistics import intervals_words
from wavetank.model.document.model import Model
from wavetank.model.tables.model_tables import model_tables
from wavetank.notes import texts
from wavetank.report.gather import Campaign
from wavetank.report.page.numbers import names_of_surroundings, numbers
from wavetank.report.page.study_part import StudyPart, study_part
from wavetank.report.plots.changes import changes
from wavetank.report.plots.figures import (
    Figure,
    cost_figures,
    effects_figure,
    operation_figures,
    pattern_figures,
    performance_figures,
)
from wavetank.report.tables.clusters import cluster_tables
from wavetank.report.tables.kernel import kernel_words
from wavetank.report.tables.provenance import (
    Surroundings,
    provenance_table,
    study_provenance,
    told_once,
)
from wavetank.tables.table import Table
from wavetank.units import format_size

MOST_NAMED = 3
MOST_RANKED = 12
"""Configurations with the same doubt that are named one by one; of more, how many they are."""


@dataclass(frozen=True)
class ModelPart:
    """What an application's model says."""

    command: str
    tables: tuple[Table, ...]
    first: tuple[Figure, ...]  # that are read first
    figures: tuple[Figure, ...]
    pairs: tuple[Figure, ...]  # narrow figures, side by side
    kernel_lines: tuple[str, ...]
    ior: Table | None
    mdtest: Table | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class RankingPart:
    """A ranking, and of each row the position of its configuration among the application's."""

    by: str
    table: Table
    order: tuple[int, ...]


@dataclass(frozen=True)
class ApplicationPart:
    """Everything about one application."""

    anchor: str
    name: str
    n_configurations: int
    origin: str
    verdict: Verdict | None
    why: tuple[Advice, ...]  # what the application's I/O shows by itself
    advice: tuple[Advice, ...]  # and what the measurements show
    choice: Table | None
    knobs: Table | None
    time: Table | None  # where it goes, for the two best and the baseline
    rankings: tuple[RankingPart, ...]
    numbers: Markup | None  # for the page's scripts
    whole_run: Table | None
    baseline: Table | None
    performance: tuple[Figure, ...]
    phase_results: Table | None
    call_results: Table | None
    use: Table | None
    cost: tuple[Figure, ...]
    own_times: Table | None
    what_if: tuple[Table, ...]
    cost_parts: Table | None
    other_costs: Table | None
    month: Table | None
    effects: Table | None
    effects_plot: Figure | None
    model: ModelPart | None


@dataclass(frozen=True)
class CheckPart:
    """What changed against earlier results."""

    summary: str
    notes: tuple[str, ...]
    figure: Figure | None
    table: Table


@dataclass(frozen=True)
class Page:
    """A report."""

    title: str
    facts: tuple[str, ...]
    notes: tuple[str, ...]
    applications: tuple[ApplicationPart, ...]
    clusters: tuple[Table, ...]
    not_measured: Table | None
    dropped: Table | None
    findings: tuple[str, ...]
    price: Price | None
    intervals: str
    measurements: Table
    common: Mapping[str, Mapping[str, str]]  # facts of all measurements
    surroundings: tuple[Surroundings, ...]
    comparison: Comparison
    spec_text: str | None
    study: StudyPart | None
    check: CheckPart | None


def make_page(campaign: Campaign) -> Page:
    """Put a report together."""
    comparison = campaign.comparison
    study = comparison.interference
    made_in: list[tuple[Measurement, str]] = []
    if study is None:
        table, surroundings = provenance_table(campaign.measurements)
        made_in = list(zip(campaign.measurements, names_of_surroundings(table), strict=True))
    else:
        table, surroundings = study_provenance(campaign.together)
    common, surroundings = told_once(surroundings)
    return Page(
        title=_title(campaign),
        facts=_facts(campaign),
        notes=texts(comparison.notes),
        applications=tuple(
            _application(campaign, name, f"app{position}", made_in)
            for position, name in enumerate(campaign.applications, 1)
        ),
        clusters=cluster_tables(campaign) if comparison.configurations else (),
        not_measured=_filled(not_measured_table(comparison)),
        dropped=_filled(dropped_table(comparison)),
        findings=_findings(comparison),
        price=comparison.price,
        intervals=intervals_words(
            [c.n_repetitions for c in comparison.configurations], comparison.confidence
        ),
        measurements=table,
        common=common,
        surroundings=surroundings,
        comparison=comparison,
        spec_text=campaign.spec_text,
        study=None if study is None else study_part(comparison, study),
        check=None if campaign.check is None else _check(campaign.check),
    )


def _check(found: Check) -> CheckPart:
    changed = any(each.change is not None for each in found.verdicts)
    return CheckPart(
        summary=f"Against the earlier results, by I/O time: {summary(found)}",
        notes=found.notes,
        figure=Figure((("", partial(changes, found.verdicts, "changes")),)) if changed else None,
        table=check_table(found),
    )


def model_part(model: Model, anchor: str, kernel: Kernel | None = None) -> ModelPart:
    """A model's tables and plots."""
    figures, pairs = pattern_figures(model, anchor), operation_figures(model, anchor)
    return ModelPart(
        command=shlex.join(model.command),
        tables=tuple(
            each
            for each in (
                findings_table(all_findings(model)),
                *model_tables(model, largest_first=True),
            )
            if each.rows
        ),
        first=(*figures[:1], *pairs[:1]),
        figures=figures[1:],
        pairs=pairs[1:],
        kernel_lines=() if kernel is None else kernel_words(kernel),
        ior=None if kernel is None else _filled(ior_table(kernel)),
        mdtest=None if kernel is None else _filled(mdtest_table(kernel)),
        warnings=(
            *(
                ()
                if model.approximation is None
                else (f"The model is {model.approximation.sentence()}.",)
            ),
            *texts(model.notes),
        ),
    )


def _application(
    campaign: Campaign, name: str, anchor: str, made_in: Sequence[tuple[Measurement, str]]
) -> ApplicationPart:
    comparison = campaign.comparison
    members = in_rank_order(comparison, name)
    model = campaign.models.get(name)
    made = [pair for pair in made_in if pair[0].application == name]
    own = [measurement for measurement, _ in made]
    effects_plot = effects_figure(comparison, name, anchor)
    advice = [each for each in comparison.advice if each.application == name]
    return ApplicationPart(
        anchor=anchor,
        name=name,
        n_configurations=len(members),
        origin=origins_words(members),
        verdict=comparison.verdict_of(name),
        why=tuple(each for each in advice if each.about == "application"),
        advice=tuple(each for each in advice if each.about != "application"),
        choice=next(
            (
                choice_table(comparison, ranking, MOST_RANKED)
                for ranking in comparison.rankings
                if ranking.application == name
                and ranking.by == comparison.rank_by
                and ranking.places
            ),
            None,
        ),
        knobs=_filled(knobs_table(comparison, name)),
        time=_filled(use_table(_named_first(comparison, name, members), whole=True)),
        rankings=_rankings(comparison, name, members),
        numbers=numbers(comparison, members, own, [where for _, where in made])
        if members
        else None,
        whole_run=_filled(whole_run_table(comparison, members)),
        baseline=_filled(baseline_table(comparison, members)),
        performance=performance_figures(comparison, members, own, model, anchor),
        phase_results=_filled(phase_results_table(members)),
        call_results=_filled(call_results_table(members)),
        use=_filled(use_table(members)),
        own_times=_filled(own_times_table(comparison, members)),
        what_if=what_if_tables(comparison, name),
        cost=cost_figures(comparison, members, anchor),
        cost_parts=_filled(cost_table(comparison, members)),
        other_costs=_filled(other_cost_table(members)),
        month=_filled(month_table(comparison, members)),
        effects=_filled(effects_table(comparison, name)),
        effects_plot=effects_plot,
        model=None if model is None else model_part(model, anchor, campaign.kernels.get(name)),
    )


def _named_first(
    comparison: Comparison, name: str, members: Sequence[Configuration]
) -> list[Configuration]:
    """The two best, and the baseline."""
    verdict = comparison.verdict_of(name)
    baseline = None if verdict is None else verdict.baseline
    return [*members[:2], *(each for each in members[2:] if each.id == baseline)]


def _rankings(
    comparison: Comparison, name: str, members: Sequence[Configuration]
) -> tuple[RankingPart, ...]:
    """The one that was asked for first."""
    position = {each.id: at for at, each in enumerate(members)}
    return tuple(
        RankingPart(
            ranking.by,
            ranking_table(comparison, ranking),
            tuple(position[place.configuration] for place in ranking.places),
        )
        for ranking in sorted(comparison.rankings, key=lambda r: r.by != comparison.rank_by)
        if ranking.application == name and ranking.places
    )


def _filled(table: Table) -> Table | None:
    """A table that has rows."""
    return table if table.rows else None


def _title(campaign: Campaign) -> str:
    """The applications, each with the log that its model was made from; of a study its name."""
    titles = []
    for name in campaign.applications:
        model = campaign.models.get(name)
        inputs = () if model is None else model.provenance.inputs
        titles.append(f"{name}: {Path(inputs[0].path).name}" if inputs else name)
    return ", ".join(titles) or campaign.comparison.campaign


def _facts(campaign: Campaign) -> tuple[str, ...]:
    comparison = campaign.comparison
    configurations = comparison.configurations
    clusters = {c.cluster for c in configurations}
    mappings = {c.mapping for c in configurations}
    facts = [
        f"campaign {comparison.campaign}",
        _count(len(clusters), "cluster"),
        _count(len(mappings), "process mapping"),
        _count(len(campaign.measurements), "measurement"),
    ]
    study = comparison.interference
    if study is not None:
        facts = [
            _count(len(study.groups), "group"),
            _count(len({setting.cluster for setting in study.settings}), "cluster"),
            _count(len(campaign.together), "run"),
        ]
    made = [run.provenance for run in (*campaign.measurements, *campaign.together)]
    if made:
        days = sorted({each.created_utc[:10] for each in made})
        facts.append(days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}")
        hosts = {each.host.hostname: each.host for each in made}
        facts += [
            f"on {name} ({host.n_cpus} CPUs, {format_size(host.memory_bytes)})"
            for name, host in list(hosts.items())[:2]
        ]
    return tuple(facts)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _findings(comparison: Comparison) -> tuple[str, ...]:
    """Doubts, each once: with the configurations that have it, or how many they are."""
    where: dict[str, dict[str, None]] = {}
    for c in comparison.configurations:
        for finding in texts(c.notes):
            where.setdefault(finding, {})[f"{c.application}, {c.cluster_title}, {c.mapping}"] = None
    total = len(comparison.configurations)
    lines = []
    for finding, names in where.items():
        if len(names) > MOST_NAMED:
            all_of_them = "all" if len(names) == total else f"{len(names)} of {total}"
            lines.append(f"{all_of_them} configurations: {finding}")
        else:
            lines += [f"{name}: {finding}" for name in names]
    return tuple(lines)


def in_rank_order(comparison: Comparison, application: str) -> tuple[Configuration, ...]:
    """An application's configurations, best first by the criterion that was asked for."""
    places = {
        place.configuration: position
        for ranking in comparison.rankings
        if ranking.application == application and ranking.by == comparison.rank_by
        for position, place in enumerate(ranking.places)
    }
    members = [c for c in comparison.configurations if c.application == application]
    return tuple(sorted(members, key=lambda c: places.get(c.id, len(places))))
