"""Six guests of User-mode Linux with NFS: time up and down, programs, processor time and memory, against bare guests.

The limit of the same run is as many kernels with the same memory, started at one moment, whose process 1 ends them at once: no
network, no disks, no limits, no file system. Needs root and the package user-mode-linux.
Run: sudo .venv/bin/python benchmarks/guests/six_guests.py [REPETITIONS]
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster import deploy
from wavetank.cluster.guests.nodes import GuestNodes
from wavetank.cluster.guests.uml import PROGRAM
from wavetank.cluster.namespaces.cgroups import NodeGroup
from wavetank.cluster.spec import ClusterSpec
from wavetank.programs import find_program
from wavetank.units import MIB

N_GUESTS = 6
MEMORY_MIB = 192
UP_GOAL_S, DOWN_GOAL_S, MEMORY_GOAL_MB = 12.0, 3.0, 120.0
"""On two processors that do nothing else."""
BARE_TIMEOUT_S = 600.0
INIT = """#!/bin/sh
mount -t proc proc /proc
echo wavetank: booted
echo o >/proc/sysrq-trigger
exec sleep 1000
"""
SPEC = ClusterSpec.model_validate(
    {
        "name": f"bench{os.getpid()}-guests",
        "provider": "vm",
        "hypervisor": "uml",
        "instance": {"name": "bench", "vcpus": 1, "memory": f"{MEMORY_MIB} MiB", "network": "1 Gbit/s"},
        "nodes": {"compute": N_GUESTS - 1, "io": 1},
        "file_system": {"kind": "nfs"},
        "storage": {"size": "512 MiB"},
    }
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """What something took: seconds, seconds of processors, programs that this process started."""

    wall_s: float
    cpu_s: float
    programs: int


@dataclass(frozen=True)
class Run:
    """One repetition; memory is of all guests, bytes."""

    bare: Cost
    up: Cost
    down_s: float
    memory_bytes: int


started: list[str] = []


def note_programs(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: notes programs that this process starts."""
    if event == "subprocess.Popen":
        started.append(str(arguments[0]))


def own_cpu_s() -> float:
    """Processor time of this process and of the programs that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def boot_bare() -> Cost:
    """Boot kernels at one moment, and wait until all have ended."""
    before, cpu_s, began = len(started), own_cpu_s(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:  # not below /dev, which the kernel mounts over
        init = Path(folder) / "init"
        init.write_text(INIT)
        init.chmod(0o755)
        words = [
            find_program(PROGRAM) or PROGRAM, f"mem={MEMORY_MIB}M", "rootfstype=hostfs", "ro",
            f"init={init}", "con=null", "con0=null,fd:1",
        ]  # fmt: skip
        kernels = [
            subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": "/dev/shm"}, text=True,
                start_new_session=True,
            )
            for _ in range(N_GUESTS)
        ]  # fmt: skip
        try:
            for kernel in kernels:
                said, _ = kernel.communicate(timeout=BARE_TIMEOUT_S)
                if "wavetank: booted" not in said:
                    raise SystemExit(f"a bare kernel did not boot:\n{said[-2000:]}")
        finally:
            for kernel in kernels:
                with contextlib.suppress(
                    ProcessLookupError
                ):  # one that panics leaves processes of its session
                    os.killpg(kernel.pid, signal.SIGKILL)
                kernel.wait()
    return Cost(time.monotonic() - began, own_cpu_s() - cpu_s, len(started) - before)


def memory_bytes(nodes: GuestNodes) -> int:
    """What the guests' nodes hold in memory, page cache of this machine's files left out."""
    found = 0
    for name in SPEC.guest_names():
        group = NodeGroup(f"{nodes.around.top}/{name}", nodes.around.where)
        group.empty_cache()
        used = group.used_bytes()
        if used is None:
            raise SystemExit("the memory of nodes is not counted here: no control group for it")
        found += used
    return found


def run_once() -> Run:
    """The bare kernels, then the cluster."""
    bare = boot_bare()
    before, cpu_s, began = len(started), own_cpu_s(), time.monotonic()
    cluster = deploy.bring_up(SPEC)
    try:
        wall_s, programs = time.monotonic() - began, len(started) - before
        assert isinstance(cluster.nodes, GuestNodes)
        of_nodes_s = cluster.nodes.nodes_cpu_s() or 0.0
        up = Cost(wall_s, own_cpu_s() - cpu_s + of_nodes_s, programs)
        memory = memory_bytes(cluster.nodes)
    finally:
        began = time.monotonic()
        deploy.take_down(SPEC.name)
    return Run(bare, up, time.monotonic() - began, memory)


def main() -> None:
    """Print the medians, each beside its limit or goal."""
    findings = deploy.check(SPEC)
    if findings:
        print(f"not possible here: {'; '.join(findings)}")
        return
    sys.addaudithook(note_programs)
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    runs = [run_once() for _ in range(repetitions)]
    load = os.getloadavg()[0]
    bare_s, bare_cpu_s = (
        statistics.median(values)
        for values in zip(*((run.bare.wall_s, run.bare.cpu_s) for run in runs), strict=True)
    )
    up_s = statistics.median(run.up.wall_s for run in runs)
    up_cpu_s = statistics.median(run.up.cpu_s for run in runs)
    down_s = statistics.median(run.down_s for run in runs)
    memory = statistics.median(run.memory_bytes for run in runs) / N_GUESTS
    print(f"{N_GUESTS} guests of {MEMORY_MIB} MiB with NFS, {repetitions} repetitions, medians")
    print(f"processors: {os.cpu_count()}, load average at the end: {load:.1f}")
    print(f"bare kernels, booted and ended: {bare_s:.2f} s, {bare_cpu_s:.2f} s of processors")
    print(f"up: {up_s:.2f} s = {up_s / bare_s:.2f} of the bare kernels' (goal: {UP_GOAL_S:g} s)")
    print(f"processor time of that: {up_cpu_s:.2f} s = {up_cpu_s / bare_cpu_s:.2f} of theirs")
    print(f"programs started for that: {runs[0].up.programs}")
    print(
        f"down: {down_s:.2f} s = {down_s / bare_s:.2f} of the bare kernels' (goal: {DOWN_GOAL_S:g} s)"
    )
    share = memory / MIB / MEMORY_MIB
    print(
        f"memory of a guest: {memory / 1e6:.0f} MB = {share:.2f} of what its kernel may have (goal: {MEMORY_GOAL_MB:g} MB)"
    )


if __name__ == "__main__":
    main()
