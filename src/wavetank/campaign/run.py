"""Running a campaign: clusters come up one after another, are measured, and go down again.

Each measurement is stored as it ends. A cluster that fails is recorded and the others go on; what
was started is taken down also when the campaign is interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.campaign.course import Course, Observer, Outcome, announcement, begin
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.lifetime import Deployer, NotUpError, deployed
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Failure, Store
from wavetank.cluster.host import RunningCluster
from wavetank.cost.prices import PriceTable
from wavetank.errors import WavetankError
from wavetank.measure.benchmarks import performer_of
from wavetank.measure.characterise import peaks_of
from wavetank.measure.perform import raw_of
from wavetank.measure.run import (
    Bench,
    Performer,
    kernel_folder,
    measure,
    set_up,
    warm_up,
)


@dataclass
class _Campaign:
    """A course, and what it is run with."""

    course: Course
    deployer: Deployer
    performer: Performer


def run_campaign(
    spec: CampaignSpec,
    plan: Plan,
    store: Store,
    *,
    deployer: Deployer,
    performer: Performer,
    observer: Observer,
    prices: PriceTable | None = None,
) -> Outcome:
    """Measure everything in the plan that is not done yet.

    Raises:
        MeasurementError: results cannot be stored. What fails on a cluster is recorded, not raised.
    """
    course = begin(spec, plan, store, observer, prices)
    campaign = _Campaign(course, deployer, performer)
    for cluster in plan.clusters:
        left = [run for run in plan.runs_on(cluster.name) if not course.is_over(run)]
        if left and course.afford(left, cluster.expected_up_s + course.expected_s(left[0])):
            _measure_cluster(campaign, cluster, left)
    return course.outcome


def _measure_cluster(campaign: _Campaign, cluster: ClusterFacts, left: Sequence[Run]) -> None:
    course = campaign.course
    try:
        with deployed(cluster, course.store, campaign.deployer, course.observer) as running:
            _characterise(campaign, cluster, running)
            _measure_runs(campaign, running, left)
    except NotUpError as error:
        _record_no_cluster(campaign, left, error)


def _characterise(campaign: _Campaign, cluster: ClusterFacts, running: RunningCluster) -> None:
    """Measure the peaks once per cluster; without them there is no usage, and the campaign goes on."""
    if (
        not campaign.course.spec.characterise
        or cluster.key in campaign.course.store.characterisations()
    ):
        return
    campaign.course.observer.says(f"characterising the local file systems of {cluster.name}")
    kernels = [application.kernel for application in campaign.course.plan.applications]
    try:
        found = peaks_of(running, kernels, lambda _: None)
    except WavetankError as error:
        campaign.course.observer.says(f"{cluster.name} was not characterised: {error}")
    else:
        campaign.course.store.add_characterisation(cluster.key, found)


def _record_no_cluster(campaign: _Campaign, left: Sequence[Run], error: NotUpError) -> None:
    campaign.course.n_failed += len(left)
    cluster = left[0].cluster
    for application, mapping in dict.fromkeys((run.application, run.mapping) for run in left):
        campaign.course.store.add_failure(Failure(application, cluster, mapping, str(error)))
    campaign.course.observer.says(f"failed: {cluster}: {error}")


def _measure_runs(campaign: _Campaign, running: RunningCluster, left: Sequence[Run]) -> None:
    course = campaign.course
    benches: dict[str, Bench] = {}
    performers: dict[str, Performer] = {}
    for position, run in enumerate(left):
        if course.is_over(run):
            continue
        if not course.afford(left[position:], course.expected_s(run)):
            return
        started = time.monotonic()
        course.observer.says(f"measuring {announcement(course, run)}")
        try:
            if run.application not in performers:
                performers[run.application] = _performer(campaign, running, run)
            performer = performers[run.application]
            if run.application not in benches:
                benches[run.application] = _set_up(campaign, running, run, performer)
            measurement = measure(
                benches[run.application],
                run.mapping,
                performer,
                repetition=run.repetition,
                order=run.order,
                cache=course.spec.cache,
                seed=course.spec.seed,
                watch_use=course.spec.watch_use,
            ).model_copy(update={"application": run.application})
        except WavetankError as error:
            if course.record_failure(run, error):
                course.give_up([each for each in left[position + 1 :] if not course.is_over(each)])
                return
            continue
        course.keep(run, measurement, time.monotonic() - started, raw_of(performer))


def _performer(campaign: _Campaign, running: RunningCluster, run: Run) -> Performer:
    program = campaign.course.plan.application(run.application).program
    if program == "replay":
        return campaign.performer
    return performer_of(program, running, flush=campaign.course.spec.flush)


def _set_up(campaign: _Campaign, running: RunningCluster, run: Run, performer: Performer) -> Bench:
    application = campaign.course.plan.application(run.application)
    bench = set_up(application.kernel, running, kernel_folder(application.kernel_sha256))
    for _ in range(campaign.course.spec.warm_up):
        warm_up(bench, run.mapping, performer)
    return bench
