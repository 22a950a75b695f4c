"""Control groups of nodes: limits, and the certain way to find and end every process of a node.

Works with version 1, version 2, and both side by side (controllers on 1, cgroup.kill on 2).
"""

from __future__ import annotations

import contextlib
import glob
import json
import logging
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.host import Host
from wavetank.cluster.state import start_ticks
from wavetank.errors import ProviderError

log = logging.getLogger(__name__)

PERIOD_US = 100_000  # the kernel's default period of CPU bandwidth control
# What a process counts in the competition for processors, and the most that a group can; the kernel's numbers.
SHARES_V1, MOST_SHARES_V1 = 1024, 262_144
WEIGHT_V2, MOST_WEIGHT_V2 = 100, 10_000
CONTROLLERS = ("memory", "cpu", "blkio")
KILL_TIMEOUT_S = 60.0
REAP_TIMEOUT_S = 3.0


@dataclass(frozen=True)
class Hierarchies:
    """Where control groups are mounted.

    Attributes:
        v1: mount of each version-1 controller of ours.
        v2: mount of version 2, None when there is none.
        v2_controllers: controllers that version 2 offers.
    """

    v1: dict[str, Path]
    v2: Path | None
    v2_controllers: frozenset[str]

    def roots(self) -> list[Path]:
        """Every hierarchy that nodes get a group in."""
        found = [self.v1[name] for name in CONTROLLERS[:2] if name in self.v1]
        if self.v2 is not None:
            found.append(self.v2)
        return found or list(self.v1.values())[:1]


def hierarchies(mounts: str | None = None) -> Hierarchies:
    """Read the mounts of control groups.

    Sample of /proc/mounts (Linux 6.1): ``cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0``,
    ``cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0``.
    """
    v1: dict[str, Path] = {}
    v2 = None
    for line in (mounts if mounts is not None else Path("/proc/mounts").read_text()).splitlines():
        _, at, kind, options = line.split(" ")[:4]
        if kind == "cgroup2" and v2 is None:
            v2 = Path(at)
        elif kind == "cgroup":
            for option in options.split(","):
                if option in CONTROLLERS:
                    v1.setdefault(option, Path(at))
    controllers: frozenset[str] = frozenset()
    if v2 is not None:
        with contextlib.suppress(OSError):
            controllers = frozenset((v2 / "cgroup.controllers").read_text().split())
    return Hierarchies(v1, v2, controllers)


@dataclass(frozen=True)
class NodeGroup:
    """The control groups of one node, one in each hierarchy, all of the same relative path.

    The layout is ``wavetank/CLUSTER-DIGITS/NODE``, eight random hexadecimal digits behind the cluster's name.

    Why a group of the cluster above those of nodes: whoever ends a cluster must find what a killed command left. Process
    numbers are reused, and namespaces have no names. The group's name is in the journal before the group is made, and
    processes join it before they do anything else. So all processes of a cluster are below one directory.
    The digits are another cluster's even where the name is the same.

    Why a group of each node below it: limits of memory and processor time are a node's, whatever runs in it. The groups
    above count as many ordinary processes as there are nodes: else all clusters together would count as one process.

    Why in several hierarchies: with version 1 each controller has a tree of its own. A process joins its node's group in
    all of them, and in version 2 where that is mounted too. So each tree alone tells which processes are the cluster's.

    Why version 1 limits disks elsewhere (``throttle_files``): it charges what the kernel's flusher writes to the root
    group. A limit on a node's group would hold for reads and direct writes only.
    """

    path: str
    where: Hierarchies

    def directories(self) -> list[Path]:
        """The groups' directories."""
        return [root / self.path for root in self.where.roots()]

    def procs_files(self) -> list[str]:
        """What a process writes 0 to, to join."""
        return [str(directory / "cgroup.procs") for directory in self.directories()]

    def create(self) -> None:
        """Make the groups; in version 2 with our controllers handed down. A node counts as much as an ordinary process.

        Raises:
            ProviderError: not allowed, or no control groups.
        """
        try:
            for directory in self.directories():
                _make_group(directory)
                if self.where.v2 is not None and directory.is_relative_to(self.where.v2):
                    self._hand_down(self.where.v2, directory.parent)
        except OSError as error:
            raise ProviderError(
                f"cannot make the control group {error.filename}: {error.strerror}. Limits need root and a writable /sys/fs/cgroup"
            ) from error
        self._weigh()

    def _weigh(self) -> None:
        """Have the groups above nodes count as many processes as there are nodes below, when processors are short.

        As they are made, all clusters together count as one: beside eight busy processes a cluster would have a ninth.
        """
        if "cpu" in self.where.v1:
            root, file, one, most = self.where.v1["cpu"], "cpu.shares", SHARES_V1, MOST_SHARES_V1
        elif self.where.v2 is not None and "cpu" in self.where.v2_controllers:
            root, file, one, most = self.where.v2, "cpu.weight", WEIGHT_V2, MOST_WEIGHT_V2
        else:
            return
        cluster = (root / self.path).parent
        for directory, nodes in (
            (cluster, "*/cgroup.procs"),
            (cluster.parent, "*/*/cgroup.procs"),
        ):
            # Clusters may go meanwhile, at which pathlib's glob raises.
            count = len(glob.glob(nodes, root_dir=directory))  # noqa: PTH207
            self._set_where_there(directory / file, str(min(max(count, 1) * one, most)))

    def _hand_down(self, top: Path, parent: Path) -> None:
        wanted = [name for name in ("memory", "cpu", "io") if name in self.where.v2_controllers]
        chain = [top]
        for part in parent.relative_to(top).parts:
            chain.append(chain[-1] / part)
        for directory in chain:
            for controller in wanted:
                try:
                    (directory / "cgroup.subtree_control").write_text(f"+{controller}")
                except OSError as error:
                    log.warning(
                        "cannot hand controller %s down in %s: %s", controller, directory, error
                    )

    def limit_memory(self, limit_bytes: int) -> str | None:
        """Bound the memory of a node, page cache included. Says the mechanism; None when there is none."""
        if "memory" in self.where.v1:
            directory = self.where.v1["memory"] / self.path
            how = _set(directory / "memory.limit_in_bytes", str(limit_bytes), "cgroup v1 memory")
            # with swap; set after the limit without, which must not be above it
            self._set_where_there(directory / "memory.memsw.limit_in_bytes", str(limit_bytes))
            return how
        if self.where.v2 is not None and "memory" in self.where.v2_controllers:
            directory = self.where.v2 / self.path
            self._set_where_there(directory / "memory.swap.max", "0")
            return _set(directory / "memory.max", str(limit_bytes), "cgroup v2 memory")
        return None

    @staticmethod
    def _set_where_there(file: Path, value: str) -> None:
        """Set what not every kernel has: a limit of swap, a weight."""
        if file.exists():
            _set(file, value, "")

    def limit_cpus(self, cpus: float) -> str | None:
        """Bound the CPU time of a node. Says the mechanism; None when there is none."""
        quota = round(cpus * PERIOD_US)
        if "cpu" in self.where.v1:
            group = self.where.v1["cpu"] / self.path
            _set(group / "cpu.cfs_period_us", str(PERIOD_US), "")
            return _set(group / "cpu.cfs_quota_us", str(quota), "cgroup v1 cpu")
        if self.where.v2 is not None and "cpu" in self.where.v2_controllers:
            return _set(
                self.where.v2 / self.path / "cpu.max", f"{quota} {PERIOD_US}", "cgroup v2 cpu"
            )
        return None

    def cached_bytes(self) -> int | None:
        """Page cache of files that the node holds, bytes; None when it is not counted here."""
        if "memory" in self.where.v1:
            prefix, stat = "total_", self.where.v1["memory"] / self.path / "memory.stat"
        elif self.where.v2 is not None and "memory" in self.where.v2_controllers:
            prefix, stat = "", self.where.v2 / self.path / "memory.stat"
        else:
            return None
        counts = dict(line.split() for line in stat.read_text().splitlines())
        return int(counts[f"{prefix}active_file"]) + int(counts[f"{prefix}inactive_file"])

    def empty_cache(self) -> str | None:
        """Drop the node's clean page cache. Says the mechanism; None when there is none."""
        if "memory" in self.where.v1:
            return _set(
                self.where.v1["memory"] / self.path / "memory.force_empty",
                "0",
                "memory.force_empty",
            )
        reclaim = (
            self.where.v2 / self.path / "memory.reclaim" if self.where.v2 is not None else None
        )
        if reclaim is None or not reclaim.exists():
            return None
        for _ in range(8):  # EAGAIN: less was reclaimed than asked for, which is the aim
            if not self.cached_bytes():
                break
            with contextlib.suppress(OSError):
                reclaim.write_text(str(self.cached_bytes() or 1))
        return "memory.reclaim"


def _make_group(directory: Path) -> None:
    for _ in range(20):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            return
        except FileNotFoundError:  # another cluster's end removed our empty top group in between
            time.sleep(0.001)
    directory.mkdir(parents=True, exist_ok=True)


def _set(file: Path, value: str, mechanism: str) -> str | None:
    try:
        file.write_text(value)
    except OSError as error:
        log.warning("cannot write %s to %s: %s", value, file, error)
        return None
    return mechanism


def throttle_files(where: Hierarchies, group: str) -> dict[str, Path]:
    """The files that limit a disk: of version 1's root group (its limits catch the flusher too), or version 2's group."""
    if "blkio" in where.v1:
        root = where.v1["blkio"]
        return {
            "read": root / "blkio.throttle.read_bps_device",
            "write": root / "blkio.throttle.write_bps_device",
            "read_iops": root / "blkio.throttle.read_iops_device",
            "write_iops": root / "blkio.throttle.write_iops_device",
        }
    if where.v2 is not None and "io" in where.v2_controllers:
        return {"all": where.v2 / group / "io.max"}
    return {}


def kill_all(group: str, where: Hierarchies) -> None:
    """End every process in a group and the groups below it.

    Those inside of nodes go first: their parents, which entered the nodes from outside, then reap them. Were all
    ended at once, nodes would wait for this machine's process 1 to reap (up to 2 s with a lazy one, measured).

    Raises:
        ProviderError: some are still there after the time limit.
    """
    began = time.monotonic()
    inside: dict[int, int | None] = {}
    outside: dict[int, int | None] = {}
    tops = [root / group for root in where.roots()]
    while True:
        members = set().union(*(pids_below(top) for top in tops))
        for pid in members - inside.keys() - outside.keys():
            (inside if _is_inside_node(pid) else outside)[pid] = start_ticks(pid)
        # a dying process leaves its group before it lets go of its namespaces and mounts
        alive_inside = {pid for pid, start in inside.items() if start and start_ticks(pid) == start}
        alive = alive_inside | {
            pid for pid, start in outside.items() if start and start_ticks(pid) == start
        }
        if not members and not alive:
            return
        waited = time.monotonic() - began
        if waited > KILL_TIMEOUT_S:
            raise ProviderError(
                f"processes {sorted(alive)} of {group} do not end. They may wait for a dead disk; try again"
            )
        _kill(members & inside.keys() if alive_inside and waited < REAP_TIMEOUT_S else members)
        time.sleep(0.005)


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _is_inside_node(pid: int) -> bool:
    """Whether a process is in a PID namespace below ours. Sample of /proc/PID/status: ``NSpid:<TAB>4242<TAB>7``."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return len(line.split()) > 2
    return False


def pids_below(top: Path) -> set[int]:
    """The processes of a group and the groups below it, without this one."""
    found: set[int] = set()
    for directory in groups_from_below(top):
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in (directory / "cgroup.procs").read_text().split()}
    return found - {0, os.getpid()}


def groups_from_below(top: Path) -> list[Path]:
    """The directories of a group and of those below it, each before the one that it is in; those that go meanwhile may be left out.

    Other clusters come and go while one is looked for: os.walk passes over what is gone, Path.rglob ends with an error.
    """
    return [Path(directory) for directory, _, _ in os.walk(top, topdown=False)]


def remove_groups(group: str, where: Hierarchies) -> None:
    """Remove a group and those below it from every hierarchy, and our top group when it is empty.

    Raises:
        ProviderError: a group stays busy.
    """
    for root in where.roots():
        top = root / group
        for directory in groups_from_below(top):
            _remove_group(directory)
        with contextlib.suppress(OSError):
            top.parent.rmdir()


def _remove_group(directory: Path) -> None:
    deadline = time.monotonic() + KILL_TIMEOUT_S
    while directory.is_dir():
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise ProviderError(
                    f"cannot remove the control group {directory}: {error.strerror}. Try again"
                ) from error
            time.sleep(0.01)


# Version 1 writes its largest page-aligned number for "no limit".
NO_LIMIT_BYTES = 2**62
V2_KEYS = {"read": "rbps", "write": "wbps", "read_iops": "riops", "write_iops": "wiops"}


def memory_bytes(group: NodeGroup) -> int | None:
    """Memory that a node may use, page cache included; None without a limit."""
    where = group.where
    if "memory" in where.v1:
        text = _read(where.v1["memory"] / group.path / "memory.limit_in_bytes")
    elif where.v2 is not None:
        text = _read(where.v2 / group.path / "memory.max")
    else:
        return None
    value = int(text) if text.isdigit() else NO_LIMIT_BYTES
    return None if value >= NO_LIMIT_BYTES else value


def cpus(group: NodeGroup) -> float | None:
    """CPUs that a node may use; None without a limit."""
    where = group.where
    if "cpu" in where.v1:
        directory = where.v1["cpu"] / group.path
        quota, period = (
            _read(directory / "cpu.cfs_quota_us"),
            _read(directory / "cpu.cfs_period_us"),
        )
    elif where.v2 is not None:
        quota, _, period = _read(where.v2 / group.path / "cpu.max").partition(" ")
    else:
        return None
    if not quota.isdigit() or not period.isdigit():  # "-1" and "max" are no limit
        return None
    return int(quota) / int(period)


def disk(group: NodeGroup, number: str) -> dict[str, int]:
    """Limits of a disk: read and write in bytes/s, read_iops and write_iops; those that are set.

    Samples: version 1, ``7:2 50000000`` a line a device; version 2, ``7:2 rbps=50000000 wbps=max riops=max wiops=max``.
    """
    found: dict[str, int] = {}
    for name, file in throttle_files(group.where, group.path).items():
        for line in _read(file).splitlines():
            device, _, rest = line.partition(" ")
            if device != number:
                continue
            if name == "all":
                given = dict(word.split("=", 1) for word in rest.split())
                found |= {
                    ours: int(given[key])
                    for ours, key in V2_KEYS.items()
                    if given.get(key, "max").isdigit()
                }
            else:
                found[name] = int(rest)
    return found


def network_bytes_per_s(host: Host, device: str) -> int | None:
    """Rate at which a node or the switch sends through a device; None without a limit.

    Sample of ``tc -j qdisc show`` (iproute2 6.1): ``[{"kind":"tbf","root":true,"options":{"rate":125000000,...}}]``.
    """
    out = host.run(["tc", "-j", "qdisc", "show", "dev", device]).stdout
    for discipline in json.loads(out or "[]"):
        if discipline.get("kind") == "tbf":
            return int(discipline["options"]["rate"])
    return None


def disk_number(
    journal: list[dict[str, str | int]], group_path: str, at: str = "/storage"
) -> str | None:
    """The device of the disk that a node has mounted at ``at``, as the journal has it."""
    for entry in journal:
        mounted = entry.get("at", "/storage")
        if entry["do"] == "throttle" and entry["group"] == group_path and mounted == at:
            return str(entry["number"])
    return None


def _read(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text().strip()
    return ""
