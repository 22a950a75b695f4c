"""Kernels with collective MPI-IO over two nodes run at once on a cluster that has just come up, on every file system.

The file is closed and opened again without a pause: what one node still knows of names that another has removed counts.
"""

from __future__ import annotations

from pathlib import Path

import kernel_models as km
import pytest
from contract_clusters import CLUSTERS, spec_of
from leftovers import marked, up

from waiting import HANG_S
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.measure.perform import ReplayPerformer
from wavetank.measure.run import measure, set_up, tear_down

pytestmark = [pytest.mark.cluster]
GLOBAL = [
    kind for kind in CLUSTERS if CLUSTERS[kind]["file_system"]["kind"] not in ("none", "existing")
]


@pytest.mark.parametrize("kind", marked(GLOBAL))
def test_a_collective_kernel_runs_over_two_nodes_of_a_fresh_cluster(
    tmp_path: Path, kind: str
) -> None:
    model = km.btio(steps=4)
    kernel = make_kernel(model, km.written(model, tmp_path))
    performer = ReplayPerformer(options=ReplayOptions(timeout_s=HANG_S))
    with up(tmp_path / "state", spec_of(kind, "mpio")) as cluster:
        bench = set_up(kernel, cluster)
        for repetition in range(2):
            done = measure(bench, "2PxCN", performer, repetition=repetition, order=repetition)
            assert {rank.host for phase in done.result.phases for rank in phase.ranks} == {
                "c1",
                "c2",
            }
            # 4 ranks write 4 pieces of 960 bytes each, and read them back
            assert sum(phase.bytes for phase in done.result.phases) == 2 * 4 * 4 * 960
        tear_down(bench)
