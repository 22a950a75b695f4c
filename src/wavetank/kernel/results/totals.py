"""All phases of a run together: bytes and operations, and their rates over the I/O time by which clusters are ranked."""

from __future__ import annotations

from wavetank.kernel.results.result import ReplayResult


def moved_bytes(result: ReplayResult) -> int:
    """Bytes that all calls moved."""
    if result.moved_bytes is not None:
        return result.moved_bytes
    return sum(phase.bytes for phase in result.phases)


def n_operations(result: ReplayResult) -> int:
    """Calls that moved data."""
    if result.n_operations is not None:
        return result.n_operations
    return sum(phase.operations for phase in result.phases)


def rate_bytes_per_s(result: ReplayResult) -> float | None:
    """All bytes over the I/O time; None without one. It is no mean of the phases' rates, whose times may overlap."""
    return _per_second(moved_bytes(result), result)


def iops(result: ReplayResult) -> float | None:
    """All operations over the I/O time; None without one."""
    return _per_second(n_operations(result), result)


def _per_second(amount: int, result: ReplayResult) -> float | None:
    time_s = result.io.total_s
    return amount / time_s if time_s > 0 else None
