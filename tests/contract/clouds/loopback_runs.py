"""What tests of all clouds do with machines that are nodes of a local cluster: the contract suite, and kills of the tool."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_clusters import spec_of
from leftovers import marked

from waiting import HANG_S
from wavetank.cluster import deploy

HERE = Path(__file__).parent
SUITE = str(HERE.parent / "test_cluster_contract.py")
# WAVETANK_TEST_CLOUD_CHOSEN names other tests for all file systems: "aws-" is all of the suite with each.
CHOSEN = os.environ.get("WAVETANK_TEST_CLOUD_CHOSEN")
# Names the steps after which the tool is killed; "all": each of them, which takes long.
KILLS = os.environ.get("WAVETANK_TEST_CLOUD_KILLS")

marks = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        any(shutil.which(name, path="/usr/sbin:/usr/bin") is None for name in ("sshd", "sudo")),
        reason="sshd or sudo is not installed",
    ),
]


def in_cloud(cloud: str, machines: deploy.DeployedCluster, *command: str) -> str:
    """Run a command with the account; what it printed. Nothing is left in the account."""
    program = str(HERE / "cloud_loopback.py")
    argv = [*machines.launcher_prefix, sys.executable, program, cloud, machines.name]
    done = subprocess.run(
        [*argv, *command], capture_output=True, text=True, check=False, timeout=1.9 * HANG_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *said, left = done.stdout.splitlines()
    assert json.loads(left) == []
    return "\n".join(said)


def kinds(chosen_of: Mapping[str, str]) -> list[Any]:
    """Parameters of a test: how many machines the suite takes, and the kind of cluster."""
    return [
        pytest.param(len(spec_of(kind, "cloud").node_names()), kind, id=kind, marks=of.marks)
        for kind, of in zip(chosen_of, marked(chosen_of), strict=True)
    ]


def skip_where_not_packaged(kind: str) -> None:
    """Skip where a package is missing that no distribution has, before there are nodes."""
    spec = spec_of(kind, "cloud")
    if spec.file_system.kind == "orangefs" and spec.file_system.prefix is None:
        pytest.skip("OrangeFS is not in Debian: WAVETANK_TEST_ORANGEFS names its prefix")


def contract_holds(machines: deploy.DeployedCluster, kind: str, chosen: str) -> None:
    """The contract suite passes on machines of a cloud."""
    options = [
        "-q",
        "-x",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-k",
        f"{kind} and ({CHOSEN or chosen})",
    ]
    cloud = kind.partition("-")[0]
    said = in_cloud(cloud, machines, sys.executable, "-m", "pytest", *options, SUITE)
    assert "passed" in said


def spaces_hold(cloud: str, machines: deploy.DeployedCluster, kind: str) -> None:
    """A dedicated space of a kind has servers that a service brings up on machines of a cloud."""
    program = str(HERE.parent / "spaces_on_hosts.py")
    options = ["-q", "-x", "-rs", "-p", "no:cacheprovider", "-k", kind]
    said = in_cloud(cloud, machines, sys.executable, "-m", "pytest", *options, program)
    assert "1 passed" in said, said


def kills_leave_nothing(
    cloud: str, how: str, machines: deploy.DeployedCluster, kills: str
) -> list[dict[str, Any]]:
    """Kill the tool at steps, and remove the cluster: what came of each kill.

    Args:
        cloud: the provider's name.
        how: "down" or "prune".
        machines: at least two more than one cluster has.
        kills: the steps; none: each of them.
    """
    steps = [each for each in kills.split(",") if each]
    name = machines.name.removesuffix("-cloud")
    program = str(HERE / "killed_there.py")
    said = in_cloud(cloud, machines, sys.executable, program, how, f"{name}-killed", *steps)
    found = [json.loads(line) for line in said.splitlines()]
    for each in found:
        assert each["removed"][0] == 0, each
        assert (each["left"], each["folder"]) == ([], False), each
    if steps:
        assert [each["status"] for each in found] == [-signal.SIGKILL] * len(steps), found
    else:
        assert found[-1]["status"] == 0 and found[-1]["after"].startswith("up after"), found[-1]
    for host in machines.compute_hosts:  # what a machine ran went with it
        assert "ssh" not in host.run(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]).stdout
    return found


def kills_asked_for(usual: str) -> str:
    """Those of the environment, or the usual ones; empty: each."""
    return (usual if KILLS is None else KILLS).replace("all", "")
