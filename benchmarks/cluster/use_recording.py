"""What it costs to record the use of six nodes: processor time of the recording, and what it does to a kernel's time.

A kernel of small requests runs on NFS with the recording and without, in turn, in one run; the ratio of the medians is the effect.
Needs root; takes about a minute. Run: sudo .venv/bin/python benchmarks/cluster/use_recording.py [REPETITIONS]
"""

from __future__ import annotations

import os
import statistics
import sys
from contextlib import nullcontext
from unittest.mock import patch

from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.kernel.construction.objects import object_kernel
from wavetank.measure.perform import ReplayPerformer
from wavetank.measure.run import measure, set_up

INSTANCE = {"name": "bench", "vcpus": 2, "memory": "512 MiB", "network": "1 Gbit/s"}
SPEC = ClusterSpec.model_validate(
    {
        "name": f"bench{os.getpid()}-use",
        "instance": {**INSTANCE, "disk_read": "100 MB/s", "disk_write": "80 MB/s"},
        "nodes": {"compute": 5, "io": 1},
        "file_system": {"kind": "nfs"},
        "storage": {"size": "512 MiB"},
    }
)


def main() -> None:
    """Print the two numbers."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    kernel = object_kernel("small", "write", 8192, 1, 16 * 2**20)
    times: dict[bool, list[float]] = {True: [], False: []}
    shares = []
    with deploy.deployed(SPEC) as cluster:
        bench = set_up(kernel, cluster)
        for number in range(2 * repetitions):
            watched = number % 2 == 0
            with (
                nullcontext()
                if watched
                else patch.object(type(cluster), "record_counters", lambda *_: None)
            ):
                done = measure(bench, "1PxCN", ReplayPerformer(), repetition=0, order=0)
            times[watched].append(done.result.io.total_s)
            if done.use is not None and done.use.own_cpu_share is not None:
                shares.append(done.use.own_cpu_share)
    on, off = statistics.median(times[True]), statistics.median(times[False])
    print(f"nodes recorded: {len(SPEC.node_names())}, repetitions: {repetitions} each")
    print(f"processor time of the recording: {100 * statistics.median(shares):.1f} % of one core")
    print(f"kernel's I/O time with / without: {on:.3f} s / {off:.3f} s = {on / off:.3f}")
    print(f"spread without: {min(times[False]):.3f} to {max(times[False]):.3f} s")


if __name__ == "__main__":
    main()
