"""Measuring groups of clients that use one cluster at the same time, each on nodes of its own.

What counts is what they move in the window in which all of them are active.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wavetank.cluster.deployed import DeployedCluster
from wavetank.document import provenance
from wavetank.kernel.execution.session import RankProgress, SessionRun
from wavetank.measure.cold import TOLERANCE, doubts_of_caches, possible_rate, read_limits
from wavetank.measure.conditions import as_it_was, look_after, look_before
from wavetank.measure.direction import direction
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.guests import doubts_of_guests
from wavetank.measure.result import CacheState
from wavetank.measure.sessions import Party, TogetherPerformer
from wavetank.measure.together_result import Moved, PartyResult, PointKind, TogetherMeasurement
from wavetank.notes import about, carried, note, notes_of, of_kinds
from wavetank.units import format_rate

ALIGNED_S = 0.005
"""Ranks whose starts are spread by no more than this started together."""
ATTEMPTS = 3
N_BLOCKS = 10
"""Parts of the window for the bootstrap: each long enough to hold several objects."""


@dataclass(frozen=True)
class Manner:
    """How a run is made.

    Attributes:
        point: what it is for.
        mapping: of all groups.
        object_bytes: where sizes are swept.
        duration_s: None: each kernel once.
        settle_s: after the last start, before what is moved counts.
        cache: before the run.
        repetition, order, seed: of the plan.
    """

    point: PointKind
    mapping: str
    object_bytes: int | None
    duration_s: float | None
    settle_s: float
    cache: Literal["cold", "warm"]
    repetition: int
    order: int
    seed: int


def measure_together(
    parties: Sequence[Party],
    cluster: DeployedCluster,
    performer: TogetherPerformer,
    manner: Manner,
    watch: MachineWatch | None = None,
) -> TogetherMeasurement:
    """Run groups at the same time, and record what each of them moved.

    A run whose ranks did not start together is made again; after some attempts it is kept with a
    note.

    Raises:
        KernelError: a rank failed.
        ClusterError: a node or the file system failed.
    """
    state = _caches(cluster, parties, performer, manner)
    kernels = [party.bench.kernel for party in parties]
    notes = [
        *(each for one in kernels for each in about(one.application, carried(one.notes))),
        *notes_of("suspect", "cluster", cluster.health()),
        *notes_of("suspect", "caches", doubts_of_caches(state)),
    ]
    before = look_before(watch, cluster)
    for attempt in range(ATTEMPTS):
        runs = performer.perform(parties, manner.duration_s)
        alignment_s = _alignment_s(runs) + performer.clock_error_s()
        if alignment_s <= ALIGNED_S:
            break
        if attempt + 1 < ATTEMPTS and manner.cache == "cold":
            cluster.drop_caches()
    else:
        text = "ranks started {ms:.1f} ms apart, more than {most_ms:.0f} ms: the machine was busy"
        notes.append(note("suspect", "starts", text, ms=1e3 * alignment_s, most_ms=1e3 * ALIGNED_S))
    load, disturbance = look_after(watch, before)
    notes += notes_of("suspect", "other work", disturbance)
    notes += notes_of("suspect", "cluster", cluster.health())
    window = window_of(parties, runs, manner.duration_s, manner.settle_s)
    limits = cluster.limits()
    for one in kernels:
        notes += about(
            one.application, notes_of("suspect", "guests", doubts_of_guests(one, limits))
        )
    results = tuple(_party(party, run, window) for party, run in zip(parties, runs, strict=True))
    servers = [host.name for host in cluster.io_hosts]
    for party, result in zip(parties, results, strict=True):
        doubts = _doubts_of_reads(party, result, window, limits, servers)
        notes += notes_of("suspect", "caches", doubts)
    return TogetherMeasurement(
        provenance=provenance(seed=manner.seed),
        point=manner.point,
        mapping=manner.mapping,
        object_bytes=manner.object_bytes,
        repetition=manner.repetition,
        order=manner.order,
        duration_s=manner.duration_s,
        window_s=window,
        alignment_s=alignment_s,
        parties=results,
        cache=state,
        file_placement={
            path: where for party in parties for path, where in party.bench.file_placement.items()
        },
        notes=of_kinds(notes),
        load=load,
        **as_it_was(cluster, limits, performer.versions()),
    )


def _doubts_of_reads(
    party: Party,
    result: PartyResult,
    window: tuple[float, float] | None,
    limits: Mapping[str, str],
    servers: Sequence[str],
) -> list[str]:
    """A sentence where objects were read faster than the limits allow: from a client's memory."""
    reads = all(direction(phase) == "read" for phase in party.bench.kernel.phases)
    if party.interval_s is None or not reads or window is None or result.window is None:
        return []
    possible = possible_rate(read_limits(limits), party.nodes, servers)
    rate = result.window.bytes / (window[1] - window[0])
    if possible is None or rate <= TOLERANCE * possible:
        return []
    return [
        f"{party.group} read at {format_rate(rate)}, and the limits allow {format_rate(possible)}: "
        "what it read was in its own memory. Open its files with 'direct: true', or make them larger"
    ]


def _caches(
    cluster: DeployedCluster,
    parties: Sequence[Party],
    performer: TogetherPerformer,
    manner: Manner,
) -> CacheState:
    if manner.cache == "cold":
        return CacheState(state="cold", how=cluster.drop_caches())
    performer.perform(parties, manner.duration_s)
    return CacheState(state="warm", how="the same was run once before")


def _alignment_s(runs: Sequence[SessionRun]) -> float:
    late = [rank.begun_s for run in runs for rank in run.ranks]
    return max(late) - min(*late, 0.0)


def window_of(
    parties: Sequence[Party],
    runs: Sequence[SessionRun],
    duration_s: float | None,
    settle_s: float,
) -> tuple[float, float] | None:
    """The time in which all groups are active: (start, end), seconds since the common start.

    From the last group's start and the time to settle until the first group's end: of its duration,
    or of the first of its ranks where each kernel runs once. None where that is no time.
    """
    start = max(party.start_s for party in parties) + settle_s
    ends = [
        party.start_s
        + (min(rank.ended_s for rank in run.ranks) if duration_s is None else duration_s)
        for party, run in zip(parties, runs, strict=True)
    ]
    return (start, min(ends)) if min(ends) > start else None


def _party(party: Party, run: SessionRun, window: tuple[float, float] | None) -> PartyResult:
    edges = (
        None
        if window is None
        else np.linspace(window[0] - party.start_s, window[1] - party.start_s, N_BLOCKS + 1)
    )
    blocks = () if edges is None else moved_between(run.ranks, edges.tolist())
    return PartyResult(
        group=party.group,
        instance=party.instance,
        kernel_sha256=party.bench.kernel_sha256,
        n_ranks=party.bench.kernel.n_ranks,
        nodes=party.nodes,
        interval_s=party.interval_s,
        start_s=party.start_s,
        late_s=max(rank.begun_s for rank in run.ranks),
        elapsed_s=run.result.elapsed_s,
        bytes=sum(phase.bytes for phase in run.result.phases),
        operations=sum(phase.operations for phase in run.result.phases),
        latency=run.latency,
        loops=_whole_loops(party, run.ranks),
        window=None if window is None else _sum(blocks),
        blocks=blocks,
        settings=run.result.settings,
    )


def _whole_loops(party: Party, ranks: Sequence[RankProgress]) -> tuple[tuple[float, float], ...]:
    """Repetitions that all ranks ended: from the first rank's start to the last one's end."""
    by_number = zip(*(rank.loops for rank in ranks), strict=False)
    return tuple(
        (
            party.start_s + min(start for start, _ in each),
            party.start_s + max(end for _, end in each),
        )
        for each in by_number
    )


def moved_between(ranks: Sequence[RankProgress], edges_s: Sequence[float]) -> tuple[Moved, ...]:
    """What ranks moved between consecutive times since their start; bins are cut evenly."""
    n_bytes = np.zeros(len(edges_s) - 1)
    io_s = np.zeros(len(edges_s) - 1)
    for rank in ranks:
        at = rank.bin_s * np.arange(len(rank.bins) + 1)
        bins = np.asarray(rank.bins, dtype=float).reshape(-1, 2)
        so_far = np.concatenate((np.zeros((1, 2)), np.cumsum(bins, axis=0)))
        n_bytes += np.diff(np.interp(edges_s, at, so_far[:, 0]))
        io_s += np.diff(np.interp(edges_s, at, so_far[:, 1]))
    return tuple(
        Moved(bytes=round(moved), io_time_s=float(spent))
        for moved, spent in zip(n_bytes, io_s, strict=True)
    )


def _sum(blocks: Sequence[Moved]) -> Moved:
    return Moved(
        bytes=sum(block.bytes for block in blocks),
        io_time_s=sum(block.io_time_s for block in blocks),
    )
