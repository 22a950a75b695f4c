"""The example driver does what every driver must do: the contract suite of clusters, with it in place of ours."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract_clusters import INSTANCE
from leftovers import skip_unless_possible, up

# The contract's tests, collected here a second time: their fixture ``cluster`` is this file's.
from test_cluster_contract import *  # noqa: F403

from wavetank.cluster import deploy
from wavetank.cluster.registry import facts, file_system
from wavetank.cluster.spec import ClusterSpec

DRIVER = Path(__file__).parents[2] / "examples" / "driver"


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
    """The driver with its entry point, as pip would put them on the path."""
    project = tomllib.loads((DRIVER / "pyproject.toml").read_text())["project"]
    facts = tmp_path_factory.mktemp("site") / f"wavetank_sshfs-{project['version']}.dist-info"
    facts.mkdir()
    name = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (facts / "METADATA").write_text(name)
    ((group, entries),) = project["entry-points"].items()
    lines = "".join(f"{key} = {value}\n" for key, value in entries.items())
    (facts / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DRIVER)
        patch.syspath_prepend(facts.parent)
        patch.setenv("PYTHONPATH", f"{facts.parent}:{DRIVER}")
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
        ({"n_io": 2}, "has one data server, not 2"),
        ({"stripe": {"kind": "sharded", "size": "4 MiB"}}, "cannot stripe"),
        ({"options": {"threads": 8}}, "options.threads: sshfs has no such option"),
        ({"mount_options": {"cache": 1}}, "mount_options.cache: sshfs has no such option"),
        ({"mount_options": {"max_conns": "4,ro"}}, "mount_options.max_conns: '4,ro' is no whole"),
    ],
)
def test_what_it_cannot_do_is_a_finding(asked: dict[str, Any], finding: str) -> None:
    assert any(finding in said for said in file_system("sshfs").check(spec_with(**asked)))
