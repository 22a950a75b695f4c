"""What is known of clusters between processes: a directory a cluster, with its state and its journal.

The journal names each thing before it is made, so that whatever a killed process left is found. It is lines of JSON that are
only added to: a line that was cut short names nothing that was made yet. It is deleted last, so that ``down`` can be interrupted
and called again. An entry says that something may be there; what is there is looked for on the machine or in the account.
Why no lock file but a lock on the directory: it goes with the process that has it, and a directory that was deleted meanwhile
is noticed.

WAVETANK_STATE_DIR names another place than /var/lib/wavetank (as root) or ~/.local/state/wavetank.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from wavetank.cluster.registry import CLOUDS
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import Document, Record
from wavetank.errors import ClusterError, WavetankError
from wavetank.nearest import did_you_mean


class Owner(Record):
    """The process that is bringing a cluster up or down."""

    pid: int
    start_ticks: int = Field(
        description="field 22 of /proc/PID/stat: tells it from a later process of the same number"
    )


class ClusterState(Document):
    """cluster.json: what is up, or was being brought up."""

    kind: ClassVar[str] = "cluster"
    error: ClassVar[type[WavetankError]] = ClusterError

    spec: ClusterSpec
    spec_sha256: str
    status: Literal["starting", "up", "failed", "stopping"]
    owner: Owner
    bring_up_s: float | None = Field(
        default=None, description="seconds from nothing to mounted; None until it is up"
    )


@dataclass(frozen=True)
class ClusterDirectory:
    """The directory of one cluster."""

    path: Path

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.path.name

    @property
    def state_file(self) -> Path:
        """cluster.json."""
        return self.path / "cluster.json"

    def claim(self) -> None:
        """Make the directory; its name is then taken.

        Raises:
            ClusterError: the name is taken, or the directory cannot be made.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o755)
        except FileExistsError:
            raise self._taken() from None
        except OSError as error:
            raise ClusterError(
                f"cannot make {self.path}: {error.strerror}. Set WAVETANK_STATE_DIR to a directory that you may write to"
            ) from error

    def _taken(self) -> ClusterError:
        return ClusterError(
            f"a cluster named {self.name} exists already ({self.path}). "
            f"Take it down with 'wavetank cluster down {self.name}', or give this one another name"
        )

    def see_free(self) -> None:
        """See that the name is free now, before anything else is looked at.

        Raises:
            ClusterError: it is taken.
        """
        if self.path.exists():
            raise self._taken()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process in this block; waits for another one. The lock goes with the process that has it.

        Raises:
            ClusterError: there is no such cluster (any more).
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise self.unknown() from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink == 0:  # the other one deleted it
                raise self.unknown()
            yield
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def used(self, doing: str, *, alone: bool) -> Iterator[None]:
        """Use the cluster in this block. The lock goes with the process that has it.

        Args:
            doing: the command, for whoever comes meanwhile.
            alone: whether nobody else may use it, as a measurement would count what others do.

        Raises:
            ClusterError: there is no such cluster, or another command uses it so that both cannot.
        """
        try:
            descriptor = os.open(
                self.path / "used.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
            )
        except OSError:
            raise self.unknown() from None
        try:
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                who = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
                raise ClusterError(
                    f"cluster {self.name} is in use by {who or 'another command'}: wait until that has ended, or end it"
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"'wavetank {doing}', process {os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def unknown(self) -> ClusterError:
        """The error that there is no cluster of this name."""
        in_clouds = " or ".join(
            f"'wavetank cluster prune --provider {cloud} --all-regions'" for cloud in CLOUDS
        )
        return ClusterError(
            f"no cluster is called {self.name!r}.{did_you_mean(self.name, names())} 'wavetank cluster list' shows all. "
            f"Of one whose folder is lost, 'wavetank cluster prune' ends what is left on this machine, "
            f"and {in_clouds} finds what is left in a cloud"
        )

    def read_state(self) -> ClusterState | None:
        """The state, None while there is none yet.

        Raises:
            ClusterError: it is damaged.
        """
        return ClusterState.read(self.state_file) if self.state_file.exists() else None

    def note(self, **entry: str | int) -> None:
        """Append to the journal, before the thing that it names is made."""
        with (self.path / "journal.jsonl").open("a") as journal:
            journal.write(json.dumps(entry) + "\n")

    def journal(self) -> list[dict[str, str | int]]:
        """All entries; a last line that was cut short names nothing that was made yet."""
        entries = []
        try:
            lines = (self.path / "journal.jsonl").read_text().splitlines()
        except OSError:
            return []
        for line in lines:
            try:
                entries.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return entries

    def erase(self) -> None:
        """Delete the directory, the journal last."""
        try:
            for child in list(self.path.iterdir()) if self.path.exists() else []:
                if child.name in ("journal.jsonl", "cluster.json"):
                    continue
                if child.is_dir() and not child.is_symlink():
                    shutil.rmtree(child)
                else:
                    child.unlink(missing_ok=True)
            shutil.rmtree(self.path, ignore_errors=False) if self.path.exists() else None
        except FileNotFoundError:
            if self.path.exists():
                self.erase()
        except OSError as error:
            raise ClusterError(
                f"cannot delete {error.filename}: {error.strerror}. Try again"
            ) from error


def state_root() -> Path:
    """Where clusters are remembered."""
    named = os.environ.get("WAVETANK_STATE_DIR")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/wavetank")
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(home) / "wavetank"


def directory_of(name: str) -> ClusterDirectory:
    """The directory of a cluster, existing or not."""
    return ClusterDirectory(state_root() / "clusters" / name)


def directories() -> list[ClusterDirectory]:
    """The directories of all clusters, by name."""
    parent = state_root() / "clusters"
    if not parent.is_dir():
        return []
    return [ClusterDirectory(path) for path in sorted(parent.iterdir()) if path.is_dir()]


def names() -> list[str]:
    """The names of all clusters."""
    return [directory.name for directory in directories()]


def daemons(directory: Path) -> list[dict[str, Any]]:
    """What was started on any node: node, log, program, pid, start."""
    try:
        lines = (directory / "daemons.jsonl").read_text().splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines]


def start_ticks(pid: int) -> int | None:
    """When a process started (clock ticks since boot); None when there is none or it is a zombie.

    Sample of /proc/PID/stat (Linux 6.1): ``4242 (a b) S 1 4242 4242 0 ...``, field 22 is the start.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def this_process() -> Owner:
    """This process as an owner."""
    return Owner(pid=os.getpid(), start_ticks=start_ticks(os.getpid()) or 0)


def is_alive(owner: Owner) -> bool:
    """Whether the owner still runs, and is no later process of the same number."""
    return start_ticks(owner.pid) == owner.start_ticks
