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

from wavetank.cluster.spec import ClusterSpec
from wavetank.document import write_whole
from wavetank.errors import ProviderError

CONNECT_TIMEOUT_S = 30
# A shared connection that nobody uses closes by itself, should this tool be killed.
PERSIST_S = 60


def configuration(spec: ClusterSpec, sockets: Path | None = None) -> str:
    """The ssh_config of a cluster: every node by its name, host keys checked, nothing asked.

    Args:
        spec: of the cluster, with its key ssh.
        sockets: directory of the shared connections; None for a connection a command.
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
    blocks = []
    if ssh.jump is not None:  # it is asked for its own key too, by this user's known hosts
        common.append(f"ProxyJump {ssh.jump}")
        jump = ["BatchMode yes", "StrictHostKeyChecking yes", f"ConnectTimeout {CONNECT_TIMEOUT_S}"]
        settings = "".join(f"  {line}\n" for line in jump)
        blocks.append(f"Host {ssh.jump.rpartition('@')[2]}\n{settings}")
    for name in spec.node_names():
        lines = [f"HostName {ssh.hosts[name]}", *common]
        blocks.append(f"Host {name}\n" + "".join(f"  {line}\n" for line in lines))
    return "\n".join(blocks)


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
    """Close the shared connections, and delete their directory."""
    for name in names:
        if (directory / name).exists():
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    ["ssh", "-F", str(config), "-O", "exit", name],
                    capture_output=True, check=False, timeout=CONNECT_TIMEOUT_S, start_new_session=True,
                )  # fmt: skip
    shutil.rmtree(directory, ignore_errors=True)
