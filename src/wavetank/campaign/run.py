"""Running a campaign on clusters that come up here, one after another, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from wavetank.application.own import OwnApplication
from wavetank.application.own_performer import OwnPerformer, Way
from wavetank.campaign.deployment import Deployer, Deployment, take_down_leftovers
from wavetank.campaign.executor import Observer, Outcome, execute
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.run_order import blocks
from wavetank.campaign.spec import CampaignSpec, GridRule
from wavetank.campaign.store import Store
from wavetank.campaign.variant_files import bench_with_same_files, make_room
from wavetank.campaign.work import CampaignWork, Made
from wavetank.cluster.deployed import DeployedCluster
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
    tear_down,
)

MakeOwn = Callable[[OwnApplication, DeployedCluster, Way], OwnPerformer]
"""Makes what runs an application itself on a cluster."""


def run_campaign(
    spec: CampaignSpec,
    plan: Plan,
    store: Store,
    *,
    deployer: Deployer,
    performer: Performer,
    observer: Observer,
    prices: PriceTable | None = None,
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
        watch: of the machine's load; None: it is not recorded, and nothing is made again.
        make_own: makes what runs an application itself.

    Raises:
        MeasurementError: results cannot be stored. What fails on a cluster is recorded, not raised.
    """
    store.forget_failures()
    work = CampaignWork(spec, plan, store, observer, prices)
    take_down_leftovers(store, deployer, observer)
    site = _Here(work, deployer, performer, watch, make_own)
    return execute(work, site, _turns(work))


def check_with_pauses(
    spec: CampaignSpec,
    plan: Plan,
    store: Store,
    *,
    deployer: Deployer,
    performer: Performer,
    observer: Observer,
    prices: PriceTable | None = None,
    watch: MachineWatch | None = None,
) -> None:
    """Make the measurements that check choices, once each, as far as the budget allows; what fails is said.

    Args:
        spec: of the campaign.
        plan: of the check, see ``pauses_check.plan_of``.
        store: open for writing.
        deployer: brings clusters up and down.
        performer: runs kernels with their pauses.
        observer: is told what happens.
        prices: for a budget in money.
        watch: of the machine's load.
    """
    once = spec.model_copy(update={"strategy": GridRule(kind="grid"), "repetitions": 1})
    work = CampaignWork(once, plan, store, observer, prices)
    site = _Here(work, deployer, performer, watch, OwnPerformer)
    for run in plan.runs:
        cluster = plan.cluster(run.cluster)
        if run.key in work.done or work.why_not_afforded(run, (), cluster.expected_up_s):
            continue
        try:
            with site.open():
                site.bring_up(cluster)
                made = site.measure(run, site.up[run.cluster])
                while not work.keep(run, made):
                    made = site.measure(run, site.up[run.cluster])
        except WavetankError as error:
            observer.says(f"not checked: {run.label}: {error}")


def _turns(work: CampaignWork) -> Iterator[Sequence[Run]]:
    """Blocks in which something is left to measure."""
    for block in blocks(work.plan, work.spec.seed):
        if work.next(block) is not None:
            yield block


@dataclass
class _Prepared:
    """What was prepared on a deployment, by application.

    Attributes:
        number: of the deployment, from 0, of all that the campaign made of this cluster.
        repetition: that the benches were placed for; None: nothing is placed yet.
    """

    number: int
    repetition: int | None = None
    benches: dict[str, Bench] = field(default_factory=dict)
    performers: dict[str, Performer] = field(default_factory=dict)


class _Here(Deployment[Run, Made]):
    """The clusters of a campaign."""

    def __init__(
        self,
        work: CampaignWork,
        deployer: Deployer,
        performer: Performer,
        watch: MachineWatch | None,
        make_own: MakeOwn,
    ) -> None:
        super().__init__(work, work.plan.clusters, deployer, work.holds)
        self._campaign = work
        self._performer = performer
        self._watch = watch
        self._make_own = make_own
        self._prepared: dict[str, _Prepared] = {}

    def prepare(self, cluster: ClusterFacts, running: DeployedCluster, stack: ExitStack) -> None:
        """Measure the peaks once per cluster; without them there is no usage, and the campaign goes on."""
        campaign = self._campaign
        number = len(campaign.store.deployments_s()[cluster.key]) - 1
        self._prepared[cluster.name] = _Prepared(number)
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

    def measure(self, run: Run, running: DeployedCluster) -> Made:
        campaign, prepared = self._campaign, self._prepared[run.cluster]
        started = time.monotonic()
        campaign.observer.says(f"measuring {campaign.announcement(run)}")
        if prepared.repetition != run.repetition:  # where files lie is drawn anew
            for bench in prepared.benches.values():
                tear_down(bench)
            prepared.benches.clear()
            prepared.repetition = run.repetition
        if run.application not in prepared.performers:
            prepared.performers[run.application] = self._performer_of(run, running)
        performer = prepared.performers[run.application]
        if run.application not in prepared.benches:
            prepared.benches[run.application] = self._set_up(run, running, performer)
        make_room(prepared.benches, run.application, campaign.plan)
        measurement = measure(
            prepared.benches[run.application],
            run.mapping,
            performer,
            repetition=run.repetition,
            deployment=prepared.number,
            order=run.order,
            cache=campaign.spec.cache,
            seed=campaign.spec.seed,
            watch=self._watch,
        ).model_copy(update={"application": run.application})
        model = performer.model if isinstance(performer, OwnPerformer) else None
        return Made(measurement, time.monotonic() - started, raw_of(performer), model)

    def _performer_of(self, run: Run, running: DeployedCluster) -> Performer:
        application = self._campaign.plan.application(run.application)
        flush = self._campaign.spec.flush
        if application.own is not None:
            return self._make_own(application.own, running, Way(flush=flush))
        if application.program in ("ior", "fio"):
            return performer_of(application.program, running, flush=flush)
        return self._performer

    def _set_up(self, run: Run, running: DeployedCluster, performer: Performer) -> Bench:
        campaign, prepared = self._campaign, self._prepared[run.cluster]
        application = campaign.plan.application(run.application)
        folder = kernel_folder(application.kernel_sha256)
        there = bench_with_same_files(prepared.benches, application, campaign.plan)
        if isinstance(performer, OwnPerformer):
            return performer.set_up(application.kernel, folder)
        return set_up(application.kernel, running, folder) if there is None else there
