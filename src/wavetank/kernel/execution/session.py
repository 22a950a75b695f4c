"""A replay that runs several times, each time when it is told to: ranks of several jobs start together.

The replay program waits for orders on its standard input (native/replay/run/session.c) and prints a result for each.
Between two runs of a session nothing is started, so that many short runs cost little more than their own time.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self, cast

from wavetank.errors import KernelError
from wavetank.job import Placement
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.guard import KILL_S, guarded
from wavetank.kernel.execution.replay import ReplayOptions, replay_command
from wavetank.kernel.results.replay_output import outcome, rank_reports, summarise_reports
from wavetank.kernel.results.result import LatencySummary, ReplayResult
from wavetank.launchers.base import Launcher

READY = "wavetank-replay-ready "
CLOCK = "wavetank-replay-clock "
RESULT_END = "wavetank-replay-result-end"
START_TIMEOUT_S = 600.0
"""For a launcher to start its ranks on a busy machine."""
CLOCK_ROUNDS = 16
_GRACE_S = 5.0
_NS = 1e-9


@dataclass(frozen=True)
class Order:
    """One run of a session.

    Attributes:
        start_ns: when to start, on this process's CLOCK_MONOTONIC.
        duration_s: after which no operation is begun; None: no limit.
        loops: repetitions of the kernel; None: as many as fit into the duration.
        pauses: factor of the kernel's pauses; 0 leaves them out.
    """

    start_ns: int
    duration_s: float | None
    loops: int | None
    pauses: float


@dataclass(frozen=True)
class RankProgress:
    """What one rank of a session's run did when; seconds since the ordered start.

    Attributes:
        begun_s: when it really began: its lateness.
        ended_s: end of its last operation, or of the pause after it.
        bin_s: width of a bin.
        bins: (bytes moved, seconds spent in operations) in each bin from the start on.
        loops: (start, end) of whole repetitions of the kernel, the first 1000 of them.
    """

    begun_s: float
    ended_s: float
    bin_s: float
    bins: tuple[tuple[int, float], ...]
    loops: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class SessionRun:
    """What one order gave: the kernel's result, its progress, and latencies over all phases."""

    result: ReplayResult
    ranks: tuple[RankProgress, ...]
    latency: LatencySummary | None  # None: no operation ended


class ReplaySession:
    """A kernel's ranks, started and waiting. Use as a context; leaves no process behind."""

    def __init__(
        self,
        kernel: Kernel,
        root: str,
        launcher: Launcher,
        scratch: Path,
        placement: Placement | None = None,
        options: ReplayOptions | None = None,
    ) -> None:
        """Start the ranks; they are ready after ``wait_until_ready``.

        Args:
            kernel: what they perform.
            root: directory that holds its files, the same path on every host.
            launcher: starts them.
            scratch: directory of this session's own for the plan and the launcher's files.
            placement: hosts of the ranks; None: this one.
            options: how to perform it; pauses come with each order, and what is written is flushed as the application
                does.

        Raises:
            KernelError, NativeError: it cannot be started.
        """
        # A run may begin right after another: no rank flushes in between.
        options = replace(options or ReplayOptions(), flush="none")
        argv, settings = replay_command(
            kernel, root, launcher, scratch, placement, options, ("--session",)
        )
        self._kernel = kernel
        self._settings = settings
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: deque[str] = deque(maxlen=50)
        self.clock_offset_s = 0.0  # of rank 0's clock against this process's
        self.clock_error_s = 0.0  # at most
        try:
            self._process = subprocess.Popen(
                guarded(argv, _GRACE_S), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise KernelError(f"cannot start the replay: {argv[0]}: {error.strerror}") from error
        self._orders = cast("IO[str]", self._process.stdin)
        self._readers = (
            threading.Thread(target=self._read_results, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(self._process.stderr,), daemon=True),
        )
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until all ranks wait for orders, and learn how rank 0's clock differs from this one.

        Raises:
            KernelError: they ended, or did not get ready in time.
        """
        said, _ = self._until(READY, timeout_s, "get ready")
        if said.removeprefix(READY) != clock_name():
            self._compare_clocks()

    def order(self, order: Order) -> None:
        """Have the kernel performed; returns at once.

        Raises:
            KernelError: the ranks are gone.
        """
        start_ns = order.start_ns + round(self.clock_offset_s / _NS)
        for_ns = -1 if order.duration_s is None else round(order.duration_s / _NS)
        self._say(f"run {start_ns} {for_ns} {order.loops or 0} {order.pauses!r}\n")

    def result(self, timeout_s: float) -> SessionRun:
        """Wait for what the last order gave.

        Raises:
            KernelError: a rank failed or died, or time ran out.
        """
        _, text = self._until(RESULT_END, timeout_s, "end its run")
        result = outcome(text, "", 0, self._kernel.n_ranks, self._settings)
        reports = rank_reports(text)
        if result.status != "ok" or reports is None:
            raise KernelError(f"{self._kernel.application} failed: {result.failure}")
        return SessionRun(
            result=result,
            ranks=tuple(_progress(report) for report in reports),
            latency=summarise_reports(reports),
        )

    def close(self) -> None:
        """End the ranks: by the end of their orders, else by signals."""
        process = self._process
        with suppress(OSError):
            self._orders.close()
        try:
            process.wait(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            self._end()
        for reader in self._readers:
            reader.join(timeout=_GRACE_S)

    def _end(self) -> None:
        self._process.terminate()  # mpirun ends its ranks, also on other hosts, when it is asked to
        try:
            self._process.wait(timeout=_GRACE_S + KILL_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _say(self, line: str) -> None:
        try:
            self._orders.write(line)
            self._orders.flush()
        except (OSError, ValueError) as error:
            raise self._died([]) from error

    def _until(self, mark: str, timeout_s: float, what: str) -> tuple[str, str]:
        """The line that begins with ``mark``, and all lines up to it as text."""
        lines: list[str] = []
        end = time.monotonic() + timeout_s
        while True:
            try:
                line = self._lines.get(timeout=max(end - time.monotonic(), 0.0))
            except queue.Empty:
                raise KernelError(
                    f"{self._kernel.application} did not {what} within {timeout_s:.0f} s; it is ended"
                ) from None
            if line is None:
                raise self._died(lines)
            lines.append(line)
            if line.startswith(mark):
                return line.rstrip("\n"), "".join(lines)

    def _died(self, lines: Sequence[str]) -> KernelError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_GRACE_S)
        status = self._process.poll()
        self._readers[1].join(timeout=1.0)
        failed = outcome(
            "".join(lines), "".join(self._errors), 1 if status is None else status,
            self._kernel.n_ranks, {},
        )  # fmt: skip
        return KernelError(f"{self._kernel.application} failed: {failed.failure}")

    def _compare_clocks(self) -> None:
        """Rank 0's clock minus this one's: by the quickest of some round trips (Cristian's method)."""
        quickest = float("inf")
        for _ in range(CLOCK_ROUNDS):
            sent = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            self._say("clock\n")
            said, _ = self._until(CLOCK, START_TIMEOUT_S, "tell its time")
            trip = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - sent
            if trip < quickest:
                quickest = trip
                self.clock_offset_s = (int(said.removeprefix(CLOCK)) - sent - trip / 2) * _NS
                self.clock_error_s = trip / 2 * _NS

    def _read_results(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)
        stream.close()

    def _read_errors(self, stream: IO[str]) -> None:
        self._errors.extend(stream)
        stream.close()


def clock_name() -> str:
    """Which clock CLOCK_MONOTONIC is: equal names are the same clock (native/replay/clock.h)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        time_namespace = Path("/proc/self/ns/time").stat().st_ino
    except OSError:
        return "unknown"
    return f"{boot}/{time_namespace}"


def _progress(report: dict[str, Any]) -> RankProgress:
    return RankProgress(
        begun_s=report["begun_ns"] * _NS,
        ended_s=report["elapsed_ns"] * _NS,
        bin_s=report["bin_ns"] * _NS,
        bins=tuple((moved, io_ns * _NS) for moved, io_ns in report["bins"]),
        loops=tuple((start * _NS, end * _NS) for start, end in report["loops"]),
    )
