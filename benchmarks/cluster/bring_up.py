"""How long six nodes take to come up and go down, per file system. Needs root; takes one to two minutes.

Run: sudo .venv/bin/python benchmarks/cluster/bring_up.py [REPETITIONS]
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from typing import Any

from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec

# file system -> (I/O nodes, most seconds that are acceptable on 2 cores that do nothing else)
KINDS: dict[str, tuple[int, float]] = {
    "none": (0, 3.0),
    "nfs": (1, 3.0),
    "orangefs": (3, 5.0),
    "glusterfs": (3, 15.0),
    "cephfs": (3, 35.0),
    "gateway": (3, 18.0),  # of glusterfs, and an NFS server on each I/O node
}
N_NODES = 6


def spec_of(kind: str) -> ClusterSpec:
    """Six nodes, of which the file system's servers are some."""
    n_io = KINDS[kind][0]
    body: dict[str, Any] = {
        "name": f"bench{os.getpid()}-{kind}",
        "instance": {"name": "bench", "vcpus": 2, "memory": "1 GiB", "network": "1 Gbit/s"},
        "nodes": {"compute": N_NODES - n_io, "io": n_io},
        "file_system": {"kind": kind, **({"behind": "glusterfs"} if kind == "gateway" else {})},
        "storage": {"size": "512 MiB"},
    }
    return ClusterSpec.model_validate(body)


def measure(kind: str) -> tuple[float, float]:
    """Seconds up and seconds down."""
    spec = spec_of(kind)
    began = time.monotonic()
    deploy.bring_up(spec)
    up_s = time.monotonic() - began
    deploy.take_down(spec.name)
    return up_s, time.monotonic() - began - up_s


def main() -> None:
    """Print a table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(
        f"{'file system':<12} {'nodes':>5} {'up, median s':>13} {'worst s':>8} {'down s':>7} {'limit s':>8}"
    )
    for kind, (_, limit_s) in KINDS.items():
        findings = deploy.check(spec_of(kind))
        if findings:
            print(f"{kind:<12} not possible here: {'; '.join(findings)}")
            continue
        times = [measure(kind) for _ in range(repetitions)]
        ups, downs = zip(*times, strict=True)
        print(
            f"{kind:<12} {N_NODES:>5} {statistics.median(ups):>13.2f} {max(ups):>8.2f} "
            f"{statistics.median(downs):>7.2f} {limit_s:>8.1f}"
        )


if __name__ == "__main__":
    main()
