"""The ssh provider against real sshd processes in nodes of a local cluster; the contract suite runs in their network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import skip_unless_possible

from conftest import spec_of
from wavetank.cluster import deploy
from wavetank.errors import RemoteCommandError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(280),
    pytest.mark.skipif(
        shutil.which("sshd", path="/usr/sbin") is None, reason="sshd is not installed"
    ),
    pytest.mark.skipif("WAVETANK_TEST_SSH" in os.environ, reason="this suite starts itself once"),
]

PORT = "2222"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host key, a user's key, and the known hosts."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True
        )
    public = " ".join((folder / "host.pub").read_text().split()[:2])
    lines = [f"[10.77.0.{i}]:{PORT} {public}\n" for i in (1, 2)]
    (folder / "known_hosts").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def hosts(keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[deploy.DeployedCluster]:
    """Two nodes with sshd, and a directory that both see (a mount of the same disk)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVETANK_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        spec = spec_of("local-nfs", "sshd")
        skip_unless_possible(spec)
        with deploy.deployed(spec) as up:
            for host in up.compute_hosts:
                host.run(
                    [
                        "sh",
                        "-c",
                        "mkdir -p /run/sshd /root/.ssh && chmod 700 /root/.ssh && ln -sfn /wavetank /tmp/shared",
                    ]
                )
                host.put(keys / "user.pub", "/root/.ssh/wavetank_keys")
                host.put(keys / "host", "/run/host_key")
                host.run(["chmod", "600", "/run/host_key", "/root/.ssh/wavetank_keys"])
                host.start(
                    ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", PORT, "-h", "/run/host_key",
                     "-o", "AuthorizedKeysFile=/root/.ssh/wavetank_keys", "-o", "PermitRootLogin=prohibit-password",
                     "-o", "MaxStartups=100", "-o", "KexAlgorithms=curve25519-sha256"],  # the quickest
                    log="sshd",
                )  # fmt: skip
            _wait_for_sshd(up)
            yield up


def _wait_for_sshd(up: deploy.DeployedCluster) -> None:
    deadline = time.monotonic() + 20
    for host in up.compute_hosts:
        while True:
            try:
                host.run(["sh", "-c", f"ss -ltn | grep -q ':{PORT} '"])
                break
            except RemoteCommandError:
                assert time.monotonic() < deadline, "sshd does not come up"
                time.sleep(0.05)


def inventory(keys: Path, **changes: object) -> dict[str, object]:
    return {
        "hosts": {"c1": "10.77.0.1", "c2": "10.77.0.2"},
        "user": "root",
        "port": int(PORT),
        "identity_file": str(keys / "user"),
        "known_hosts": str(keys / "known_hosts"),
        "network": "10.77.0.0/24",
        **changes,
    }


def in_their_network(
    hosts: deploy.DeployedCluster, argv: list[str], ssh: dict[str, object]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*hosts.launcher_prefix, *argv], env={**os.environ, "WAVETANK_TEST_SSH": json.dumps(ssh)},
        capture_output=True, text=True, check=False, timeout=250,
    )  # fmt: skip


def test_the_contract_holds_over_ssh(hosts: deploy.DeployedCluster, keys: Path) -> None:
    suite = str(Path(__file__).with_name("test_cluster_contract.py"))
    # all of it with one file system; of the other what differs
    chosen = "ssh-existing or (ssh-none and (is_a_running or placed or other_process or healthy))"
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-k",
        chosen,
        suite,
    ]
    done = in_their_network(hosts, argv, inventory(keys))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    for host in hosts.compute_hosts:  # nothing is left on the hosts
        left = host.run(["ls", "/var/tmp", "/tmp/shared/", "/tmp"]).stdout
        assert f"wavetank-t{os.getpid()}-ssh" not in left


UP = """
import os, sys
sys.path.insert(0, {folder!r})
from conftest import spec_of
from wavetank.cluster import deploy
try:
    deploy.bring_up(spec_of("ssh-none", "refused"))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_host_with_another_key_is_refused(
    hosts: deploy.DeployedCluster, keys: Path, tmp_path: Path
) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True
    )
    public = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    (tmp_path / "known_hosts").write_text(
        "".join(f"[10.77.0.{i}]:{PORT} {public}\n" for i in (1, 2))
    )
    code = UP.format(folder=str(Path(__file__).parent))
    ssh = inventory(keys, known_hosts=str(tmp_path / "known_hosts"))
    done = in_their_network(hosts, [sys.executable, "-c", code], ssh)
    assert "cannot use host c1" in done.stdout
    assert "verification failed" in done.stdout
    assert "PRIVATE KEY" not in done.stdout + done.stderr


def test_a_user_without_the_key_is_refused(
    hosts: deploy.DeployedCluster, keys: Path, tmp_path: Path
) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "stranger"], check=True
    )
    code = UP.format(folder=str(Path(__file__).parent))
    done = in_their_network(
        hosts,
        [sys.executable, "-c", code],
        inventory(keys, identity_file=str(tmp_path / "stranger")),
    )
    assert "cannot use host c1" in done.stdout
    assert "Permission denied" in done.stdout
