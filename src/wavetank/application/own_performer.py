"""Performs the application itself in place of its kernel: traced, on the same nodes, with its input placed alike.

Takes a cluster that is up; leaves a result in the terms of a replay's, the model of the trace, and what the program wrote.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from wavetank.application import running
from wavetank.application.own import InputFile, OwnApplication
from wavetank.application.own_result import Ran, require_own_files, result_of
from wavetank.application.perform import Done, Request, perform
from wavetank.application.program import MOUNT_VARIABLE, MOUNT_WORD, Wanted
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import EndsMarked, Host, on_all
from wavetank.document import provenance
from wavetank.errors import ClusterError, MeasurementError, WavetankError
from wavetank.job import Placement
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.scratch import scratch_folder
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.kernel.results.result import ReplayResult
from wavetank.measure.perform import RawOutput
from wavetank.measure.run import Bench
from wavetank.measure.views import file_hosts
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.notes import texts
from wavetank.trace.capture import CaptureOptions
from wavetank.trace.reader import read_trace
from wavetank.units import format_duration

TIMEOUT_S = 600.0
"""To look through a folder, to remove what is in it, or to flush it."""

# $1: the folder. A record for each thing in it: kind, size and time of the last change, and name; \\0 ends it.
_LIST = 'cd -- "$1" && find . -mindepth 1 -printf "%y %s %T@ %P\\\\0"'
# $1: the folder, $2: the file that was made before the run. Flushes what is newer, and prints how long that took, ns.
_FLUSH = """cd -- "$1" || exit 1
find . -type f -newer "$2" -print0 > /tmp/wavetank-flush.$$ || exit 1
began=$(date +%s%N)
xargs -0 -r sync -- < /tmp/wavetank-flush.$$ || { rm -f /tmp/wavetank-flush.$$; exit 1; }
ended=$(date +%s%N)
rm -f /tmp/wavetank-flush.$$
echo $((ended - began))
"""
_Seen = dict[str, str]
"""Name -> kind, size and time of the last change."""


@dataclass
class OwnFolder:
    """The folder of an application's runs.

    Attributes:
        cluster: that is up.
        folder: below the mount.
        files: of its input.
        folders: of its input.
        placement: where the file system put each input file.
    """

    cluster: DeployedCluster
    folder: str
    files: tuple[InputFile, ...]
    folders: tuple[str, ...]
    placement: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, _Seen] = field(
        default_factory=dict
    )  # of each host that makes files: its input

    @property
    def root(self) -> str:
        """The folder's path on the compute nodes."""
        return f"{self.cluster.mount_path}/{self.folder}"

    def set_up(self) -> None:
        """Make the folder, with its input.

        Raises:
            ClusterError: a node or the file system failed, or has no room.
        """
        hosts = file_hosts(self.cluster)
        for host in hosts:
            host.run(["rm", "-rf", "--", self.root], timeout_s=TIMEOUT_S)
            below = [f"{self.root}/{name}" for name in self.folders]
            host.run(["mkdir", "-p", "--", self.root, *below])
        self._place(self.files)
        for host in hosts:
            self._seen[host.name] = self._look(host)

    def renew(self) -> None:
        """Remove what a run made, and place again what it changed.

        Raises:
            ClusterError: a node or the file system failed.
        """
        hosts = file_hosts(self.cluster)
        changed: dict[str, None] = {}
        for host in hosts:
            known, found = self._seen[host.name], self._look(host)
            made = [name for name in found if name not in known]
            if made:
                # Through every view: a client that still knows a name would open a file that is gone.
                at = self.cluster.compute_hosts if len(hosts) == 1 else (host,)
                for each in at:
                    self._remove(each, made)
            changed |= dict.fromkeys(
                name
                for name, was in known.items()
                # Directories change with what is made in them.
                if found.get(name, "") != was and not (was[0] == found.get(name, "-")[0] == "d")
            )
        if changed:
            for host in hosts:
                below = [f"{self.root}/{name}" for name in self.folders]
                host.run(["mkdir", "-p", "--", self.root, *below])
            self._place([file for file in self.files if file.name in changed])
            for host in hosts:
                self._seen[host.name] = self._look(host)
        for host in hosts:  # behind the input's times: what is newer, the run has written
            host.run(["touch", "--", self._mark])

    def flush(self, hosts: Sequence[Host]) -> float:
        """Have what a run wrote on storage, from all nodes that its ranks were on at once; seconds that the longest took.

        Raises:
            ClusterError: a node or the file system failed.
        """

        def flushed(host: Host) -> float:
            said = host.run(
                ["sh", "-c", _FLUSH, "sh", self.root, self._mark], timeout_s=TIMEOUT_S
            ).stdout
            if not said.strip().isdigit():
                raise ClusterError(f"{host.name} did not say how long its flush took: {said!r}")
            return int(said) * 1e-9

        return max(on_all(hosts, flushed), default=0.0)

    @property
    def _mark(self) -> str:
        return f"{self.root}.began"

    def _look(self, host: Host) -> _Seen:
        said = host.run(["sh", "-c", _LIST, "sh", self.root], timeout_s=TIMEOUT_S).stdout
        found = {}
        for record in said.split("\0")[:-1]:
            kind, size, changed, name = record.split(" ", 3)
            found[name] = kind if kind == "d" else f"{kind} {size} {changed}"
        return found

    def _remove(self, host: Host, names: Iterable[str]) -> None:
        paths = "".join(f"{self.root}/{name}\0" for name in names)
        host.run(["xargs", "-0", "-r", "rm", "-rf", "--"], stdin=paths, timeout_s=TIMEOUT_S)

    def _place(self, files: Iterable[InputFile]) -> None:
        """By the cluster's layout, and then with their content: it is written into what was placed, which keeps its place."""
        there = {f"{self.folder}/{file.name}": file for file in files}
        sizes = {name: file.size_bytes for name, file in there.items() if file.size_bytes}
        self.placement |= self.cluster.place_files(sizes)
        for host in file_hosts(self.cluster):
            for name, file in there.items():
                try:
                    host.put(file.source, f"{self.cluster.mount_path}/{name}")
                except OSError as error:
                    raise ClusterError(
                        f"cannot copy input {file.source} to {self.cluster.name}: {error.strerror}"
                    ) from error
            paths = "".join(f"{self.cluster.mount_path}/{name}\0" for name in there)
            host.run(["xargs", "-0", "-r", "sync", "--"], stdin=paths, timeout_s=TIMEOUT_S)


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
