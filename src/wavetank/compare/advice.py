"""All advice on one application, in the order in which it is read; each subject has a module of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.compare.application_advice import application_advice
from wavetank.compare.comparison import Advice, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.idle_servers import idle_servers
from wavetank.compare.knobs import Knobs
from wavetank.compare.storage_advice import cached, full_storage
from wavetank.compare.trust_advice import beside_the_application, repetitions
from wavetank.compare.trust_record import Trust
from wavetank.compare.use_advice import machine_advice, use_advice
from wavetank.compare.verdict import TENTATIVE
from wavetank.compare.what_if import what_if_advice
from wavetank.compare.what_if_record import WhatIf
from wavetank.kernel.document.kernel import Kernel


def advise(
    application: str,
    kernel: Kernel,
    configurations: Sequence[Configuration],
    ranking: Ranking,
    *,
    decisions: Decisions,
    knobs: Mapping[str, Knobs] | None = None,
    void: str | None = None,
    trust: Trust | None = None,
    variants: WhatIf | None = None,
) -> tuple[Advice, ...]:
    """All advice on one application.

    Args:
        application: its name in the campaign.
        kernel: its kernel.
        configurations: all that were measured, of any application.
        ranking: of this application, by the criterion that was asked for.
        decisions: for all pairs of the report.
        knobs: cluster name -> what was chosen for it.
        void: why the measurements recommend nothing; sentences that are built on them are then marked. None where they do.
        trust: of the kernel beside the application itself; None where the campaign did not run it.
        variants: of the application, one knob turned each; None where the campaign did not ask for them.
    """
    ours = {each.id: each for each in configurations if each.application == application}
    if not ranking.places:
        return ()
    ranked = [ours[place.configuration] for place in ranking.places]
    measured = (
        *use_advice(application, kernel, ranked, ranking),
        *(() if variants is None else what_if_advice(variants)),
        *full_storage(application, list(ours.values())),
        *cached(application, list(ours.values())),
    )
    if void is not None:
        measured = tuple(
            each.model_copy(update={"sentence": f"{TENTATIVE}{each.sentence}"}) for each in measured
        )
    return (
        *application_advice(application, kernel, ranked[0]),
        *measured,
        *idle_servers(application, kernel, ranked, knobs or {}),
        *(machine_advice(application, ranked) if void is None else ()),
        *beside_the_application(ours, trust),
        *(repetitions(application, decisions) if void is None else ()),
    )
