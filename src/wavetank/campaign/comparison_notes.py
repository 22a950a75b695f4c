"""What a reader must know of a comparison: how it was measured and judged, and what is doubtful.

Reads the plan, the store and the configurations; leaves notes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from wavetank.campaign.plan import Plan
from wavetank.campaign.search_notes import search_notes
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Key, Store
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.search_record import Search
from wavetank.cost.prices import PriceTable
from wavetank.measure.disturbance import share_words
from wavetank.measure.result import Measurement, cache_words
from wavetank.measure.statistics import intervals_words
from wavetank.notes import Note, about, carried, notes_of

FULL = 100.0
"""Usage of the peak in percent above which a reader must be told why."""


def comparison_notes(
    spec: CampaignSpec,
    plan: Plan,
    store: Store,
    stored: Sequence[tuple[Key, Measurement]],
    prices: PriceTable | None,
    configurations: Sequence[Configuration],
    decisions: Decisions,
    searched: Search | None,
    ended: Collection[str],
) -> tuple[Note, ...]:
    """All notes of a campaign's comparison, in the order in which they are read.

    Args:
        spec: of the campaign; its own notes come first.
        plan: what was to be measured; variants of applications have the doubts of these.
        store: of the campaign.
        stored: all measurements that it holds.
        prices: by which costs are computed.
        configurations: that are compared.
        decisions: for all pairs of them.
        searched: that they come from; None: the full grid.
        ended: ids of those that needed no further repetition.
    """
    return (
        *notes_of("remark", "campaign", spec.notes),
        *(
            doubt
            for application in plan.applications
            if application.variant_of is None
            for doubt in about(application.name, carried(application.kernel.notes))
        ),
        *notes_of("remark", "method", _method_notes(spec, configurations, decisions, prices)),
        *notes_of("remark", "search", search_notes(searched)),
        *notes_of("remark", "repetitions", _ended_notes(configurations, ended)),
        *notes_of("suspect", "other work", _load_notes(plan, store, stored)),
    )


def _method_notes(
    spec: CampaignSpec,
    configurations: Sequence[Configuration],
    decisions: Decisions,
    prices: PriceTable | None,
) -> tuple[str, ...]:
    notes = []
    if any(each.origin == "measured under emulated limits" for each in configurations):
        notes.append(
            "Rates and times were measured on this machine under emulated limits, not on the named "
            "instances: they compare configurations with each other. Costs are computed from them."
        )
    repetitions = [each.n_repetitions for each in configurations]
    if any(n > 1 for n in repetitions):
        notes.append(
            f"Medians with {intervals_words(repetitions, spec.confidence)}; "
            f"{' and '.join(sorted({cache_words(each.cache) for each in configurations}))}, random order with seed {spec.seed}."
        )
    notes.append(
        f"Told apart: by the exact test of Mann and Whitney over all {decisions.n_pairs} pairs of this "
        f"report together, and medians at least {100 * spec.smallest_difference:g} % apart. Of all "
        f"reports on configurations that are the same, {100 * decisions.error:.2g} % at most tell any of "
        "them apart. Ties are not transitive, so places are ranges: from one after the better ones "
        "that are told apart to the last before the worse ones that are."
    )
    shared = [
        each
        for each in configurations
        if each.n_deployments is not None and each.n_deployments < each.n_repetitions
    ]
    if shared:
        fewest = min(each.n_deployments or 1 for each in shared)
        notes.append(
            f"Repetitions of {len(shared)} of {len(configurations)} configurations share deployments (the fewest: {fewest}). "
            "Their intervals and what is told apart hold for these deployments: they do not contain what another deployment of the "
            "same cluster would draw. 'redeploy: yes' measures each repetition on a deployment of its own."
        )
    if any(
        each.usage_percent is not None and each.usage_percent.median > FULL
        for each in configurations
    ):
        notes.append(
            "A usage above 100 % is no rate of the storage alone: page caches took part of the bytes, or "
            "the peak, which is measured once for each cluster, came out lower than in the runs."
        )
    if spec.baseline is not None and spec.baseline not in {c.cluster for c in configurations}:
        notes.append(f"The baseline {spec.baseline} was not measured: nothing is compared with it.")
    notes += [
        f"Some costs are missing: {reason}."
        for reason in dict.fromkeys(
            each.cost_missing for each in configurations if prices is not None and each.cost is None
        )
    ]
    if prices is not None:
        notes.append(
            f"Prices: table {prices.name}, {prices.region}, {prices.date}, {prices.currency}, "
            f"{prices.purchase}, billed {prices.billing}; source: {prices.source}. Every instance of a cluster counts."
            + ("" if prices.exchange is None else f" Converted at {prices.exchange}.")
        )
    if any(each.not_on_disk_bytes for each in configurations):
        notes.append(
            "What was written and not flushed may still be in caches when a run ends ('not on disk'): its I/O time is "
            "then no time of the disks. With 'flush: yes' all of it is on disk within the time."
        )
    if spec.pauses != "drop":
        notes.append("The application's pauses were kept, asleep; they are not in the I/O time.")
    return tuple(notes)


def _load_notes(
    plan: Plan, store: Store, stored: Sequence[tuple[Key, Measurement]]
) -> tuple[str, ...]:
    """How much other work there was on the machine, where it was too much for some measurements."""
    keys = {run.key for run in plan.runs}
    loads = [each.load for key, each in stored if key in keys and each.load is not None]
    said = share_words(loads, "measurements")
    if said is None:
        return ()
    return (
        f"{said}, after {store.n_disturbed()} were made again. It makes noise and hides differences; the test for them holds "
        "all the same, as clusters take turns.",
    )


def _ended_notes(
    configurations: Sequence[Configuration], ended: Collection[str]
) -> tuple[str, ...]:
    """Where the campaign saved repetitions that could not have changed what the report says."""
    fewer = [each for each in configurations if each.id in ended]
    if not fewer:
        return ()
    return (
        f"{len(fewer)} of {len(configurations)} configurations ended after {min(c.n_repetitions for c in fewer)} to "
        f"{max(c.n_repetitions for c in fewer)} repetitions: no outcome of further ones could have told any of them apart from "
        "another.",
    )
