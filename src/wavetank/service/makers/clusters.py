"""Servers of one space, brought up as a cluster of wavetank: of kind none, called after the space, with a compute node for each server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from pydantic import ValidationError

from wavetank.cluster.facade import (
    STORAGE_PATH,
    WITH_APT,
    ClusterSpec,
    Needs,
    deploy,
    device_paths,
    directory_of,
    noted_end,
    packages_of,
)
from wavetank.document import explain
from wavetank.errors import ClusterError, ServiceError, SpecError, WavetankError
from wavetank.service.core.own_servers import Look, OwnCluster, OwnServers, Template
from wavetank.service.core.records import Kind
from wavetank.units import exact_size

TRIAL = "trial-of-a-template"
"""Name of the cluster that a template is looked at by; it never comes up."""


class ClustersOfSpaces:
    """Brings up clusters by any provider; see ``reconcile.clusters.Clusters``.

    Attributes:
        needs: kind of spaces -> what its servers need.
    """

    def __init__(self, needs: Mapping[Kind, Needs]) -> None:
        self.needs = needs

    def see(self, template: Template) -> None:
        """See that a cluster with as many servers as the file has compute nodes could come up here.

        Raises:
            ServiceError: it could not, with all that is wrong.
        """
        nodes = template.cluster.get("nodes")
        asked = nodes.get("compute") if isinstance(nodes, dict) else None
        # with ssh, as many as there are hosts
        servers = asked if isinstance(asked, int) and asked > 0 else 1
        spec = self.spec_of(template, TRIAL, servers)
        findings = list(_device_problems(template, spec))
        try:
            findings += deploy.check(spec)
        except WavetankError as error:
            findings.append(str(error))
        if findings:
            raise ServiceError(
                f"servers of template {template.name} cannot come up: {'; '.join(findings)}"
            )

    def look(self, cluster: str) -> Look:
        """By what is written of the cluster: a process that was killed while it came up left it in part."""
        directory = directory_of(cluster)
        if not directory.path.exists():
            return "none"
        try:
            state = directory.read_state()
        except ClusterError:
            return "half"
        return "up" if state is not None and state.status == "up" else "half"

    def ends(self, cluster: str) -> datetime | None:
        """At the ttl, in a cloud."""
        return noted_end(directory_of(cluster))

    def bring_up(self, own: OwnServers, cluster: OwnCluster) -> None:
        """Bring a cluster up.

        Raises:
            ServiceError: it does not come up.
        """
        is_first = cluster.name == own.space
        spec = self.spec_of(own.template, cluster.name, cluster.servers, is_first=is_first)
        try:
            deploy.bring_up(spec)
        except (ClusterError, SpecError) as error:
            raise ServiceError(
                f"its servers are not brought up: {' '.join(str(error).split())}"
            ) from error

    def take_down(self, cluster: str) -> None:
        """Take a cluster down.

        Raises:
            ServiceError: something of it cannot be removed.
        """
        if not directory_of(cluster).path.exists():
            return
        try:
            deploy.take_down(cluster)
        except ClusterError as error:
            raise ServiceError(
                f"its servers are not taken down: {' '.join(str(error).split())}"
            ) from error

    def spec_of(
        self, template: Template, name: str, servers: int, *, is_first: bool = True
    ) -> ClusterSpec:
        """A cluster of servers.

        Args:
            template: what it is like. In a cloud nodes get packages of what they serve, where those of the image are known.
            name: of the cluster.
            servers: compute nodes.
            is_first: whether it is the first one of a space; others have compute nodes alone.

        Raises:
            ServiceError: there can be no such cluster.
        """
        said = template.cluster
        nodes = said.get("nodes")
        others = nodes if isinstance(nodes, dict) and is_first else {}
        body = {**said, "name": name, "nodes": {**others, "compute": servers}}
        try:
            spec = ClusterSpec.model_validate(body)
        except ValidationError as error:
            raise ServiceError(
                f"template {template.name} makes no cluster: {explain(error)}"
            ) from error
        if spec.file_system.kind != "none":
            raise ServiceError(
                f"template {template.name} has file system {spec.file_system.kind}: the service makes those of spaces by itself. "
                "Write file_system: {kind: none}"
            )
        return self._with_packages(spec, template)

    def _with_packages(self, spec: ClusterSpec, template: Template) -> ClusterSpec:
        if spec.cloud is None or spec.cloud.image not in WITH_APT:
            return spec
        remedies = (
            how
            for kind in template.kinds
            if kind in self.needs
            for how in (*self.needs[kind].programs.values(), *self.needs[kind].files.values())
        )
        packages = tuple(dict.fromkeys((*spec.cloud.packages, *packages_of(remedies))))
        cloud = spec.cloud.model_copy(update={"packages": packages})
        return spec.model_copy(update={"cloud": cloud})


def _device_problems(template: Template, spec: ClusterSpec) -> Iterator[str]:
    """What is wrong with devices of nodes that are made; hosts over ssh have what they have, and are looked at when they are up."""
    if spec.provider == "ssh":
        return
    paths, has = device_paths(spec.storage, STORAGE_PATH), spec.storage.mounted_bytes
    for device in template.devices:
        if device.name not in paths:
            yield f"{device.name} is no device of its nodes, which have {', '.join(paths)}"
        elif device.size > has:
            yield (
                f"{device.name} has {exact_size(has)}, and spaces are to have {exact_size(device.size)} of it"
            )
