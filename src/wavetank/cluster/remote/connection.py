"""ssh's own side: the configuration of a cluster's hosts, and one shared connection to each.

Host keys are checked against the known hosts that the specification names; nothing ever asks for a password.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from wavetank.cluster.components import Ssh
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import write_whole
from wavetank.errors import ProviderError

CONNECT_TIMEOUT_S = 30
# A shared connection that nobody uses closes by itself, should this tool be killed.
PERSIST_S = 60
# Name of the jump host in the configuration; no node is called so.
JUMP = "jump"
# Longest path of a directory for sockets: ssh adds a name and 17 characters, and a socket's path has at most 107.
LONGEST_DIRECTORY = 107 - 17 - len("/jump")
# Keys of the user that ssh offers by itself (ssh_config(5)); where one is named they are no more.
OWN_KEYS = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")


def configuration(
    spec: ClusterSpec, sockets: Path | None = None, jump_sockets: Path | None = None
) -> str:
    """The ssh_config of a cluster: every node by its name, host keys checked, nothing asked.

    Args:
        spec: of the cluster, with its key ssh.
        sockets: directory of the shared connections; None for a connection a command.
        jump_sockets: directory of the shared connection to the jump host; the default is ``sockets``.
    """
    ssh = spec.ssh
    if ssh is None:
        raise ProviderError(f"cluster {spec.name} has no key ssh")
    common = [
        f"User {ssh.user}",
        f"Port {ssh.port}",
        "BatchMode yes",
        "StrictHostKeyChecking yes",
        f"UserKnownHostsFile {ssh.known_hosts}",
        "GlobalKnownHostsFile /dev/null",
        "UpdateHostKeys no",
        f"IdentityFile {ssh.identity_file}",
        "IdentitiesOnly yes",
        f"ConnectTimeout {CONNECT_TIMEOUT_S}",
        "ServerAliveInterval 15",
        "LogLevel ERROR",
    ]
    if sockets is not None:
        common += ["ControlMaster auto", f"ControlPath {sockets}/%n", f"ControlPersist {PERSIST_S}"]
    blocks = {}
    if ssh.jump is not None:
        blocks[JUMP] = _jump_lines(ssh, ssh.jump, jump_sockets or sockets)
    for name in spec.node_names():
        blocks[name] = [f"HostName {ssh.hosts[name]}", *common]
        if ssh.jump is not None and ssh.hosts[name] != host_of(ssh.jump):
            blocks[name].append(f"ProxyJump {JUMP}")
    return "\n".join(
        f"Host {name}\n" + "".join(f"  {line}\n" for line in lines)
        for name, lines in blocks.items()
    )


def _jump_lines(ssh: Ssh, jump: str, sockets: Path | None) -> list[str]:
    """Settings of the jump host: asked for its own key too, and given a key of the cluster or of this user.

    All hosts share one connection to it: sshd drops some of more than ten that are not authenticated yet (MaxStartups).
    """
    user, _, address = jump.partition("@")
    lines = [
        f"HostName {host_of(jump)}",
        f"User {user}",
        f"Port {address.partition(':')[2] or 22}",
        "BatchMode yes",
        "StrictHostKeyChecking yes",
        f"UserKnownHostsFile ~/.ssh/known_hosts ~/.ssh/known_hosts2 {ssh.known_hosts}",
        "UpdateHostKeys no",
        f"IdentityFile {ssh.identity_file}",
        *(f"IdentityFile ~/.ssh/{name}" for name in OWN_KEYS),
        f"ConnectTimeout {CONNECT_TIMEOUT_S}",
        "ServerAliveInterval 15",
        "LogLevel ERROR",
    ]
    if sockets is not None:
        lines += [
            "ControlMaster auto",
            f"ControlPath {sockets}/{JUMP}",
            f"ControlPersist {PERSIST_S}",
        ]
    return lines


def host_of(jump: str) -> str:
    """Of USER@HOST or USER@HOST:PORT."""
    return jump.partition("@")[2].partition(":")[0]


def jump_problem(spec: ClusterSpec, config: Path) -> str | None:
    """Why the jump host cannot be used; None where it can, or there is none. Its shared connection then stays for the hosts.

    Args:
        spec: of the cluster.
        config: its ssh_config, with a directory of sockets.
    """
    if spec.ssh is None or spec.ssh.jump is None:
        return None
    # no command is run there: many jump hosts forward connections, and do nothing else
    argv = ["ssh", "-F", str(config), "-f", "-N", JUMP]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", check=False, timeout=2 * CONNECT_TIMEOUT_S, start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        said = f"no end within {2 * CONNECT_TIMEOUT_S} s"
    else:
        if done.returncode == 0:
            return None
        said = " ".join(done.stderr.split()) or f"ssh ended with status {done.returncode}"
    return (
        f"cannot use jump host {spec.ssh.jump}: {said}. Its key must be in ~/.ssh/known_hosts or {spec.ssh.known_hosts}, and it must "
        f"accept {spec.ssh.identity_file} or a key of this user; ~/.ssh/config is not read"
    )


# Called as ssh is: [options] HOST COMMAND...; ranks run as root, as all else of a cluster with ssh.sudo does.
REMOTE_SHELL = """#!/bin/sh
while :; do
  case $1 in
    -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
command=$(printf '%s' "$*" | sed "s/'/'\\\\''/g")
exec ssh -F "$(dirname -- "$0")/ssh_config" "$host" -- "sudo -n sh -c '$command'"
"""


def write_remote_shell(directory: Path) -> None:
    """Write the stand-in for ssh that runs commands by sudo, beside the configuration."""
    path = directory / "remote-shell"
    write_whole(path, REMOTE_SHELL)
    path.chmod(0o755)


def socket_directory(token: str) -> Path:
    """Where the sockets of a cluster's connections are: a short path, as a socket's has at most 107 characters."""
    return Path(tempfile.gettempdir()) / f"wavetank-ssh-{os.getuid()}-{token}"


def make_socket_directory(directory: Path) -> None:
    """Make it, for this user only.

    Raises:
        ProviderError: it cannot be made.
    """
    try:
        directory.mkdir(mode=0o700)
    except OSError as error:
        raise ProviderError(f"cannot make {directory}: {error.strerror}") from error


def close_connections(config: Path, names: Iterable[str], directory: Path) -> None:
    """Close the shared connections to hosts, and to the jump host; delete their directory."""
    for name in (*names, JUMP):
        if (directory / name).exists():
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    ["ssh", "-F", str(config), "-O", "exit", name],
                    capture_output=True, check=False, timeout=CONNECT_TIMEOUT_S, start_new_session=True,
                )  # fmt: skip
    shutil.rmtree(directory, ignore_errors=True)
