"""Running an interference study: clusters come up one after another, and groups of clients run on each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from wavetank.campaign.budget import Holds
from wavetank.campaign.deployment import Deployer, Deployment, take_down_leftovers
from wavetank.campaign.executor import Observer, Outcome, Work, execute
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.store import Store
from wavetank.campaign.strategy import Strategy
from wavetank.cluster.deployed import DeployedCluster
from wavetank.compare.knobs import LAYOUT
from wavetank.interfere.placement import Member
from wavetank.interfere.plan import InterferePlan, Point, forecast_s
from wavetank.interfere.spec import InterfereSpec
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.run import Bench, lay_out, placement_of
from wavetank.measure.sessions import Party, TogetherPerformer
from wavetank.measure.together import Manner, measure_together
from wavetank.measure.together_files import renew_together, set_up_together
from wavetank.measure.together_result import TogetherMeasurement
from wavetank.notes import texts


def run_study(
    spec: InterfereSpec,
    plan: InterferePlan,
    store: Store,
    *,
    deployer: Deployer,
    performer: TogetherPerformer,
    observer: Observer,
    watch: MachineWatch | None = None,
) -> Outcome:
    """Measure everything in the plan that is not done yet.

    Args:
        spec: the study.
        plan: what to measure.
        store: where runs are kept.
        deployer: of clusters.
        performer: of groups.
        observer: is told of progress.
        watch: of the machine's load; None: it is not recorded.

    Raises:
        MeasurementError: results cannot be stored. What fails on a cluster is recorded, not raised.
    """
    work = _StudyWork(plan, store, observer)
    take_down_leftovers(store, deployer, observer)
    site = _Groups(work, spec, deployer, performer, watch)
    return execute(work, site, (plan.points_on(cluster.name) for cluster in plan.clusters))


@dataclass(frozen=True)
class _Made:
    """A finished run, and the wall time that it took with its preparation."""

    measurement: TogetherMeasurement
    spent_s: float


class _StudyWork(Work[Point, _Made]):
    """What is left of one study, and what became of it."""

    def __init__(self, plan: InterferePlan, store: Store, observer: Observer) -> None:
        store.forget_failures()
        super().__init__(store, observer, Strategy(), set(store.together()))
        self.plan = plan
        self._keys = {cluster.name: cluster.key for cluster in plan.clusters}
        self.observer.at(*self.progress())

    @property
    def runs(self) -> Sequence[Point]:
        return self.plan.points

    def keep(self, run: Point, result: _Made) -> bool:
        self.store.add_together(
            result.measurement, run.key, self._keys[run.cluster], result.spent_s
        )
        for doubt in texts(result.measurement.notes):
            self.observer.says(f"doubt: {run.label}: {doubt}")
        return True

    def progress(self) -> tuple[int, int, float]:
        n_done = sum(point.key in self.done for point in self.runs)
        return n_done, len(self.runs), forecast_s(self.plan, self.done)


@dataclass
class _Files:
    """The files of the study's groups on a cluster.

    Attributes:
        apart: whether each group gets data servers of its own.
        placed: by group and instance.
    """

    apart: bool
    placed: dict[tuple[str, int], Bench] = field(default_factory=dict)


class _Groups(Deployment[Point, _Made]):
    """Groups of clients on the clusters of a study."""

    def __init__(
        self,
        work: _StudyWork,
        spec: InterfereSpec,
        deployer: Deployer,
        performer: TogetherPerformer,
        watch: MachineWatch | None,
    ) -> None:
        super().__init__(work, work.plan.clusters, deployer, Holds(work.store))
        self._plan = work.plan
        self._spec = spec
        self._performer = performer
        self._watch = watch
        self._files: dict[str, _Files] = {}

    def prepare(self, cluster: ClusterFacts, running: DeployedCluster, stack: ExitStack) -> None:
        stack.callback(self._performer.close)
        self._files[cluster.name] = _Files(cluster.knobs.of(LAYOUT) == "1DFx1F")

    def measure(self, run: Point, running: DeployedCluster) -> _Made:
        started = time.monotonic()
        self.work.observer.says(
            f"running {run.label} (repetition {run.repetition + 1} of {self._spec.repetitions})"
        )
        manner = Manner(
            point=run.kind,
            mapping=run.mapping,
            object_bytes=run.object_bytes,
            duration_s=run.duration_s,
            settle_s=0.0 if run.duration_s is None else self._spec.settle,
            cache=self._spec.cache,
            repetition=run.repetition,
            order=run.order,
            seed=self._spec.seed,
        )
        parties = self._parties(run, running)
        measurement = measure_together(parties, running, self._performer, manner, self._watch)
        return _Made(measurement, time.monotonic() - started)

    def _parties(self, point: Point, running: DeployedCluster) -> list[Party]:
        """The members with their files in place: objects' files stay, an application's are renewed."""
        files = self._files[point.cluster]
        members = {(member.group, member.instance): member for member in point.members}
        if files.apart and not members.keys() <= files.placed.keys():
            files.placed.clear()  # which servers are whose depends on all who run
        used = [
            bench
            for key, bench in files.placed.items()
            if key in members and self._plan.group(key[0]).is_application
        ]
        new = [member for key, member in members.items() if key not in files.placed]
        if new:
            laid_out = [self._lay_out(point, member, running) for member in new]
            set_up = set_up_together(laid_out, running, apart=files.apart)
            for member, bench in zip(new, set_up, strict=True):
                files.placed[member.group, member.instance] = bench
        if used:
            renew_together(used, running, apart=files.apart)
        return [
            self._party(point, member, files.placed[member.group, member.instance])
            for member in point.members
        ]

    def _lay_out(self, point: Point, member: Member, running: DeployedCluster) -> Bench:
        kernel = self._plan.group(member.group).kernel(point.object_bytes)
        return lay_out(kernel, running, f"{member.group}-{member.instance}")

    def _party(self, point: Point, member: Member, bench: Bench) -> Party:
        group = self._plan.group(member.group)
        kernel = group.kernel(point.object_bytes)
        if bench.kernel is not kernel:  # objects of another size in the same files
            bench = replace(bench, kernel=kernel, kernel_sha256=kernel_hash(kernel))
        objects = group.entry.objects
        return Party(
            group=member.group,
            instance=member.instance,
            bench=bench,
            placement=placement_of(bench, point.mapping, member.nodes),
            interval_s=member.interval_s,
            pauses=group.entry.pause_factor if member.interval_s is None else member.interval_s,
            start_s=member.start_s,
            direct=objects is not None and objects.is_direct,
        )
