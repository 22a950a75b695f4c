"""Clusters for the contract tests: small, of an own name, in an own state directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from contract_clusters import CLUSTERS, spec_of
from leftovers import up

from wavetank.cluster import deploy


def _marked(kind: str) -> Any:
    return pytest.param(kind, marks=[pytest.mark.optional] if "orangefs" in kind else [])


@pytest.fixture(scope="module", params=[_marked(kind) for kind in CLUSTERS])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def cluster(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[deploy.DeployedCluster]:
    """A cluster of each kind, up for the tests of one module."""
    with up(tmp_path_factory.mktemp("state"), spec_of(kind, kind)) as cluster:
        yield cluster
