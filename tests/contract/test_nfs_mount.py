"""Our NFS mount, as programs use it: what POSIX promises, on a real server. (The kernel's client passes it as well.)"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_clusters import spec_of
from leftovers import skip_unless_possible

from waiting import HANG_S, until
from wavetank.cluster import deploy
from wavetank.cluster.filesystems.nfs import driver as nfs
from wavetank.errors import FileSystemError

pytestmark = [pytest.mark.cluster]

PROGRAMS = Path(__file__).parent / "posix_programs"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[deploy.DeployedCluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVETANK_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        spec = spec_of("local-nfs", "posix")
        skip_unless_possible(spec)
        with deploy.deployed(spec) as up:
            yield up


@pytest.mark.parametrize("program", ["names.py", "content.py", "attributes.py"])
def test_posix_semantics(cluster: deploy.DeployedCluster, program: str) -> None:
    host = cluster.compute_hosts[0]
    where = f"{cluster.mount_path}/{program}.d"
    host.put(PROGRAMS / program, "/tmp/program.py")
    done = host.run([sys.executable, "/tmp/program.py", where], timeout_s=HANG_S)
    assert done.stdout == "as promised\n"


@pytest.mark.parametrize("program", ["names.py", "content.py", "attributes.py"])
def test_the_promises_are_those_of_a_local_file_system(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAMS / program, tmp_path / "d"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "as promised\n"


def test_what_one_node_closed_another_opens(cluster: deploy.DeployedCluster) -> None:
    one, other = cluster.compute_hosts
    path = f"{cluster.mount_path}/handed-over"
    for text in ("first", "second, longer", "3"):  # the reader has the older content cached
        one.run(["dd", f"of={path}", "status=none"], stdin=text)
        assert other.run(["cat", path]).stdout == text


def test_neighbouring_bytes_of_two_nodes_do_not_undo_each_other(
    cluster: deploy.DeployedCluster,
) -> None:
    one, other = cluster.compute_hosts
    path = f"{cluster.mount_path}/shared"
    one.run(["truncate", "-s", "8", path])
    one.run(["cat", path])  # both nodes hold the page
    other.run(["cat", path])
    for host, seek, text in ((one, 0, "AAAA"), (other, 4, "BBBB")):
        host.run(
            ["dd", f"of={path}", f"seek={seek}", "oflag=seek_bytes", "conv=notrunc", "status=none"],
            stdin=text,
        )
    assert one.run(["cat", path]).stdout == "AAAABBBB"


def test_users_other_than_root_are_themselves(cluster: deploy.DeployedCluster) -> None:
    host = cluster.compute_hosts[0]
    open_to_all, closed = f"{cluster.mount_path}/open", f"{cluster.mount_path}/closed"
    host.run(["mkdir", "-m", "1777", open_to_all])
    host.run(["mkdir", "-m", "700", closed])
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"]
    host.run([*as_nobody, f"echo x > {open_to_all}/file"])
    assert host.run(["stat", "-c", "%u:%g", f"{open_to_all}/file"]).stdout == "65534:65534\n"
    refused = host.run([*as_nobody, f"ls {closed} 2>&1 || true"]).stdout
    assert "Permission denied" in refused


def test_a_mount_that_is_refused_says_what_the_server_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    spec = spec_of("local-nfs", f"refused{os.getpid() % 10}")
    skip_unless_possible(spec)
    whole = nfs.configuration
    monkeypatch.setattr(nfs, "configuration", lambda s, a, e: whole(s, a, "/storage/not-there"))
    with pytest.raises(FileSystemError, match=r"(?s)cannot mount io1:.*io1: .*CRIT"):
        deploy.bring_up(spec)


def test_the_options_of_our_mount_are_read_back_from_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    spec = spec_of("local-nfs", "options")
    skip_unless_possible(spec)
    asked = spec.file_system.model_copy(update={"mount_options": {"wsize": 65536, "sync": True}})
    with deploy.deployed(spec.model_copy(update={"file_system": asked})) as cluster:
        said = cluster.settings()
    if said["client"] == "Linux":
        pytest.skip("does not apply: the kernel says its options itself")
    assert said["mount options on c1"].endswith("wsize 65536 sync")


def test_a_mount_that_nobody_uses_keeps_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A server closes connections on which nothing comes for some minutes, and the mount would end.
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path))
    spec = spec_of("local-nfs", "idle")
    skip_unless_possible(spec)
    asked = spec.file_system.model_copy(update={"mount_options": {"keepalive": 1}})
    with deploy.deployed(spec.model_copy(update={"file_system": asked})) as cluster:
        if cluster.settings()["client"] == "Linux":
            pytest.skip("does not apply: the kernel opens its connections again")
        host = cluster.compute_hosts[0]

        def bytes_sent() -> int:
            said = host.run(["ss", "-tinH", "state", "established", "dport", "=", "2049"]).stdout
            return int(re.search(r"bytes_sent:(\d+)", said)[1])

        first = bytes_sent()
        until(lambda: bytes_sent() >= first + 2 * 44, "calls on a mount that nobody uses")
