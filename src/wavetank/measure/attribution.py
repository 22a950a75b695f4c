"""Where the time of a measurement went: from counters over time to the use of resources in each phase.

Reads the counters that were recorded beside a replay, and when its ranks were in which phase. Leaves ``MeasuredUse``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.cluster import counters as c
from wavetank.cluster.counters import Capacity, Counters, NodeCounters
from wavetank.kernel.results.result import PhaseResult, ReplayResult
from wavetank.measure.use import (
    FULL,
    KINDS,
    RESOURCES,
    FullTime,
    Kind,
    MeasuredUse,
    PhaseUse,
    Resource,
    ResourceUse,
    Unit,
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
class Span:
    """From one moment to another, s."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.end_s - self.start_s


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
    nodes = [node for node in counters.nodes if _covers(node, seen, counters.every_s)]
    n_readings = min((_readings(node, seen) for node in nodes), default=0)
    if n_readings < FEWEST_READINGS:
        return None
    increments = [_Increment(node, seen) for node in nodes]
    resources = [
        found
        for kind in KINDS[:2]
        for found in _of_kind(kind, [each for each in increments if kinds[each.node] == kind])
    ]
    other = None
    machine = counters.machine
    if machine is not None and _covers(machine, seen, counters.every_s):
        whole = _Increment(machine, seen)
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
            for resource in _full_resources(_Increment(node, [window]))
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


def _full_resources(node: _Increment) -> Iterator[Resource]:
    """Those at their limit; a disk that is busy alone is not at one."""
    for resource in RESOURCES[:-1]:
        load = _LOADS[resource](node)
        if load is not None and load.share >= FULL:
            yield resource


def _windows(spans: Sequence[Span], length_s: float) -> Iterator[Span]:
    """Spans cut into windows of one length, or a little more."""
    for span in spans:
        n = max(1, int(span.length_s / length_s))
        for i in range(n):
            width = span.length_s / n
            yield Span(span.start_s + i * width, span.start_s + (i + 1) * width)


class _Increment:
    """What a node's counters grew by in some spans."""

    def __init__(self, node: NodeCounters, spans: Sequence[Span]) -> None:
        self.node = node.node
        self.capacity: Capacity = node.capacity
        self._length_s = sum(span.length_s for span in spans)
        starts = np.array([span.start_s for span in spans])
        ends = np.array([span.end_s for span in spans])
        self._grown = {
            name: float(np.sum(_at(node, name, ends) - _at(node, name, starts)))
            for name in node.counted
        }

    def has(self, name: str) -> bool:
        """Whether the node has this counter."""
        return name in self._grown

    def rate(self, name: str) -> float:
        """Growth a second."""
        return self._grown[name] / self._length_s


def _at(node: NodeCounters, name: str, moments: c.FloatArray) -> c.FloatArray:
    """A counter at some moments, shape as ``moments``.

    What grows steadily is interpolated. A disk's counter jumps: a limit holds a request of several megabytes back until
    all of it may pass, and then it ends at once, right before the call that waited for it. It counts as first read
    after the moment, at both ends of a span.
    """
    values = node.counted[name]
    if name not in c.OF_DISKS:
        return np.interp(moments, node.at_s, values)
    after = np.searchsorted(node.at_s, moments)
    return values[np.minimum(after, values.size - 1)]


@dataclass(frozen=True)
class _Load:
    """One resource of one node."""

    node: str
    share: float
    amount: float
    limit: float | None
    unit: Unit


def _of_kind(kind: Kind, nodes: Sequence[_Increment]) -> Iterator[ResourceUse]:
    for resource in RESOURCES:
        loads = [load for node in nodes if (load := _LOADS[resource](node)) is not None]
        if loads:
            yield _summary(resource, kind, loads)


def _summary(resource: Resource, kind: Kind, loads: Sequence[_Load]) -> ResourceUse:
    busiest = max(loads, key=lambda load: load.share)
    return ResourceUse(
        resource=resource, kind=kind, busiest=busiest.share, busiest_node=busiest.node,
        mean=sum(load.share for load in loads) / len(loads), amount=busiest.amount,
        limit=busiest.limit, unit=busiest.unit,
    )  # fmt: skip


def _of_machine(machine: _Increment) -> list[ResourceUse]:
    """The processors that all nodes share; what was stolen from them was not theirs to use."""
    if not machine.has(c.CPU_S):
        return []
    stolen = machine.rate(c.STOLEN_S) if machine.has(c.STOLEN_S) else 0.0
    busy, cpus = machine.rate(c.CPU_S) + stolen, machine.capacity.cpus
    load = _Load(machine.node, busy / cpus, busy, cpus, "cores")
    return [_summary("processors", "machine", [load])]


def _other_cores(machine: _Increment, nodes: Sequence[_Increment]) -> float | None:
    if not machine.has(c.CPU_S) or not all(node.has(c.CPU_S) for node in nodes):
        return None
    return max(0.0, machine.rate(c.CPU_S) - sum(node.rate(c.CPU_S) for node in nodes))


def _longest(nodes: Sequence[_Increment], name: str) -> float | None:
    """Growth a second of a counter, on the node where it is largest; None where no node has it."""
    return max((node.rate(name) for node in nodes if node.has(name)), default=None)


def _cpu_wait(nodes: Sequence[_Increment]) -> float | None:
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


def _processors(node: _Increment) -> _Load | None:
    if not node.has(c.CPU_S):
        return None
    amount, cpus = node.rate(c.CPU_S), node.capacity.cpus
    return _Load(node.node, amount / cpus, amount, cpus, "cores")


def _network(counter: str) -> Callable[[_Increment], _Load | None]:
    def load(node: _Increment) -> _Load | None:
        limit = node.capacity.network_bytes_per_s
        if limit is None or not node.has(counter):
            return None
        return _Load(node.node, node.rate(counter) / limit, node.rate(counter), limit, "B/s")

    return load


def _disk(size: str, requests: str) -> Callable[[_Increment], _Load | None]:
    """By bytes or by requests, whichever is nearer to its limit."""

    def load(node: _Increment) -> _Load | None:
        capacity, reads = node.capacity, size == c.READ_BYTES
        loads = []
        by_bytes = capacity.read_bytes_per_s if reads else capacity.write_bytes_per_s
        if by_bytes is not None and node.has(size):
            rate = node.rate(size)
            loads.append(_Load(node.node, rate / by_bytes, rate, by_bytes, "B/s"))
        by_requests = capacity.reads_per_s if reads else capacity.writes_per_s
        if by_requests is not None and node.has(requests):
            rate = node.rate(requests)
            loads.append(_Load(node.node, rate / by_requests, rate, by_requests, "requests/s"))
        return max(loads, key=lambda each: each.share, default=None)

    return load


def _disk_busy(node: _Increment) -> _Load | None:
    if not node.has(c.DISK_BUSY_S):
        return None
    share = node.rate(c.DISK_BUSY_S)
    return _Load(node.node, share, share, None, "share of time")


_LOADS: dict[Resource, Callable[[_Increment], _Load | None]] = {
    "processors": _processors,
    "network in": _network(c.RECEIVED_BYTES),
    "network out": _network(c.SENT_BYTES),
    "disk read": _disk(c.READ_BYTES, c.READS),
    "disk write": _disk(c.WRITTEN_BYTES, c.WRITES),
    "disk busy": _disk_busy,
}


def _phase_span(phase: PhaseResult, start_s: float) -> Span:
    """From its first rank's start to its last rank's end."""
    return Span(
        start_s + min(rank.start_s for rank in phase.ranks),
        start_s + max(rank.end_s for rank in phase.ranks),
    )


def _covers(node: NodeCounters, spans: Sequence[Span], every_s: float) -> bool:
    """Whether a node was read from before the first span to after the last, or nearly so."""
    if node.at_s.size < 2:
        return False
    first, last = min(span.start_s for span in spans), max(span.end_s for span in spans)
    return bool(node.at_s[0] <= first + every_s and node.at_s[-1] >= last - every_s)


def _readings(node: NodeCounters, spans: Sequence[Span]) -> int:
    return sum(
        int(np.count_nonzero((node.at_s >= span.start_s) & (node.at_s <= span.end_s)))
        for span in spans
    )


def _own_share(counters: Counters) -> float | None:
    at_s = counters.nodes[0].at_s
    if counters.own_cpu_s is None or at_s.size < 2:
        return None
    return counters.own_cpu_s / float(at_s[-1] - at_s[0])
