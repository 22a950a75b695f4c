"""Puts the times of different hosts on one clock: that of rank 0's host.

Reads what the ranks measured at MPI_Init and before MPI_Finalize (Cristian 1989: the time asked for lies in
the middle of the round trip; the shortest one of many says most). Leaves for every process when it started
on the common clock, and how fast its own clock runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.trace.part import Part
from wavetank.trace.part_records import PartClock
from wavetank.trace.schema import HostClock

ROLE_REFERENCE, ROLE_COMPARED, ROLE_SHARED = 1, 2, 3  # enum wt_clock_role


@dataclass(frozen=True)
class CommonTime:
    """When a process started on the common clock, and its clock's drift against it."""

    start_ns: int  # like UTC of the reference host
    drift: float = 0.0  # gained by the common clock per unit of the process's own

    def of(self, own_ns: np.ndarray) -> np.ndarray:
        """Times since the process's start, by the common clock."""
        if self.drift == 0:
            return own_ns
        drifted: np.ndarray = own_ns + np.rint(own_ns * self.drift).astype(np.int64)
        return drifted


@dataclass(frozen=True)
class _Line:
    """Offset of the reference clock from one host's CLOCK_MONOTONIC: a line through its first and last point."""

    at_ns: int
    offset_ns: int
    drift: float
    round_trip_ns: int

    def offset(self, at_ns: int) -> int:
        return self.offset_ns + round((at_ns - self.at_ns) * self.drift)


def common_times(parts: Sequence[Part]) -> tuple[list[CommonTime], tuple[HostClock, ...]]:
    """The start of every part on the common clock, and what was measured by host.

    Hosts that were not compared (one host; a run without the tracing command; processes outside of MPI on a
    host without ranks) keep their own UTC.
    """
    own = [CommonTime(part.start_utc_ns) for part in parts]
    reference = next((p for p in parts if _clock(p) and _clock(p).role == ROLE_REFERENCE), None)  # type: ignore[union-attr]
    if reference is None:
        return own, ()
    zero = reference.clocks[0].clock
    points: dict[int, list[tuple[int, PartClock]]] = {}
    for part in parts:
        for point in part.clocks:
            if point.role == ROLE_COMPARED and point.reference == zero:
                points.setdefault(point.clock, []).append((part.start_mono_ns + point.at_ns, point))
    if not points:
        return own, ()
    lines = {clock: _line(found) for clock, found in points.items()}
    lines[zero] = _Line(0, 0, 0.0, 0)
    by_host: dict[str, set[int]] = {}
    for part in parts:
        by_host.setdefault(part.host, set()).update(point.clock for point in part.clocks)
    utc_of_reference = reference.start_utc_ns - reference.start_mono_ns
    times = []
    hosts: dict[str, HostClock] = {}
    for part, own_time in zip(parts, own, strict=True):
        known = {part.clocks[0].clock} if part.clocks else by_host[part.host]
        line = lines.get(next(iter(known))) if len(known) == 1 else None
        if line is None:
            times.append(own_time)
            continue
        start = part.start_mono_ns + line.offset(part.start_mono_ns) + utc_of_reference
        times.append(CommonTime(start, line.drift))
        hosts.setdefault(
            part.host,
            HostClock(part.host, part.start_utc_ns - start, line.drift * 1e6, line.round_trip_ns),
        )
    return times, tuple(hosts.values())


def _clock(part: Part) -> PartClock | None:
    return part.clocks[0] if part.clocks else None


def _line(points: list[tuple[int, PartClock]]) -> _Line:
    points.sort(key=lambda point: point[0])
    (first_ns, first), (last_ns, last) = points[0], points[-1]
    # Two points tell the drift when they lie further apart than what a round trip leaves open.
    apart = last_ns - first_ns
    open_ns = (first.round_trip_ns + last.round_trip_ns) / 2
    known = apart > 1_000_000_000 and abs(last.offset_ns - first.offset_ns) > open_ns
    drift = (last.offset_ns - first.offset_ns) / apart if known else 0.0
    return _Line(first_ns, first.offset_ns, drift, first.round_trip_ns)
