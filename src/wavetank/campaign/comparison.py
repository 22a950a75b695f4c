"""From a campaign's stored measurements to its comparison."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from wavetank.campaign.comparison_notes import comparison_notes
from wavetank.campaign.criterion import cost_fix, criterion_of, score_of
from wavetank.campaign.pauses_check import pauses_notes
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.search_notes import search_of
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Key, Store
from wavetank.campaign.strategy import Strategy, strategy_of
from wavetank.campaign.what_if import variants_of_all, without_variants
from wavetank.compare.advice import advise
from wavetank.compare.against import against_baseline
from wavetank.compare.comparison import Comparison, NotMeasured
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import CRITERIA, Decisions, decide
from wavetank.compare.effects import effects
from wavetank.compare.metrics import Averager, configuration_id, describe, price_of
from wavetank.compare.rank import pareto_front, rank
from wavetank.compare.run_cost import StandingTime
from wavetank.compare.search_record import Search
from wavetank.compare.trust import Judged, trust
from wavetank.compare.trust_record import Trust
from wavetank.compare.verdict import verdict
from wavetank.compare.whole_run import with_run, with_savings
from wavetank.cost.prices import PriceTable
from wavetank.document import provenance
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.result import Measurement


def compare_campaign(
    spec: CampaignSpec,
    plan: Plan,
    store: Store,
    prices: PriceTable | None,
    other_prices: Sequence[PriceTable] = (),
) -> Comparison:
    """Compare everything in the plan that was measured.

    Measurements of the store that are not in the plan any more are left out.
    """
    stored = store.keyed_measurements()
    strategy = strategy_of(spec, plan, prices, stored, store.missed())
    # Values that selected the finalists of a search say nothing of them.
    runs = tuple(run for run in plan.runs if strategy.is_counted(run))
    measured = _configurations(spec, plan, runs, store, stored, prices, other_prices)
    ended = _ended_early(plan, strategy)
    searched = search_of(spec, plan, strategy, store, prices)
    decisions = decide(
        measured,
        smallest_difference=spec.smallest_difference,
        error=1 - spec.confidence,
        repetitions=plan.repetitions,
        ended=ended,
    )
    own = tuple(each for each in plan.applications if each.variant_of is None)
    configurations = _with_effects_of_the_choice(spec, measured, decisions, searched)
    rankings = tuple(
        rank(configurations, application.name, by, decisions)
        for application in own
        for by in CRITERIA
        if by == "time" or prices is not None
    )
    knobs = {cluster.name: cluster.knobs for cluster in plan.clusters}
    turned = effects(
        configurations, knobs, decisions, confidence=spec.confidence, baseline=spec.baseline
    )
    of_application = {
        application.name: [each for each in configurations if each.application == application.name]
        for application in own
    }
    trusts = _trusts(spec, plan, configurations, decisions)
    by = criterion_of(spec, prices)
    asked = {ranking.application: ranking for ranking in rankings if ranking.by == by}
    missing = _not_measured(plan, store, measured, searched)
    variants = variants_of_all(plan, measured, missing, decisions, asked, spec.confidence)
    verdicts = {
        application.name: verdict(
            application.name,
            {each.id: each for each in of_application[application.name]},
            asked[application.name],
            decisions,
            baseline=spec.baseline,
            search=searched,
            trust=trusts.get(application.name),
            variants=variants.get(application.name),
            smallest_saving=spec.smallest_saving,
        )
        for application in own
        if asked[application.name].places
    }
    return Comparison(
        provenance=provenance(seed=spec.seed),
        campaign=spec.name,
        confidence=spec.confidence,
        smallest_difference=spec.smallest_difference,
        family=decisions.family(),
        rank_by=by,
        baseline=spec.baseline,
        price=None if prices is None else price_of(prices),
        runs_per_month=spec.runs_per_month,
        configurations=tuple(configurations),
        rankings=rankings,
        pareto=tuple(name for each in of_application.values() for name in pareto_front(each)),
        effects=turned,
        verdicts=tuple(verdicts.values()),
        advice=tuple(
            advice
            for application in own
            if application.name in verdicts
            for advice in advise(
                application.name,
                application.kernel,
                configurations,
                asked[application.name],
                decisions=decisions,
                knobs=knobs,
                void=verdicts[application.name].void,
                trust=trusts.get(application.name),
                variants=variants.get(application.name),
            )
        ),
        not_measured=without_variants(plan, missing),
        search=searched,
        trust=tuple(trusts.values()),
        what_if=tuple(variants.values()),
        notes=(
            *comparison_notes(
                spec, plan, store, stored, prices, configurations, decisions, searched, ended
            ),
            *pauses_notes(
                spec, plan, verdicts.values(), dict(stored), score_of(spec, plan, prices)
            ),
        ),
        titles={cluster.name: cluster.title for cluster in plan.clusters},
    )


def _with_effects_of_the_choice(
    spec: CampaignSpec,
    measured: Sequence[Configuration],
    decisions: Decisions,
    searched: Search | None,
) -> list[Configuration]:
    """Configurations of the applications as they are, with what they save and what they are beside the baseline."""
    configurations = [each for each in measured if each.variant_of is None]
    if searched is None or spec.baseline is not None:
        # The slowest configuration that a search left is no measure of what the choice can change.
        configurations = list(with_savings(configurations, spec.baseline, decisions))
    if spec.baseline is not None:
        configurations = list(against_baseline(configurations, spec.baseline, decisions))
    return configurations


def _configurations(
    spec: CampaignSpec,
    plan: Plan,
    counted: Sequence[Run],
    store: Store,
    stored: Sequence[tuple[Key, Measurement]],
    prices: PriceTable | None,
    other_prices: Sequence[PriceTable],
) -> list[Configuration]:
    runs = {run.key: run for run in counted}
    grouped: dict[tuple[str, str, str], list[Measurement]] = defaultdict(list)
    # By repetition: which ones are tested must not depend on when they were made.
    for key, measurement in sorted(stored, key=lambda each: each[0].repetition):
        if key in runs:
            run = runs[key]
            # The names of this plan count: the same kernel may have had another name before.
            named = measurement.model_copy(
                update={"application": run.application, "cluster": run.cluster}
            )
            grouped[run.application, run.cluster, run.mapping].append(named)
    up_s = store.deployments_s()
    idle_s = _idle_s(plan, store, stored)
    known = store.characterisations()
    peaks = {key: found.peaks() for key, found in known.items()}
    over_runs = Averager(spec.confidence)
    return [
        with_run(
            describe(
                grouped[application.name, cluster.name, mapping],
                application.kernel,
                title=cluster.title,
                instances=cluster.instances,
                storage=cluster.storage,
                staying=cluster.staying,
                prices=prices,
                cost_fix=cost_fix(spec, application, prices),
                standing=StandingTime(
                    median(up_s[cluster.key]) if cluster.key in up_s else None,
                    idle_s.get((application.name, cluster.name, mapping)),
                    spec.add_to_cost,
                ),
                other_prices=other_prices,
                peaks=peaks.get(cluster.key),
                over_runs=over_runs,
            ).model_copy(update={"variant_of": application.variant_of, "turned": cluster.turned}),
            application.kernel.run_times,
            over_runs,
        )
        for application in plan.applications
        for cluster in plan.clusters
        for mapping in spec.mappings
        if (application.name, cluster.name, mapping) in grouped
    ]


def _idle_s(
    plan: Plan, store: Store, stored: Sequence[tuple[Key, Measurement]]
) -> dict[tuple[str, str, str], float]:
    """Median time of a measurement beside its I/O, by application, cluster and mapping."""
    spent = store.spent_by_key()
    idle: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    runs = {run.key: run for run in plan.runs}
    for key, measurement in stored:
        run = runs.get(key)
        if run is not None:
            beside_s = spent[key] - measurement.result.io.total_s
            idle[run.application, run.cluster, run.mapping].append(max(beside_s, 0.0))
    return {name: median(times) for name, times in idle.items()}


def _trusts(
    spec: CampaignSpec,
    plan: Plan,
    configurations: Sequence[Configuration],
    decisions: Decisions,
) -> dict[str, Trust]:
    """Every kernel of which the campaign ran the application itself too, by its name."""
    own = {
        kernel_hash(each.kernel): each.name for each in plan.applications if each.own is not None
    }
    found = {}
    for each in plan.applications:
        beside = own.get(kernel_hash(each.kernel)) if each.own is None else None
        if beside is None:
            continue
        judged = Judged(each.name, beside, each.program, spec.pauses)
        told = trust(judged, configurations, decisions, confidence=spec.confidence)
        if told is not None:
            found[each.name] = told
    return found


def _not_measured(
    plan: Plan, store: Store, configurations: list[Configuration], searched: Search | None
) -> tuple[NotMeasured, ...]:
    complete = {(each.application, each.cluster, each.mapping) for each in configurations}
    failed = [
        NotMeasured(
            application=failure.application,
            cluster=failure.cluster,
            mapping=failure.mapping,
            reason=failure.reason,
        )
        for failure in store.failures()
    ]
    dropped = () if searched is None else searched.dropped
    complete |= {(each.application, each.cluster, each.mapping) for each in dropped}
    said = complete | {(each.application, each.cluster, each.mapping) for each in failed}
    waiting = dict.fromkeys(
        (run.application, run.cluster, run.mapping)
        for run in plan.runs
        if (run.application, run.cluster, run.mapping) not in said
    )
    return (
        *plan.impossible,
        *failed,
        *(
            NotMeasured(
                application=application,
                cluster=cluster,
                mapping=mapping,
                reason="not measured yet: run the campaign again to continue it",
            )
            for application, cluster, mapping in waiting
        ),
    )


def _ended_early(plan: Plan, strategy: Strategy[Run]) -> frozenset[str]:
    """Configurations, by id, that needed no further repetition: none could have told them apart."""
    return frozenset(
        configuration_id(run.application, run.cluster, run.mapping)
        for run in plan.runs
        if run.key in strategy.futile
    )
