"""Clusters for the contract tests: small, of an own name, in an own state directory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_clusters import CLOUD, CLUSTERS, spec_of
from emulated_account import account_of
from leftovers import Traces, marked, skip_unless_possible, up

from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directories
from wavetank.errors import ClusterError

if CLOUD is not None:
    account_of(CLOUD).without_waits()


@pytest.fixture(scope="module", params=marked(CLUSTERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def cluster(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[deploy.DeployedCluster]:
    """A cluster of each kind, up for the tests of one module."""
    with up(tmp_path_factory.mktemp("state"), spec_of(kind, kind)) as cluster:
        yield cluster


@pytest.fixture
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClusterSpec]:
    """A cluster's specification, in an own state directory, as lab.yaml of the test's folder: taken down at the end."""
    suffix = request.path.stem.rpartition("_")[2]
    spec = spec_of(getattr(request, "param", "local-nfs"), suffix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
        patch.chdir(tmp_path)
        skip_unless_possible(spec)
        (tmp_path / "lab.yaml").write_text(spec.model_dump_json())  # JSON is YAML
        yield spec
        for directory in directories():
            with contextlib.suppress(ClusterError):
                deploy.take_down(directory.name)


@pytest.fixture
def traces(spec: ClusterSpec, tmp_path: Path) -> Traces:
    """What the cluster of ``spec`` may leave."""
    return Traces(tmp_path / "state", spec.name)
