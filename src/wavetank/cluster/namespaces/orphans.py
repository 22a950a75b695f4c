"""What is left on this machine of clusters whose directory was deleted while they were up.

A process of a cluster has the cluster's directory in its environment, its control group the cluster's name in its own,
and a disk's image a path below that directory. A cluster's journal names its groups and images, so what a journal names
is no orphan, whoever's it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.namespaces.cgroups import (
    Hierarchies,
    hierarchies,
    kill_all,
    pids_below,
    remove_groups,
)
from wavetank.cluster.namespaces.disks import command, device_number, limit_disk
from wavetank.cluster.namespaces.user import MARK
from wavetank.cluster.processes import end_all, words_of_processes
from wavetank.cluster.state import state_root
from wavetank.errors import ProviderError
from wavetank.programs import find_program

BEING_MADE_S = 60.0
"""A control group without processes may be of a cluster that is coming up, for so long."""
END_TIMEOUT_S = 60.0
_GROUP = re.compile(r"(?P<name>.+)-[0-9a-f]{8}")
_IMAGE = re.compile(
    r"(?P<directory>/.*/clusters/[^/]+)/images/[^/]+\.img(?P<deleted> \(deleted\))?"
)
_UNLIMITED = {"read": 0, "write": 0, "read_iops": 0, "write_iops": 0}


@dataclass(frozen=True)
class Orphan:
    """Something that is left of a cluster.

    Attributes:
        cluster: its name.
        kind: what it is.
        which: control group relative to the hierarchies' mounts, loop device, or process numbers.
        pids: processes of it.
    """

    cluster: str
    kind: str
    which: str
    pids: frozenset[int] = frozenset()


def find_orphans(where: Hierarchies | None = None) -> list[Orphan]:
    """Everything that is left of clusters that no journal names any more, in the order in which it can be ended."""
    where = hierarchies() if where is None else where
    marked = _marked_processes()
    groups = _groups(where, marked)
    in_groups = frozenset().union(*(orphan.pids for orphan in groups))
    alone = []
    for directory, pids in sorted(marked.items()):
        if (
            not _journal(directory, pids) and not pids <= in_groups
        ):  # a user's cluster has no groups
            left = frozenset(pids - in_groups)
            alone.append(Orphan(directory.name, "processes", f"{len(left)} of {directory}", left))
    return [*groups, *alone, *_loop_devices()]


def end_orphan(orphan: Orphan, where: Hierarchies | None = None) -> None:
    """End its processes and remove its control groups, or detach it.

    Raises:
        ProviderError: something does not end; calling again goes on.
    """
    where = hierarchies() if where is None else where
    if orphan.kind == "control group":
        kill_all(orphan.which, where)
        remove_groups(orphan.which, where)
    elif orphan.kind == "processes":
        if left := end_all(
            lambda: orphan.pids & {pid for pids in _marked_processes().values() for pid in pids},
            END_TIMEOUT_S,
        ):
            raise ProviderError(f"processes {left} do not end. Try again")
    elif orphan in _loop_devices():  # another cluster may have its number by now
        with contextlib.suppress(OSError):  # version 2: the limit went with its group
            limit_disk(where, "", device_number(orphan.which), _UNLIMITED)
        try:
            command(["losetup", "-d", orphan.which])
        except ProviderError:
            if orphan in _loop_devices():  # else whoever deleted the image has detached it
                raise


def _marked_processes() -> dict[Path, set[int]]:
    """Directory of a cluster -> the processes that have it in their environment; the dead have none."""
    found: defaultdict[Path, set[int]] = defaultdict(set)
    for pid, variables in words_of_processes("environ"):
        for variable in variables:
            name, _, value = variable.partition(b"=")
            if name == MARK.encode() and value.startswith(b"/"):
                found[Path(os.fsdecode(value))].add(pid)
    return found


def _journal(directory: Path, pids: Collection[int]) -> str:
    """A cluster's journal, as we see it or whoever made the cluster; empty when there is none.

    The switch shares the mounts of the process that made it, which may be in another mount namespace.
    """
    for root in (Path("/"), *(Path(f"/proc/{pid}/root") for pid in pids)):
        with contextlib.suppress(OSError):
            return (root / directory.relative_to("/") / "journal.jsonl").read_text(errors="replace")
    return ""


def _groups(where: Hierarchies, marked: dict[Path, set[int]]) -> list[Orphan]:
    owner = {pid: directory for directory, pids in marked.items() for pid in pids}
    found: dict[str, Orphan] = {}
    paths = set[Path]()
    for root in where.roots():
        with contextlib.suppress(FileNotFoundError):  # the last cluster goes down just now
            paths |= set((root / "wavetank").iterdir())
    for name in sorted({path.name for path in paths if path.is_dir()}):
        named = _GROUP.fullmatch(name)
        if named is None:
            continue
        tops = [path for path in paths if path.name == name]
        pids = frozenset().union(*(pids_below(top) for top in tops))
        owners = {owner[pid] for pid in pids if pid in owner}
        ages = []
        for top in tops:
            with contextlib.suppress(FileNotFoundError):  # its cluster goes down just now
                ages.append(time.time() - top.stat().st_mtime)
        if not pids and ages and min(ages) > BEING_MADE_S:
            owners = {state_root() / "clusters" / named["name"]}
        group = f"wavetank/{name}"
        if owners and not any(group in _journal(each, marked.get(each, ())) for each in owners):
            found[group] = Orphan(named["name"], "control group", group, pids)
    return list(found.values())


def _loop_devices() -> list[Orphan]:
    if find_program("losetup") is None or os.geteuid() != 0:
        return []
    # {"loopdevices": [{"name": "/dev/loop0", "back-file": "/var/lib/.../images/io1.img (deleted)"}]} (util-linux 2.38)
    out = command(["losetup", "--json", "--list", "-O", "NAME,BACK-FILE"])
    found = []
    for entry in json.loads(out)["loopdevices"] if out.strip() else []:
        image = _IMAGE.fullmatch(entry["back-file"] or "")
        if image is not None and image["deleted"]:
            found.append(Orphan(Path(image["directory"]).name, "loop device", entry["name"]))
    return found
