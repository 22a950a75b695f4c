"""What this machine can do: each ability found by trying it where that is cheap, never by a version alone.

Reads the machine, changes nothing that outlives a check.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Literal

from wavetank import native, native_build
from wavetank.cluster.guests import hypervisors
from wavetank.cluster.namespaces import user
from wavetank.cluster.namespaces.cgroups import hierarchies
from wavetank.cluster.needs import needs_by_node
from wavetank.cluster.registry import file_system
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import TraceError
from wavetank.launchers.registry import launcher, launcher_names
from wavetank.launchers.version import version_text
from wavetank.packages import as_here
from wavetank.programs import find_program, search_path
from wavetank.trace.open import NeedsSoftware, importer, importer_names

State = Literal["ok", "missing", "limited"]
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Finding:
    """One ability of this machine.

    Attributes:
        area: what it belongs to: "trace and replay", "virtual clusters", "file systems", ...
        ability: what it is.
        found: version, path or mechanism, for people.
        cost: what does not work without it; empty when it is there.
        remedy: how to get it; empty when it is there.
    """

    area: str
    ability: str
    state: State
    found: str
    cost: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class _Program:
    area: str
    ability: str
    program: str
    package: str
    cost: str
    version: bool = True


_PROGRAMS = (
    _Program("virtual clusters", "ip, tc (networks of nodes)", "tc", "iproute2", "no virtual clusters on this machine", False),
    _Program("virtual clusters", "losetup (disks of nodes)", "losetup", "util-linux", "no virtual clusters on this machine"),
    _Program("virtual clusters", "mkfs.xfs (local file system)", "mkfs.xfs", "xfsprogs", "local_file_system must be ext4", False),
    _Program("virtual clusters", "ssh (clusters of hosts that exist)", "ssh", "openssh-client", "no provider ssh", False),
    _Program("benchmarks", "fio", "fio", "fio", "no characterisation of disks, no comparison with fio"),
    _Program("benchmarks", "ior", "ior", "ior (not in Debian 12: build it)", "IOR lines are printed, not run", False),
    _Program("other tools", "zstd", "zstd", "zstd", "text logs packed by zstd must be unpacked first"),
    _Program("other tools", "strace", "strace", "strace", "no new strace logs (existing ones can still be read)", False),
)  # fmt: skip


# Asked of their drivers; what a file system lies behind is asked for with it.
_FILE_SYSTEMS: dict[str, dict[str, str]] = {
    "glusterfs": {},
    "cephfs": {},
    "moosefs": {},
    "gateway": {"behind": "glusterfs"},
    "orangefs": {},
}


def examine() -> list[Finding]:
    """All findings, by area, areas in the order of the work."""
    findings = [
        *_native_parts(),
        *_launchers(),
        *_slurm(),
        *_privileges(),
        *_kernel(),
        *_guests(),
        *_nfs(),
        *_file_systems(),
        *(_program(wanted) for wanted in _PROGRAMS),
        *_importers(),
    ]
    areas = list(dict.fromkeys(finding.area for finding in findings))
    findings = [replace(finding, remedy=as_here(finding.remedy)) for finding in findings]
    return sorted(findings, key=lambda finding: areas.index(finding.area))


def can_work(findings: list[Finding]) -> bool:
    """Whether the tool can do anything of use here: trace a program, or at least replay a kernel."""
    return any(
        f.state != "missing" and f.ability in ("tracer", "replay program")
        for f in findings
        if f.area == "trace and replay"
    )


def _native_parts() -> Iterator[Finding]:
    parts = {
        "tracer": ("lib/libwavetank-trace.so", "serial programs cannot be traced"),
        "tracer for Open MPI": ("lib/libwavetank-trace-openmpi.so", "Open MPI programs cannot be traced"),
        "tracer for MPICH": ("lib/libwavetank-trace-mpich.so", "MPICH programs cannot be traced"),
        "replay program": ("bin/wavetank-replay-serial", "kernels cannot be performed"),
        "replay program for Open MPI": ("bin/wavetank-replay-openmpi", "no replay under Open MPI"),
        "replay program for MPICH": ("bin/wavetank-replay-mpich", "no replay under MPICH"),
    }  # fmt: skip
    area = "trace and replay"
    for ability, (name, cost) in parts.items():
        if native.built(name):
            yield Finding(area, ability, "ok", str(native.find(name, ability)))
        elif not native.builds():
            remedy = "make setup (an MPI part needs libopenmpi-dev or libmpich-dev)"
            yield Finding(area, ability, "missing", "not built", cost, remedy)
        elif lacking := native_build.lacking():
            found = f"not built, and no {', '.join(lacking)} to build it"
            yield Finding(area, ability, "missing", found, cost, native_build.how_to_get(lacking))
        elif any(native.built(each) for each, _ in parts.values()):
            yield Finding(area, ability, "missing", "not built", cost, native.why_not(name))
        else:
            found = f"built at first use, into {native_build.cache_folder()}"
            yield Finding(area, ability, "ok", found)


def _launchers() -> Iterator[Finding]:
    remedies = {
        "openmpi": "apt-get install openmpi-bin",
        "mpich": "apt-get install mpich",
    }
    costs = {
        "openmpi": "no Open MPI programs, and none on virtual clusters",
        "mpich": "no MPICH programs",
    }
    for name in launcher_names():
        if name in ("none", "srun"):
            continue
        version = launcher(name).available()
        ability = f"launcher {name}"
        if version is not None:
            yield Finding("MPI", ability, "ok", version)
        else:
            cost, remedy = costs.get(name, ""), remedies.get(name, "")
            yield Finding("MPI", ability, "missing", "not found", cost, remedy)


def _slurm() -> Iterator[Finding]:
    """Slurm's programs answer nothing, not even their version, where they find no configuration."""
    for area, ability, program, cost in (
        ("MPI", "launcher srun", "srun", "no tracing of srun command lines"),
        ("campaigns", "sbatch (campaigns as Slurm jobs)", "sbatch", "no --executor slurm"),
    ):
        said = (version_text(program) or "").strip().splitlines()
        if find_program(program) is None:
            remedy = "apt-get install slurm-client, on a node of a Slurm site"
            yield Finding(area, ability, "missing", "not found", cost, remedy)
        elif said and said[0].startswith("slurm"):  # slurm-wlm 22.05.8
            yield Finding(area, ability, "ok", said[0])
        else:
            # srun: fatal: Could not establish a configuration source
            found = f"installed, no Slurm configuration ({said[-1] if said else 'no answer'})"
            remedy = "use it on a node of a Slurm site, or name its slurm.conf in SLURM_CONF"
            yield Finding(area, ability, "limited", found, cost, remedy)


def _privileges() -> Iterator[Finding]:
    area = "virtual clusters"
    no_clusters = "no virtual clusters on this machine; everything else works"
    if os.geteuid() == 0:
        yield Finding(area, "root", "ok", "user 0")
    else:
        yield _as_user()
        return
    namespaces = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "true"]
    yield _tried(
        area, "namespaces", namespaces, "mount, uts, ipc, net, pid", no_clusters,
        "needs root and a kernel (or container) that allows namespaces",
    )  # fmt: skip
    # A token bucket filter on the loopback device of a network namespace that ends with the check.
    shaping = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1gbit",
               "burst", "128k", "latency", "20ms"]  # fmt: skip
    yield _tried(
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
    cost = f"virtual clusters only with file system {' or '.join(user.FILE_SYSTEMS)}; {user.LACKS}"
    return Finding(
        area, ability, "limited", f"{found}, with a user namespace", cost, "run with sudo"
    )


def _file_systems() -> Iterator[Finding]:
    """Whether the programs that each driver names are here."""
    for kind, more in _FILE_SYSTEMS.items():
        spec = ClusterSpec.model_validate(
            {
                "name": "doctor",
                "instance": {"name": "doctor"},
                "nodes": {"compute": 1, "io": 2},
                "file_system": {"kind": kind, **more},
            }
        )
        needs = reduce(or_, needs_by_node(file_system(kind), spec).values())
        missing = needs.missing_here()
        if missing:
            said = [one.partition(": ") for one in missing]  # "a, b are missing: how to get them"
            absent, remedy = ("; ".join(dict.fromkeys(one[i] for one in said)) for i in (0, 2))
            yield Finding("file systems", kind, "missing", absent, f"no {kind} clusters", remedy)
        else:
            yield Finding("file systems", kind, "ok", ", ".join(needs.programs) or "nothing needed")


def _kernel() -> Iterator[Finding]:
    area = "virtual clusters"
    if _kernel_has("overlay"):
        yield Finding(area, "overlay file system", "ok", "in the kernel")
    else:
        yield Finding(area, "overlay file system", "missing", "not in the kernel",
                      "no virtual clusters on this machine", "modprobe overlay")  # fmt: skip
    control = Path("/dev/loop-control")
    if control.exists():
        yield Finding(area, "loop devices", "ok", str(control))
    else:
        yield Finding(area, "loop devices", "missing", "no /dev/loop-control",
                      "nodes have no disks of their own", "modprobe loop")  # fmt: skip
    yield _cgroups()
    yield _fuse()


def _guests() -> Iterator[Finding]:
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
        what, _, remedy = reason.partition(": ")
        cost = "no provider vm" if best is None else f"guests are by {hypervisors.NAMES[best]}"
        yield Finding("virtual clusters", ability, "missing", what, cost, remedy)


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
    cost = "no GlusterFS mounts, and no NFS where the kernel has no NFS client"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except PermissionError:
        return Finding(
            area, ability, "limited", "/dev/fuse is not ours to open", cost, "run with sudo"
        )
    except OSError:
        return Finding(
            area,
            ability,
            "missing",
            "no /dev/fuse",
            cost,
            "modprobe fuse; in a container, bind /dev/fuse",
        )
    return Finding(area, ability, "ok", "/dev/fuse")


def _nfs() -> Iterator[Finding]:
    area = "file systems"
    client = _kernel_has("nfs")
    bridge = native.built("bin/wavetank-nfs-mount")
    if client:
        yield Finding(area, "NFS client", "ok", "kernel")
    elif bridge:
        yield Finding(area, "NFS client", "ok", "our FUSE mount; the kernel has none")
    else:
        yield Finding(area, "NFS client", "missing", "none", "no NFS clusters",
                      f"modprobe nfs, or {_bridge_remedy()}")  # fmt: skip
    server = _kernel_has("nfsd")
    ganesha = find_program("ganesha.nfsd")
    found = [*(["kernel"] if server else []), *([f"nfs-ganesha ({ganesha})"] if ganesha else [])]
    if found:
        yield Finding(area, "NFS server", "ok", ", ".join(found))
    else:
        yield Finding(area, "NFS server", "missing", "none", "no NFS clusters",
                      "apt-get install nfs-ganesha nfs-ganesha-vfs rpcbind")  # fmt: skip


def _bridge_remedy() -> str:
    install = "apt-get install libfuse3-dev libnfs-dev pkg-config"
    return f"{install}, then: {'wavetank doctor --build' if native.builds() else 'make setup'}"


def _importers() -> Iterator[Finding]:
    """Whether the logs of each other tool can be read."""
    for name in importer_names():
        ability = f"{name} logs"
        try:
            module = importer(name)
            found = module.software() if isinstance(module, NeedsSoftware) else "read by wavetank itself"  # fmt: skip
        except (TraceError, ImportError) as error:
            _, _, remedy = str(error).partition("Install it with: ")
            cost = f"logs of {name} cannot be read"
            yield Finding("other tools", ability, "missing", str(error), cost, remedy)
        else:
            yield Finding("other tools", ability, "ok", found)


def _program(wanted: _Program) -> Finding:
    path = find_program(wanted.program)
    if path is None:
        remedy = (
            f"apt-get install {wanted.package}" if " " not in wanted.package else wanted.package
        )
        return Finding(wanted.area, wanted.ability, "missing", "not found", wanted.cost, remedy)
    text = (version_text(path) or "") if wanted.version else ""
    return Finding(wanted.area, wanted.ability, "ok", text.strip().partition("\n")[0] or path)


def _tried(area: str, ability: str, argv: list[str], found: str, cost: str, remedy: str) -> Finding:
    """A finding by running a harmless command."""
    if find_program(argv[0]) is None:
        return Finding(
            area, ability, "missing", f"{argv[0]} not found", cost, "apt-get install util-linux"
        )
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
            env={**os.environ, "PATH": search_path()},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(area, ability, "missing", str(error), cost, remedy)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return Finding(area, ability, "missing", said[-1] if said else "refused", cost, remedy)
    return Finding(area, ability, "ok", found)


def _kernel_has(
    name: str, run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
) -> bool:
    """Whether the kernel has a file system, loaded or as a module that could be."""
    lines = Path("/proc/filesystems").read_text(encoding="ascii").splitlines()
    if any(line.split("\t")[-1] == name for line in lines):
        return True
    modprobe = find_program("modprobe")
    if modprobe is None:
        return False
    return (
        run([modprobe, "--dry-run", "--quiet", name], capture_output=True, check=False).returncode
        == 0
    )
