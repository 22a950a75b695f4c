"""The provider aws with hosts that are there: instances of the emulator that are nodes of a local cluster, over a real sshd."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")
sys.path.insert(0, str(Path(__file__).parents[1]))

from contract_clusters import spec_of
from leftovers import skip_unless_possible

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.clouds.bill import kept_bills
from wavetank.cluster.spec import ClusterSpec

PROGRAM = Path(__file__).parent / "aws_loopback.py"
OWN_IMAGE = "ami-12c6146b"  # of the emulator

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        any(shutil.which(name, path="/usr/sbin:/usr/bin") is None for name in ("sshd", "sudo")),
        reason="sshd or sudo is not installed",
    ),
]


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[deploy.DeployedCluster]:
    """Three nodes that stand for instances."""
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    body = spec_of("local-none", "cloud").model_dump(mode="json") | {"nodes": {"compute": 3}}
    spec = ClusterSpec.model_validate(body)
    skip_unless_possible(spec)
    with deploy.deployed(spec) as up:
        yield up


@pytest.mark.parametrize(("kind", "image"), [("glusterfs", "debian-12"), ("nfs", OWN_IMAGE)])
def test_a_file_system_serves_on_instances_and_down_leaves_the_account_empty(
    machines: deploy.DeployedCluster, kind: str, image: str
) -> None:
    done = subprocess.run(
        [*machines.launcher_prefix, sys.executable, str(PROGRAM), machines.name, kind, image],
        capture_output=True, text=True, check=False, timeout=1.9 * HANG_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["read"] == "from one instance\n"
    assert said["health"] == []
    assert said["account"] == []
    assert all(" /made-by-aws/mount fuse." in each for each in said["mounts"])
    assert said["measured"]["status"] == "ok"  # by mpirun on one instance, a rank on each
    assert sum(phase["bytes"] for phase in said["measured"]["phases"]) == 2 * 2 * 64 * 1024
    assert said["limits"]["limits"].endswith(" on c1")
    (kept,) = kept_bills()  # of instances that really were asked, from the account's own times
    assert kept.end_utc is not None and kept.computed.total > 0
