"""An MPI program and its kernel in one campaign, on NFS and GlusterFS clusters of this machine."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from tracer_run import compile_c

from wavetank.campaign.results_folder import open_store
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of
from wavetank.launchers.registry import launcher

SPECS = [
    {
        "name": f"own{os.getpid()}{kind}",
        "instance": {"name": "c3.2xlarge", "vcpus": 2, "memory": "512 MiB", "disk_write": "50 MB/s"},
        "nodes": {"compute": 2, "io": 1},
        "file_system": {"kind": kind},
        "storage": {"size": "512 MiB"},
    }
    for kind in ("nfs", "glusterfs")
]  # fmt: skip


def missing() -> str | None:
    if launcher("openmpi").available() is None or shutil.which("mpicc.openmpi") is None:
        return "Open MPI is not installed"
    found = (deploy.check(ClusterSpec.model_validate(spec)) for spec in SPECS)
    return "; ".join(reason for reasons in found for reason in reasons) or None


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
GRID, STEPS = 12, 3
SIZE = STEPS * GRID**3 * 40  # written, and read back
TRACED = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "4"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wavetank):
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    compile_c("bt_io.c", tmp_path / "bt_io", compiler="mpicc.openmpi")
    argv = ["./bt_io", "out", str(GRID), str(STEPS)]
    wavetank("trace", "-o", "t", "--", *TRACED, *argv, cwd=tmp_path)
    wavetank("model", "t", "-o", "m.json", cwd=tmp_path)
    wavetank("kernel", "m.json", "-o", "k.json", cwd=tmp_path)
    for spec in SPECS:
        (tmp_path / f"{spec['name']}.yaml").write_text(yaml.safe_dump(spec))
    # Ranks of several nodes that open a file again soon may wait for a lock file of Open MPI for ever.
    own = {"argv": argv, "env": {"OMPI_MCA_sharedfp": "^lockedfile"}}
    body = {
        "name": "own",
        "applications": [
            {"kernel": "k.json", "name": "bt"},
            {"kernel": "k.json", "name": "bt itself", "program": "own", "own": own},
        ],
        "clusters": [f"{spec['name']}.yaml" for spec in SPECS],
        "mappings": ["2PxCN"],
        "repetitions": 2,
        "oversubscribe": True,
        "output": "results",
    }
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(body))
    yield tmp_path
    for spec in SPECS:
        if directory_of(str(spec["name"])).path.is_dir():
            deploy.take_down(str(spec["name"]))


def test_a_program_of_mpi_and_its_kernel_are_compared_on_every_cluster(
    folder: Path, wavetank
) -> None:
    done = wavetank("run", "campaign.yaml", "--format", "json", cwd=folder)
    said = json.loads(done.stdout)
    assert len(said["kernel_beside_the_application_itself"]) == 2
    with open_store(folder / "results") as store:
        entries = store.entries()
        own = [each for each in entries if each.measurement.application == "bt itself"]
        assert len(entries) == 8 and len(own) == 4
        for entry in own:
            measurement = entry.measurement
            result = measurement.result
            assert result.moved_bytes == 2 * SIZE
            # Its phases are the kernel's, on the nodes of the kernel's ranks.
            hosts = [(rank.rank, rank.host) for rank in result.phases[0].ranks]
            assert hosts == [(0, "c1"), (1, "c1"), (2, "c2"), (3, "c2")]
            assert sum(phase.bytes for phase in result.phases) == 2 * SIZE
            assert result.io is not None and result.io.not_on_disk_bytes == 0
            assert 0 < result.io.total_s <= result.elapsed_s
            assert result.settings["flush"].startswith("behind the end")
            assert measurement.versions["MPI of the application"].startswith("Open MPI")
            assert measurement.cache.state == "cold"
            assert measurement.use is not None
            model = store.own_model(entry.number)
            assert model.n_ranks == 4
            assert {file.file_name for file in model.files if file.n_operations} == {
                f"/wavetank/kernel-{_digest(folder)}/out"
            }
    for spec in SPECS:
        assert not directory_of(str(spec["name"])).path.is_dir()


def _digest(folder: Path) -> str:
    """Of the folder of the application's runs."""
    with open_store(folder / "results") as store:
        keys = {
            key.kernel_sha256
            for key, measurement in store.keyed_measurements()
            if measurement.application == "bt itself"
        }
    (found,) = keys
    return found[:12]
