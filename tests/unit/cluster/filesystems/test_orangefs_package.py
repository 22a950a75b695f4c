"""A package of OrangeFS that a person gives: refused where it cannot be used, brought to every host, and taken away again."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from waiting import HANG_S
from wavetank.cluster.filesystems.base import Site, needs_by_node
from wavetank.cluster.filesystems.orangefs import driver
from wavetank.cluster.filesystems.orangefs.driver import INSTALL, REMOVE
from wavetank.cluster.host import Finished
from wavetank.cluster.spec import ClusterSpec


class Host:
    """Notes what it is told to run, and what is copied to it."""

    def __init__(self, name: str) -> None:
        self.name, self.address = name, "192.0.2.1"
        self.did: list[str] = []

    def run(self, argv: Sequence[str], **_: object) -> Finished:
        self.did.append("install" if INSTALL in argv else "remove" if REMOVE in argv else argv[0])
        return Finished("", "", 0.0)

    def start(self, argv: Sequence[str], **_: object) -> None:
        self.did.append("start")

    def put(self, source: Path, destination: str) -> None:
        self.did.append(f"put {source.name}")


def spec(provider: str = "ssh", **file_system: Any) -> ClusterSpec:
    body: dict[str, Any] = {
        "name": "lab", "provider": provider, "instance": {"name": "c5.large"}, "nodes": {"compute": 1, "io": 1},
        "file_system": {"kind": "orangefs", **file_system},
    }  # fmt: skip
    if provider == "ssh":
        body["ssh"] = {
            "hosts": {"c1": "192.0.2.1", "io1": "192.0.2.2"}, "user": "root", "identity_file": "/k", "known_hosts": "/h",
        }  # fmt: skip
    return ClusterSpec.model_validate(body)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "pvfs2-server").write_text("the server")
    with tarfile.open(tmp_path / "orangefs.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "pvfs2-server", "./sbin/pvfs2-server")
    return tmp_path / "orangefs.tar.gz"


def test_a_package_that_is_missing_or_of_no_use_is_refused(archive: Path) -> None:
    check = driver.OrangeFS().check
    assert check(spec(package=str(archive), prefix="/opt/orangefs")) == []
    (missing,) = check(spec(package="/nowhere/orangefs.deb"))
    assert "/nowhere/orangefs.deb is no file of this machine" in missing
    (no_prefix,) = check(spec(package=str(archive)))
    assert "name the prefix" in no_prefix
    (local,) = check(spec("local", package=str(archive), prefix="/opt/orangefs"))
    assert f"install {archive} here" in local


def test_a_package_of_another_file_system_is_refused() -> None:
    with pytest.raises(ValueError, match="only has a meaning with kind: orangefs, not nfs"):
        spec(kind="nfs", package="/x.deb")


def test_hosts_need_no_programs_before_where_a_package_brings_them(archive: Path) -> None:
    without = needs_by_node(driver.OrangeFS(), spec(prefix="/opt/orangefs"))
    assert without["io1"].programs and without["c1"].programs
    needs = needs_by_node(driver.OrangeFS(), spec(prefix="/opt/orangefs", package=str(archive)))
    assert not needs["io1"].programs and not needs["c1"].programs
    assert "/dev/fuse" in needs["c1"].files


def test_every_host_has_it_before_servers_start_and_loses_it_at_the_end(archive: Path) -> None:
    asked = spec(package=str(archive), prefix="/opt/orangefs")
    client, server = Host("c1"), Host("io1")
    at = Site(asked, (server,), (client,), "/storage", (server,))  # type: ignore[arg-type]
    driver.OrangeFS().install(at)
    brought = ["mkdir", "put orangefs.tar.gz", "install", "rm"]
    assert client.did == brought
    assert server.did[:4] == brought and "start" in server.did[4:]
    driver.OrangeFS().remove(at)
    assert client.did[-2:] == server.did[-2:] == ["remove", "rm"]


def run(script: str, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    argv = ["sh", "-c", script, "sh", *words]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=HANG_S)  # fmt: skip


def test_an_archive_is_unpacked_at_the_prefix_and_only_what_was_unpacked_is_deleted(
    tmp_path: Path, archive: Path
) -> None:
    state, prefix = tmp_path / "state", tmp_path / "opt" / "orangefs"
    state.mkdir()
    assert run(INSTALL, str(archive), str(state), str(prefix)).returncode == 0
    assert (prefix / "sbin" / "pvfs2-server").read_text() == "the server"
    assert run(REMOVE, str(state), str(prefix)).returncode == 0
    assert not prefix.exists()
    prefix.mkdir()  # somebody's own
    (state / "unpacked").unlink()
    refused = run(INSTALL, str(archive), str(state), str(prefix))
    assert refused.returncode != 0 and "is there already" in refused.stderr
    assert run(REMOVE, str(state), str(prefix)).returncode == 0
    assert prefix.exists()


@pytest.mark.parametrize(
    ("there", "did", "removed"),
    [
        ("", "dpkg -i", True),
        ("installed 2.10", "", False),
        ("installed 2.9", "and not 2.10", False),
    ],
)
def test_a_debian_package_is_installed_where_it_is_missing_and_only_then_removed(
    tmp_path: Path, there: str, did: str, removed: bool
) -> None:
    programs, state = tmp_path / "bin", tmp_path / "state"
    programs.mkdir()
    state.mkdir()
    stand_ins = {
        "dpkg-deb": "case $3 in Package) echo orangefs ;; *) echo 2.10 ;; esac",
        "dpkg-query": f"printf '%s' '{there}'",
        "dpkg": 'echo "dpkg $*"',
    }
    for name, text in stand_ins.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    done = run(INSTALL, "/x/orangefs.deb", str(state), "", path=str(programs))
    assert did in done.stderr
    assert (done.returncode == 0) is ("and not" not in did)
    said = run(REMOVE, str(state), "", path=str(programs))
    assert said.returncode == 0
    assert ("dpkg -r orangefs" in said.stderr) is removed


def test_without_a_package_nothing_is_brought() -> None:
    host = Host("c1")
    driver.bring_package(host, spec(), "/run/state")  # type: ignore[arg-type]
    driver.remove_package(host, spec(), "/run/state")  # type: ignore[arg-type]
    assert host.did == []
