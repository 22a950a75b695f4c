"""Campaigns on clusters that are the same: in how many does the report tell any two of them apart? Needs root.

    sudo benchmarks/truth/run [--campaigns 20] [--clusters 6] [--kinds nfs glusterfs cephfs moosefs] [--only quiet|busy|differs]
                              [--slow-mb 53] [--keep DIR]

Each campaign measures two kernels on six identical clusters of one kind: two readers of a file each, on two nodes, and one process
that makes, reads and removes small files. Kinds are NFS, GlusterFS of two servers with sharded files, CephFS of two
and MooseFS of two; one that cannot come up here is left out, and said. Three loads:

- quiet: identical clusters, and nothing else that this program starts;
- busy: the same, with a process beside that computes in bursts of 1 to 8 s;
- differs: identical clusters and one whose disk has 53 in place of 80 MB/s.

A false alarm is a report of the first two in which any ranking tells any two clusters apart. The share is printed for each
kind with its 95 % interval (Clopper and Pearson). Beside it stands what ranges of the first three repetitions would have said.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import yaml
from campaigns import instance, wavetank

from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec

FULL_MB = 80
"""Disk of every cluster, MB/s."""
READ_MIB = 24
"""Of each reader's file."""
SHARDED = {"kind": "sharded", "size": "4 MiB"}
KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "nfs": ({"kind": "nfs"}, 1),
    "glusterfs": ({"kind": "glusterfs", "stripe": SHARDED}, 2),
    "cephfs": ({"kind": "cephfs", "stripe": SHARDED}, 2),
    "moosefs": ({"kind": "moosefs"}, 2),
}
"""File system and number of servers."""
SMALL_FILES = """
import os
for i in range(200):
    with open(f"small-{i}", "wb") as file:
        file.write(b"x" * 4096)
for i in range(200):
    with open(f"small-{i}", "rb") as file:
        file.read()
    os.unlink(f"small-{i}")
"""
PROGRAMS = {
    "readers": ("sh", "-c", "dd if=a of=/dev/null bs=1M & dd if=b of=/dev/null bs=1M; wait"),
    "small-files": (sys.executable, "-S", "-c", SMALL_FILES),
}
BUSY = """
import random, time
while True:
    until = time.monotonic() + random.uniform(1, 8)
    while time.monotonic() < until:
        pass
    time.sleep(random.uniform(1, 8))
"""


@dataclass
class Counted:
    """What the campaigns of one kind under one load said."""

    n: int = 0
    told: int = 0
    incomplete: int = 0
    ranges_apart: int = 0
    measured: int = 0
    disturbed: int = 0
    made_again: int = 0
    loads: list[float] = field(default_factory=list)
    seconds: float = 0.0


def make_kernels(folder: Path) -> None:
    """Trace the two programs, and make their kernels; those that were kept are taken again."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    for name in ("a", "b"):
        (data / name).write_bytes(random.Random(name).randbytes(READ_MIB << 20))
    for name, program in PROGRAMS.items():
        if (folder / f"{name}.kernel.json").exists():
            continue
        wavetank("trace", "-o", f"../{name}.trace", "--", *program, cwd=data)
        wavetank("model", f"{name}.trace", "-o", f"{name}.model.json", cwd=folder)
        wavetank("kernel", f"{name}.model.json", "-o", f"{name}.kernel.json", cwd=folder)


def cluster(kind: str, name: str, disk_mb: int) -> dict[str, Any]:
    """Two clients and the servers of a kind."""
    file_system, servers = KINDS[kind]
    return {
        "name": name,
        "title": name,
        "instance": instance(disk_mb),
        "nodes": {"compute": 2, "io": servers},
        "file_system": file_system,
        "storage": {"size": "1 GiB"},
    }


def run_campaign(
    folder: Path, kind: str, number: int, n_clusters: int, slow_mb: int | None
) -> Path:
    """One campaign with new clusters and a seed of its own; the folder of its results.

    Args:
        folder: of kernels and results.
        kind: of the clusters.
        number: the seed.
        n_clusters: how many.
        slow_mb: disk of the one that differs; None: all are the same.
    """
    prefix = f"truth{os.getpid()}"
    names = [f"{prefix}-{index}" for index in range(n_clusters)]
    for index, name in enumerate(names):
        body = cluster(kind, name, slow_mb if slow_mb and index == 0 else FULL_MB)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(body))
    campaign = {
        "name": f"truth-{number}",
        "applications": [{"kernel": f"{each}.kernel.json", "name": each} for each in PROGRAMS],
        "clusters": [f"{name}.yaml" for name in names],
        "seed": number,
        "output": f"results-{kind}-{'differs' if slow_mb else 'same'}-{number}",
    }
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(campaign))
    wavetank("run", path, "--fresh", "--format", "json", cwd=folder, may_fail=True)
    return folder / str(campaign["output"])


def ranges_apart(times: list[list[float]]) -> bool:
    """Whether ranges of the first three repetitions of any two do not overlap, and medians are 3 % apart."""
    for one, other in combinations((sorted(each[:3]) for each in times), 2):
        apart = one[-1] < other[0] or other[-1] < one[0]
        middle = one[len(one) // 2], other[len(other) // 2]
        if apart and abs(middle[0] - middle[1]) >= 0.03 * min(middle):
            return True
    return False


def count(results: Path, counted: Counted, *, differs: bool) -> None:
    """Add what one campaign said."""
    said = json.loads((results / "comparison.json").read_text())
    rankings = [each for each in said["rankings"] if each["by"] == "time"]
    counted.n += 1
    counted.incomplete += bool(said["not_measured"])
    if differs:  # is the slow one told apart from all others?
        (readers,) = (each for each in rankings if each["application"] == "readers")
        (slow,) = (
            p for p in readers["places"] if p["configuration"].split(" / ")[1].endswith("-0")
        )
        counted.told += not slow["ties_with"]
    else:
        counted.told += any(
            len(place["ties_with"]) < len(each["places"]) - 1
            for each in rankings
            for place in each["places"]
        )
    by_application: dict[str, list[list[float]]] = {}
    for each in said["configurations"]:
        by_application.setdefault(each["application"], []).append(each["io_time_s"]["values"])
    counted.ranges_apart += any(map(ranges_apart, by_application.values()))
    from wavetank.campaign.results_folder import open_store

    with open_store(results) as store:
        measured = store.measurements()
        counted.made_again += store.n_disturbed()
    loads = [each.load for each in measured if each.load is not None]
    counted.measured += len(measured)
    counted.disturbed += sum(bool(load.disturbed) for load in loads)
    counted.loads += [load.busy_before for load in loads]


def interval(k: int, n: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share."""

    def at_most(p: float, k: int) -> float:
        return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    def where(wanted: float, k: int) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_most(middle, k) > wanted else (low, middle)
        return low

    return (0.0 if k == 0 else where(0.975, k - 1)), (1.0 if k == n else where(0.025, k))


def line(kind: str, load: str, counted: Counted) -> str:
    """What is printed of one kind under one load."""
    low, high = interval(counted.told, counted.n)
    busy = sorted(counted.loads)[len(counted.loads) // 2] if counted.loads else 0.0
    what = "the slower cluster told apart from all" if load == "differs" else "false alarms"
    beside = "" if load == "differs" else f"; ranges of 3: {counted.ranges_apart} of {counted.n}"
    gaps = f"; {counted.incomplete} reports lack a part" if counted.incomplete else ""
    return (
        f"{kind:9} {load:7} {what}: {counted.told} of {counted.n} reports, {100 * counted.told / counted.n:.0f} % "
        f"[{100 * low:.0f} to {100 * high:.0f} %]{beside}; {counted.measured} measurements, "
        f"{counted.made_again} made again, {counted.disturbed} still disturbed, "
        f"processors busy just before (median) {100 * busy:.0f} %; {counted.seconds / counted.n:.0f} s each{gaps}"
    )


def campaigns(folder: Path, kind: str, load: str, asked: argparse.Namespace) -> Counted:
    """All campaigns of one kind under one load; each is told on standard error."""
    counted = Counted()
    differs = load == "differs"
    other = subprocess.Popen([sys.executable, "-c", BUSY]) if load == "busy" else None
    try:
        for number in range(asked.campaigns):
            began = time.monotonic()
            seed = random.Random(f"{kind} {load} {number}").randrange(10**6)
            slow_mb = asked.slow_mb if differs else None
            results = run_campaign(folder, kind, seed, asked.clusters, slow_mb)
            counted.seconds += time.monotonic() - began
            count(results, counted, differs=differs)
            print(line(kind, load, counted), file=sys.stderr, flush=True)
    finally:
        if other is not None:
            other.kill()
            other.wait()
    return counted


def main() -> None:
    """Run the campaigns and print a line for each kind and load."""
    parser = argparse.ArgumentParser(
        description="How often a report tells identical clusters apart."
    )
    parser.add_argument("--campaigns", type=int, default=20, help="of each kind and load")
    parser.add_argument("--clusters", type=int, default=6)
    parser.add_argument("--kinds", nargs="+", choices=tuple(KINDS), default=tuple(KINDS))
    parser.add_argument("--only", choices=("quiet", "busy", "differs"), action="append")
    parser.add_argument(
        "--slow-mb", type=int, default=53, help="disk of the one that differs, MB/s"
    )
    parser.add_argument("--keep", type=Path, help="folder that the results stay in")
    asked = parser.parse_args()
    if asked.campaigns < 1 or asked.clusters < 2:
        parser.error("at least one campaign of two clusters")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="wavetank-truth-") as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        make_kernels(folder)
        for kind in asked.kinds:
            against = deploy.check(ClusterSpec.model_validate(cluster(kind, "truth", FULL_MB)))
            if against:
                print(f"{kind} is left out: {'; '.join(against)}", flush=True)
                continue
            for load in asked.only or ("quiet", "busy", "differs"):
                print(line(kind, load, campaigns(folder, kind, load, asked)), flush=True)


if __name__ == "__main__":
    main()
