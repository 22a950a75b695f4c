"""Performs the application itself in place of its kernel: traced, on the same nodes, with its input placed alike.

Takes a cluster that is up; leaves a result in the terms of a replay's, the model of the trace, and what the program wrote.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from wavetank.application import running
from wavetank.application.own import OwnApplication
from wavetank.application.own_folder import OwnFolder
from wavetank.application.own_result import Ran, require_own_files, result_of
from wavetank.application.perform import Done, Request, perform
from wavetank.application.program import MOUNT_VARIABLE, MOUNT_WORD, Wanted
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import EndsMarked
from wavetank.document import provenance
from wavetank.errors import ClusterError, MeasurementError, WavetankError
from wavetank.job import Placement
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.scratch import scratch_folder
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.kernel.results.result import ReplayResult
from wavetank.measure.perform import RawOutput
from wavetank.measure.run import Bench
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.notes import texts
from wavetank.trace.capture import CaptureOptions
from wavetank.trace.reader import read_trace
from wavetank.units import format_duration

Launch = Callable[[Request], Done]
"""Runs a program to its end on the cluster, and leaves its trace."""
LAST_LINES = 4
"""Of what a program that failed wrote, in the message."""


@dataclass(frozen=True)
class Way:
    """How a campaign runs the application: what is written is on storage within the time, or not."""

    flush: bool = True


class OwnPerformer:
    """Runs an application on one cluster.

    Attributes:
        raw_output: what the last run wrote.
        model: of the last run's trace.
        doubts: of the last run: what makes it another run than the kernel's.
    """

    def __init__(
        self,
        application: OwnApplication,
        cluster: DeployedCluster,
        way: Way | None = None,
        launch: Launch | None = None,
    ) -> None:
        """Prepare to run.

        Args:
            application: what is run.
            cluster: that is up.
            way: of the campaign.
            launch: runs it; by default as ``wavetank cluster run`` does.
        """
        self._application = application
        self._cluster = cluster
        self._way = way or Way()
        self._launch = launch or self._perform
        self._folder: OwnFolder | None = None
        self._mpi = "unknown"
        self.raw_output: RawOutput | None = None
        self.model: Model | None = None
        self.doubts: tuple[str, ...] = ()

    def set_up(self, kernel: Kernel, folder: str) -> Bench:
        """Put the application's input on the cluster, by the cluster's layout.

        Args:
            kernel: of the application.
            folder: below the mount.

        Raises:
            MeasurementError: program or input are not on this machine any more.
            ClusterError: a node or the file system failed.
        """
        if self._application.missing is not None:
            raise MeasurementError(self._application.missing)
        own = OwnFolder(self._cluster, folder, self._application.files, self._application.folders)
        own.set_up()
        self._folder = own
        return Bench(kernel, kernel_hash(kernel), self._cluster, folder, own.placement)

    def renew_files(self) -> None:
        """Remove what the last run made, and place again what it changed."""
        if self._folder is not None:
            self._folder.renew()

    def perform(self, kernel: Kernel, root: str, placement: Placement) -> ReplayResult:
        """Run the application in ``root``, a directory of the ranks' nodes.

        Raises:
            MeasurementError: it failed, did not end within its limit, left no whole trace, wrote elsewhere, or is not
                what the kernel was made from.
            ClusterError: it is not there, or a node failed.
        """
        self.raw_output, self.model, self.doubts = None, None, ()
        try:
            return self._result(kernel, root, placement)
        except WavetankError:
            with contextlib.suppress(ClusterError):  # what went wrong first is what is raised
                self.renew_files()  # nothing of it stays
            raise

    def versions(self) -> dict[str, str]:
        """Of the MPI library that the application is built with."""
        return {"MPI of the application": self._mpi}

    def _result(self, kernel: Kernel, root: str, placement: Placement) -> ReplayResult:
        nodes = tuple(node for node, n in placement.hosts for _ in range(n))
        n_ranks = self._application.n_ranks
        if n_ranks > len(nodes):
            raise MeasurementError(
                f"the application has {n_ranks} ranks and its kernel {len(nodes)}: the kernel is of another run"
            )
        placed = nodes[:n_ranks]
        flush = _Flush(self._folder, self._cluster, placed) if self._way.flush else None
        with scratch_folder() as scratch:
            request = self._request(root, placed, scratch, flush)
            done = self._launch(request)
            self._require_end(done, request)
            folder = scratch / "trace"
            trace = read_trace(folder)
            require_own_files(trace, root)
            model = extract_model(
                read_trace(folder, loops=True), provenance(), name=kernel.application
            )
        self._mpi = trace.mpi_library or "none"
        ran = Ran(
            trace=trace,
            model=model,
            hosts=placed,
            root=root,
            flush_s=None if flush is None else flush.seconds,
            started_monotonic_ns=self._started(trace.started_utc),
        )
        settings = {
            "program": "the application itself",
            "pauses": "the application's own",
            "flush": "none"
            if flush is None
            else "behind the end of the program, all nodes at once",
            "times": self._application.asked.times,
            "waiting": f"ranks yield: {done.yields_by}"
            if done.yields_by
            else "as its MPI library does",
        }
        result, doubts = result_of(ran, kernel, settings)
        self.model, self.doubts = model, tuple(doubts)
        return result

    def _request(
        self, root: str, placed: tuple[str, ...], scratch: Path, flush: _Flush | None
    ) -> Request:
        asked = self._application.asked
        words = tuple(word.replace(MOUNT_WORD, root) for word in asked.argv)
        env = {name: value.replace(MOUNT_WORD, root) for name, value in asked.env.items()}
        return Request(
            wanted=Wanted(words, root, {MOUNT_VARIABLE: root, **env}),
            launcher_name=self._application.launcher,
            timeout_s=asked.limit,
            trace=scratch / "trace",
            options=CaptureOptions(times=asked.times),
            placed=placed,
            streams=running.Streams(scratch / "stdout", scratch / "stderr"),
            when_ended=flush or (lambda _: None),
        )

    def _perform(self, request: Request) -> Done:
        if not isinstance(self._cluster, DeployedCluster):
            raise ClusterError(f"programs cannot be run on {self._cluster.name}")
        return perform(self._cluster, request)

    def _require_end(self, done: Done, request: Request) -> None:
        """See that it ended well, and keep what it wrote.

        Raises:
            MeasurementError: it did not.
        """
        said = _text(request.streams.stderr) if request.streams else ""
        if request.streams is not None:
            self.raw_output = RawOutput(_text(request.streams.stdout), said)
        ended, name = done.ended, request.wanted.argv[0]
        if ended.why == "interrupted":
            signal.raise_signal(ended.interrupt or signal.SIGINT)
            raise MeasurementError(f"{name} was interrupted")
        if ended.why == "time":
            raise MeasurementError(
                f"{name} did not end within {format_duration(self._application.asked.limit)} on {self._cluster.name}, and "
                "was ended on all nodes. Give it more time with 'limit', or see why it hangs: wavetank cluster run"
            )
        if ended.status != 0:
            lines = [line.strip() for line in said.splitlines() if line.strip()]
            words = " | ".join(lines[-LAST_LINES:])[-800:] or "it wrote nothing to standard error"
            raise MeasurementError(
                f"{name} ended with status {ended.status} on {self._cluster.name}: {words}"
            )
        if done.collected is None:
            return
        if done.collected.absent:
            absent = ", ".join(map(str, done.collected.absent[:10]))
            raise MeasurementError(
                f"{len(done.collected.absent)} of {done.n_ranks} rank(s) of {name} left no trace: {absent}"
            )
        if lost := texts(done.collected.captured.trace.notes, "lost"):
            raise MeasurementError(f"{name}: {'; '.join(lost)}")

    def _started(self, started_utc: str | None) -> int | None:
        """On this machine's clock; nodes that are other machines have clocks of their own."""
        elsewhere = any(isinstance(host, EndsMarked) for host in self._cluster.compute_hosts)
        if started_utc is None or elsewhere:
            return None
        began_ns = round(datetime.fromisoformat(started_utc).timestamp() * 1e9)
        return began_ns - time.time_ns() + time.monotonic_ns()


class _Flush:
    """Has what a run wrote on storage as soon as it has ended well."""

    def __init__(
        self, folder: OwnFolder | None, cluster: DeployedCluster, placed: tuple[str, ...]
    ) -> None:
        self._folder = folder
        self._hosts = [host for host in cluster.compute_hosts if host.name in placed]
        self.seconds = 0.0

    def __call__(self, ended: running.Ended) -> None:
        if self._folder is not None and ended.why == "itself" and ended.status == 0:
            self.seconds = self._folder.flush(self._hosts)


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
