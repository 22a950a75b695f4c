"""Servers that the service brings up for one dedicated space alone: templates of their clusters, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from wavetank.document import Record
from wavetank.service.core.placement import Ask, no_room
from wavetank.service.core.records import Device, Held, Kind, Name, Server, Share
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


class OwnCluster(Record):
    """Some of the servers of one space: compute nodes of a cluster."""

    name: str = Field(description="of the cluster")
    servers: int
    admitted: bool = Field(
        default=False, description="whether they were looked at and are servers of the service"
    )
    wanted: bool = Field(
        default=True, description="False: growth by them was taken back, and they are to go"
    )

    @property
    def nodes(self) -> tuple[str, ...]:
        """Each as the service calls it."""
        return tuple(f"{self.name}.c{i}" for i in range(1, self.servers + 1))


class OwnServers(Record):
    """The servers of one space: compute nodes of a cluster that is called after it, and of one more for each growth by servers.

    The template is the one that the space was asked for with, whatever became of it since.
    """

    space: str = Field(description="identity of the space, and name of the first cluster")
    template: Template
    clusters: tuple[OwnCluster, ...] = Field(min_length=1)

    def servers_of(self, cluster: OwnCluster) -> tuple[Server, ...]:
        """Those of a cluster, as servers of the service."""
        devices, kinds = self.template.devices, self.template.kinds
        return tuple(Server(node=node, devices=devices, kinds=kinds) for node in cluster.nodes)

    @property
    def wanted(self) -> int:
        """Servers that the space is to have."""
        return sum(each.servers for each in self.clusters if each.wanted)

    @property
    def admitted(self) -> int:
        """Servers on which something of the space may be."""
        return sum(each.servers for each in self.clusters if each.admitted)

    @property
    def pending(self) -> frozenset[str]:
        """Nodes on which nothing of the space can be: they are not up, or were not looked at."""
        return frozenset(node for each in self.clusters if not each.admitted for node in each.nodes)

    def resized(self, servers: int, stocks: Iterable[Stock]) -> OwnServers:
        """With another number of servers: more by a further cluster, fewer by giving up those that nothing was put on yet.

        Raises:
            Refused: invalid where servers that come later do not reach those that are there, and where some that were taken would go;
                no_room.
        """
        clusters, more = list(self.clusters), servers - self.wanted
        for i, each in reversed(tuple(enumerate(self.clusters))):
            if more < 0 and each.wanted and not each.admitted:
                clusters[i] = each.model_copy(update={"wanted": False})
                more += each.servers
        kept = self.model_copy(update={"clusters": tuple(clusters)})
        if more < 0:
            raise Refused(
                "invalid",
                f"{kept.wanted} servers were brought up for it and hold data: they go with it, and not before. Make a space on "
                f"{servers}, and copy",
            )
        if not more:
            return kept
        self._see_more(more, stocks)
        further = OwnCluster(name=f"{self.space}-{len(clusters) + 1}", servers=more)
        return self.model_copy(update={"clusters": (*clusters, further)})

    def _see_more(self, more: int, stocks: Iterable[Stock]) -> None:
        """See that there may be more servers.

        Raises:
            Refused: invalid, no_room.
        """
        name = self.template.name
        if why := why_alone(self.template):
            raise Refused(
                "invalid",
                f"its servers were brought up by template {name}, and get no others: {why}. Make a space on more servers, and copy",
            )
        stock = next((each for each in stocks if each.template.name == name), None)
        if stock is None:
            raise Refused(
                "no_room", f"there is no template {name} any more, by which it got its servers"
            )
        if lack := _too_many(stock, more):
            raise Refused("no_room", f"no room for {more} more servers of template {name}: {lack}")

    def pending_servers(self, shares: Sequence[Share]) -> tuple[Held, ...]:
        """Servers that it is to have and are not there yet, with what the space holds of them."""
        held = {(share.node, share.device): share.held for share in shares}
        return tuple(
            Held(
                server=server,
                free={d.name: d.size - held.get((server.node, d.name), 0) for d in server.devices},
                dedicated_to=None,
            )
            for each in self.clusters
            if each.wanted and not each.admitted
            for server in self.servers_of(each)
        )


def why_alone(template: Template) -> str | None:
    """Why servers of a template that come up later do not reach those that are there; None where they do."""
    said = template.cluster
    provider, cloud = said.get("provider", "local"), said.get("cloud")
    terms: Mapping[str, Any] = cloud if isinstance(cloud, dict) else {}
    if provider == "ssh":
        return "they are all hosts that the template names"
    if not isinstance(cloud, dict):
        return f"each cluster of provider {provider} has a network of its own"
    there = terms.get("openstack")
    if isinstance(there, dict) and there.get("network", "made") == "made":
        return "each cluster gets a network of its own. A template whose cloud.openstack.network names one has more"
    if not terms.get("clients_from"):
        return "they let in none but each other. A template whose cloud.clients_from names their network has more"
    return None


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
            first = OwnCluster(name=space, servers=ask.servers)
            own = OwnServers(space=space, template=stock.template, clusters=(first,))
            return own, _shares(ask, own)
    raise no_room(lacking, {name: lack for name, lack in lacks.items() if lack is not None})


def _shares(ask: Ask, own: OwnServers) -> tuple[Share, ...]:
    roomiest = sorted(own.template.devices, key=lambda device: (-device.size, device.name))
    names = sorted(device.name for device in roomiest[: ask.devices])
    return tuple(
        Share(node=node, device=name, made=0, wanted=ask.share, held=ask.share)
        for node in sorted(own.clusters[0].nodes)
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
    return _too_many(stock, ask.servers)


def _too_many(stock: Stock, more: int) -> str | None:
    most = stock.template.most_servers
    if most - stock.used < more:
        return f"{stock.used} of its {most} servers are in use, and {more} more are needed"
    return None
