"""The variants of a campaign's applications, from its plan to the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.campaign.plan import Plan
from wavetank.compare.comparison import NotMeasured, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.what_if import what_if
from wavetank.compare.what_if_record import WhatIf


def variants_of_all(
    plan: Plan,
    measured: Sequence[Configuration],
    missing: Sequence[NotMeasured],
    decisions: Decisions,
    rankings: Mapping[str, Ranking],
    confidence: float,
) -> dict[str, WhatIf]:
    """What the variants of each application gain, by its name; of those that have variants or knobs that do not apply.

    Args:
        plan: of the campaign.
        measured: all configurations, those of variants too.
        missing: parts of the plan without a result.
        decisions: for all pairs of the report.
        rankings: of each application, by the criterion that was asked for.
        confidence: of the intervals.
    """
    found = {}
    for application in plan.applications:
        variants = {
            each.name: each.kernel.variant
            for each in plan.applications
            if each.variant_of == application.name and each.kernel.variant is not None
        }
        if not variants and not application.refused:
            continue
        places = rankings[application.name].places if application.name in rankings else ()
        found[application.name] = what_if(
            application.name,
            variants,
            application.refused,
            measured,
            missing,
            decisions,
            first=places[0].configuration if places else None,
            confidence=confidence,
        )
    return found


def without_variants(plan: Plan, missing: Sequence[NotMeasured]) -> tuple[NotMeasured, ...]:
    """Parts without a result that are of no variant: not of the plan's, and not of one that an earlier plan had."""
    own = [each.name for each in plan.applications if each.variant_of is None]
    return tuple(
        each
        for each in missing
        if each.application in own
        or not any(each.application.startswith(f"{name} [") for name in own)
    )
