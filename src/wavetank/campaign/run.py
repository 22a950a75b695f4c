"""Running a campaign: clusters come up one after another, are measured, and go down again.

Each measurement is stored as it ends. A cluster that fails is recorded and the others go on; what
was started is taken down also when the campaign is interrupted.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from wavetank.campaign.course import Course, Observer, Outcome, announcement, begin
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Failure, Store
from wavetank.cluster.host import RunningCluster
from wavetank.cost.prices import PriceTable
from wavetank.errors import WavetankError
from wavetank.measure.characterise import peaks_of
from wavetank.measure.perform import raw_of
from wavetank.measure.run import Bench, Performer, measure, set_up, warm_up


class Deployer(Protocol):
    """Brings the plan's clusters up and down, by name."""

    def up(self, cluster: str) -> RunningCluster:
        """Bring a cluster up; destroys what it made when it fails."""

    def down(self, cluster: str) -> None:
        """Take a cluster down."""


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
    observer, store = campaign.course.observer, campaign.course.store
    if store.is_leased(cluster.name):
        observer.says(f"taking {cluster.name} down: a run that was killed left it")
        _take_down(campaign, cluster)
    observer.says(f"bringing up {cluster.name}: {cluster.title}, {cluster.n_instances} instances")
    started = time.monotonic()
    store.lease(cluster.name)
    try:
        running = campaign.deployer.up(cluster.name)
    except WavetankError as error:
        store.release(cluster.name)
        _record_no_cluster(campaign, left, error)
        return
    try:
        up_s = time.monotonic() - started
        store.add_deployment(cluster.key, cluster.name, up_s)
        observer.says(f"{cluster.name} is up after {up_s:.1f} s")
        _characterise(campaign, cluster, running)
        _measure_runs(campaign, running, left)
    finally:
        with _uninterrupted(observer):
            try:
                observer.says(f"taking {cluster.name} down")
            finally:  # whatever becomes of what is said
                _take_down(campaign, cluster)


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


def _record_no_cluster(campaign: _Campaign, left: Sequence[Run], error: WavetankError) -> None:
    reason = f"the cluster did not come up: {error}"
    campaign.course.n_failed += len(left)
    cluster = left[0].cluster
    for application, mapping in dict.fromkeys((run.application, run.mapping) for run in left):
        campaign.course.store.add_failure(Failure(application, cluster, mapping, reason))
    campaign.course.observer.says(f"failed: {cluster}: {reason}")


def _take_down(campaign: _Campaign, cluster: ClusterFacts) -> None:
    try:
        campaign.deployer.down(cluster.name)
    except WavetankError as error:
        campaign.course.observer.says(
            f"{cluster.name} did not go down whole: {error}. "
            f"Run 'wavetank cluster down {cluster.name}'"
        )
    else:
        campaign.course.store.release(cluster.name)


def _measure_runs(campaign: _Campaign, running: RunningCluster, left: Sequence[Run]) -> None:
    course = campaign.course
    benches: dict[str, Bench] = {}
    for position, run in enumerate(left):
        if course.is_over(run):
            continue
        if not course.afford(left[position:], course.expected_s(run)):
            return
        started = time.monotonic()
        course.observer.says(f"measuring {announcement(course.spec, run)}")
        try:
            if run.application not in benches:
                benches[run.application] = _set_up(campaign, running, run)
            measurement = measure(
                benches[run.application],
                run.mapping,
                campaign.performer,
                repetition=run.repetition,
                order=run.order,
                cache=course.spec.cache,
                seed=course.spec.seed,
            ).model_copy(update={"application": run.application})
        except WavetankError as error:
            if course.record_failure(run, error):
                course.give_up([each for each in left[position + 1 :] if not course.is_over(each)])
                return
            continue
        course.keep(run, measurement, time.monotonic() - started, raw_of(campaign.performer))


def _set_up(campaign: _Campaign, running: RunningCluster, run: Run) -> Bench:
    bench = set_up(campaign.course.plan.application(run.application).kernel, running)
    for _ in range(campaign.course.spec.warm_up):
        warm_up(bench, run.mapping, campaign.performer)
    return bench


@contextmanager
def _uninterrupted(observer: Observer) -> Iterator[None]:
    """Let a second Ctrl-C or SIGTERM wait until the cluster is down.

    Handlers, not masks: children inherit masks and ignored signals, but not handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def wait(signum: int, frame: object) -> None:
        del signum, frame
        observer.says("a moment: the cluster is going down")

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
