"""Commands on a cluster: which may run side by side, and what an interrupted one leaves mounted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster.clouds.cloud import RefusedError
from wavetank.cluster.deployed import DeployedCluster
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directory_of
from wavetank.errors import ClusterError


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterDirectory]:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    directory_of("lab").claim()
    yield directory_of("lab")


def _refused(of: ClusterDirectory, doing: str, alone: bool, said: str) -> None:
    with pytest.raises(ClusterError, match=said), of.used(doing, alone=alone):
        raise AssertionError


def test_a_measurement_has_its_cluster_alone_and_says_so_to_others(lab: ClusterDirectory) -> None:
    with lab.used("measure", alone=True):
        for alone in (True, False):
            _refused(
                lab, "cluster run", alone, f"in use by 'wavetank measure', process {os.getpid()}"
            )
    with lab.used("cluster run", alone=False), lab.used("cluster run", alone=False):
        _refused(lab, "characterise", True, "in use by 'wavetank cluster run'")
    with lab.used("measure", alone=True):
        pass


def test_a_cluster_that_is_not_there_is_not_used(lab: ClusterDirectory) -> None:
    with (
        pytest.raises(ClusterError, match="no cluster is called 'other'"),
        directory_of("other").used("measure", alone=True),
    ):
        raise AssertionError


class Nodes:
    def drop_caches(self) -> str:
        return "emptied"

    def hide(self, path: str) -> None:
        pass

    show = hide


class Mounts:
    """A file system whose clients are interrupted at a moment."""

    def __init__(self, when: str) -> None:
        self.when, self.mounted = when, True

    def _moment(self, name: str) -> None:
        if name == self.when:
            os.kill(os.getpid(), signal.SIGINT)
            os.getpid()  # handlers run between instructions

    def mount_path(self, site: Any) -> str:
        return "/mnt"

    def drop_server_caches(self, site: Any) -> str:
        return ""

    def unmount(self, site: Any) -> None:
        self.mounted = False
        self._moment("unmounted")

    def mount(self, site: Any) -> None:
        self._moment("mounting")
        self.mounted = True


@pytest.mark.parametrize("when", ["unmounted", "mounting"])
def test_whoever_interrupts_the_emptying_of_caches_finds_it_mounted(when: str) -> None:
    spec = ClusterSpec.model_validate(
        {
            "name": "lab",
            "provider": "null",
            "instance": {"name": "x"},
            "nodes": {"compute": 1, "io": 1},
            "file_system": {"kind": "moosefs"},
        }
    )
    cluster = DeployedCluster(spec, Nodes())  # type: ignore[arg-type]
    mounts = Mounts(when)
    cluster.__dict__.update(file_system=mounts, site=None)
    with pytest.raises(KeyboardInterrupt):
        cluster.drop_caches()
    assert mounts.mounted


def test_settings_of_a_cloud_that_are_no_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavetank.cluster.clouds.openstack.account import Account

    (tmp_path / "clouds.yaml").write_text("clouds: {lab: {auth: 5, region_name: R}}\n")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
    monkeypatch.setenv("OS_CLOUD", "lab")
    with pytest.raises(
        RefusedError, match=r"OpenStack: .*Name a cloud of clouds\.yaml by OS_CLOUD"
    ):
        Account("R")
