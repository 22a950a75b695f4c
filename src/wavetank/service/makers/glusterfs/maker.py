"""Makes GlusterFS spaces: on each of its devices an image with a file system of its own, and a brick on it that serves listed clients.

Servers are worked on at the same time, and devices of one server one after the other: each brick takes a port that is free there.
The same for shared and dedicated spaces: whose a server is besides is a matter of placement. Each space has processes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Network
from typing import get_args

from wavetank.cluster.facade import Host, Needs, on_all
from wavetank.errors import ServiceError, WavetankError
from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.records import Network, Server
from wavetank.service.core.refusals import Refused
from wavetank.service.core.volume import TOLD_AT_PORT, Volume
from wavetank.service.makers import daemons, images, packet_filter
from wavetank.service.makers.glusterfs import bricks, moving, telling
from wavetank.service.makers.glusterfs.bricks import Keys, Rules, Stage
from wavetank.service.makers.glusterfs.telling import Told
from wavetank.service.makers.hosts import NodesOfClusters
from wavetank.service.makers.images import Image
from wavetank.service.makers.servers import Known, Servers
from wavetank.units import exact_size

STAGES: tuple[Stage, ...] = get_args(Stage)
Place = tuple[str, str]
"""Node and device."""


@dataclass(frozen=True)
class Part:
    """What is of a space on one device of a server.

    Attributes:
        node: the server.
        image: with the brick's file system.
        runs: whether the brick runs as it is to, behind the filter that is wanted.
        told: whether the server tells clients what the image says that they are told.
    """

    node: str
    image: Image
    runs: bool
    told: bool

    @property
    def place(self) -> Place:
        """Node and device."""
        return self.node, self.image.device

    @property
    def made(self) -> bool:
        """Whether it is not half made or half removed."""
        return self.image.state != "unmade"

    @property
    def whole(self) -> bool:
        """Whether it serves as it is to."""
        return self.image.state == "whole" and self.image.mounted and self.runs and self.told

    @property
    def rules(self) -> Rules:
        """Of one that is made."""
        return Rules.of(self.image)


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

        def look(node: str) -> list[Part]:
            try:
                return self._parts_on(node)
            except WavetankError as error:
                away[node] = str(error)
                return []

        for part in (each for its in on_all(self.servers.nodes(), look) for each in its):
            parts.setdefault(part.image.space, []).append(part)
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
            if part.image.space == space
        ]
        return self._found(space, parts, self.servers.known.order(space)) if parts else None

    def make(self, order: Order) -> None:
        """Image, file system, rules and brick, on all of its servers at once; then clients can be told."""
        keys = self._keys(order)
        self._on_servers(order.wanted_shares(), partial(self._make_part, order, keys))
        parts = self._parts_of(order)
        on_all(parts, partial(self._tell, self._volume(order, parts), "moved"))

    def _keys(self, order: Order) -> Keys | None:
        """Of a space whose rules need them: those that a part of it has, or new ones. None where no rule is by certificate."""
        if not any(rule.authority for rule in order.space.access):
            return None
        for part in self._parts_of(order):
            if part.made and part.rules.keys:
                return part.rules.keys
        first = min(node for node, _ in order.wanted_shares())
        return bricks.make_keys(self.servers.host(first), order.space.id)

    def resize(self, order: Order) -> None:
        """Grow each part while it is used, and add the bricks that are wanted; the same puts right what is not mounted or not served.

        Clients are told of new bricks when these serve. Files are moved to them when all clients use them.

        Raises:
            ServiceError: a part has more bytes than are wanted, or is not there any more.
            UnfinishedError: clients do not use all bricks yet, or files are still being moved.
        """
        places = order.wanted_shares()
        new = {(share.node, share.device) for share in order.shares if not share.made}
        there = {part.place: part.image for part in self._parts_of(order) if part.made}
        for node, device in places.keys() - new:
            if (node, device) not in there:
                raise ServiceError(f"server {node} has no such space any more")
        for place, image in there.items():
            if image.size_bytes > places.get(place, image.size_bytes):
                raise ServiceError(
                    f"a space of GlusterFS does not shrink: it has {exact_size(image.size_bytes)} of server {place[0]}, and "
                    f"{exact_size(places[place])} are wanted. Make a smaller one, and copy"
                )
        made = [place for place in places if place in there]
        self._on_servers(made, partial(self._grow_part, order))
        added = [place for place in places if place not in there]
        keys = self._keys(order)
        self._on_servers(added, partial(self._make_part, order, keys))
        wanted = frozenset(order.space.access)
        others = [place for place, image in there.items() if Rules.of(image).access != wanted]
        # nothing is waited for with rules that were taken
        self._on_servers(others, partial(self._change_part, order, keys))
        self._bring_together(order)

    def _bring_together(self, order: Order) -> None:
        """Have clients use all bricks that there are, then directories be spread over them, then files be where they belong."""
        parts = self._parts_of(order)
        volume = self._volume(order, parts)
        line = volume.export()
        if any(part.rules.volume != line for part in parts):
            on_all(self._hosts(parts), lambda host: moving.end(host, order.space.id))
        first = all(part.rules.volume is None for part in parts)
        stage = STAGES[
            min(
                STAGES.index(part.rules.stage) if part.rules.volume == line else 0 for part in parts
            )
        ]
        on_all(parts, partial(self._tell, volume, "moved" if first else stage))
        if first or stage == "moved":
            return
        moves, keys = self._mover(parts), parts[0].rules.keys
        if stage == "told":
            parts = self._parts_of(order)
            served = [(self.servers.host(part.node), part.rules.port) for part in parts]
            moving.wait_for_clients(served, {rule for part in parts for rule in part.rules.access})
            moving.move(moves, volume, keys, "spread")
            on_all(parts, partial(self._tell, volume, "spread"))
            moving.let_clients_begin_anew()
        moving.move(moves, volume, keys, "move")
        on_all(self._parts_of(order), partial(self._tell, volume, "moved"))
        moving.end(moves, order.space.id)

    def _mover(self, parts: Sequence[Part]) -> Host:
        """A server that all bricks let in.

        Raises:
            ServiceError: there is none.
        """
        for host in self._hosts(parts):
            if all(host.address in part.rules.servers for part in parts):
                return host
        raise ServiceError(
            "no server of it is let in by all of its bricks: change its access rules, and try again"
        )

    def _hosts(self, parts: Iterable[Part]) -> list[Host]:
        return [self.servers.host(node) for node in sorted({part.node for part in parts})]

    @staticmethod
    def _on_servers(places: Iterable[Place], do: Callable[[Place], None]) -> None:
        """Do something on devices: on all servers at once, and on each device by device."""
        by_node: dict[str, list[Place]] = {}
        for place in sorted(places):
            by_node.setdefault(place[0], []).append(place)

        def on_one(its: list[Place]) -> None:
            for place in its:
                do(place)

        on_all(list(by_node.values()), on_one)

    def _make_part(self, order: Order, keys: Keys | None, place: Place) -> None:
        node, device = place
        host = self.servers.host(node)
        rules = Rules(
            port=bricks.free_port(self.servers.all_on(node)),
            access=frozenset(order.space.access),
            servers=self._addresses(order),
            keys=keys,
        )
        size = order.wanted_shares()[place]
        label = _label(order, place)
        self.servers.images.make(host, device, order.space.id, size, rules.text(), label)
        self._serve(place, order.space.id)

    def _addresses(self, order: Order) -> tuple[str, ...]:
        """Of all servers of a space."""
        nodes = sorted({node for node, _ in order.wanted_shares()})
        return tuple(self.servers.host(node).address for node in nodes)

    def _grow_part(self, order: Order, place: Place) -> None:
        node, device = place
        size = order.wanted_shares()[place]
        self.servers.images.grow(self.servers.host(node), device, order.space.id, size)
        self._serve(place, order.space.id)

    def change_access(self, order: Order) -> None:
        """Other rules, and bricks that are started again by them: so nobody stays who is not to."""
        keys = self._keys(order)
        there = [part.place for part in self._parts_of(order) if part.made]
        self._on_servers(there, partial(self._change_part, order, keys))

    def shut_out(self, order: Order, node: str) -> None:
        """By the packet filter of the server."""
        if made := _made_of(self.servers.all_on(node), order.space.id):
            self._guard(node, order.space.id, made)

    def _guard(self, node: str, space: str, its: Sequence[Image]) -> None:
        """Let through to the bricks of a space on a server whom its rules let in now, and its other servers."""
        ports, others = _ports(its)
        self.servers.guard(node, space, ports, others)

    def _change_part(self, order: Order, keys: Keys | None, place: Place) -> None:
        node, device = place
        before = Rules.of(self.servers.made_on(node, order.space.id, device))
        rules = replace(
            before,
            access=frozenset(order.space.access),
            servers=self._addresses(order),
            keys=keys or before.keys,
        )
        if before.volume is not None:
            # Where its bricks speak TLS from now on, or no longer, that is another volume of the same bricks.
            volume = replace(Volume.of(before.volume), certificate=rules.certificate)
            rules = replace(rules, volume=volume.export())
        host = self.servers.host(node)
        self.servers.images.set_rules(host, device, order.space.id, rules.text())
        self._serve(place, order.space.id)
        if rules.told() != before.told():
            telling.tell(host, volume, rules.stage != "told")
        self._guard_told(node)

    def remove(self, space: str) -> None:
        """What clients are told and the bricks first, then all else."""
        on_all(self.servers.nodes_of(space), partial(self._remove_from, space))

    def _remove_from(self, space: str, node: str) -> None:
        host = self.servers.host(node)
        there = [image for image in self.servers.all_on(node) if image.space == space]
        there.sort(
            key=lambda image: image.device
        )  # the first has no label of its own, nor what is half removed
        for image in there:
            self.servers.images.close(host, image.device, space)
        if there:
            packet_filter.remove(host, space)
            moving.end(host, space)
            telling.forget(host, space)
        for image in there:
            bricks.DAEMONS.end(host, image.label)
            self.servers.images.remove(host, image.device, space)
        self._guard_told(node)

    def _serve(self, place: Place, space: str) -> None:
        """Start the brick, unless it runs as it is to."""
        node, device = place
        host, image = self.servers.host(node), self.servers.made_on(node, space, device)
        there = self.servers.all_on(node)
        self._guard(node, space, _made_of(there, space))
        if not _runs(host, image, bricks.DAEMONS.running(host)):
            bricks.start(host, image)

    def _tell(self, volume: Volume, stage: Stage, part: Part) -> None:
        """Write down what clients of a volume are told, and tell them."""
        host, before = self.servers.host(part.node), part.rules
        rules = replace(before, volume=volume.export(), stage=stage)
        if rules != before:
            self.servers.images.set_rules(host, part.image.device, volume.space, rules.text())
        if rules.told() != before.told() or not part.told:
            telling.tell(host, volume, stage != "told")
        self._guard_told(part.node)

    def _guard_told(self, node: str) -> None:
        """Let clients of all spaces of a server through to what tells them of volumes, and nobody else."""
        there = self.servers.all_on(node)
        if not there:
            packet_filter.remove(self.servers.host(node), "told")
            return
        wanted = (self.servers.wanted(space) for space in {image.space for image in there})
        # who comes by certificate is told by the space's line, and asks nobody
        networks = [rule.network for access in wanted for rule in access if rule.kind == "ip"]
        packet_filter.put(self.servers.host(node), "told", networks, (TOLD_AT_PORT,))

    def _parts_of(self, order: Order) -> list[Part]:
        """What is of a space on the servers that it is to be on, by node and device."""
        nodes = sorted({node for node, _ in order.wanted_shares()})
        found = on_all(nodes, self._parts_on)
        return [part for its in found for part in its if part.image.space == order.space.id]

    def _parts_on(self, node: str) -> list[Part]:
        there = self.servers.all_on(node)
        if not there:
            return []
        host = self.servers.host(node)
        running, told = bricks.DAEMONS.running(host), telling.told(host)
        filters = packet_filter.in_force(host)
        guarded = {
            space: self.servers.is_guarded(filters, space, *_ports(_made_of(there, space)))
            for space in {image.space for image in there}
        }
        return [
            Part(
                node,
                image,
                guarded[image.space] and _runs(host, image, running),
                _is_told(image, told),
            )
            for image in there
        ]

    def _found(self, space: str, parts: Sequence[Part], order: Order | None) -> Found:
        """A space of its parts. Where some of them have other rules than are wanted, those are what it has."""
        places = {part.place for part in parts}
        wanted = order.wanted_shares().keys() if order is not None else places
        rules = [part.rules.access for part in parts if part.made]
        asked = frozenset(order.space.access) if order is not None else frozenset()
        export = self._volume(order, parts, space).export()
        return Found(
            space=space,
            whole=places == wanted
            and all(
                part.whole and part.rules.stage == "moved" and part.rules.volume == export
                for part in parts
            ),
            shares={part.place: part.image.size_bytes for part in parts},
            access=next((each for each in rules if each != asked), asked),
            export=export,
        )

    def _volume(self, order: Order | None, parts: Iterable[Part], space: str = "") -> Volume:
        made = sorted((part for part in parts if part.made), key=lambda part: part.place)
        there = [(self.servers.host(part.node).address, part.rules.port) for part in made]
        # As they came, as far as clients were told: a part that was not told yet may know fewer.
        told = [Volume.of(part.rules.volume).bricks for part in made if part.rules.volume]
        before = [brick for brick in max(told, key=len, default=()) if brick in there]
        return Volume(
            space=order.space.id if order is not None else space,
            bricks=tuple(dict.fromkeys((*before, *there))),
            stripe_bytes=order.space.stripe_size if order is not None else None,
            certificate=next((part.rules.certificate for part in made), None),
        )


def maker(known: Known) -> GlusterMaker:
    """The maker of the daemon."""
    return GlusterMaker(known, NodesOfClusters())


def needs() -> Needs:
    """Programs of a server."""
    of_all = images.needs() | daemons.needs() | packet_filter.needs()
    return of_all | bricks.needs() | telling.needs() | moving.needs()


def _made_of(there: Iterable[Image], space: str) -> list[Image]:
    """What is made of a space, of all that a server has."""
    return [image for image in there if image.space == space and image.state != "unmade"]


def _ports(its: Sequence[Image]) -> tuple[list[int], list[Network]]:
    """Ports of the bricks of a space on a server, and addresses of its servers, which move files between bricks."""
    rules = [Rules.of(image) for image in its]
    servers = sorted({address for each in rules for address in each.servers})
    return [each.port for each in rules], [IPv4Network(address) for address in servers]


def _runs(host: Host, image: Image, running: Mapping[str, str]) -> bool:
    return image.state != "unmade" and running.get(image.label) == bricks.hash_of(host, image)


def _is_told(image: Image, told: Told) -> bool:
    return (
        image.state != "unmade"
        and told.runs
        and told.volumes.get(image.space) == Rules.of(image).told()
    )


def _label(order: Order, place: Place) -> str:
    """What is called after a space on a device of a server: its identity on the first, with a number on each further one.

    A space keeps its devices as long as it is on a server, so that the numbers stay.
    """
    node, device = place
    its = sorted(name for other, name in order.wanted_shares() if other == node)
    number = its.index(device) + 1
    return order.space.id if number == 1 else f"{order.space.id}-{number}"
