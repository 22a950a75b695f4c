"""Hosts that exist, over ssh: an inventory, a user, a key. What is done with them is in remote/hosts.py."""

from __future__ import annotations

import ipaddress
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from wavetank.cluster.needs import Needs
from wavetank.cluster.providers.base import Provider
from wavetank.cluster.remote import hosts
from wavetank.cluster.spec import ClusterSpec


class SshProvider(Provider):
    """Takes hosts for the time of a cluster, and leaves them as they were."""

    name = "ssh"
    hosts_outlive = True
    uses_this_machine = False

    def check(self, spec: ClusterSpec) -> list[str]:
        """The inventory, and ssh itself."""
        return list(_problems(spec))

    def examine(self, spec: ClusterSpec, needs: Mapping[str, Needs]) -> list[str]:
        """Ask every host at once whether it answers and has what is needed; see the protocol."""
        return [] if list(_problems(spec)) else hosts.examine(spec, needs)

    def tools_lacking(self, spec: ClusterSpec, tools: Needs) -> list[str]:
        """Ask every host at once; see the protocol."""
        return self.examine(spec, dict.fromkeys(spec.node_names(), tools))

    def create(self, spec: ClusterSpec, *, leave: bool = False) -> hosts.SshNodes:
        """See that every host answers, and make a directory on each."""
        return hosts.take(spec, leave=leave)

    def find(self, spec: ClusterSpec) -> hosts.SshNodes:
        """The same hosts again."""
        return hosts.attach(spec)

    def destroy(self, name: str) -> None:
        """End what was started on the hosts, and delete what was made there; by the journal alone."""
        hosts.release(name)


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
    by_address: dict[str, list[str]] = {}
    for name, address in spec.ssh.hosts.items():
        by_address.setdefault(address, []).append(name)
    for address, names in by_address.items():
        if len(names) > 1:
            yield f"ssh.hosts: {' and '.join(names)} are both {address}; a host is one node (servers on compute nodes: placement: compute)"
    if spec.server_names() and spec.ssh.user != "root" and not spec.ssh.sudo:
        yield f"file_system {spec.file_system.kind} is served and mounted as root: set ssh.sudo: true, or ssh.user: root"
    if spec.ssh.network is not None:
        try:
            ipaddress.ip_network(spec.ssh.network, strict=False)
        except ValueError as error:
            yield f"ssh.network: {error}"
    for what, path, remedy in (
        (
            "identity_file",
            spec.ssh.identity_file,
            "name the private key, or make one by ssh-keygen",
        ),
        ("known_hosts", spec.ssh.known_hosts, "make it by ssh-keyscan, and compare the keys"),
    ):
        if not Path(path).is_file():
            yield f"ssh.{what} {path} is no file: {remedy}"
