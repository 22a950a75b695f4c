"""Servers that the service brings up for one dedicated space alone: templates of their clusters, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from wavetank.document import Record
from wavetank.service.core.placement import Ask, no_room
from wavetank.service.core.records import Device, Kind, Name, Server, Share
from wavetank.service.core.refusals import Refused
from wavetank.units import exact_size

Look = Literal["none", "half", "up"]
"""How far a cluster of a space's servers is there: not at all, in part, or whole."""


class Template(Record):
    """What clusters of a space's own servers are like."""

    name: Name
    cluster: dict[str, Any] = Field(
        description="what a cluster file says; the name and the number of compute nodes are those of each space"
    )
    devices: tuple[Device, ...] = Field(min_length=1, description="of each compute node")
    kinds: tuple[Kind, ...] = Field(min_length=1, description="file systems that they can serve")
    most_servers: int = Field(
        ge=1, le=1024, description="that all spaces together may have of this template"
    )

    @property
    def device_bytes(self) -> int:
        """Of one server."""
        return sum(device.size for device in self.devices)


class Stock(Record):
    """A template with the servers that spaces have of it."""

    template: Template
    used: int = Field(description="servers")


class OwnServers(Record):
    """The servers of one space: compute nodes of a cluster that is called after it.

    The template is the one that the space was asked for with, whatever became of it since.
    """

    space: str = Field(description="identity of the space, and name of the cluster")
    template: Template
    servers: int
    admitted: bool = Field(
        default=False, description="whether they were looked at and are servers of the service"
    )

    def nodes(self) -> tuple[Server, ...]:
        """Each as a server of the service."""
        return tuple(
            Server(
                node=f"{self.space}.c{i}",
                devices=self.template.devices,
                kinds=self.template.kinds,
            )
            for i in range(1, self.servers + 1)
        )


def choose(
    ask: Ask, space: str, stocks: Iterable[Stock], lacking: Refused
) -> tuple[OwnServers, tuple[Share, ...]]:
    """Servers for a space that no servers have room for, and its place on them.

    Of the templates that do, the one whose servers have the fewest bytes is taken; then by name.

    Args:
        ask: what it needs.
        space: its identity.
        stocks: all templates.
        lacking: why no servers that there are have room.

    Raises:
        Refused: no_room, with what each template lacks too.
    """
    found = sorted(stocks, key=lambda each: (each.template.device_bytes, each.template.name))
    lacks = {each.template.name: _lack(ask, each) for each in found}
    for stock in found:
        if lacks[stock.template.name] is None:
            own = OwnServers(space=space, template=stock.template, servers=ask.servers)
            return own, _shares(ask, own)
    raise no_room(lacking, {name: lack for name, lack in lacks.items() if lack is not None})


def _shares(ask: Ask, own: OwnServers) -> tuple[Share, ...]:
    roomiest = sorted(own.template.devices, key=lambda device: (-device.size, device.name))
    names = sorted(device.name for device in roomiest[: ask.devices])
    return tuple(
        Share(node=server.node, device=name, made=0, wanted=ask.share, held=ask.share)
        for server in sorted(own.nodes(), key=lambda server: server.node)
        for name in names
    )


def _lack(ask: Ask, stock: Stock) -> str | None:
    """What a template lacks for a space; None when nothing."""
    template = stock.template
    if ask.kind not in template.kinds:
        return f"its servers serve {', '.join(template.kinds)}, not {ask.kind}"
    if len(template.devices) < ask.devices:
        n = len(template.devices)
        return f"its servers have {n} {'device' if n == 1 else 'devices'}, not {ask.devices}"
    smallest = sorted((device.size for device in template.devices), reverse=True)[ask.devices - 1]
    if smallest < ask.share:
        return f"its servers have {exact_size(smallest)} of a device, {exact_size(ask.share - smallest)} too little"
    left = template.most_servers - stock.used
    if left < ask.servers:
        return f"{stock.used} of its {template.most_servers} servers are in use, and {ask.servers} more are needed"
    return None
