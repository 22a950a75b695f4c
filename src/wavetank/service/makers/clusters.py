"""Servers of one space, brought up as a cluster of wavetank: of kind none, called after the space, with a compute node for each server."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from wavetank.cluster import deploy
from wavetank.cluster.devices import device_paths
from wavetank.cluster.namespaces.nodes import STORAGE_PATH
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of
from wavetank.document import explain
from wavetank.errors import ClusterError, ServiceError, SpecError, WavetankError
from wavetank.service.core.own_servers import Look, OwnServers, Template
from wavetank.units import exact_size

TRIAL = "trial-of-a-template"
"""Name of the cluster that a template is looked at by; it never comes up."""


class ClustersOfSpaces:
    """Brings up clusters by any provider; see ``reconcile.clusters.Clusters``."""

    def see(self, template: Template) -> None:
        """See that a cluster with as many servers as the file has compute nodes could come up here.

        Raises:
            ServiceError: it could not, with all that is wrong.
        """
        nodes = template.cluster.get("nodes")
        asked = nodes.get("compute") if isinstance(nodes, dict) else None
        # with ssh, as many as there are hosts
        servers = asked if isinstance(asked, int) and asked > 0 else 1
        spec = spec_of(OwnServers(space=TRIAL, template=template, servers=servers))
        findings = list(_device_problems(template, spec))
        try:
            findings += deploy.check(spec)
        except WavetankError as error:
            findings.append(str(error))
        if findings:
            raise ServiceError(
                f"servers of template {template.name} cannot come up: {'; '.join(findings)}"
            )

    def look(self, space: str) -> Look:
        """By what is written of the cluster: a process that was killed while it came up left it in part."""
        directory = directory_of(space)
        if not directory.path.exists():
            return "none"
        try:
            state = directory.read_state()
        except ClusterError:
            return "half"
        return "up" if state is not None and state.status == "up" else "half"

    def bring_up(self, own: OwnServers) -> None:
        """Bring its cluster up.

        Raises:
            ServiceError: it does not come up.
        """
        try:
            deploy.bring_up(spec_of(own))
        except (ClusterError, SpecError) as error:
            raise ServiceError(
                f"its servers are not brought up: {' '.join(str(error).split())}"
            ) from error

    def take_down(self, space: str) -> None:
        """Take its cluster down.

        Raises:
            ServiceError: something of it cannot be removed.
        """
        if not directory_of(space).path.exists():
            return
        try:
            deploy.take_down(space)
        except ClusterError as error:
            raise ServiceError(
                f"its servers are not taken down: {' '.join(str(error).split())}"
            ) from error


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


def spec_of(own: OwnServers) -> ClusterSpec:
    """The cluster of a space's servers.

    Raises:
        ServiceError: there can be no such cluster.
    """
    said = own.template.cluster
    nodes = said.get("nodes")
    body = {
        **said,
        "name": own.space,
        "nodes": {**(nodes if isinstance(nodes, dict) else {}), "compute": own.servers},
    }
    try:
        spec = ClusterSpec.model_validate(body)
    except ValidationError as error:
        raise ServiceError(
            f"template {own.template.name} makes no cluster: {explain(error)}"
        ) from error
    if spec.file_system.kind != "none":
        raise ServiceError(
            f"template {own.template.name} has file system {spec.file_system.kind}: the service makes those of spaces by itself. "
            "Write file_system: {kind: none}"
        )
    return spec
