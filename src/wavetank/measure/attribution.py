"""Where the time of a measurement went: from counters over time to the use of resources in each phase.

Reads the counters that were recorded beside a replay, and when its ranks were in which phase. Leaves ``MeasuredUse``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wavetank.cluster import counters as c
from wavetank.cluster.counters import Counters, NodeCounters
from wavetank.kernel.results.result import PhaseResult, ReplayResult
from wavetank.measure.node_loads import (
    LOADS,
    Increment,
    Load,
    Span,
    covers,
    full_resources,
    readings,
)
from wavetank.measure.use import (
    KINDS,
    RESOURCES,
    FullTime,
    Kind,
    MeasuredUse,
    PhaseUse,
    Resource,
    ResourceUse,
    Use,
)

EVERY_S = 0.025
"""Between readings: eight in the shortest span that is judged. Six nodes took 2 % of one core at it
(benchmarks/cluster/use_recording.py)."""
SMALLEST_SPAN_S = 0.2
"""Two slices of the disks' and processors' limits (0.1 s each): in less, a limit may not have acted at all."""
FEWEST_READINGS = 4
"""Within a span; over ssh readings come seldom."""
SEEN_SHARE = 0.5
"""Of a time in pieces, what lies in pieces long enough to be read; with less nothing is said."""

MOST_WINDOWS = 100
"""Into which a time is cut to see which resources were full in turn; each lasts SMALLEST_SPAN_S at least."""


@dataclass(frozen=True)
class Calls:
    """Calls of ranks in some time.

    Attributes:
        n_ranks: that take part.
        time_s: in calls, sum over ranks; None where it is not known.
        n: how many.
        all_within: whether all of them lie within the time, so that they tell how many were under way.
    """

    n_ranks: int
    time_s: float | None
    n: int | None
    all_within: bool = True


def measured_use(
    counters: Counters, result: ReplayResult, compute: Sequence[str], first_node: str
) -> MeasuredUse | None:
    """Attribute what was recorded to the phases of a replay.

    Args:
        counters: recorded beside it.
        result: of the replay.
        compute: names of the nodes with ranks.
        first_node: where rank 0 ran: the replay's start is told on this node's clock.

    Returns:
        None where it is not known when the replay started, or nothing could be read.
    """
    if result.started_monotonic_ns is None or not counters.nodes:
        return None
    clocks = {node.node: node.clock_s for node in counters.nodes}
    start_s = result.started_monotonic_ns * 1e-9 - clocks.get(first_node, 0.0)
    kinds: dict[str, Kind] = {
        node.node: "compute" if node.node in compute else "io" for node in counters.nodes
    }
    whole = Span(start_s, start_s + result.elapsed_s)
    spans = {phase.ph_id: _phase_span(phase, start_s) for phase in result.phases if phase.ranks}
    n_ranks = len({rank.rank for phase in result.phases for rank in phase.ranks})
    n_metadata = result.settings.get("metadata_operations", "")
    metadata = int(n_metadata) if n_metadata.isdigit() else None

    def use(parts: Sequence[Span], calls: Calls) -> Use | None:
        return use_in(counters, parts, kinds, calls)

    by_phase = {
        phase.ph_id: use([spans[phase.ph_id]], calls_of(phase))
        for phase in result.phases
        if phase.ranks
    }
    everything = Calls(
        n_ranks,
        sum(rank.io_time_s for phase in result.phases for rank in phase.ranks)
        + result.metadata_time_s,
        None if metadata is None else metadata + sum(p.operations for p in result.phases),
    )
    n_outside = metadata if metadata and result.metadata_time_s > 0 else None
    return MeasuredUse(
        every_s=counters.every_s,
        whole=use([whole], everything),
        outside=use(
            gaps(whole, list(spans.values())),
            Calls(n_ranks, None, None)
            if n_outside is None
            else Calls(n_ranks, result.metadata_time_s, n_outside, all_within=False),
        ),
        phases=tuple(
            PhaseUse(ph_id=ph_id, use=found)
            for ph_id, found in by_phase.items()
            if found is not None
        ),
        own_cpu_share=_own_share(counters),
        missing=tuple(counters.missing),
    )


def calls_of(phase: PhaseResult) -> Calls:
    """The calls of a phase's ranks."""
    return Calls(len(phase.ranks), sum(rank.io_time_s for rank in phase.ranks), phase.operations)


def gaps(whole: Span, parts: Sequence[Span]) -> list[Span]:
    """What of a span lies in none of its parts."""
    found = []
    reached = whole.start_s
    for part in sorted(parts, key=lambda span: span.start_s):
        if part.start_s > reached:
            found.append(Span(reached, min(part.start_s, whole.end_s)))
        reached = max(reached, part.end_s)
    if reached < whole.end_s:
        found.append(Span(reached, whole.end_s))
    return found


def use_in(
    counters: Counters, spans: Sequence[Span], kinds: Mapping[str, Kind], calls: Calls
) -> Use | None:
    """Use of all resources in a time of one or several spans.

    Args:
        counters: with readings before, in and after it.
        spans: that do not overlap, on the clock of the counters.
        kinds: of each node.
        calls: of the ranks in this time.

    Returns:
        None where the time is too short to tell, or was not read.
    """
    total_s = sum(span.length_s for span in spans)
    seen = [span for span in spans if span.length_s >= 2 * counters.every_s]
    seen_s = sum(span.length_s for span in seen)
    if seen_s < max(SMALLEST_SPAN_S, SEEN_SHARE * total_s):
        return None
    nodes = [node for node in counters.nodes if covers(node, seen, counters.every_s)]
    n_readings = min((readings(node, seen) for node in nodes), default=0)
    if n_readings < FEWEST_READINGS:
        return None
    increments = [Increment(node, seen) for node in nodes]
    resources = [
        found
        for kind in KINDS[:2]
        for found in _of_kind(kind, [each for each in increments if kinds[each.node] == kind])
    ]
    other = None
    machine = counters.machine
    if machine is not None and covers(machine, seen, counters.every_s):
        whole = Increment(machine, seen)
        resources += _of_machine(whole)
        other = _other_cores(whole, increments)
    cpu_wait = _cpu_wait(increments)
    full, full_share = _full_in_turn(nodes, kinds, seen)
    explained = [each.busiest for each in resources if each.kind != "machine" or cpu_wait is None]
    return Use(
        span_s=total_s,
        n_readings=n_readings,
        resources=tuple(resources),
        waiting=max(0.0, 1 - max([*explained, cpu_wait or 0.0])),
        full=full,
        full_share=full_share,
        n_ranks=calls.n_ranks,
        in_flight=calls.time_s / total_s if calls.all_within and calls.time_s is not None else None,
        call_s=None if calls.time_s is None or not calls.n else calls.time_s / calls.n,
        held_back=_longest(increments, c.HELD_BACK_S),
        cpu_wait=cpu_wait,
        other_cores=other,
    )


def _full_in_turn(
    nodes: Sequence[NodeCounters], kinds: Mapping[str, Kind], spans: Sequence[Span]
) -> tuple[tuple[FullTime, ...], float]:
    """Resources that were full in windows of a time, and the share of it in which any was."""
    total_s = sum(span.length_s for span in spans)
    full_s: dict[tuple[Resource, Kind], float] = {}
    by_node: Counter[tuple[Resource, Kind, str]] = Counter()
    any_s = 0.0
    for window in _windows(spans, max(SMALLEST_SPAN_S, total_s / MOST_WINDOWS)):
        found = {
            (resource, kinds[node.node], node.node)
            for node in nodes
            for resource in full_resources(Increment(node, [window]))
        }
        for resource, kind in {(resource, kind) for resource, kind, _ in found}:
            full_s[resource, kind] = full_s.get((resource, kind), 0.0) + window.length_s
        by_node.update(found)
        any_s += window.length_s if found else 0.0
    longest = sorted(full_s, key=lambda key: -full_s[key])
    return tuple(
        FullTime(
            resource=resource, kind=kind, share=full_s[resource, kind] / total_s,
            node=max(
                (key for key in by_node if key[:2] == (resource, kind)), key=lambda key: by_node[key]
            )[2],
        )
        for resource, kind in longest
    ), any_s / total_s  # fmt: skip


def _windows(spans: Sequence[Span], length_s: float) -> Iterator[Span]:
    """Spans cut into windows of one length, or a little more."""
    for span in spans:
        n = max(1, int(span.length_s / length_s))
        for i in range(n):
            width = span.length_s / n
            yield Span(span.start_s + i * width, span.start_s + (i + 1) * width)


def _of_kind(kind: Kind, nodes: Sequence[Increment]) -> Iterator[ResourceUse]:
    for resource in RESOURCES:
        loads = [load for node in nodes if (load := LOADS[resource](node)) is not None]
        if loads:
            yield _summary(resource, kind, loads)


def _summary(resource: Resource, kind: Kind, loads: Sequence[Load]) -> ResourceUse:
    busiest = max(loads, key=lambda load: load.share)
    return ResourceUse(
        resource=resource, kind=kind, busiest=busiest.share, busiest_node=busiest.node,
        mean=sum(load.share for load in loads) / len(loads), amount=busiest.amount,
        limit=busiest.limit, unit=busiest.unit,
    )  # fmt: skip


def _of_machine(machine: Increment) -> list[ResourceUse]:
    """The processors that all nodes share; what was stolen from them was not theirs to use."""
    if not machine.has(c.CPU_S):
        return []
    stolen = machine.rate(c.STOLEN_S) if machine.has(c.STOLEN_S) else 0.0
    busy, cpus = machine.rate(c.CPU_S) + stolen, machine.capacity.cpus
    load = Load(machine.node, busy / cpus, busy, cpus, "cores")
    return [_summary("processors", "machine", [load])]


def _other_cores(machine: Increment, nodes: Sequence[Increment]) -> float | None:
    if not machine.has(c.CPU_S) or not all(node.has(c.CPU_S) for node in nodes):
        return None
    return max(0.0, machine.rate(c.CPU_S) - sum(node.rate(c.CPU_S) for node in nodes))


def _longest(nodes: Sequence[Increment], name: str) -> float | None:
    """Growth a second of a counter, on the node where it is largest; None where no node has it."""
    return max((node.rate(name) for node in nodes if node.has(name)), default=None)


def _cpu_wait(nodes: Sequence[Increment]) -> float | None:
    """Share of the time in which processes waited for a processor of this machine, on the node where it is longest.

    The kernel counts those as waiting, too, that their own node's limit holds back.
    """
    return max(
        (
            max(0.0, node.rate(c.CPU_WAIT_S) - (node.rate(c.HELD_BACK_S) if node.has(c.HELD_BACK_S) else 0.0))
            for node in nodes
            if node.has(c.CPU_WAIT_S)
        ),
        default=None,
    )  # fmt: skip


def _phase_span(phase: PhaseResult, start_s: float) -> Span:
    """From its first rank's start to its last rank's end."""
    return Span(
        start_s + min(rank.start_s for rank in phase.ranks),
        start_s + max(rank.end_s for rank in phase.ranks),
    )


def _own_share(counters: Counters) -> float | None:
    at_s = counters.nodes[0].at_s
    if counters.own_cpu_s is None or at_s.size < 2:
        return None
    return counters.own_cpu_s / float(at_s[-1] - at_s[0])
