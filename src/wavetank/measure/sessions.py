"""Groups of clients as sessions of the replay program: they wait together and start at one moment."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from wavetank.job import Placement
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.kernel.execution.scratch import scratch_folder
from wavetank.kernel.execution.session import Order, ReplaySession, SessionRun
from wavetank.launchers.base import Launcher
from wavetank.launchers.registry import launcher, launcher_of_library
from wavetank.measure.run import Bench

LEAD_S = 0.25
"""Between the orders and the common start: orders reach all ranks in it, also on a busy machine."""
RESULT_TIMEOUT_S = 600.0
"""Beyond its duration, after which a run counts as hung."""


@dataclass(frozen=True)
class Party:
    """One group in a run.

    Attributes:
        group: its name.
        instance: 1 for the second of two that are the same group.
        bench: its kernel, with its files in a folder of its own.
        placement: of its ranks, on nodes that no other party uses.
        interval_s: between objects; None for an application.
        pauses: factor of the kernel's pauses.
        start_s: when it starts, after the first.
        direct: open files with O_DIRECT.
    """

    group: str
    instance: int
    bench: Bench
    placement: Placement
    interval_s: float | None
    pauses: float
    start_s: float = 0.0
    direct: bool = False

    @property
    def nodes(self) -> tuple[str, ...]:
        """Of its ranks, in rank order."""
        return tuple(host for host, n in self.placement.hosts for _ in range(n))


class TogetherPerformer(Protocol):
    """Performs parties at the same time."""

    def perform(self, parties: Sequence[Party], duration_s: float | None) -> list[SessionRun]:
        """Run all parties from one moment on; each kernel once where there is no duration."""

    def clock_error_s(self) -> float:
        """How exactly the clocks of the last run's parties are compared."""

    def versions(self) -> dict[str, str]:
        """Of the MPI library, ..."""

    def close(self) -> None:
        """End what is running; can be called again."""


class SessionPerformer:
    """Performs parties by sessions of the replay program, which stay open for the next run."""

    def __init__(self, launcher_name: str | None = None) -> None:
        """``launcher_name`` is None where each kernel's own MPI library is taken."""
        self._named = None if launcher_name is None else launcher(launcher_name)
        self._launcher: Launcher = self._named or launcher("openmpi")
        self._open: dict[object, tuple[ReplaySession, ExitStack]] = {}
        self._clock_error_s = 0.0

    def perform(self, parties: Sequence[Party], duration_s: float | None) -> list[SessionRun]:
        """Run all parties from one moment on.

        Raises:
            KernelError: a rank failed or died, or time ran out; all sessions are closed.
        """
        try:
            sessions = self._sessions(parties)
            start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + round(LEAD_S * 1e9)
            for party, session in zip(parties, sessions, strict=True):
                at = start_ns + round(party.start_s * 1e9)
                session.order(
                    Order(at, duration_s, 1 if duration_s is None else None, party.pauses)
                )
            self._clock_error_s = max(session.clock_error_s for session in sessions)
            limit_s = RESULT_TIMEOUT_S + (duration_s or 0) + max(p.start_s for p in parties)
            return [session.result(limit_s) for session in sessions]
        except BaseException:
            self.close()
            raise

    def clock_error_s(self) -> float:
        """How exactly the clocks of the last run's parties are compared; 0 where they share one."""
        return self._clock_error_s

    def versions(self) -> dict[str, str]:
        """Of the launcher."""
        return {self._launcher.name: self._launcher.available() or "not found"}

    def close(self) -> None:
        """End all sessions."""
        with ExitStack() as ends:
            for _, stack in self._open.values():
                ends.push(stack)  # all of them, also when ending one fails
            self._open = {}

    def _sessions(self, parties: Sequence[Party]) -> list[ReplaySession]:
        """The parties' sessions: those that are open, or new ones, started side by side."""
        keys = [_session_key(party) for party in parties]
        missing = [key not in self._open for key in keys]
        if any(missing):
            self.close()  # their nodes may be needed
            for key, party in zip(keys, parties, strict=True):
                self._open[key] = self._start(party)
            for key in keys:
                self._open[key][0].wait_until_ready()
        return [self._open[key][0] for key in keys]

    def _start(self, party: Party) -> tuple[ReplaySession, ExitStack]:
        with ExitStack() as stack:
            # Nodes of this machine see its /tmp as it was when they look, so the plan is found there.
            scratch = stack.enter_context(scratch_folder())
            kernel = party.bench.kernel
            self._launcher = self._named or launcher_of_library(kernel.mpi_library)
            session = stack.enter_context(
                ReplaySession(
                    kernel,
                    party.bench.root,
                    self._launcher,
                    scratch,
                    placement=party.placement,
                    options=ReplayOptions(direct=party.direct),
                )
            )
            return session, stack.pop_all()


def _session_key(party: Party) -> object:
    return party.bench.root, party.bench.kernel_sha256, party.placement.hosts, party.direct
