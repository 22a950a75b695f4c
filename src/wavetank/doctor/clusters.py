"""What of virtual clusters and their file systems this machine can have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path

from wavetank.cluster.filesystems.base import needs_by_node
from wavetank.cluster.guests import hypervisors
from wavetank.cluster.namespaces import user
from wavetank.cluster.namespaces.cgroups import hierarchies
from wavetank.cluster.needs import Lack, Needs
from wavetank.cluster.registry import facts, file_system, file_system_kinds
from wavetank.cluster.spec import ClusterSpec
from wavetank.doctor.finding import Finding, kernel_has, there_or_not, tried
from wavetank.errors import SpecError


def privileges() -> Iterator[Finding]:
    """What root, or a user in a namespace, may do here."""
    area = "virtual clusters"
    no_clusters = "no virtual clusters on this machine; everything else works"
    if os.geteuid() == 0:
        yield Finding(area, "root", "ok", "user 0")
    else:
        yield _as_user()
        return
    namespaces = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "true"]
    yield tried(
        area, "namespaces", namespaces, "mount, uts, ipc, net, pid", no_clusters,
        "needs root and a kernel (or container) that allows namespaces",
    )  # fmt: skip
    # A token bucket filter on the loopback device of a network namespace that ends with the check.
    shaping = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1gbit",
               "burst", "128k", "latency", "20ms"]  # fmt: skip
    yield tried(
        area, "network limits", shaping, "tc tbf",
        "networks of nodes are not limited", "needs root, iproute2, and a kernel with CONFIG_NET_SCH_TBF",
    )  # fmt: skip


def _as_user() -> Finding:
    """What a user who is not root can have of virtual clusters."""
    area, ability, found = "virtual clusters", "root", f"user {os.geteuid()}"
    reason = user.reason_against()
    if reason is not None:
        cost = "no virtual clusters on this machine; everything else works"
        return Finding(area, ability, "missing", f"{found}; {reason}", cost, "run with sudo")
    kinds = " or ".join(file_system_kinds(lambda facts: facts.without_root))
    cost = f"virtual clusters only with file system {kinds}; {user.LACKS}"
    return Finding(
        area, ability, "limited", f"{found}, with a user namespace", cost, "run with sudo"
    )


def kernel() -> Iterator[Finding]:
    """What nodes need of the kernel."""
    area = "virtual clusters"
    overlay = "in the kernel" if kernel_has("overlay") else None
    loops = "/dev/loop-control" if Path("/dev/loop-control").exists() else None
    yield there_or_not(area, "overlay file system", overlay, "not in the kernel",
                       "no virtual clusters on this machine", "modprobe overlay")  # fmt: skip
    yield there_or_not(area, "loop devices", loops, "no /dev/loop-control",
                       "nodes have no disks of their own", "modprobe loop")  # fmt: skip
    yield _cgroups()
    yield _fuse()


def guests() -> Iterator[Finding]:
    """Each hypervisor; "found" says which one guests take when a cluster names none."""
    against = hypervisors.reasons_against()
    best = next((name for name, reason in against.items() if reason is None), None)
    for name, reason in against.items():
        ability = f"guests by {hypervisors.NAMES[name]} (hypervisor: {name})"
        if reason is None:
            found = (
                "taken unless a cluster names another"
                if name == best
                else "when a cluster names it"
            )
            yield Finding(
                "virtual clusters", ability, "ok", f"{found}; rates: {hypervisors.RATES[name]}"
            )
            continue
        cost = "no provider vm" if best is None else f"guests are by {hypervisors.NAMES[best]}"
        yield Finding("virtual clusters", ability, "missing", reason.what, cost, reason.remedy)


def _cgroups() -> Finding:
    area, ability = "virtual clusters", "control groups"
    where = hierarchies()
    v1 = sorted(where.v1)
    v2 = sorted(where.v2_controllers & {"memory", "cpu", "io"})
    kinds = [
        *([f"v1: {', '.join(v1)}"] if v1 else []),
        *([f"v2: {', '.join(v2) or 'no controllers'}"] if where.v2 is not None else []),
    ]
    lacking = [
        name
        for name, known in (("memory", "memory"), ("cpu", "cpu"), ("blkio", "io"))
        if name not in v1 and known not in v2
    ]
    found = "; ".join(kinds) or "none mounted"
    if len(lacking) == 3:
        return Finding(area, ability, "missing", found, "no virtual clusters on this machine",
                       "mount cgroup2 on /sys/fs/cgroup")  # fmt: skip
    if lacking:
        cost = f"no limit of {', '.join(lacking).replace('blkio', 'disk rates')}"
        return Finding(area, ability, "limited", found, cost, "boot with the controllers enabled")
    return Finding(area, ability, "ok", found)


def _fuse() -> Finding:
    area, ability = "virtual clusters", "FUSE"
    cost = "no file systems whose clients use FUSE"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except PermissionError:
        found = "/dev/fuse is not ours to open"
        return Finding(area, ability, "limited", found, cost, "run with sudo")
    except OSError:
        remedy = "modprobe fuse; in a container, bind /dev/fuse"
        return Finding(area, ability, "missing", "no /dev/fuse", cost, remedy)
    return Finding(area, ability, "ok", "/dev/fuse")


def file_systems() -> Iterator[Finding]:
    """Whether what the driver of each file system needs is here."""
    for kind in file_system_kinds(lambda facts: facts.on_this_machine and facts.has_servers):
        spec = ClusterSpec.model_validate(
            {
                "name": "doctor",
                "instance": {"name": "doctor"},
                "nodes": {"compute": 1, "io": 1},
                "file_system": {"kind": kind, **facts(kind).required},
            }
        )
        needs, lacks = Needs(), list[Lack]()
        try:
            driver = file_system(kind)
            needs = reduce(or_, needs_by_node(driver, spec).values())
            lacks = needs.missing_here()
            said = driver.check(spec)
        except SpecError as error:  # the package of a driver that is not ours
            said = [str(error)]
        if lacks or said:
            absent = "; ".join([*(lack.what for lack in lacks), *said])
            remedy = "; ".join(dict.fromkeys(lack.remedy for lack in lacks)) or "as it says there"
            yield Finding("file systems", kind, "missing", absent, f"no {kind} clusters", remedy)
        else:
            yield Finding("file systems", kind, "ok", ", ".join(needs.programs) or "nothing needed")
