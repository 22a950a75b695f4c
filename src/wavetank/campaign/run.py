"""Running a campaign: clusters come up, take turns in being measured, and go down again.

Each measurement is stored as it ends. A cluster that fails is recorded and the others go on; what
was started is taken down also when the campaign is interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from wavetank.application.own import OwnApplication
from wavetank.application.own_performer import OwnPerformer, Way
from wavetank.campaign.alternation import Room, blocks, why_not_side_by_side
from wavetank.campaign.budget import MOST_SHARE, Repeats
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.lifetime import (
    DOWN,
    Deployer,
    NotUpError,
    deployed,
    take_down_leftovers,
)
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.progress import (
    CampaignProgress,
    Observer,
    Outcome,
    announcement,
    begin,
    label,
)
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Failure, Key, Store
from wavetank.campaign.variant_files import bench_with_same_files, make_room
from wavetank.cluster.host import RunningCluster, lost_nodes
from wavetank.cluster.interrupts import held_back
from wavetank.cost.prices import PriceTable
from wavetank.errors import WavetankError
from wavetank.measure.benchmarks import performer_of
from wavetank.measure.characterise import peaks_of
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.perform import raw_of
from wavetank.measure.run import (
    Bench,
    Performer,
    kernel_folder,
    measure,
    set_up,
)

NO_ROOM = Room(0, 0)
MakeOwn = Callable[[OwnApplication, RunningCluster, Way], OwnPerformer]
"""Makes what runs an application itself on a cluster."""


@dataclass
class _Site:
    """A cluster that is up, with what was prepared on it."""

    facts: ClusterFacts
    running: RunningCluster
    stack: ExitStack  # takes it down
    benches: dict[str, Bench] = field(default_factory=dict)
    performers: dict[str, Performer] = field(default_factory=dict)


@dataclass
class _Campaign:
    """A progress, and what it is run with."""

    progress: CampaignProgress
    deployer: Deployer
    performer: Performer
    watch: MachineWatch | None
    repeats: Repeats
    make_own: MakeOwn
    closed: set[str] = field(default_factory=set)  # clusters that are not tried any more
    failed: set[Key] = field(default_factory=set)  # measurements

    def left_on(self, cluster: str) -> list[Run]:
        """What is still to be measured on a cluster."""
        return [
            run
            for run in self.progress.plan.runs_on(cluster)
            if not self.progress.is_over(run) and run.key not in self.failed
        ]


def run_campaign(
    spec: CampaignSpec,
    plan: Plan,
    store: Store,
    *,
    deployer: Deployer,
    performer: Performer,
    observer: Observer,
    prices: PriceTable | None = None,
    room: Room = NO_ROOM,
    watch: MachineWatch | None = None,
    make_own: MakeOwn = OwnPerformer,
) -> Outcome:
    """Measure everything in the plan that is not done yet.

    Args:
        spec: of the campaign.
        plan: what to measure.
        store: open for writing.
        deployer: brings clusters up and down.
        performer: runs kernels.
        observer: is told what happens.
        prices: for a budget in money.
        room: what this machine has free for clusters that are up side by side.
        watch: of the machine's load; None: it is not recorded, and nothing is made again.
        make_own: makes what runs an application itself.

    Raises:
        MeasurementError: results cannot be stored. What fails on a cluster is recorded, not raised.
    """
    progress = begin(spec, plan, store, observer, prices)
    n_again = max(round(MOST_SHARE * plan.schedule.n_at_most), 1) - store.n_disturbed()
    repeats = Repeats(spec.repeat_disturbed, n_again)
    campaign = _Campaign(progress, deployer, performer, watch, repeats, make_own)
    take_down_leftovers(store, deployer, observer)
    waiting = [cluster for cluster in plan.clusters if campaign.left_on(cluster.name)]
    against = None
    if len(waiting) > 1:
        against = why_not_side_by_side(spec.side_by_side, waiting, room)
    if against is None:
        _measure_together(campaign, waiting)
        return progress.end()
    observer.says(f"clusters come up one after another, several times: {against}")
    for block in blocks(plan, spec.seed):
        left = [
            run for run in block if not progress.is_over(run) and progress.strategy.is_ready(run)
        ]
        if left and left[0].cluster not in campaign.closed:
            _measure_together(campaign, [plan.cluster(left[0].cluster)], left)
    return progress.end()


def _measure_together(
    campaign: _Campaign, clusters: Sequence[ClusterFacts], runs: Sequence[Run] | None = None
) -> None:
    """Bring clusters up, measure on all of them by turns, and take them down.

    Args:
        campaign: what it belongs to.
        clusters: that are up at the same time.
        runs: what is measured now; None: all that is left.
    """
    progress = campaign.progress
    sites: dict[str, _Site] = {}
    with ExitStack() as outer:
        stack = ExitStack()
        outer.callback(_take_all_down, campaign, stack)
        for cluster in clusters:
            left = campaign.left_on(cluster.name)
            if not progress.afford(left, cluster.expected_up_s + progress.expected_s(left[0])):
                campaign.closed.add(cluster.name)
                continue
            own = stack.enter_context(ExitStack())
            own.enter_context(progress.holds.holding(cluster))
            try:
                running = own.enter_context(
                    deployed(cluster, progress.store, campaign.deployer, progress.observer)
                )
            except NotUpError as error:
                own.close()
                campaign.closed.add(cluster.name)
                _record_no_cluster(campaign, left, error)
                continue
            sites[cluster.name] = _Site(cluster, running, own)
            _characterise(campaign, cluster, running)
        planned = progress.plan.runs if runs is None else runs
        _measure_runs(campaign, sites, [run for run in planned if run.cluster in sites])


def _take_all_down(campaign: _Campaign, stack: ExitStack) -> None:
    with held_back(DOWN):
        stack.close()


def _characterise(campaign: _Campaign, cluster: ClusterFacts, running: RunningCluster) -> None:
    """Measure the peaks once per cluster; without them there is no usage, and the campaign goes on."""
    if (
        not campaign.progress.spec.characterise
        or cluster.key in campaign.progress.store.characterisations()
    ):
        return
    campaign.progress.observer.says(f"characterising the local file systems of {cluster.name}")
    kernels = [application.kernel for application in campaign.progress.plan.applications]
    try:
        found = peaks_of(running, kernels, lambda _: None)
    except WavetankError as error:
        campaign.progress.observer.says(f"{cluster.name} was not characterised: {error}")
    else:
        campaign.progress.store.add_characterisation(cluster.key, found)


def _record_no_cluster(campaign: _Campaign, left: Sequence[Run], error: NotUpError) -> None:
    due = [run for run in left if campaign.progress.strategy.is_ready(run)]
    campaign.progress.n_failed += len(due)
    for run in due:
        campaign.progress.miss(run)
    cluster = left[0].cluster
    for application, mapping in dict.fromkeys((run.application, run.mapping) for run in left):
        campaign.progress.store.add_failure(Failure(application, cluster, mapping, str(error)))
    campaign.progress.observer.says(f"failed: {cluster}: {error}")


def _measure_runs(campaign: _Campaign, sites: dict[str, _Site], runs: Sequence[Run]) -> None:
    progress = campaign.progress
    waiting, last, n_over = list(runs), "", len(progress.strategy.not_needed)
    while waiting:
        if n_over != len(progress.strategy.not_needed):
            n_over = len(progress.strategy.not_needed)
            _release(campaign, sites)
        run = waiting.pop(0)
        if progress.is_over(run) or run.cluster in campaign.closed:
            continue
        if not progress.strategy.is_ready(run):  # its round waits for what could not be measured
            continue
        if not progress.afford(campaign.left_on(run.cluster), progress.expected_s(run)):
            campaign.closed.add(run.cluster)
            _take_down(campaign, sites.pop(run.cluster))
            continue
        if last in sites and last != run.cluster and not progress.spec.flush:
            _write_back(campaign, sites[last])
        last = run.cluster
        if _measure_run(campaign, sites[run.cluster], run):
            later = (i for i, each in enumerate(waiting) if each.repetition > run.repetition)
            waiting.insert(next(later, len(waiting)), run)
        if run.cluster in campaign.closed:  # it is of no use any more, and may cost
            _take_down(campaign, sites.pop(run.cluster))


def _release(campaign: _Campaign, sites: dict[str, _Site]) -> None:
    """Take down clusters on which nothing more is needed while others are measured."""
    for name in [name for name in sites if not campaign.left_on(name)]:
        _take_down(campaign, sites.pop(name))


def _take_down(campaign: _Campaign, site: _Site) -> None:
    with held_back(DOWN):
        site.stack.close()


def _write_back(campaign: _Campaign, site: _Site) -> None:
    """Have a cluster write what it still holds, so that it does not do so while another one is measured.

    One that cannot says so again when it is measured itself.
    """
    try:
        for host in (*site.running.compute_hosts, *site.running.io_hosts):
            host.run(["sync"], timeout_s=300.0)
    except WavetankError as error:
        campaign.progress.observer.says(f"{site.facts.name} holds what it cannot write: {error}")


def _measure_run(campaign: _Campaign, site: _Site, run: Run) -> bool:
    """Measure once, and keep the result; says whether it was disturbed and is to be made again."""
    progress = campaign.progress
    started = time.monotonic()
    progress.observer.says(f"measuring {announcement(progress, run)}")
    try:
        if run.application not in site.performers:
            site.performers[run.application] = _performer(campaign, site.running, run)
        performer = site.performers[run.application]
        if run.application not in site.benches:
            site.benches[run.application] = _set_up(campaign, site, run, performer)
        make_room(site.benches, run.application, campaign.progress.plan)
        measurement = measure(
            site.benches[run.application],
            run.mapping,
            performer,
            repetition=run.repetition,
            order=run.order,
            cache=progress.spec.cache,
            seed=progress.spec.seed,
            watch=campaign.watch,
        ).model_copy(update={"application": run.application})
    except WavetankError as error:
        campaign.failed.add(run.key)
        lost = lost_nodes(site.running)
        if progress.record_failure(run, error, lost) or lost:
            campaign.closed.add(run.cluster)
            progress.give_up(campaign.left_on(run.cluster), lost)
        return False
    spent_s = time.monotonic() - started
    if campaign.repeats.again(run.key, measurement):
        progress.store.add_disturbed(run.key.cluster_key, spent_s)
        reasons = () if measurement.load is None else measurement.load.disturbed
        progress.observer.says(
            f"disturbed, and made again later: {label(run)}: {'; '.join(reasons)}"
        )
        return True
    model = performer.model if isinstance(performer, OwnPerformer) else None
    progress.keep(run, measurement, spent_s, raw_of(performer), model)
    return False


def _performer(campaign: _Campaign, running: RunningCluster, run: Run) -> Performer:
    application = campaign.progress.plan.application(run.application)
    flush = campaign.progress.spec.flush
    if application.own is not None:
        return campaign.make_own(application.own, running, Way(flush=flush))
    if application.program in ("ior", "fio"):
        return performer_of(application.program, running, flush=flush)
    return campaign.performer


def _set_up(campaign: _Campaign, site: _Site, run: Run, performer: Performer) -> Bench:
    application = campaign.progress.plan.application(run.application)
    folder = kernel_folder(application.kernel_sha256)
    there = bench_with_same_files(site.benches, application, campaign.progress.plan)
    if isinstance(performer, OwnPerformer):
        return performer.set_up(application.kernel, folder)
    return set_up(application.kernel, site.running, folder) if there is None else there
