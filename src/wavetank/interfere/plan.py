"""The plan of an interference study: which groups run when, where, together with whom.

Everything is checked here, before anything starts.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.plan import PlannedRun
from wavetank.compare.comparison import NotMeasured
from wavetank.errors import KernelError
from wavetank.interfere.placement import Group, Member, Placer, Sketch
from wavetank.interfere.spec import GroupEntry, InterfereSpec
from wavetank.kernel.construction.objects import object_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.measure.together_result import PointKind
from wavetank.units import format_duration, format_size

GUESSED_RATE_BYTES_PER_S = 50e6
"""Of a kernel that runs to its end, until something was measured."""
RUN_S = 1.0
"""Of one run beside its duration: emptying caches, orders, reading settings back."""
SESSION_S = 4.0
"""To start the ranks of a set of groups; two Open MPI jobs took 3 s on two busy cores."""


@dataclass(frozen=True)
class Point(PlannedRun):
    """One run: members that start from one moment on. ``application``: "foreground with background, objects of 2.0 MiB"."""

    key: str
    kind: PointKind
    object_bytes: int | None
    members: tuple[Member, ...]
    duration_s: float | None


@dataclass(frozen=True)
class InterferePlan:
    """What will be measured and what cannot be."""

    groups: tuple[Group, ...]
    clusters: tuple[ClusterFacts, ...]
    points: tuple[Point, ...]
    impossible: tuple[NotMeasured, ...]

    def group(self, name: str) -> Group:
        """A group by its name."""
        return next(each for each in self.groups if each.name == name)

    def points_on(self, cluster: str) -> tuple[Point, ...]:
        """The runs on one cluster, in their order."""
        return tuple(point for point in self.points if point.cluster == cluster)


def make_group(entry: GroupEntry, sizes: Sequence[int], application: Kernel | None) -> Group:
    """A group with its kernels.

    Args:
        entry: of the specification.
        sizes: of objects, where they are swept.
        application: its kernel, when it is one.

    Raises:
        KernelError: a kernel cannot be made.
    """
    objects = entry.objects
    if objects is None or entry.clients is None:
        if application is None:
            raise KernelError(f"group {entry.name} has neither objects nor a kernel")
        return Group(entry, {None: application})
    wanted = list(sizes) or [objects.size]
    kernels: dict[int | None, Kernel] = {
        size: object_kernel(entry.name, objects.operation, size, entry.clients, objects.file_size)
        for size in wanted
    }
    return Group(entry, {None: kernels[wanted[0]], **kernels})


def make_plan(
    spec: InterfereSpec, groups: Sequence[Group], clusters: Sequence[ClusterFacts]
) -> InterferePlan:
    """Order all runs, and sort out those that cannot work.

    Runs of the same members follow one another, since their ranks stay; which set comes first, and
    which run in a set, is random by the seed and the cluster.
    """
    sketches = list(dict.fromkeys(_sketches(spec, groups)))
    points: list[Point] = []
    impossible: list[NotMeasured] = []
    for cluster in clusters:
        placer = Placer(spec, {each.name: each for each in groups}, cluster)
        for mapping in spec.mappings:
            placed = []
            for sketch in sketches:
                members, reason = placer.place(sketch, mapping)
                if reason is None:
                    placed.append((sketch, members))
                else:
                    impossible.append(
                        NotMeasured(
                            application=label_of(members, sketch.object_bytes),
                            cluster=cluster.name,
                            mapping=mapping,
                            reason=reason,
                        )
                    )
            points += _ordered(placer, mapping, placed)
    return InterferePlan(tuple(groups), tuple(clusters), tuple(points), tuple(impossible))


def _sketches(spec: InterfereSpec, groups: Sequence[Group]) -> Iterator[Sketch]:
    sizes: tuple[int | None, ...] = spec.object_sizes or (None,)
    for size in sizes:
        yield from _alone(spec, groups, size)
        if spec.whole and not spec.together_is_an_offset:
            yield from _all_together(spec, groups, size)
        if spec.pairs:
            for first, second in combinations_with_replacement(groups, 2):
                same = int(first is second)
                members = (_member(first, 0), _member(second, same))
                yield Sketch("pair", size, members, spec.duration_s, together=False)
        if spec.start_offsets is not None:
            yield from _offsets(spec, groups, size)


def _alone(spec: InterfereSpec, groups: Sequence[Group], size: int | None) -> Iterator[Sketch]:
    for group in groups:
        yield Sketch("alone", size, (_member(group, 0),), spec.duration_s, together=spec.whole)
        if spec.start_offsets is not None:  # offsets run each kernel once
            together = spec.whole
            yield Sketch("alone", size, (_member(group, 0),), None, together=together)


def _all_together(
    spec: InterfereSpec, groups: Sequence[Group], size: int | None
) -> Iterator[Sketch]:
    sweep = spec.intervals
    for interval_s in (None,) if sweep is None else sweep.values:
        members = tuple(
            _member(group, 0, interval_s)
            if sweep is not None and group.name == sweep.group
            else _member(group, 0)
            for group in groups
        )
        yield Sketch("together", size, members, spec.duration_s, together=True)


def _offsets(spec: InterfereSpec, groups: Sequence[Group], size: int | None) -> Iterator[Sketch]:
    sweep = spec.start_offsets
    for offset_s in () if sweep is None else sweep.values:
        members = []
        for group in groups:
            moves = sweep is not None and group.name == sweep.group
            start_s = max(offset_s, 0.0) if moves else max(-offset_s, 0.0)
            members.append(_member(group, 0, start_s=start_s))
        yield Sketch("offset", size, tuple(members), None, together=spec.whole)


def _member(
    group: Group, instance: int, interval_s: float | None = None, start_s: float = 0.0
) -> tuple[str, int, float | None, float]:
    objects = group.entry.objects
    if objects is not None and interval_s is None:
        interval_s = objects.interval
    return group.name, instance, interval_s, start_s


_Set = tuple[int | None, tuple[tuple[str, int], ...]]
"""Object size, and (group, instance) of those that run."""


def _point(
    placer: Placer,
    sketch: Sketch,
    members: tuple[Member, ...],
    mapping: str,
    repetition: int,
    order: int,
) -> Point:
    """A run with its key: equal keys are the same run."""
    said = [
        placer.cluster.key,
        mapping,
        sketch.kind,
        sketch.duration_s,
        placer.spec.settle if sketch.duration_s is not None else None,
        placer.spec.cache,
        repetition,
        [
            (
                m.group,
                kernel_hash(placer.kernel(m.group, sketch)),
                m.instance,
                m.interval_s,
                m.start_s,
                m.nodes,
            )
            for m in members
        ],
        [
            (placer.groups[m.group].entry.pause_factor, _is_direct(placer.groups[m.group]))
            for m in members
        ],
    ]
    return Point(
        application=label_of(members, sketch.object_bytes),
        kind=sketch.kind,
        cluster=placer.cluster.name,
        mapping=mapping,
        object_bytes=sketch.object_bytes,
        members=members,
        duration_s=sketch.duration_s,
        repetition=repetition,
        order=order,
        key=hashlib.sha256(json.dumps(said).encode()).hexdigest(),
    )


def _is_direct(group: Group) -> bool:
    return group.entry.objects is not None and group.entry.objects.is_direct


def _ordered(
    placer: Placer, mapping: str, placed: Sequence[tuple[Sketch, tuple[Member, ...]]]
) -> list[Point]:
    seed = f"{placer.spec.seed} {placer.cluster.name} {mapping}"
    shuffled = random.Random(seed)  # noqa: S311 - an order, not a secret
    sets: dict[_Set, list[tuple[Sketch, tuple[Member, ...]]]] = {}
    for sketch, members in placed:
        of = (sketch.object_bytes, tuple((m.group, m.instance) for m in members))
        sets.setdefault(of, []).append((sketch, members))
    sizes = list(dict.fromkeys(size for size, _ in sets))
    points: list[Point] = []
    for repetition in range(placer.spec.repetitions):
        for size in shuffled.sample(sizes, len(sizes)):
            # The largest set first: the ranks of those that run alone are among its ranks.
            alike = sorted((of for of in sets if of[0] == size), key=lambda of: -len(of[1]))
            for of in alike:
                for sketch, members in shuffled.sample(sets[of], len(sets[of])):
                    points.append(_point(placer, sketch, members, mapping, repetition, len(points)))
    return points


def label_of(members: Sequence[Member], object_bytes: int | None) -> str:
    """What runs, for people."""
    words = []
    for member in members:
        about = []
        if member.interval_s:
            about.append(f"every {format_duration(member.interval_s)}")
        if member.start_s:
            about.append(f"from {format_duration(member.start_s)} on")
        words.append(member.group + (f" ({', '.join(about)})" if about else ""))
    size = "" if object_bytes is None else f", objects of {format_size(object_bytes)}"
    return (words[0] + " alone" if len(words) == 1 else " with ".join(words)) + size


def expected_s(plan: InterferePlan, point: Point) -> float:
    """Wall time of a run: its duration, or a guess by its bytes."""
    if point.duration_s is not None:
        return RUN_S + point.duration_s
    weight = sum(
        phase.ph_weight
        for member in point.members
        for phase in plan.group(member.group).kernel(point.object_bytes).phases
    )
    start_s = max(member.start_s for member in point.members)
    return RUN_S + start_s + weight / GUESSED_RATE_BYTES_PER_S


def forecast_s(plan: InterferePlan, done: Collection[Hashable]) -> float:
    """Wall time that is left of a plan, with the clusters' deployments."""
    total_s = 0.0
    for cluster in plan.clusters:
        left = [point for point in plan.points_on(cluster.name) if point.key not in done]
        if not left:
            continue
        sets = {
            (p.repetition, p.mapping, p.object_bytes, tuple(m.group for m in p.members))
            for p in left
            if len(p.members) > 1
        }
        total_s += cluster.expected_up_s + SESSION_S * max(len(sets), 1)
        total_s += sum(expected_s(plan, point) for point in left)
    return total_s
