"""Makes GlusterFS spaces: on each of its servers an image with a file system of its own, and a brick on it that serves listed clients.

The same for shared and dedicated spaces: whose a server is besides is a matter of placement. Each space has processes of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.errors import ServiceError, WavetankError
from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.records import Access, Server
from wavetank.service.core.refusals import Refused
from wavetank.service.core.volume import Volume
from wavetank.service.makers import images
from wavetank.service.makers.glusterfs import bricks
from wavetank.service.makers.hosts import NodesOfClusters
from wavetank.service.makers.images import Image
from wavetank.service.makers.servers import Known, Servers
from wavetank.units import exact_size

Part = tuple[str, Image, bool]
"""What is of a space on one server: the node, its image, whether its brick runs as it is to."""


class GlusterMaker:
    """Makes GlusterFS spaces on servers; see ``reconcile.maker.Maker``.

    Attributes:
        servers: of GlusterFS spaces.
    """

    def __init__(self, known: Known, hosts: Mapping[str, Host]) -> None:
        self.servers = Servers("glusterfs", known, hosts)

    def see(self, server: Server) -> None:
        """See that a server is reached, has the programs, and that its devices are local file systems for spaces alone.

        Raises:
            ServiceError: naming all that is wrong.
        """
        self.servers.see(server, needs())

    def there(self) -> There:
        """All spaces on all servers for GlusterFS that can be asked; of those that lie on others too, nothing is known."""
        parts: dict[str, list[Part]] = {}
        away: dict[str, str] = {}
        for node in self.servers.nodes():
            try:
                for part in self._parts_on(node):
                    parts.setdefault(part[1].space, []).append(part)
            except WavetankError as error:
                away[node] = str(error)
        found = {}
        for space, its in parts.items():
            try:
                order = self.servers.known.order(space)
            except Refused:
                order = None  # the service never heard of it
            if order is None or not away.keys() & {share.node for share in order.shares}:
                found[space] = self._found(space, its, order)
        return There(found, away)

    def find(self, space: str) -> Found | None:
        """One space. The servers are asked that have, or had, a share of it; all are, where none does."""
        parts = [
            part
            for node in self.servers.nodes_of(space)
            for part in self._parts_on(node)
            if part[1].space == space
        ]
        return self._found(space, parts, self.servers.known.order(space)) if parts else None

    def make(self, order: Order) -> None:
        """Image, file system, rules and brick, on all of its servers at once."""
        on_all(list(_places(order).items()), partial(self._make_part, order))

    def _make_part(self, order: Order, place: tuple[tuple[str, str], int]) -> None:
        (node, device), size = place
        port = bricks.free_port(self.servers.all_on(node))
        rules = bricks.rules_text(port, order.space.access)
        host = self.servers.host(node)
        self.servers.images.make(host, device, order.space.id, size, rules)
        self._serve(node, order.space.id)

    def resize(self, order: Order) -> None:
        """Grow each part while it is used; the same size puts right what is not mounted or not served.

        Raises:
            ServiceError: a part has more bytes than are wanted, or is not there any more.
        """
        places = _places(order)
        for node, device in places:
            there = self.servers.made_on(node, order.space.id)
            if there.size_bytes > places[node, device]:
                raise ServiceError(
                    f"a space of GlusterFS does not shrink: it has {exact_size(there.size_bytes)} of server {node}, and "
                    f"{exact_size(places[node, device])} are wanted. Make a smaller one, and copy"
                )
        on_all(list(places.items()), partial(self._grow_part, order.space.id))

    def _grow_part(self, space: str, place: tuple[tuple[str, str], int]) -> None:
        (node, device), size = place
        self.servers.images.grow(self.servers.host(node), device, space, size)
        self._serve(node, space)

    def change_access(self, order: Order) -> None:
        """Other rules, and bricks that are started again by them: so nobody stays who is not to."""
        on_all(list(_places(order)), partial(self._change_part, order))

    def _change_part(self, order: Order, place: tuple[str, str]) -> None:
        node, device = place
        port = bricks.port_of(self.servers.made_on(node, order.space.id))
        rules = bricks.rules_text(port, order.space.access)
        self.servers.images.set_rules(self.servers.host(node), device, order.space.id, rules)
        self._serve(node, order.space.id)

    def remove(self, space: str) -> None:
        """The bricks first, then all else."""
        on_all(self.servers.nodes_of(space), partial(self._remove_part, space))

    def _remove_part(self, space: str, node: str) -> None:
        there, host = self.servers.one_on(node, space), self.servers.host(node)
        if there is not None:
            self.servers.images.close(host, there.device, space)
            bricks.end(host, space)
            self.servers.images.remove(host, there.device, space)

    def _serve(self, node: str, space: str) -> None:
        """Start the brick, unless it runs as it is to."""
        host, image = self.servers.host(node), self.servers.made_on(node, space)
        if not _is_served(host, image, bricks.running(host)):
            bricks.start(host, image)

    def _parts_on(self, node: str) -> list[Part]:
        images_there = self.servers.all_on(node)
        if not images_there:
            return []
        host = self.servers.host(node)
        running = bricks.running(host)
        return [(node, image, _is_served(host, image, running)) for image in images_there]

    def _found(self, space: str, parts: Iterable[Part], order: Order | None) -> Found:
        """A space of its parts. Where some of them have other rules than are wanted, those are what it has."""
        by_place = {(node, image.device): image for node, image, _ in parts}
        wanted = order.wanted_shares().keys() if order is not None else by_place.keys()
        rules = [_rules_of(image) for image in by_place.values()]
        asked = frozenset(order.space.access) if order is not None else rules[0]
        return Found(
            space=space,
            whole=by_place.keys() == wanted
            and all(_is_whole(image) and served for _, image, served in parts),
            shares={place: image.size_bytes for place, image in by_place.items()},
            access=next((each for each in rules if each != asked), asked),
            export=self._export(space, by_place, order),
        )

    def _export(
        self, space: str, parts: Mapping[tuple[str, str], Image], order: Order | None
    ) -> str:
        made = sorted((node, image) for (node, _), image in parts.items() if _is_made(image))
        return Volume(
            space=space,
            bricks=tuple(
                (self.servers.host(node).address, bricks.port_of(image)) for node, image in made
            ),
            stripe_bytes=order.space.stripe_size if order is not None else None,
        ).export()


def maker(known: Known) -> GlusterMaker:
    """The maker of the daemon."""
    return GlusterMaker(known, NodesOfClusters())


def needs() -> Needs:
    """Programs of a server."""
    return bricks.needs() | images.needs()


def _is_made(image: Image) -> bool:
    return image.state != "unmade"


def _is_whole(image: Image) -> bool:
    return image.state == "whole" and image.mounted


def _is_served(host: Host, image: Image, running: Mapping[str, str]) -> bool:
    return _is_made(image) and running.get(image.space) == bricks.hash_of(host, image)


def _rules_of(image: Image) -> frozenset[Access]:
    return bricks.access_of(image) if _is_made(image) else frozenset()


def _places(order: Order) -> dict[tuple[str, str], int]:
    """Node and device -> bytes.

    Raises:
        ServiceError: it has several devices of a server, or another set of servers than it was made on.
    """
    places = order.wanted_shares()
    if len({node for node, _ in places}) != len(places):
        raise ServiceError("a space of GlusterFS has one device of each of its servers")
    return places
