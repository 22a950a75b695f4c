"""The example driver does what every driver must do: the contract suite of clusters, with it in place of ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from contract_clusters import INSTANCE
from leftovers import skip_unless_possible, up

# The contract's tests, collected here a second time: their fixture ``cluster`` is this file's.
from test_cluster_contract import *  # noqa: F403

from outside_driver import example_driver
from wavetank.cluster import deploy
from wavetank.cluster.registry import facts, file_system
from wavetank.cluster.spec import ClusterSpec

pytestmark = [pytest.mark.cluster]


def spec_with(n_io: int = 1, **file_system: object) -> ClusterSpec:
    return ClusterSpec.model_validate(
        {
            "name": "example-driver",
            "instance": INSTANCE,
            "nodes": {"compute": 2, "io": n_io},
            "file_system": {"kind": "sshfs", **file_system},
            "storage": {"size": "512 MiB"},
        }
    )


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with example_driver(tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(scope="module")
def kind() -> str:
    return "local-sshfs"


@pytest.fixture(scope="module")
def cluster(
    installed: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[deploy.DeployedCluster]:
    del installed
    skip_unless_possible(spec_with())
    with up(tmp_path_factory.mktemp("state"), spec_with()) as cluster:
        yield cluster


def test_it_is_found_by_its_entry_point() -> None:
    assert (file_system("sshfs").kind, facts("sshfs").title) == ("sshfs", "SSHFS")


@pytest.mark.parametrize(
    ("asked", "finding"),
    [
        ({"options": {"threads": 8}}, "options.threads: sshfs has no such option"),
        ({"mount_options": {"cache": 1}}, "mount_options.cache: sshfs has no such option"),
        (
            {"mount_options": {"max_conns": "4,ro"}},
            "max_conns: '4,ro' is not possible: write a whole",
        ),
    ],
)
def test_what_it_cannot_do_is_a_finding(asked: dict[str, Any], finding: str) -> None:
    assert any(finding in said for said in file_system("sshfs").check(spec_with(**asked)))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"n_io": 2}, "has 1 data server, not 2"),
        ({"stripe": {"kind": "sharded", "size": "4 MiB"}}, "sshfs has distributed"),
    ],
)
def test_what_its_facts_exclude_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        spec_with(**asked)
