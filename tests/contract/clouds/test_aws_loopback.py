"""The provider aws with hosts that are there: the contract suites and a campaign, on instances that are nodes of a local cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from contract_clusters import spec_of
from leftovers import skip_unless_possible

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec

PROGRAM = Path(__file__).with_name("aws_loopback.py")

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        any(shutil.which(name, path="/usr/sbin:/usr/bin") is None for name in ("sshd", "sudo")),
        reason="sshd or sudo is not installed",
    ),
]


@pytest.fixture
def machines(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[deploy.DeployedCluster]:
    """As many nodes as the test wants instances."""
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    body = spec_of("local-none", "cloud").model_dump(mode="json")
    spec = ClusterSpec.model_validate(body | {"nodes": {"compute": request.param}})
    skip_unless_possible(spec)
    with deploy.deployed(spec) as up:
        yield up


def in_aws(machines: deploy.DeployedCluster, *command: str) -> str:
    """Run a command with the account; what it printed. Nothing is left in the account."""
    argv = [*machines.launcher_prefix, sys.executable, str(PROGRAM), machines.name]
    done = subprocess.run(
        [*argv, *command], capture_output=True, text=True, check=False, timeout=1.9 * HANG_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *said, left = done.stdout.splitlines()
    assert json.loads(left) == []
    return "\n".join(said)


# All of both suites with one file system; of the other what differs from it. "aws-" is all of it with each.
CHOSEN = os.environ.get(
    "WAVETANK_TEST_AWS_CHOSEN", "aws-nfs or (aws-glusterfs and (placed or global or settings))"
)
SUITES = ("test_cluster_contract.py", "test_cluster_run_contract.py")


@pytest.mark.parametrize("machines", [10], indirect=True)
def test_the_contracts_hold_on_instances(machines: deploy.DeployedCluster) -> None:
    suites = [str(Path(__file__).parents[1] / name) for name in SUITES]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-k", CHOSEN]
    said = in_aws(machines, sys.executable, "-m", "pytest", *options, *suites)
    assert "passed" in said
