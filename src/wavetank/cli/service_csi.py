"""``wavetank service csi``: claims of Kubernetes become spaces."""

from __future__ import annotations

import ipaddress
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.space_service import service_of_tenant
from wavetank.errors import ServiceError, UsageError

if TYPE_CHECKING:
    from wavetank.service.csi.serve import Answers


@click.command()
@click.option(
    "--endpoint", required=True, metavar="unix:///PATH", envvar="CSI_ENDPOINT",
    help="The socket to answer at. Also CSI_ENDPOINT.",
)  # fmt: skip
@click.option(
    "--controller", is_flag=True,
    help="Make and remove volumes. The environment says which service is asked, as for 'wavetank space'.",
)  # fmt: skip
@click.option(
    "--node-id", metavar="ADDRESS", envvar="CSI_NODE_ID",
    help="Mount volumes on this machine, which servers of spaces see under this address. Also CSI_NODE_ID.",
)  # fmt: skip
def csi(endpoint: str, controller: bool, node_id: str | None) -> None:
    """Answer the Container Storage Interface until it is told to stop (SIGTERM, Ctrl-C): claims of Kubernetes become spaces.

    Example: wavetank service csi --endpoint unix:///csi/csi.sock --node-id 10.0.0.7
    """
    if not controller and node_id is None:
        raise UsageError("say what is answered: --controller, --node-id ADDRESS, or both")
    try:
        from wavetank.service.csi.controller import Controller
        from wavetank.service.csi.identity import Identity
        from wavetank.service.csi.node import Node
        from wavetank.service.csi.serve import folder_of, serve, socket_of
        from wavetank.service.csi.volumes import Volumes
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"this needs more Python packages: pip install 'wavetank[csi]' ({error.name} is missing)"
        ) from error
    socket = socket_of(endpoint)
    services: list[Answers] = [Identity()]
    with ExitStack() as stack:
        if node_id is not None:
            services.append(Node(_address(node_id), folder_of(socket)))
        if controller:
            services.append(Controller(Volumes(stack.enter_context(service_of_tenant()))))
        serve(socket, services, _told)


def _told(socket: Path) -> None:
    click.echo(f"wavetank: CSI answers at unix://{socket}", err=True)


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise UsageError(
            f"--node-id {text}: write the address by which servers of spaces see this node, e.g. 10.0.0.7"
        ) from error
