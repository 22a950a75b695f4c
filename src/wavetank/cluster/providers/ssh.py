"""Hosts that exist, over ssh: an inventory, a user, a key. They need a shell and POSIX tools, no Python.

Host keys are checked against the known hosts that the specification names; nothing ever asks for a password.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.host import Host
from wavetank.cluster.remote.host import SshHost, alive_daemons, end_daemons
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directory_of
from wavetank.document import write_whole
from wavetank.errors import ProviderError, RemoteCommandError

CONNECT_TIMEOUT_S = 10


@dataclass(frozen=True)
class SshNodes:
    """Hosts that can be reached."""

    spec: ClusterSpec
    directory: ClusterDirectory
    hosts: Mapping[str, SshHost]
    storage_path: str
    launcher_prefix: tuple[str, ...] = ()

    @property
    def network(self) -> str | None:
        """As the specification names it."""
        return self.spec.ssh.network if self.spec.ssh is not None else None

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """ssh, with the cluster's own configuration."""
        return ("ssh", "-F", str(self.directory.path / "ssh_config"))

    def limits(self) -> dict[str, str]:
        """There are none: the hosts are as they are."""
        return {"limits": "none: hosts over ssh, as they are"}

    def drop_caches(self) -> str:
        """Empty the page cache of every host; takes root there."""
        script = "sync && echo 3 > /proc/sys/vm/drop_caches"

        def drop(host: Host) -> str:
            try:
                host.run(["sh", "-c", script], timeout_s=600)
            except RemoteCommandError as error:
                return f"{host.name}: not emptied ({error.stderr_tail})"
            return f"{host.name}: drop_caches of the whole host"

        with ThreadPoolExecutor(max_workers=16) as pool:
            return "; ".join(pool.map(drop, self.hosts.values()))

    def health(self) -> list[str]:
        """Hosts that do not answer, daemons that died."""

        def look(host: SshHost) -> list[str]:
            try:
                return alive_daemons(host, self.directory.path)
            except RemoteCommandError as error:
                return [str(error)]

        with ThreadPoolExecutor(max_workers=16) as pool:
            return [finding for found in pool.map(look, self.hosts.values()) for finding in found]


class SshProvider:
    """Takes hosts for the time of a cluster, and leaves them as they were."""

    name = "ssh"
    hosts_outlive = True

    def check(self, spec: ClusterSpec) -> list[str]:
        """The inventory, and ssh itself."""
        return list(_problems(spec))

    def create(self, spec: ClusterSpec) -> SshNodes:
        """See that every host answers, and make a directory on each."""
        directory = directory_of(spec.name)
        write_whole(directory.path / "ssh_config", configuration(spec))
        nodes = self.find(spec)

        def prepare(host: Host) -> None:
            # its own directory, and nobody's that was there before
            host.run(
                ["mkdir", "-m", "755", "--", nodes.storage_path], timeout_s=3 * CONNECT_TIMEOUT_S
            )
            directory.note(do="directory", node=host.name)

        try:
            with ThreadPoolExecutor(max_workers=16) as pool:
                list(pool.map(prepare, nodes.hosts.values()))
        except RemoteCommandError as error:
            self.destroy(spec.name)
            raise ProviderError(f"cannot use host {error.node}: {error.stderr_tail}") from error
        except BaseException:
            self.destroy(spec.name)
            raise
        return nodes

    def find(self, spec: ClusterSpec) -> SshNodes:
        """The same hosts again."""
        directory = directory_of(spec.name)
        config = directory.path / "ssh_config"
        if spec.ssh is None or not config.exists():
            raise ProviderError(
                f"the hosts of {spec.name} were never reached: wavetank cluster down {spec.name}"
            )
        hosts = {
            name: SshHost(name, spec.ssh.hosts[name], config, directory.path, spec.ssh.sudo)
            for name in spec.node_names()
        }
        return SshNodes(spec, directory, hosts, f"{spec.ssh.directory}/wavetank-{spec.name}")

    def destroy(self, name: str) -> None:
        """End what was started on the hosts, and delete the directories that were made there."""
        directory = directory_of(name)
        state = directory.read_state()
        if state is None or not (directory.path / "ssh_config").exists():
            return
        nodes = self.find(state.spec)
        made = {str(entry["node"]) for entry in directory.journal() if entry["do"] == "directory"}

        def clean(host: SshHost) -> None:
            end_daemons(host, directory.path)
            if host.name in made:
                host.run(
                    ["rm", "-rf", "--one-file-system", "--", nodes.storage_path], timeout_s=600
                )

        try:
            with ThreadPoolExecutor(max_workers=16) as pool:
                list(pool.map(clean, nodes.hosts.values()))
        except RemoteCommandError as error:
            raise ProviderError(
                f"cannot clean host {error.node}: {error}. When it answers again, call down again"
            ) from error


def configuration(spec: ClusterSpec) -> str:
    """The ssh_config of a cluster: every node by its name, host keys checked, nothing asked."""
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
        f"IdentityFile {ssh.identity_file}",
        "IdentitiesOnly yes",
        f"ConnectTimeout {CONNECT_TIMEOUT_S}",
        "ServerAliveInterval 15",
        "LogLevel ERROR",
    ]
    blocks = []
    for name in spec.node_names():
        lines = [f"HostName {ssh.hosts[name]}", *common]
        blocks.append(f"Host {name}\n" + "".join(f"  {line}\n" for line in lines))
    return "\n".join(blocks)


def _problems(spec: ClusterSpec) -> Iterator[str]:
    if shutil.which("ssh") is None:
        yield "ssh is not installed: apt-get install openssh-client"
    if spec.ssh is None:
        yield "provider ssh needs the key ssh, with hosts, user, identity_file and known_hosts"
        return
    missing = [name for name in spec.node_names() if name not in spec.ssh.hosts]
    if missing:
        yield f"ssh.hosts has no address for {', '.join(missing)}"
    extra = [name for name in spec.ssh.hosts if name not in spec.node_names()]
    if extra:
        yield f"ssh.hosts names {', '.join(extra)}, but the nodes are {', '.join(spec.node_names())}"
    if spec.server_names():
        yield f"provider ssh puts no servers on hosts: file_system.kind must be existing or none, not {spec.file_system.kind}"
    for what, path in (
        ("identity_file", spec.ssh.identity_file),
        ("known_hosts", spec.ssh.known_hosts),
    ):
        if not Path(path).is_file():
            yield f"ssh.{what} {path} is no file"
