"""Whether a choice holds with the application's pauses kept: it and the baseline are measured once more, with pauses.

A campaign leaves pauses out, as they are no I/O time and cost time to measure. They may still change an order: write-back
works in them. So the decision is checked, with pauses that are shortened to a limit. Reads plan, verdicts and measurements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from wavetank.campaign.criterion import Score
from wavetank.campaign.plan import Application, Plan, Run
from wavetank.campaign.schedule import grid_schedule
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Key
from wavetank.compare.comparison import Verdict
from wavetank.compare.metrics import configuration_id
from wavetank.kernel.execution.pauses import holds_pauses
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.measure.perform import campaign_options
from wavetank.measure.result import Measurement
from wavetank.notes import Note, notes_of
from wavetank.units import format_duration

LONGEST_PAUSE_S = 0.1
"""Of a pause that is kept: storage has written back what waits for it, and 1000 pauses take less than two minutes."""


@dataclass(frozen=True)
class Check:
    """Two measurements that check a choice.

    Attributes:
        of: the application's name where pauses are left out.
        application: with its pauses.
        choice, baseline: with pauses.
    """

    of: str
    application: Application
    choice: Run
    baseline: Run


def checks_of(spec: CampaignSpec, plan: Plan, verdicts: Iterable[Verdict]) -> tuple[Check, ...]:
    """One for each application of which another configuration than the baseline is chosen, and whose kernel holds pauses."""
    found = []
    for each in verdicts:
        application = plan.application(each.application)
        if (
            spec.pauses == "drop"
            and each.verb == "choose"
            and each.choice is not None
            and each.baseline is not None
            and application.program == "replay"
            and holds_pauses(application.kernel)
        ):
            with_pauses = replace(
                application,
                name=f"{application.name}, pauses kept",
                kernel_sha256=_digest(application.kernel_sha256),
            )
            choice, baseline = (
                _with_pauses(plan, name, with_pauses, order)
                for order, name in enumerate((each.choice, each.baseline))
            )
            found.append(Check(application.name, with_pauses, choice, baseline))
    return tuple(found)


def options_of(spec: CampaignSpec) -> ReplayOptions:
    """How the check performs kernels."""
    options = campaign_options(flush=spec.flush, pauses="keep")
    return replace(options, longest_pause_s=LONGEST_PAUSE_S)


def plan_of(checks: Sequence[Check], plan: Plan) -> Plan:
    """The plan of the measurements that check choices."""
    runs = tuple(run for each in checks for run in (each.choice, each.baseline))
    return Plan(
        applications=tuple(each.application for each in checks),
        clusters=tuple(
            each for each in plan.clusters if any(run.cluster == each.name for run in runs)
        ),
        runs=runs,
        impossible=(),
        repetitions=1,
        schedule=grid_schedule({each.application.name: 2 for each in checks}, 1),
    )


def pauses_notes(
    spec: CampaignSpec,
    plan: Plan,
    verdicts: Iterable[Verdict],
    stored: Mapping[Key, Measurement],
    score: Score,
) -> tuple[Note, ...]:
    """What the checks found, and which choices were not checked."""
    verdicts = tuple(verdicts)
    checks = checks_of(spec, plan, verdicts)
    notes: list[Note] = []
    for each in checks:
        found = [stored.get(run.key) for run in (each.choice, each.baseline)]
        if None not in found:
            times = [one.result.io.total_s for one in found if one is not None]
            notes += _sentence(each, plan, times, score)
    checked = {each.of for each in checks}
    for verdict in verdicts:
        without = verdict.application not in checked
        if spec.pauses == "drop" and verdict.verb == "choose" and without:
            notes += notes_of(
                "remark",
                "pauses",
                [
                    f"{verdict.application}: whether the choice holds with the application's pauses kept was not checked: the kernel "
                    "holds none. A model that holds them is made by 'wavetank model --pauses 0.01'"
                ],
            )
    return tuple(notes)


def _sentence(each: Check, plan: Plan, times_s: Sequence[float], score: Score) -> tuple[Note, ...]:
    runs = (each.choice, each.baseline)
    chosen, base = (
        score(each.of, run.cluster, time_s) for run, time_s in zip(runs, times_s, strict=True)
    )
    said = " and ".join(
        f"{plan.cluster(run.cluster).title} with {run.mapping} takes {format_duration(time_s)} of I/O"
        for run, time_s in zip(runs, times_s, strict=True)
    )
    holds = chosen < base
    order = (
        "their order holds" if holds else "their order does not hold: measure with 'pauses: keep'"
    )
    return notes_of(
        "remark" if holds else "suspect",
        "pauses",
        [
            f"{each.of}: measured once more with the application's pauses kept, shortened to {format_duration(LONGEST_PAUSE_S)} each, "
            f"{said}: {order}"
        ],
    )


def _with_pauses(plan: Plan, name: str, application: Application, order: int) -> Run:
    run = next(
        run
        for run in plan.runs
        if configuration_id(run.application, run.cluster, run.mapping) == name
    )
    key = replace(run.key, kernel_sha256=application.kernel_sha256, repetition=0)
    return Run(application.name, run.cluster, run.mapping, 0, order, key)


def _digest(kernel_sha256: str) -> str:
    """Under which a kernel with its pauses counts as measured."""
    return hashlib.sha256(
        f"{kernel_sha256} pauses at most {LONGEST_PAUSE_S:g} s".encode()
    ).hexdigest()
