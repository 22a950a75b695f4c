"""The null provider: every node is this machine as it is, without limits. For tests, and where there is no root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from wavetank import native
from wavetank.cluster.host import Host
from wavetank.cluster.namespaces import user
from wavetank.cluster.namespaces.host import (
    NamespaceHost,
    dead_daemons,
    drop_all_caches,
    end_daemons,
    node_env,
)
from wavetank.cluster.providers.base import PlainNodes, Provider
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directory_of
from wavetank.errors import ProviderError


@dataclass(frozen=True)
class NullNodes(PlainNodes):
    """This machine under several names."""

    directory: ClusterDirectory
    hosts: Mapping[str, Host]
    remote_shell: tuple[str, ...]
    launcher_prefix: tuple[str, ...] = ()
    network: str | None = "127.0.0.0/8"

    @property
    def storage_path(self) -> str:
        """A directory of the cluster's own, the same for all nodes."""
        return str(self.directory.path / "storage")

    @property
    def mark(self) -> Mapping[str, str]:
        """Of every program of the cluster."""
        return {user.MARK: str(self.directory.path)}

    def limits(self) -> dict[str, str]:
        """There are none."""
        return {"limits": "none: all nodes are this machine"}

    def drop_caches(self) -> str:
        """Drop the caches of this machine, where that is allowed."""
        return drop_all_caches()

    def health(self) -> list[str]:
        """Daemons that died."""
        return dead_daemons(self.directory.path)


class NullProvider(Provider):
    """Makes nothing."""

    name = "null"

    def check(self, spec: ClusterSpec) -> list[str]:
        """Only what needs no node of its own can run."""
        if spec.server_names():
            return [
                f"provider null has no nodes to put servers on: file_system.kind must be none or existing, not {spec.file_system.kind}"
            ]
        return []

    def create(self, spec: ClusterSpec, *, leave: bool = False) -> NullNodes:
        """Make a directory; it goes with the cluster's."""
        del leave
        directory = directory_of(spec.name)
        storage = directory.path / "storage"
        try:
            storage.mkdir()
            lines = [f"{name} {os.getpid()} 0 here\n" for name in spec.node_names()]
            (directory.path / "nodes.map").write_text("".join(lines))
        except OSError as error:
            raise ProviderError(f"cannot make {storage}: {error.strerror}") from error
        return self.find(spec)

    def find(self, spec: ClusterSpec) -> NullNodes:
        """Look at the directory."""
        directory = directory_of(spec.name)
        if not (directory.path / "storage").is_dir():
            raise ProviderError(
                f"the directory of cluster {spec.name} is gone: wavetank cluster down {spec.name}"
            )
        env = [f"{key}={value}" for key, value in node_env().items() if key != "HOME"]
        hosts: dict[str, Host] = {
            name: NamespaceHost(name, "127.0.0.1", ("env", *env), directory.path, None)
            for name in spec.node_names()
        }
        shell: tuple[str, ...] = ()
        if native.available("bin/wavetank-node"):
            program = str(native.find("bin/wavetank-node", "stand in for ssh"))
            shell = (program, "shell", str(directory.path / "nodes.map"))
        return NullNodes(directory, hosts, shell)

    def destroy(self, name: str) -> None:
        """End the daemons and programs that were started; the directory goes with the cluster's."""
        directory = directory_of(name)
        end_daemons(directory.path)
        user.end_marked(directory.path)
