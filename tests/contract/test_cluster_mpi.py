"""A cluster's MPI-IO library and hints reach the ranks: as ROMIO says itself on the nodes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from contract_clusters import spec_of
from leftovers import skip_unless_possible

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.job import Job, Placement
from wavetank.launchers.registry import launcher

pytestmark = [pytest.mark.cluster]

PROGRAM = r"""
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_File file;
    MPI_Init(&argc, &argv);
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != 0)
        return 1;
    MPI_File_close(&file);
    MPI_Finalize();
}
"""


def test_hints_of_the_cluster_are_those_of_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    said = spec_of("local-nfs", "mpi").model_dump(mode="json")
    said["mpi"] = {"hints": {"cb_buffer_size": 1234567}}
    spec = ClusterSpec.model_validate(said)
    skip_unless_possible(spec)
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    subprocess.run(["mpicc.openmpi", "-o", program, tmp_path / "program.c"], check=True)
    with deploy.deployed(spec) as cluster:
        placement = Placement(
            hosts=(("c1", 1), ("c2", 1)), remote_shell=cluster.remote_shell,
            launcher_prefix=cluster.launcher_prefix, network=cluster.network, environment=cluster.environment,
        )  # fmt: skip
        for host in cluster.compute_hosts:
            host.put(program, "/tmp/hints-program")
        told = {
            "ROMIO_PRINT_HINTS": "1"
        }  # ROMIO's own words for what is in force, of the first rank
        job = Job(("/tmp/hints-program", f"{cluster.mount_path}/file"), 2, told, placement)
        argv = launcher("openmpi").command(job, tmp_path)
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=HANG_S,
        )
        lines = [line.split() for line in done.stdout.splitlines()]
        assert ["key", "=", "cb_buffer_size", "value", "=", "1234567"] in lines
        assert cluster.settings()["MPI-IO hints"] == "cb_buffer_size 1234567"
        assert cluster.settings()["ranks' OMPI_MCA_io"] == "romio321"
