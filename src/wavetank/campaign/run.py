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

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.limits import Purse, StopRules
from wavetank.campaign.plan import Plan, Run, expected_s, forecast
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Failure, Key, Store
from wavetank.cluster.host import RunningCluster
from wavetank.cost.prices import PriceTable
from wavetank.errors import WavetankError
from wavetank.measure.characterise import peaks_of
from wavetank.measure.result import Measurement
from wavetank.measure.run import Bench, Performer, measure, set_up, warm_up

GIVE_UP_AFTER = 3
"""Failures in a row after which a cluster is given up: it is broken, not unlucky."""


class Deployer(Protocol):
    """Brings the plan's clusters up and down, by name."""

    def up(self, cluster: str) -> RunningCluster:
        """Bring a cluster up; destroys what it made when it fails."""

    def down(self, cluster: str) -> None:
        """Take a cluster down."""


class Observer(Protocol):
    """Is told what happens, for progress."""

    def says(self, text: str) -> None:
        """A sentence on what is happening."""

    def at(self, n_done: int, n_runs: int, remaining_s: float) -> None:
        """How far the campaign is."""


@dataclass(frozen=True)
class Outcome:
    """How a campaign ended."""

    n_measured: int
    n_failed: int
    n_not_afforded: int


@dataclass
class _Campaign:
    """What the steps of one campaign share."""

    spec: CampaignSpec
    plan: Plan
    store: Store
    deployer: Deployer
    performer: Performer
    observer: Observer
    rules: StopRules
    purse: Purse
    done: set[Key]
    n_measured: int = 0
    n_failed: int = 0
    n_not_afforded: int = 0

    def is_over(self, run: Run) -> bool:
        return run.key in self.done or run.key in self.rules.not_needed

    def report_progress(self) -> None:
        ahead = forecast(
            self.plan,
            self.done,
            not_needed=self.rules.not_needed,
            spent_s=self.store.spent_s(),
            prices=None,
        )
        self.observer.at(ahead.n_done, ahead.n_runs, ahead.duration_s)

    def expected_s(self, run: Run) -> float:
        spent = self.store.spent_s().get(run.key.cluster_key, ())
        return expected_s(self.plan.application(run.application), spent)

    def afford(self, left: Sequence[Run], next_s: float) -> bool:
        """Whether the budget allows the next thing; what is left is recorded if it does not."""
        cluster = self.plan.cluster(left[0].cluster)
        reason = self.purse.refuses(self.store, next_s, cluster)
        if reason is None:
            return True
        waiting = [run for run in left if not self.is_over(run)]
        self.n_not_afforded += len(waiting)
        for run in waiting:
            self.store.add_failure(
                Failure(run.application, run.cluster, run.mapping, reason), run.repetition
            )
        self.observer.says(f"{cluster.name}: {reason}")
        return False

    def record_failure(self, run: Run, error: WavetankError) -> None:
        self.n_failed += 1
        self.store.add_failure(
            Failure(run.application, run.cluster, run.mapping, str(error)), run.repetition
        )
        self.observer.says(f"failed: {_label(run)}: {error}")


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
    campaign = _Campaign(
        spec=spec,
        plan=plan,
        store=store,
        deployer=deployer,
        performer=performer,
        observer=observer,
        rules=StopRules(spec, plan),
        purse=Purse(spec.budget, plan.clusters, prices),
        done=store.done(),
    )
    for key, measurement in store.keyed_measurements():
        campaign.rules.learn(key, measurement)
    store.forget_failures()
    campaign.report_progress()
    for cluster in plan.clusters:
        left = [run for run in plan.runs_on(cluster.name) if not campaign.is_over(run)]
        if left and campaign.afford(left, cluster.expected_up_s + campaign.expected_s(left[0])):
            _measure_cluster(campaign, cluster, left)
    return Outcome(campaign.n_measured, campaign.n_failed, campaign.n_not_afforded)


def _measure_cluster(campaign: _Campaign, cluster: ClusterFacts, left: Sequence[Run]) -> None:
    observer, store = campaign.observer, campaign.store
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
    if not campaign.spec.characterise or cluster.key in campaign.store.characterisations():
        return
    campaign.observer.says(f"characterising the local file systems of {cluster.name}")
    kernels = [application.kernel for application in campaign.plan.applications]
    try:
        found = peaks_of(running, kernels, lambda _: None)
    except WavetankError as error:
        campaign.observer.says(f"{cluster.name} was not characterised: {error}")
    else:
        campaign.store.add_characterisation(cluster.key, found)


def _record_no_cluster(campaign: _Campaign, left: Sequence[Run], error: WavetankError) -> None:
    reason = f"the cluster did not come up: {error}"
    campaign.n_failed += len(left)
    cluster = left[0].cluster
    for application, mapping in dict.fromkeys((run.application, run.mapping) for run in left):
        campaign.store.add_failure(Failure(application, cluster, mapping, reason))
    campaign.observer.says(f"failed: {cluster}: {reason}")


def _take_down(campaign: _Campaign, cluster: ClusterFacts) -> None:
    try:
        campaign.deployer.down(cluster.name)
    except WavetankError as error:
        campaign.observer.says(
            f"{cluster.name} did not go down whole: {error}. "
            f"Run 'wavetank cluster down {cluster.name}'"
        )
    else:
        campaign.store.release(cluster.name)


def _measure_runs(campaign: _Campaign, running: RunningCluster, left: Sequence[Run]) -> None:
    benches: dict[str, Bench] = {}
    in_a_row = 0
    for position, run in enumerate(left):
        if campaign.is_over(run):
            continue
        if not campaign.afford(left[position:], campaign.expected_s(run)):
            return
        started = time.monotonic()
        campaign.observer.says(_announcement(campaign.spec, run))
        try:
            if run.application not in benches:
                benches[run.application] = _set_up(campaign, running, run)
            measurement = measure(
                benches[run.application],
                run.mapping,
                campaign.performer,
                repetition=run.repetition,
                order=run.order,
                cache=campaign.spec.cache,
                seed=campaign.spec.seed,
            ).model_copy(update={"application": run.application})
        except WavetankError as error:
            campaign.record_failure(run, error)
            in_a_row += 1
            if in_a_row >= GIVE_UP_AFTER and position + 1 < len(left):
                _give_up(campaign, left[position + 1 :])
                return
            continue
        in_a_row = 0
        _keep(campaign, run, measurement, time.monotonic() - started)


def _set_up(campaign: _Campaign, running: RunningCluster, run: Run) -> Bench:
    bench = set_up(campaign.plan.application(run.application).kernel, running)
    for _ in range(campaign.spec.warm_up):
        warm_up(bench, run.mapping, campaign.performer)
    return bench


def _keep(campaign: _Campaign, run: Run, measurement: Measurement, spent_s: float) -> None:
    campaign.store.add(measurement, run.key, spent_s)
    campaign.done.add(run.key)
    campaign.rules.learn(run.key, measurement)
    campaign.n_measured += 1
    for finding in measurement.findings:
        campaign.observer.says(f"doubt: {_label(run)}: {finding}")
    campaign.report_progress()


def _announcement(spec: CampaignSpec, run: Run) -> str:
    most = "at most " if spec.stop else ""
    return (
        f"measuring {_label(run)} (repetition {run.repetition + 1} of {most}"
        f"{spec.most_repetitions}, {spec.cache} caches)"
    )


def _give_up(campaign: _Campaign, rest: Sequence[Run]) -> None:
    reason = f"given up after {GIVE_UP_AFTER} failures in a row on this cluster"
    campaign.n_failed += len(rest)
    for run in rest:
        campaign.store.add_failure(
            Failure(run.application, run.cluster, run.mapping, reason), run.repetition
        )
    campaign.observer.says(f"{rest[0].cluster}: {reason}")


def _label(run: Run) -> str:
    return f"{run.application} on {run.cluster} with {run.mapping}"


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
