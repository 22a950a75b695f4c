"""All advice on one application, in the order in which it is read; each subject has a module of its own."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.compare.application_advice import application_advice
from wavetank.compare.choice_advice import choice_advice
from wavetank.compare.comparison import Advice, Effect, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.effect_advice import effect_advice
from wavetank.compare.effects import single_effects
from wavetank.compare.run_advice import baseline_advice, run_advice
from wavetank.compare.search_record import Search
from wavetank.compare.storage_advice import cached, full_storage
from wavetank.compare.trust_advice import beside_the_application, repetitions
from wavetank.compare.trust_record import Trust
from wavetank.compare.use_advice import use_advice
from wavetank.compare.what_if import what_if_advice
from wavetank.compare.what_if_record import WhatIf
from wavetank.kernel.document.kernel import Kernel


def advise(
    application: str,
    kernel: Kernel,
    configurations: Sequence[Configuration],
    ranking: Ranking,
    effects: Sequence[Effect],
    *,
    decisions: Decisions,
    trust: Trust | None = None,
    search: Search | None = None,
    variants: WhatIf | None = None,
) -> tuple[Advice, ...]:
    """All advice on one application.

    Args:
        application: its name in the campaign.
        kernel: its kernel.
        configurations: all that were measured, of any application.
        ranking: of this application, by the criterion that was asked for.
        effects: of any application.
        decisions: for all pairs of the report.
        trust: of the kernel beside the application itself; None where the campaign did not run it.
        search: that the configurations come from; None: the full grid.
        variants: of the application, one knob turned each; None where the campaign did not ask for them.
    """
    ours = {each.id: each for each in configurations if each.application == application}
    if not ranking.places:
        return ()
    return (
        *run_advice(list(ours.values()), ours[ranking.places[0].configuration]),
        *choice_advice(application, ours, ranking, search),
        *baseline_advice(list(ours.values()), ranking, effects),
        *effect_advice(
            ours, [each for each in single_effects(effects) if each.application == application]
        ),
        *(() if variants is None else what_if_advice(variants)),
        *use_advice(
            application, kernel, [ours[place.configuration] for place in ranking.places], ranking
        ),
        *full_storage(application, list(ours.values())),
        *cached(application, list(ours.values())),
        *application_advice(application, kernel, ours[ranking.places[0].configuration]),
        *beside_the_application(ours, trust),
        *repetitions(application, decisions),
    )
