"""The plan of a campaign: what will run in which order, what cannot and why, how long it takes.

Everything is checked here, before anything starts.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations

from wavetank.application.own import OwnApplication
from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.schedule import Schedule, grid_schedule, make_schedule
from wavetank.campaign.spec import CampaignSpec, Performed, SearchRule, UntilRule
from wavetank.campaign.store import Key
from wavetank.campaign.variant_files import space_needed
from wavetank.campaign.variant_places import belongs, why_ignored, why_no_layout
from wavetank.compare.comparison import NotMeasured
from wavetank.compare.decisions import Subject, is_compared
from wavetank.cost.estimate import bill
from wavetank.cost.prices import SECONDS_PER_HOUR, PriceTable
from wavetank.errors import CostError, MeasurementError
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.mapping import most_ranks_on_a_node, parse_mapping, place_ranks
from wavetank.measure.rank_test import fewest_repetitions
from wavetank.model.document.model import Model
from wavetank.model.document.program import Step
from wavetank.model.document.step_walks import file_steps
from wavetank.units import format_size

GUESSED_RATE_BYTES_PER_S = 50e6
"""A rate for the first estimate of a duration, until something was measured."""
START_S = 3.0
"""Of one measurement beside its I/O: emptying caches, starting MPI, reading settings back."""


@dataclass(frozen=True)
class Application:
    """A kernel with its name in this campaign, and its model where one was named."""

    name: str
    kernel: Kernel
    kernel_sha256: str
    model: Model | None
    program: Performed = "replay"  # performs it
    own: OwnApplication | None = None  # of program own: the application itself
    variant_of: str | None = None  # of a kernel with one knob turned: the application as it is
    refused: tuple[tuple[str, str], ...] = ()  # knobs that do not apply to it, each with its reason


@dataclass(frozen=True)
class PlannedRun:
    """One measurement of a plan. ``key``: equal ones are the same measurement."""

    application: str
    cluster: str
    mapping: str
    repetition: int
    order: int
    key: Hashable

    @property
    def label(self) -> str:
        """What runs where, for people."""
        return f"{self.application} on {self.cluster} with {self.mapping}"


@dataclass(frozen=True)
class Run(PlannedRun):
    """One measurement of a campaign."""

    key: Key


@dataclass(frozen=True)
class Plan:
    """What will be measured and what cannot be."""

    applications: tuple[Application, ...]
    clusters: tuple[ClusterFacts, ...]
    runs: tuple[Run, ...]  # all that may be made
    impossible: tuple[NotMeasured, ...]
    repetitions: int  # of each combination, that the decisions look at
    schedule: Schedule
    redeploy: bool = True  # a cluster comes up anew for each repetition

    def application(self, name: str) -> Application:
        """An application by its name."""
        return next(each for each in self.applications if each.name == name)

    def cluster(self, name: str) -> ClusterFacts:
        """A cluster by its name."""
        return next(each for each in self.clusters if each.name == name)

    def runs_on(self, cluster: str) -> tuple[Run, ...]:
        """The measurements on one cluster, in their order."""
        return tuple(run for run in self.runs if run.cluster == cluster)


@dataclass(frozen=True)
class Forecast:
    """What a plan would take from here."""

    n_done: int
    n_runs: int
    duration_s: float
    cost: Decimal | None  # of the same plan on rented instances
    cost_missing: str | None
    core_hours: float = 0.0
    cluster_s: Mapping[str, float] = field(default_factory=dict)  # of duration_s, by cluster
    cluster_cost: Mapping[str, Decimal] = field(default_factory=dict)  # of cost, by cluster


def make_plan(
    spec: CampaignSpec, applications: Sequence[Application], clusters: Sequence[ClusterFacts]
) -> Plan:
    """Order all measurements, and sort out those that cannot work.

    Every round holds each application, cluster and mapping once, in an order of its own: what drifts
    during the campaign touches all of them alike. The order depends on the seed.
    """
    possible: dict[str, list[tuple[Application, str]]] = {}
    impossible: list[NotMeasured] = []
    for cluster in clusters:
        possible[cluster.name] = []
        for application in applications:
            if not belongs(application.kernel, cluster):
                continue
            for mapping in spec.mappings:
                reason = (
                    why_no_layout(application.kernel, cluster)
                    or why_not(application.kernel, cluster, mapping, spec.oversubscribe)
                    or cluster.why_without(application.program)
                    or why_ignored(application.kernel, cluster)
                )
                if reason is None:
                    possible[cluster.name].append((application, mapping))
                else:
                    impossible.append(
                        NotMeasured(
                            application=application.name,
                            cluster=cluster.name,
                            mapping=mapping,
                            reason=reason,
                        )
                    )
    repetitions = _repetitions(
        spec,
        [
            Subject(application.name, application.variant_of, cluster.place, mapping)
            for cluster in clusters
            for application, mapping in possible[cluster.name]
        ],
    )
    schedule = _schedule(spec, possible, repetitions)
    if isinstance(spec.strategy, SearchRule):
        repetitions = schedule.final
    measurable = [(cluster, *each) for cluster in clusters for each in possible[cluster.name]]
    return Plan(
        tuple(applications),
        tuple(clusters),
        tuple(_rounds(spec, measurable, schedule)),
        tuple(impossible),
        repetitions,
        schedule,
        spec.redeploy,
    )


def _schedule(
    spec: CampaignSpec,
    possible: Mapping[str, Sequence[tuple[Application, str]]],
    repetitions: int,
) -> Schedule:
    """The rounds of a campaign.

    Args:
        spec: the campaign.
        possible: cluster -> what can be measured on it.
        repetitions: of each configuration, that the decisions of a full grid look at.
    """
    counts = Counter(application.name for each in possible.values() for application, _ in each)
    rule = spec.strategy
    if not isinstance(rule, SearchRule):
        most = rule.at_most if isinstance(rule, UntilRule) else repetitions
        return grid_schedule(counts, most)
    return make_schedule(
        counts,
        at_most=rule.at_most,
        finalists=rule.finalists,
        grid_repetitions=repetitions,
        final_repetitions=spec.repetitions,
        error=1 - spec.confidence,
        baseline=spec.baseline,
        with_baseline={
            application.name for application, _ in possible.get(spec.baseline or "", ())
        },
    )


def _repetitions(spec: CampaignSpec, measured: Sequence[Subject]) -> int:
    """Of each combination: as asked for, or the fewest with which every pair can be told apart.

    Args:
        spec: the campaign.
        measured: each combination.
    """
    if spec.repetitions is not None:
        return spec.repetitions
    n_pairs = sum(is_compared(first, second) for first, second in combinations(measured, 2))
    needed = fewest_repetitions(n_pairs, 1 - spec.confidence)
    return min(needed, spec.strategy.at_most) if isinstance(spec.strategy, UntilRule) else needed


def why_not(
    kernel: Kernel, cluster: ClusterFacts, mapping: str, oversubscribe: bool = False
) -> str | None:
    """Why a kernel cannot run on a cluster with a mapping; None when it can."""
    if cluster.unavailable is not None:
        return f"the cluster cannot come up here: {cluster.unavailable}"
    needed = space_needed(kernel)
    if cluster.capacity_bytes is not None and cluster.capacity_bytes < needed:
        return (
            f"it needs {format_size(needed)} of storage, and the cluster has "
            f"{format_size(cluster.capacity_bytes)}"
        )
    try:
        placed = place_ranks(kernel, cluster.compute_nodes, mapping)
    except MeasurementError as error:
        return str(error)
    if not oversubscribe and cluster.cores_per_node is not None:
        reason = _too_few_cores(placed, mapping, cluster.cores_per_node, cluster.instance_type)
        if reason is not None:
            return f"{reason} (oversubscribe would allow it)"
    shared = file_shared_between_nodes(kernel, placed)
    if shared is not None and not cluster.is_global:
        return (
            f"{shared} is used by ranks on different nodes, which needs a global file system, "
            "and this cluster has local ones only"
        )
    return None


def _too_few_cores(
    placed: Sequence[str], mapping: str, cores: int, instance_type: str
) -> str | None:
    """Why nodes have too few cores for a mapping; None when they have enough.

    The mapping's own number counts too, also where the kernel has fewer I/O processes.
    """
    really, asked = most_ranks_on_a_node(placed), parse_mapping(mapping)
    if max(really, asked) <= cores:
        return None
    if really > cores:
        return f"{really} processes on one node, and {instance_type} has {cores} cores"
    return (
        f"{mapping} stands for {asked} processes on one node, and {instance_type} has {cores} cores; "
        f"this application would have {really} on one, so a smaller mapping says the same"
    )


def file_shared_between_nodes(kernel: Kernel, placed: Sequence[str]) -> str | None:
    """Name of a file that ranks on different nodes use; None when each file stays on one node.

    Opening counts as use: ABySS's rank 0 opens what the other ranks wrote, also where it is empty.
    """
    nodes: dict[int, set[str]] = {}
    for phase in kernel.phases:
        nodes.setdefault(phase.file_id, set()).update(placed[rank] for rank in phase.ph_processid)
    for program in kernel.programs:
        at = {placed[rank] for rank in program.ranks}
        for file_id in _files_of(program.steps):
            nodes.setdefault(file_id, set()).update(at)
    return next((file.name for file in kernel.files if len(nodes.get(file.file_id, ())) > 1), None)


def _files_of(steps: Sequence[Step]) -> set[int]:
    """Files that steps open, close, resize ..."""
    return {step.file_id for step in file_steps(steps)}


def forecast(
    plan: Plan,
    done: Collection[Hashable],
    *,
    not_needed: Collection[Hashable] = (),
    spent_s: Mapping[str, Sequence[float]],
    prices: PriceTable | None,
) -> Forecast:
    """Estimate what is left of a plan.

    Args:
        plan: the whole plan.
        done: what is finished.
        not_needed: what the strategy found unnecessary.
        spent_s: cluster key -> wall times of its finished measurements.
        prices: for the cost of the same plan on rented instances, billed from up to down.
    """
    left_of = _left(plan, done, not_needed)
    core_s, missing = 0.0, None if prices else "no price table"
    seconds: dict[str, float] = {}
    costs: dict[str, Decimal] = {}
    for cluster in plan.clusters:
        left = [run for run in plan.runs_on(cluster.name) if left_of.get(run.key)]
        if not left:
            continue
        n_up = sum(  # in a search, as likely as the likeliest of its measurements
            max((left_of[run.key] for run in left if run.repetition in served), default=0.0)
            for served in plan.schedule.deployments(redeploy=plan.redeploy)
        )
        cluster_s = n_up * cluster.expected_up_s + sum(
            left_of[run.key]
            * expected_s(plan.application(run.application), spent_s.get(cluster.key, ()))
            for run in left
        )
        seconds[cluster.name] = cluster_s
        core_s += cluster.n_cores * cluster_s
        if prices is not None:
            try:
                once = bill(cluster.instances, cluster_s / n_up, prices, cluster.storage)
                costs[cluster.name] = Decimal(repr(n_up)) * once
            except CostError as error:
                missing = str(error)
    n_done = sum(run.key in done for run in plan.runs)
    return Forecast(
        n_done=n_done,
        n_runs=n_done + round(sum(left_of.values())),
        duration_s=sum(seconds.values()),
        cost=None if missing else sum(costs.values(), Decimal(0)),
        cost_missing=missing,
        core_hours=core_s / SECONDS_PER_HOUR,
        cluster_s=seconds,
        cluster_cost=costs,
    )


def _left(
    plan: Plan, done: Collection[Hashable], not_needed: Collection[Hashable]
) -> dict[Key, float]:
    """What is still to be measured -> how likely. Which configurations go on in a search is known when it is."""
    found: dict[Key, float] = {}
    rounds: dict[tuple[str, int], list[Key]] = defaultdict(list)
    for run in plan.runs:
        rounds[run.application, run.repetition].append(run.key)
    for (application, repetition), keys in rounds.items():
        is_left = [key for key in keys if key not in done and key not in not_needed]
        n_left = plan.schedule.size(application, repetition) - sum(key in done for key in keys)
        for key in is_left:
            found[key] = min(max(n_left, 0) / len(is_left), 1.0)
    return found


def expected_s(application: Application, spent_s: Sequence[float]) -> float:
    """Wall time of one measurement: as the others on the cluster took, or a guess by its bytes."""
    if spent_s:
        return sum(spent_s) / len(spent_s)
    weight = sum(phase.ph_weight for phase in application.kernel.phases)
    times = application.kernel.run_times
    compute_s = 0.0
    if application.own is not None and times is not None:
        compute_s = times.compute_s or 0.0
    return START_S + compute_s + weight / GUESSED_RATE_BYTES_PER_S


def _rounds(
    spec: CampaignSpec,
    possible: Sequence[tuple[ClusterFacts, Application, str]],
    schedule: Schedule,
) -> list[Run]:
    """All measurements that may be made, round by round."""
    runs: list[Run] = []
    for repetition in range(schedule.repetitions):
        round_ = list(possible)
        random.Random(f"{spec.seed} {repetition}").shuffle(round_)  # noqa: S311 - an order, not a secret
        for cluster, application, mapping in round_:
            if not schedule.size(application.name, repetition):
                continue
            key = Key(application.kernel_sha256, cluster.key, mapping, spec.cache, repetition)
            runs.append(Run(application.name, cluster.name, mapping, repetition, len(runs), key))
    return runs
