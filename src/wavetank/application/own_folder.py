"""The folder of the application itself on a cluster's file system: its input, what its runs leave, what is not on storage yet.

Input is placed for each repetition by the cluster's layout. Before each run everything else is removed, and input that a run
has changed is placed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wavetank.application.own import InputFile
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.host import Host, on_all
from wavetank.errors import ClusterError
from wavetank.measure.views import file_hosts

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
