"""The ssh provider: nothing of a specification gets anywhere but where it belongs."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from wavetank.cluster.providers.ssh import SshProvider
from wavetank.cluster.remote.connection import (
    close_connections,
    configuration,
    make_socket_directory,
    socket_directory,
)
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError


def spec(tmp_path: Path, **ssh: Any) -> ClusterSpec:
    for name in ("key", "known_hosts"):
        (tmp_path / name).write_text("")
    return ClusterSpec.model_validate(
        {
            "name": "site",
            "provider": "ssh",
            "instance": {"name": "x"},
            "nodes": {"compute": 2},
            "file_system": {"kind": "none"},
            "ssh": {
                "hosts": {"c1": "node01.example.org", "c2": "10.0.0.2"},
                "user": "alice",
                "identity_file": str(tmp_path / "key"),
                "known_hosts": str(tmp_path / "known_hosts"),
                **ssh,
            },
        }
    )


def test_every_node_has_a_block_with_host_keys_checked_and_nothing_asked(tmp_path: Path) -> None:
    blocks = configuration(spec(tmp_path, port=2222)).split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == ["Host c1", "Host c2"]
    for block, address in zip(blocks, ("node01.example.org", "10.0.0.2"), strict=True):
        lines = [line.strip() for line in block.splitlines()]
        for expected in (
            f"HostName {address}",
            "Port 2222",
            "User alice",
            "StrictHostKeyChecking yes",
            "BatchMode yes",
        ):
            assert expected in lines


def lines_of(block: str) -> list[str]:
    return [line.strip() for line in block.splitlines()]


def test_hosts_behind_another_one_are_reached_by_it_and_its_key_is_checked_too(
    tmp_path: Path,
) -> None:
    asked = spec(tmp_path, jump="bob@gate.example.org:2200", port=2222)
    first, *nodes = map(lines_of, configuration(asked).split("\n\n"))
    assert first[:4] == ["Host jump", "HostName gate.example.org", "User bob", "Port 2200"]
    assert {"StrictHostKeyChecking yes", "BatchMode yes"} <= set(first)
    # its key may be among the user's own known hosts; it takes the hosts' key, or one of the user's
    assert any(
        line.startswith("UserKnownHostsFile ~/.ssh/known_hosts ")
        and line.endswith(f" {tmp_path}/known_hosts")
        for line in first
    )
    keys = [line.partition(" ")[2] for line in first if line.startswith("IdentityFile ")]
    assert keys[0] == f"{tmp_path}/key" and "~/.ssh/id_ed25519" in keys
    assert [node[0] for node in nodes] == ["Host c1", "Host c2"]
    assert all({"ProxyJump jump", "Port 2222", "User alice"} <= set(node) for node in nodes)
    assert "Port 22" in lines_of(configuration(spec(tmp_path, jump="bob@gate")).split("\n\n")[0])


def test_a_host_that_is_the_jump_host_itself_is_reached_without_a_detour(tmp_path: Path) -> None:
    _, first, second = configuration(spec(tmp_path, jump="alice@10.0.0.2")).split("\n\n")
    assert "ProxyJump jump" in lines_of(first)
    assert "ProxyJump" not in second


def test_all_hosts_share_one_connection_to_the_jump_host(tmp_path: Path) -> None:
    asked = spec(tmp_path, jump="alice@gate")
    alone = configuration(asked, jump_sockets=tmp_path)
    assert alone.count("ControlPath") == 1
    assert f"ControlPath {tmp_path}/jump" in lines_of(alone.split("\n\n")[0])
    assert configuration(asked, tmp_path).count("ControlPath") == 3


@pytest.mark.parametrize(
    "ssh",
    [
        {"jump": "-oProxyCommand=id"},
        {"jump": "a@b\n  ProxyCommand id"},
        {"jump": "a@b:22 -oProxyCommand=id"},
        {"jump": "a@b:0"},
        {"jump": "a@b,c@d"},
        {"hosts": {"c1": "-oProxyCommand=id", "c2": "b"}},
        {"hosts": {"c1": "a\n  ProxyCommand id", "c2": "b"}},
        {"user": "a b"},
        {"user": "root\nProxyCommand id"},
        {"identity_file": "/a\nProxyCommand id"},
        {"known_hosts": "relative"},
        {"directory": "/a b; rm"},
        {"proxy_command": "id"},
        {"password": "secret"},
    ],
)
def test_what_could_be_more_than_a_value_is_refused(tmp_path: Path, ssh: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        spec(tmp_path, **ssh)


def test_the_inventory_must_name_exactly_the_nodes(tmp_path: Path) -> None:
    said = "\n".join(SshProvider().check(spec(tmp_path, hosts={"c1": "a", "c3": "b"})))
    assert "no address for c2" in said
    assert "names c3, but the nodes are c1, c2" in said


def test_a_missing_key_is_said_and_its_content_never(tmp_path: Path) -> None:
    said = "\n".join(SshProvider().check(spec(tmp_path, identity_file="/no/such/key")))
    assert "ssh.identity_file /no/such/key is no file: name the private key" in said


def test_inventory_and_provider_go_together(tmp_path: Path) -> None:
    body = spec(tmp_path).model_dump() | {"provider": "local"}
    with pytest.raises(ValidationError, match="has no meaning with provider local"):
        ClusterSpec.model_validate(body)


@pytest.mark.parametrize("sudo", [False, True])
def test_the_remote_shell_sees_every_argument_quoted(tmp_path: Path, sudo: bool) -> None:
    nasty = ["echo", "a b", "$(id)", "'; rm -rf /; '", "", "*"]
    host = SshHost("c1", "a", tmp_path / "config", "/var/tmp/home", sudo)
    *ssh, command = host._reaching(nasty, {"V": "$(id) x"}, 2.5)
    assert ssh == ["ssh", "-F", str(tmp_path / "config"), "c1", "--"]
    # what a POSIX shell makes of it again: its own path and the system's, then the words as they were
    path, *words = shlex.split(command)
    assert path.startswith("PATH=$PATH:/usr/local/sbin:")
    before = ["sudo", "-n"] if sudo else []
    env = ["env", "WAVETANK_HOST=/var/tmp/home", "V=$(id) x"]
    assert words == [*before, "timeout", "-k", "1", "2.5", *env, *nasty]


def test_connections_are_shared_for_the_user_alone_and_close_by_themselves(tmp_path: Path) -> None:
    text = configuration(spec(tmp_path), tmp_path / "sockets")
    assert text.count(f"ControlPath {tmp_path}/sockets/%n\n") == 2
    assert text.count("ControlPersist 60\n") == 2
    assert "ControlMaster" not in configuration(spec(tmp_path))
    directory = socket_directory(secrets.token_hex(4))
    make_socket_directory(directory)
    try:
        assert directory.stat().st_mode & 0o777 == 0o700
        with pytest.raises(ProviderError, match="cannot make"):  # somebody else's is never used
            make_socket_directory(directory)
    finally:
        close_connections(tmp_path / "none", (), directory)
    assert not directory.exists()


@pytest.mark.parametrize(
    ("kind", "ssh", "words"),
    [
        ("none", {"hosts": {"c1": "a", "c2": "a"}}, "c1 and c2 are both a"),
        ("nfs", {}, "is served and mounted as root"),
        ("none", {"network": "10.0.0.0/64"}, "ssh.network"),
    ],
)
def test_what_cannot_work_over_ssh_is_said_without_asking_a_host(
    kind: str, ssh: dict[str, Any], words: str, tmp_path: Path
) -> None:
    asked = spec(tmp_path, **ssh).model_dump(mode="json")
    asked["file_system"] = {
        "kind": kind,
        "placement": "compute",
        "servers": 1 if kind == "nfs" else None,
    }
    findings = SshProvider().check(ClusterSpec.model_validate(asked))
    assert len(findings) == 1 and words in findings[0]
