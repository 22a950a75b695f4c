"""An account of AWS and a project of OpenStack, empty for each test; instances that nobody can reach, and are not reached for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aws_account import EMULATOR, ENVIRONMENT, Emulator, QuickClock
from contract_clusters import spec_of
from leftovers import skip_unless_possible
from openstack_account import AT_NOVA, NOVA, STANDIN, environment
from recorded_hosts import Recorder

from waiting import between_looks
from wavetank.cluster import deploy
from wavetank.cluster.clouds import engine, provider
from wavetank.cluster.clouds.provider import CloudProvider
from wavetank.cluster.filesystems.nfs_export import nfs_mount
from wavetank.cluster.needs import Needs
from wavetank.cluster.remote import hosts
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of


@pytest.fixture(scope="session", autouse=True)
def methods_of_clients_are_made_once() -> None:
    """Else botocore makes all 700 of EC2 for each client, and each test has clients of its own."""
    client = pytest.importorskip("botocore.client", reason="boto3 is not installed")
    make, made = client.ClientCreator._create_methods, {}

    def once(self: Any, service: Any) -> Any:
        if service.service_name not in made:
            made[service.service_name] = make(self, service)
        return dict(made[service.service_name])

    client.ClientCreator._create_methods = once


@pytest.fixture(scope="session")
def emulator_of_all() -> Iterator[Emulator]:
    found = Emulator(str(EMULATOR))
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def emulator(emulator_of_all: Emulator) -> Emulator:
    """An empty account that behaves: the test before may have left neither."""
    emulator_of_all.reset()
    return emulator_of_all


@pytest.fixture
def aws(emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """An empty account, and time that passes by being waited for."""
    from wavetank.cluster.clouds.aws.account import Account

    for key, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": emulator.url}.items():
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(CloudProvider, "clock", QuickClock())
    monkeypatch.setattr(Account, "pause", lambda self, n_before: None)
    return emulator


@pytest.fixture(scope="session")
def openstack_of_all() -> Iterator[Emulator]:
    """Stand-ins of all services."""
    found = Emulator(str(STANDIN))
    try:
        yield found
    finally:
        found.close()


class PatientClock(engine.WallClock):
    """Time as it passes, in which nothing is waited for longer than between two looks at Nova."""

    def sleep(self, seconds: float) -> None:
        between_looks(AT_NOVA)


@pytest.fixture(scope="session")
def nova_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """A real Nova beside stand-ins of what it calls."""
    found = Emulator(str(STANDIN), str(NOVA), str(tmp_path_factory.mktemp("nova")))
    try:
        yield found
    finally:
        found.close()


def _openstack(found: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """An empty project of a cloud that behaves."""
    found.reset()
    for key in [each for each in os.environ if each.startswith("OS_")]:
        monkeypatch.delenv(key)
    for key, value in environment(found.url).items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    # it shows all at once; looks that are alike take the tests' time
    monkeypatch.setattr(engine, "SETTLES_AFTER", timedelta())
    return found


@pytest.fixture
def openstack(
    openstack_of_all: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Emulator:
    """A cloud of stand-ins, and time that passes by being waited for."""
    from wavetank.cluster.clouds.openstack.account import Account

    monkeypatch.setattr(CloudProvider, "clock", QuickClock())
    monkeypatch.setattr(Account, "pause", lambda self, n_before: None)
    return _openstack(openstack_of_all, tmp_path, monkeypatch)


@pytest.fixture
def nova(nova_of_all: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """A cloud with a real Nova. It takes its time: looks at it are as many as it needs, and wait between each other."""
    from wavetank.cluster.clouds.openstack import cloud
    from wavetank.cluster.clouds.openstack.account import Account

    monkeypatch.setattr(CloudProvider, "clock", PatientClock())
    monkeypatch.setattr(Account, "pause", lambda self, n_before: between_looks(AT_NOVA))
    monkeypatch.setattr(cloud, "MOST_LOOKS", sys.maxsize)
    return _openstack(nova_of_all, tmp_path, monkeypatch)


@pytest.fixture
def unreached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances of the emulator are no machines: what is done with hosts is left out."""

    def take(spec: ClusterSpec, *, leave: bool) -> hosts.SshNodes:
        return hosts.SshNodes(spec, directory_of(spec.name), {}, "/storage/data")

    def examine(spec: ClusterSpec, needs: dict[str, Needs]) -> list[str]:
        return []

    monkeypatch.setattr(CloudProvider, "wait_ready", lambda self, spec: None)
    monkeypatch.setattr(CloudProvider, "prepare_launches", lambda self, nodes: None)
    monkeypatch.setattr(hosts, "take", take)
    monkeypatch.setattr(hosts, "examine", examine)
    monkeypatch.setattr(provider, "mount_further_devices", lambda spec, of_nodes, path: None)


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> dict[str, Recorder]:
    """Hosts behind the addresses that were handed over."""
    found: dict[str, Recorder] = {}

    def take(spec: ClusterSpec, *, leave: bool) -> hosts.SshNodes:
        assert spec.ssh is not None
        found.update({node: Recorder(node, spec.ssh.hosts[node]) for node in spec.node_names()})
        return hosts.SshNodes(spec, directory_of(spec.name), found, "/storage/wavetank/home/data")  # type: ignore[arg-type]

    monkeypatch.setattr(CloudProvider, "wait_ready", lambda self, spec: None)
    monkeypatch.setattr(hosts, "take", take)
    monkeypatch.setattr(hosts, "examine", lambda spec, needs: [])
    monkeypatch.setattr(nfs_mount, "missing_program", lambda spec, kind: [])
    return found


@pytest.fixture
def machines(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[deploy.DeployedCluster]:
    """As many nodes as the test wants machines of a cloud."""
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    body = spec_of("local-none", "cloud").model_dump(mode="json")
    spec = ClusterSpec.model_validate(body | {"nodes": {"compute": request.param}})
    skip_unless_possible(spec)
    with deploy.deployed(spec) as up:
        yield up
