"""Small writes into one shared file, as parallel HDF5 makes them: from one node and from two, on NFS and CephFS.

Four ranks write blocks of 4 KiB in turn, from byte 2,048 on, 600 in all. The table shows the time, the calls, what took the time, and
on CephFS how many requests the object stores got, and how long their journal took for each.
Needs root and a quarter of an hour on a busy machine. Run: sudo .venv/bin/python benchmarks/cluster/shared_file.py
"""

from __future__ import annotations

import json
import os
from typing import Any

from wavetank.cluster import deploy
from wavetank.cluster.filesystems.cephfs.options import STATE
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import provenance
from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.measure.bottleneck import bottleneck, call_time
from wavetank.measure.perform import ReplayPerformer
from wavetank.measure.run import measure, set_up
from wavetank.model.document.phase import LinearOffsets, PatternMember, Phase
from wavetank.model.document.program import DataStep, Program, RepeatStep

RANKS, BLOCKS, BLOCK_BYTES, FIRST_BYTE = 4, 150, 4096, 2048
NODES = {"4PxCN": 1, "2PxCN": 2}
SYSTEMS: dict[str, dict[str, Any]] = {
    "NFS": {"kind": "nfs"},
    "CephFS": {"kind": "cephfs"},
    "CephFS, no page cache": {
        "kind": "cephfs",
        "mount_options": {"fuse_disable_pagecache": True},
    },
}


def shared_kernel() -> Kernel:
    """Every rank writes each fourth block of one file."""
    stride = RANKS * BLOCK_BYTES
    phase = Phase(
        ph_id=1, file_id=1, level="posix", ph_processid=tuple(range(RANKS)), ph_np=RANKS,
        ph_weight=RANKS * BLOCKS * BLOCK_BYTES, ph_nrep=BLOCKS, ph_niop=BLOCKS,
        pattern=(PatternMember(iop_type="pwrite", rs=BLOCK_BYTES, disp=stride, dist=None),),
        offset=(LinearOffsets(a=BLOCK_BYTES, b=stride, c=FIRST_BYTE),), exact=True,
        tick_first=0, tick_last=0, start_s=None, end_s=None, io_time_s=None,
    )  # fmt: skip
    steps = (RepeatStep(times=BLOCKS, steps=(DataStep(ph_id=1, n=1),)),)
    return Kernel(
        provenance=provenance(), application="shared file", model_sha256="0" * 64, n_ranks=RANKS,
        files=(KernelFile(file_id=1, name="shared", role="both", prepare_bytes=FIRST_BYTE),), phases=(phase,),
        programs=(Program(ranks=tuple(range(RANKS)), steps=steps),),
        capacity_bytes=phase.ph_weight + FIRST_BYTE,
    )  # fmt: skip


def spec_of(name: str) -> ClusterSpec:
    """Two compute nodes; one server, or two object stores."""
    kind = SYSTEMS[name]["kind"]
    instance = {"name": "bench", "vcpus": 4, "memory": "1 GiB", "network": "1 Gbit/s"}
    return ClusterSpec.model_validate(
        {
            "name": f"bench{os.getpid()}-shared",
            "instance": {**instance, "disk_read": "100 MB/s", "disk_write": "80 MB/s"},
            "nodes": {"compute": 2, "io": 2 if kind == "cephfs" else 1},
            "file_system": SYSTEMS[name],
            "storage": {"size": "1 GiB"},
        }
    )


def stores(cluster: deploy.DeployedCluster) -> tuple[int, int, float]:
    """Write requests, journal commits and time in these, of all object stores since they started."""
    writes, commits, commit_s = 0, 0, 0.0
    for number, host in enumerate(cluster.io_hosts):
        socket = f"{STATE}/osd.{number}.asok"
        counters = json.loads(host.run(["ceph", "--admin-daemon", socket, "perf", "dump"]).stdout)
        writes += counters["osd"]["op_w"]
        commits += counters["bluestore"]["kv_commit_lat"]["avgcount"]
        commit_s += counters["bluestore"]["kv_commit_lat"]["sum"]
    return writes, commits, commit_s


def main() -> None:
    """Print a line for each file system and number of nodes."""
    kernel = shared_kernel()
    for name in SYSTEMS:
        with deploy.deployed(spec_of(name)) as cluster:
            bench = set_up(kernel, cluster)
            for mapping, n_nodes in NODES.items():
                before = stores(cluster) if name != "NFS" else (0, 0, 0.0)
                done = measure(bench, mapping, ReplayPerformer(), repetition=0, order=0)
                after = stores(cluster) if name != "NFS" else (0, 0, 0.0)
                writes, commits = after[0] - before[0], after[1] - before[1]
                line = f"{name}, ranks on {n_nodes}: {done.result.io.total_s:.2f} s for {RANKS * BLOCKS} writes"
                if done.result.phases[0].latency is not None:
                    line += f", median {call_time(done.result.phases[0].latency.p50_s)}"
                if writes:
                    each = (after[2] - before[2]) / max(commits, 1)
                    line += f"; stores: {writes} requests, {commits} commits of {call_time(each)}"
                whole = None if done.use is None else done.use.whole
                print(f"{line}; {bottleneck(whole).sentence}", flush=True)


if __name__ == "__main__":
    main()
