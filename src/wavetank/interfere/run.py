"""Running an interference study: clusters come up one after another, and each run is stored as it ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.lifetime import Deployer, NotUpError, deployed, take_down_leftovers
from wavetank.campaign.progress import GIVE_UP_AFTER, Observer, Outcome
from wavetank.campaign.store import Failure, Store
from wavetank.cluster.host import RunningCluster
from wavetank.compare.knobs import LAYOUT
from wavetank.errors import WavetankError
from wavetank.interfere.placement import Member
from wavetank.interfere.plan import InterferePlan, Point, forecast_s
from wavetank.interfere.spec import InterfereSpec
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.run import Bench, kernel_hash, lay_out, placement_of
from wavetank.measure.sessions import Party, TogetherPerformer
from wavetank.measure.together import Manner, measure_together
from wavetank.measure.together_files import renew_together, set_up_together
from wavetank.measure.together_result import TogetherMeasurement


@dataclass
class _Study:
    """What the steps of one study share."""

    spec: InterfereSpec
    plan: InterferePlan
    store: Store
    performer: TogetherPerformer
    observer: Observer
    watch: MachineWatch | None
    done: set[str]
    n_measured: int = 0
    n_failed: int = 0

    def report_progress(self) -> None:
        points = self.plan.points
        n_done = sum(point.key in self.done for point in points)
        self.observer.at(n_done, len(points), forecast_s(self.plan, self.done))


@dataclass
class _Site:
    """A cluster that is up, with the files of the study's groups."""

    facts: ClusterFacts
    running: RunningCluster
    placed: dict[tuple[str, int], Bench] = field(default_factory=dict)  # by group and instance

    @property
    def apart(self) -> bool:
        """Whether each group gets data servers of its own."""
        return self.facts.knobs.of(LAYOUT) == "1DFx1F"


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
    study = _Study(spec, plan, store, performer, observer, watch, set(store.together()))
    store.forget_failures()
    study.report_progress()
    take_down_leftovers(store, deployer, observer)
    for facts in plan.clusters:
        left = [point for point in plan.points_on(facts.name) if point.key not in study.done]
        if not left:
            continue
        try:
            with deployed(facts, store, deployer, observer) as running:
                try:
                    _measure_points(study, _Site(facts, running), left)
                finally:
                    performer.close()  # its ranks live on the cluster's nodes
        except NotUpError as error:
            _give_up(study, left, str(error))
    store.end_invocation(study.n_failed, 0)
    return Outcome(study.n_measured, study.n_failed, 0, store.leases())


def _measure_points(study: _Study, site: _Site, left: Sequence[Point]) -> None:
    in_a_row = 0
    for position, point in enumerate(left):
        started = time.monotonic()
        study.observer.says(
            f"running {point.label} on {point.cluster} with {point.mapping} "
            f"(repetition {point.repetition + 1} of {study.spec.repetitions})"
        )
        try:
            measurement = _measure(study, site, point)
        except WavetankError as error:
            _record(study, point, str(error))
            study.observer.says(f"failed: {point.label} on {point.cluster}: {error}")
            in_a_row += 1
            if in_a_row >= GIVE_UP_AFTER:
                reason = f"given up after {GIVE_UP_AFTER} failures in a row on this cluster"
                _give_up(study, left[position + 1 :], reason)
                return
            continue
        in_a_row = 0
        spent_s = time.monotonic() - started
        study.store.add_together(measurement, point.key, site.facts.key, spent_s)
        study.done.add(point.key)
        study.n_measured += 1
        for finding in measurement.findings:
            study.observer.says(f"doubt: {point.label} on {point.cluster}: {finding}")
        study.report_progress()


def _measure(study: _Study, site: _Site, point: Point) -> TogetherMeasurement:
    parties = _parties(study, site, point)
    manner = Manner(
        point=point.kind,
        mapping=point.mapping,
        object_bytes=point.object_bytes,
        duration_s=point.duration_s,
        settle_s=0.0 if point.duration_s is None else study.spec.settle,
        cache=study.spec.cache,
        repetition=point.repetition,
        order=point.order,
        seed=study.spec.seed,
    )
    return measure_together(parties, site.running, study.performer, manner, study.watch)


def _parties(study: _Study, site: _Site, point: Point) -> list[Party]:
    """The members with their files in place: objects' files stay, an application's are renewed."""
    members = {(member.group, member.instance): member for member in point.members}
    if site.apart and not members.keys() <= site.placed.keys():
        site.placed.clear()  # which servers are whose depends on all who run
    used = [
        bench
        for key, bench in site.placed.items()
        if key in members and study.plan.group(key[0]).is_application
    ]
    new = [member for key, member in members.items() if key not in site.placed]
    if new:
        laid_out = [_lay_out(study, site, point, member) for member in new]
        set_up = set_up_together(laid_out, site.running, apart=site.apart)
        for member, bench in zip(new, set_up, strict=True):
            site.placed[member.group, member.instance] = bench
    if used:
        renew_together(used, site.running, apart=site.apart)
    return [_party(study, site, point, member) for member in point.members]


def _lay_out(study: _Study, site: _Site, point: Point, member: Member) -> Bench:
    kernel = study.plan.group(member.group).kernel(point.object_bytes)
    return lay_out(kernel, site.running, f"{member.group}-{member.instance}")


def _party(study: _Study, site: _Site, point: Point, member: Member) -> Party:
    group = study.plan.group(member.group)
    kernel = group.kernel(point.object_bytes)
    bench = site.placed[member.group, member.instance]
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


def _record(study: _Study, point: Point, reason: str) -> None:
    study.n_failed += 1
    study.store.add_failure(
        Failure(point.label, point.cluster, point.mapping, reason), point.repetition
    )


def _give_up(study: _Study, rest: Sequence[Point], reason: str) -> None:
    for point in rest:
        _record(study, point, reason)
    if rest:
        study.observer.says(f"{rest[0].cluster}: {reason}")
