"""Campaigns on clusters that are the same: in how many does the report tell any two of them apart? Needs root.

    sudo benchmarks/truth/run [--campaigns 20] [--clusters 6] [--only quiet|busy|differs] [--mib 16] [--slow-mb 53] [--keep DIR]

Three kinds of campaigns, each on NFS clusters of two nodes with a kernel of a second or less (dd that writes and flushes):

- quiet: identical clusters, and nothing else that this program starts;
- busy: the same, with a process beside that computes in bursts of 1 to 8 s;
- differs: identical clusters and one whose disk has 53 in place of 80 MB/s (busy too, unless --quiet-power).

A false alarm is a report of the first two kinds in which any ranking tells any two clusters apart. The share is printed with its
95 % interval (Clopper and Pearson). Beside it stands what ranges of the first three repetitions would have said.
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

FULL_MB = 80
"""Disk of every cluster, MB/s."""
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
    """What the campaigns of one kind said."""

    n: int = 0
    told: int = 0
    ranges_apart: int = 0
    measured: int = 0
    disturbed: int = 0
    made_again: int = 0
    loads: list[float] = field(default_factory=list)
    seconds: float = 0.0


def make_kernel(folder: Path, mib: int) -> None:
    """Trace a dd that writes and flushes, and make its kernel; one that was kept is taken again."""
    if (folder / "dd.kernel.json").exists():
        return
    program = ["dd", "if=/dev/zero", "of=out", "bs=1M", f"count={mib}", "conv=fsync"]
    wavetank("trace", "-o", "dd.trace", "--", *program, cwd=folder)
    wavetank("model", "dd.trace", "-o", "dd.model.json", cwd=folder)
    wavetank("kernel", "dd.model.json", "-o", "dd.kernel.json", cwd=folder)


def cluster(name: str, disk_mb: int) -> dict[str, Any]:
    """An NFS server and a client."""
    return {
        "name": name,
        "title": name,
        "instance": instance(disk_mb),
        "nodes": {"compute": 1, "io": 1},
        "file_system": {"kind": "nfs"},
        "storage": {"size": "512 MiB"},
    }


def run_campaign(folder: Path, number: int, n_clusters: int, slow_mb: int | None) -> Path:
    """One campaign with new clusters and a seed of its own; the folder of its results.

    Args:
        folder: of kernel and results.
        number: the seed.
        n_clusters: how many.
        slow_mb: disk of the one that differs; None: all are the same.
    """
    prefix = f"truth{os.getpid()}"
    names = [f"{prefix}-{index}" for index in range(n_clusters)]
    for index, name in enumerate(names):
        body = cluster(name, slow_mb if slow_mb and index == 0 else FULL_MB)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(body))
    campaign = {
        "name": f"truth-{number}",
        "applications": [{"kernel": "dd.kernel.json"}],
        "clusters": [f"{name}.yaml" for name in names],
        "seed": number,
        "output": f"results-{'differs' if slow_mb else 'same'}-{number}",
    }
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(campaign))
    wavetank("run", path, "--fresh", "--format", "json", cwd=folder)
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
    ranking = next(each for each in said["rankings"] if each["by"] == "time")
    others = len(ranking["places"]) - 1
    counted.n += 1
    if differs:  # is the slow one told apart from all others?
        slow = next(
            p for p in ranking["places"] if p["configuration"].split(" / ")[1].endswith("-0")
        )
        counted.told += not slow["ties_with"]
    else:
        counted.told += any(len(p["ties_with"]) < others for p in ranking["places"])
    counted.ranges_apart += ranges_apart([c["io_time_s"]["values"] for c in said["configurations"]])
    rows = json.loads(wavetank("measurements", results, "--format", "json", cwd=results))[
        "measurements"
    ]
    counted.measured += len(rows)
    from wavetank.campaign.results_folder import open_store

    with open_store(results) as store:
        loads = [each.load for each in store.measurements() if each.load is not None]
        counted.made_again += store.n_disturbed()
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


def line(kind: str, counted: Counted) -> str:
    """What is printed of one kind."""
    low, high = interval(counted.told, counted.n)
    busy = sorted(counted.loads)[len(counted.loads) // 2] if counted.loads else 0.0
    what = "the slower cluster told apart from all" if kind == "differs" else "false alarms"
    beside = "" if kind == "differs" else f"; ranges of 3: {counted.ranges_apart} of {counted.n}"
    return (
        f"{kind:8} {what}: {counted.told} of {counted.n} reports, {100 * counted.told / counted.n:.0f} % "
        f"[{100 * low:.0f} to {100 * high:.0f} %]{beside}; {counted.measured} measurements, "
        f"{counted.made_again} made again, {counted.disturbed} still disturbed, "
        f"processors busy just before (median) {100 * busy:.0f} %; {counted.seconds / counted.n:.0f} s each"
    )


def main() -> None:
    """Run the campaigns and print a line for each kind."""
    parser = argparse.ArgumentParser(
        description="How often a report tells identical clusters apart."
    )
    parser.add_argument("--campaigns", type=int, default=20, help="of each kind")
    parser.add_argument("--clusters", type=int, default=6)
    parser.add_argument("--only", choices=("quiet", "busy", "differs"), action="append")
    parser.add_argument(
        "--slow-mb", type=int, default=53, help="disk of the one that differs, MB/s"
    )
    parser.add_argument("--mib", type=int, default=16, help="that the kernel writes and flushes")
    parser.add_argument("--quiet-power", action="store_true", help="no other work beside 'differs'")
    parser.add_argument("--keep", type=Path, help="folder that the results stay in")
    asked = parser.parse_args()
    if asked.campaigns < 1 or asked.clusters < 2:
        parser.error("at least one campaign of two clusters")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="wavetank-truth-") as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()
        make_kernel(folder, asked.mib)
        for kind in asked.only or ("quiet", "busy", "differs"):
            counted = Counted()
            works = kind == "busy" or (kind == "differs" and not asked.quiet_power)
            other = subprocess.Popen([sys.executable, "-c", BUSY]) if works else None
            try:
                for number in range(asked.campaigns):
                    began = time.monotonic()
                    seed = random.Random(f"{kind} {number}").randrange(10**6)
                    results = run_campaign(
                        folder, seed, asked.clusters, asked.slow_mb if kind == "differs" else None
                    )
                    counted.seconds += time.monotonic() - began
                    count(results, counted, differs=kind == "differs")
                    print(f"{line(kind, counted)}", file=sys.stderr, flush=True)
            finally:
                if other is not None:
                    other.kill()
                    other.wait()
            print(line(kind, counted), flush=True)


if __name__ == "__main__":
    main()
