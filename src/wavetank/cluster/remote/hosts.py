"""Hosts over ssh, whoever made them: reached, given a directory each, cleaned and left. They need a POSIX shell and small tools.

Every host gets one directory of the cluster's own (its name holds a random token), and is left as it was.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import secrets
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.counters import Counters
from wavetank.cluster.host import NOT_EMPTIED, Host, on_all
from wavetank.cluster.needs import Needs, distribution_of, lacks
from wavetank.cluster.providers.base import PlainNodes
from wavetank.cluster.remote import scripts
from wavetank.cluster.remote.connection import (
    CONNECT_TIMEOUT_S,
    LONGEST_DIRECTORY,
    close_connections,
    configuration,
    jump_problem,
    make_socket_directory,
    socket_directory,
    write_remote_shell,
)
from wavetank.cluster.remote.counters import recording
from wavetank.cluster.remote.host import MARK, SshHost
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directory_of
from wavetank.document import write_whole
from wavetank.errors import ClusterError, ProviderError, RemoteCommandError

log = logging.getLogger(__name__)

PREPARE_TIMEOUT_S = 3 * CONNECT_TIMEOUT_S
CLEAN_TIMEOUT_S = 600


@dataclass(frozen=True)
class SshNodes(PlainNodes):
    """Hosts that can be reached."""

    spec: ClusterSpec
    directory: ClusterDirectory
    hosts: Mapping[str, SshHost]
    storage_path: str
    launcher_prefix: tuple[str, ...] = ()

    @property
    def mark(self) -> Mapping[str, str]:
        """Of every program of the cluster."""
        return {MARK: self.home}

    @property
    def home(self) -> str:
        """Directory of the cluster on each host, the same on all."""
        return self.storage_path.removesuffix("/data")

    @property
    def network(self) -> str | None:
        """As the specification names it."""
        return self.spec.ssh.network if self.spec.ssh is not None else None

    @property
    def remote_shell(self) -> tuple[str, ...]:
        """ssh, with the cluster's own configuration, and by sudo where all commands are."""
        if self.spec.ssh is not None and self.spec.ssh.sudo:
            return (str(self.directory.path / "remote-shell"),)
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
                return f"{host.name}: {NOT_EMPTIED} ({error.stderr_tail})"
            return f"{host.name}: drop_caches of the whole host"

        return "; ".join(on_all(self.hosts.values(), drop))

    def record_counters(self, every_s: float) -> AbstractContextManager[Counters]:
        """Record what each host uses."""
        return recording(self.hosts, every_s)

    def health(self) -> list[str]:
        """Hosts that do not answer, daemons that died."""

        def look(host: SshHost) -> list[str]:
            try:
                return host.dead_daemons()
            except RemoteCommandError as error:
                return [str(error)]

        return [finding for found in on_all(self.hosts.values(), look) for finding in found]


@contextlib.contextmanager
def reaching(spec: ClusterSpec) -> Iterator[dict[str, SshHost]]:
    """The hosts by node, before anything is made on them: a connection a command."""
    ssh = spec.ssh
    if ssh is None:
        raise ProviderError(f"cluster {spec.name} has no key ssh")
    own = directory_of(spec.name).path  # goes with the cluster, should this process be killed
    is_usable = own.is_dir() and len(f"{own}/wavetank-12345678") <= LONGEST_DIRECTORY
    at = own if is_usable else None
    with tempfile.TemporaryDirectory(prefix="wavetank-", dir=at) as scratch:
        config = Path(scratch) / "ssh_config"
        config.write_text(configuration(spec, jump_sockets=Path(scratch)))
        try:
            yield {
                name: SshHost(name, ssh.hosts[name], config, ssh.directory, ssh.sudo)
                for name in spec.node_names()
            }
        finally:
            close_connections(config, (), Path(scratch))


def examine(spec: ClusterSpec, needs: Mapping[str, Needs]) -> list[str]:
    """Ask every host at once whether it answers and has what is needed: findings."""
    if spec.ssh is None:
        return []
    with reaching(spec) as hosts:
        problem = jump_problem(spec, next(iter(hosts.values())).config)
        if problem is not None:
            return [problem]
        asked = {name: hosts[name] for name in needs}
        found = on_all(asked.values(), lambda host: _lacks(host, spec, needs[host.name]))
    findings = [finding for of_host in found for finding in of_host.findings]
    return [*findings, *_same_machines(found)]


def take(spec: ClusterSpec, *, leave: bool = False) -> SshNodes:
    """See that every host answers, and make a directory on each.

    Args:
        spec: of the cluster.
        leave: whether what had been made on hosts stays when this fails, until ``release``.

    Raises:
        ProviderError: one cannot be used; what had been made on hosts is removed, unless it is left.
    """
    if spec.ssh is None:
        raise ProviderError(f"cluster {spec.name} has no key ssh")
    directory = directory_of(spec.name)
    token = secrets.token_hex(4)
    home = f"{spec.ssh.directory}/wavetank-{spec.name}-{token}"
    directory.note(
        do="hosts", home=home, token=token, nodes=" ".join(spec.node_names()),
        mount=_mount_point(spec), sudo=int(spec.ssh.sudo),
    )  # fmt: skip
    try:
        make_socket_directory(socket_directory(token))
        config = directory.path / "ssh_config"
        write_whole(config, configuration(spec, socket_directory(token)))
        write_remote_shell(directory.path)
        problem = jump_problem(spec, config)
        if problem is not None:
            raise ProviderError(problem)
        hosts = _hosts(spec, directory, home, {})
        on_all(hosts.values(), lambda host: _prepare(host, spec))
        for name, address in zip(
            hosts, on_all(hosts.values(), lambda host: _address(host, spec)), strict=True
        ):
            directory.note(do="address", node=name, address=address)
    except BaseException as error:
        if not leave:
            _release_after_failure(spec.name)
        if isinstance(error, RemoteCommandError):
            raise ProviderError(
                f"cannot use host {error.node}: {error.stderr_tail or error}"
            ) from error
        raise
    return attach(spec)


def _release_after_failure(name: str) -> None:
    try:
        release(name)
    except ProviderError as left:  # deploy tries again; what went wrong first is what is said
        log.warning("%s", left)


def attach(spec: ClusterSpec) -> SshNodes:
    """The same hosts again.

    Raises:
        ProviderError: they were never reached.
    """
    directory = directory_of(spec.name)
    noted = _noted(directory)
    if noted is None or spec.ssh is None or not (directory.path / "ssh_config").exists():
        raise ProviderError(
            f"the hosts of {spec.name} were never reached: wavetank cluster down {spec.name}"
        )
    home = str(noted["home"])
    addresses = {
        str(entry["node"]): str(entry["address"])
        for entry in directory.journal()
        if entry["do"] == "address"
    }
    return SshNodes(spec, directory, _hosts(spec, directory, home, addresses), f"{home}/data")


def release(name: str) -> None:
    """End what was started on the hosts, and delete what was made there; by the journal alone.

    Raises:
        ProviderError: hosts cannot be cleaned; calling again goes on.
    """
    directory = directory_of(name)
    noted = _noted(directory)
    if noted is None:
        return
    config = directory.path / "ssh_config"
    sockets = socket_directory(str(noted["token"]))
    nodes = str(noted["nodes"]).split()
    failed: list[str] = []
    if config.exists():  # else nothing was reached yet
        if not sockets.exists():  # an earlier call closed the connections
            make_socket_directory(sockets)
        home, sudo = str(noted["home"]), bool(noted["sudo"])
        hosts = {node: SshHost(node, node, config, home, sudo) for node in nodes}
        failed = [
            failure
            for failure in on_all(hosts.values(), lambda host: _clean(host, str(noted["mount"])))
            if failure is not None
        ]
    close_connections(config, nodes, sockets)
    if failed:
        raise ProviderError(
            "\n  ".join(failed)
            + f"\n  When they answer again, call 'wavetank cluster down {name}' again"
        )


def forget(name: str) -> None:
    """Close the connections to hosts that are gone, or go now: nothing is cleaned there."""
    directory = directory_of(name)
    noted = _noted(directory)
    if noted is not None:
        sockets = socket_directory(str(noted["token"]))
        close_connections(directory.path / "ssh_config", str(noted["nodes"]).split(), sockets)


def _hosts(
    spec: ClusterSpec, directory: ClusterDirectory, home: str, addresses: Mapping[str, str]
) -> dict[str, SshHost]:
    ssh = spec.ssh
    if ssh is None:
        return {}
    config = directory.path / "ssh_config"
    return {
        name: SshHost(name, addresses.get(name, ssh.hosts[name]), config, home, ssh.sudo)
        for name in spec.node_names()
    }


def _noted(directory: ClusterDirectory) -> dict[str, str | int] | None:
    """What the journal says of the hosts; None when none was reached."""
    return next((entry for entry in directory.journal() if entry["do"] == "hosts"), None)


def _mount_point(spec: ClusterSpec) -> str:
    """Where a file system that we serve is mounted on hosts; empty when none is."""
    return spec.file_system.mount if spec.server_names() else ""


def _prepare(host: SshHost, spec: ClusterSpec) -> None:
    """Make the home, a directory of its own that nobody had before."""
    at = _mount_point(spec) if host.name in spec.compute_names() else ""
    lock = scripts.LOCK if _mount_point(spec) else ""
    host.script(scripts.PREPARE, host.home, at, lock, timeout_s=PREPARE_TIMEOUT_S)


def _clean(host: SshHost, mount: str) -> str | None:
    """End what runs on a host, and delete what is there; says why it could not."""
    try:
        host.end_daemons()
        host.script(scripts.CLEAN, host.home, mount, scripts.LOCK, timeout_s=CLEAN_TIMEOUT_S)
    except RemoteCommandError as error:
        return f"cannot clean host {host.name}: {error.stderr_tail or error}"
    return None


def _address(host: SshHost, spec: ClusterSpec) -> str:
    """Numeric address of a host on the cluster's network: what its daemons listen on.

    Raises:
        ProviderError: it has none there, or its name is not known here.
    """
    if spec.ssh is not None and spec.ssh.network is not None:
        network = ipaddress.ip_network(spec.ssh.network, strict=False)
        for word in host.script(scripts.ADDRESSES).split():
            if _is_address(word) and ipaddress.ip_address(word) in network:
                return word
        raise ProviderError(
            f"host {host.name} has no address in ssh.network {spec.ssh.network}: name the network of all hosts, or leave it out"
        )
    try:
        return str(socket.getaddrinfo(host.address, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise ProviderError(
            f"the address of {host.name}, {host.address}, is not known here: {error}"
        ) from error


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class _Examined:
    """What a host said.

    Attributes:
        name: of the node.
        machine: tells machines apart (boot and process namespace); None when it did not answer.
        findings: what it lacks.
    """

    name: str
    machine: str | None
    findings: list[str]


def _same_machines(examined: Sequence[_Examined]) -> list[str]:
    by_machine: dict[str, list[str]] = {}
    for host in examined:
        if host.machine is not None:
            by_machine.setdefault(host.machine, []).append(host.name)
    return [
        f"ssh.hosts: {' and '.join(names)} are one machine; a host is one node (servers on compute nodes: placement: compute)"
        for names in by_machine.values()
        if len(names) > 1
    ]


def _lacks(host: SshHost, spec: ClusterSpec, needs: Needs) -> _Examined:
    """What a host says that it lacks. It is asked by its address: it has no home yet."""
    at = _mount_point(spec) if host.name in spec.compute_names() else ""
    tools = Needs(dict.fromkeys(scripts.TOOLS, "install coreutils, grep, sed and util-linux"))
    needs = tools | needs
    asked = (("p", needs.programs), ("f", needs.files), ("k", needs.modules))
    words = [word for kind, names in asked for name in names for word in (kind, name)]
    try:
        out = host.script(scripts.EXAMINE, host.home, at, *words, timeout_s=PREPARE_TIMEOUT_S)
    except ClusterError as error:
        said = error.stderr_tail if isinstance(error, RemoteCommandError) else str(error)
        return _Examined(
            host.name, None, [f"cannot use host {host.name} ({host.address}): {said or error}"]
        )
    findings = []
    machine = None
    distribution: tuple[str, ...] = ()
    missing: list[tuple[str, str]] = []
    for line in out.splitlines():
        kind, _, what = line.partition(" ")
        if kind == "d":
            findings.append(f"ssh.directory {what} is no directory that {_user(spec)} may write to")
        elif kind == "m":
            findings.append(f"{what} is mounted already: give file_system.mount another path")
        elif kind == "i":
            machine = what
        elif kind == "o":
            distribution = distribution_of(what.replace(";", "\n"))
        elif kind in ("p", "f", "k"):
            missing.append((what, needs.how(what, distribution)))
    findings = [f"{host.name}: {finding}" for finding in (*findings, *lacks(missing))]
    return _Examined(host.name, machine, findings)


def _user(spec: ClusterSpec) -> str:
    if spec.ssh is None or spec.ssh.sudo:
        return "root"
    return spec.ssh.user
