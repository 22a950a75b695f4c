"""Makes NFS spaces: an image with a file system of its own on a device of a server, and an NFS server of its own with a list of clients.

The same for shared and dedicated spaces: whose the server is besides is a matter of placement.
"""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.cluster.facade import Host, Needs, on_all
from wavetank.errors import ServiceError, WavetankError
from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.records import Server
from wavetank.service.makers import daemons, images, packet_filter
from wavetank.service.makers.hosts import NodesOfClusters
from wavetank.service.makers.images import Image
from wavetank.service.makers.nfs import servers
from wavetank.service.makers.servers import Known, Servers
from wavetank.units import exact_size


class NfsMaker:
    """Makes NFS spaces on servers; see ``reconcile.maker.Maker``.

    Attributes:
        servers: of NFS spaces.
    """

    def __init__(self, known: Known, hosts: Mapping[str, Host]) -> None:
        self.servers = Servers("nfs", known, hosts)

    def see(self, server: Server) -> None:
        """See that a server is reached, has the programs, and that its devices are local file systems for spaces alone.

        Raises:
            ServiceError: naming all that is wrong.
        """
        self.servers.see(server, needs())

    def there(self) -> There:
        """All spaces on all servers for NFS that can be asked."""
        found: dict[str, Found] = {}
        away: dict[str, str] = {}

        def look(node: str) -> None:
            try:
                found.update(self._found_on(node))
            except WavetankError as error:
                away[node] = str(error)

        on_all(self.servers.nodes(), look)
        return There(found, away)

    def find(self, space: str) -> Found | None:
        """One space. A server is asked that has, or had, a share of it; all are, where none does."""
        for node in self.servers.nodes_of(space):
            if (found := self._found_on(node).get(space)) is not None:
                return found
        return None

    def make(self, order: Order) -> None:
        """Image, file system, rules; then its server."""
        node, device, size = _place(order)
        number = servers.free_number(self.servers.all_on(node))
        rules = servers.rules_text(number, order.space.access)
        self.servers.images.make(self.servers.host(node), device, order.space.id, size, rules)
        self._serve(node, order.space.id)

    def resize(self, order: Order) -> None:
        """Grow it while it is used; the same size puts right what is not mounted or not served.

        Raises:
            ServiceError: it has more bytes than are wanted. XFS does not shrink.
        """
        node, device, size = _place(order)
        there = self.servers.made_on(node, order.space.id)
        if there.size_bytes > size:
            raise ServiceError(
                f"a space of NFS does not shrink: it has {exact_size(there.size_bytes)}, and {exact_size(size)} are wanted. "
                "Make a smaller one, and copy"
            )
        self.servers.images.grow(self.servers.host(node), device, order.space.id, size)
        self._serve(node, order.space.id)

    def change_access(self, order: Order) -> None:
        """Other rules, and a server that is started again by them: so nobody stays who is not to."""
        node, device, _ = _place(order)
        there = self.servers.made_on(node, order.space.id)
        rules = servers.rules_text(servers.number_of(there), order.space.access)
        self.servers.images.set_rules(self.servers.host(node), device, order.space.id, rules)
        self._serve(node, order.space.id)

    def shut_out(self, order: Order, node: str) -> None:
        """By the packet filter of the server."""
        there = self.servers.one_on(node, order.space.id)
        if there is not None and there.state != "unmade":
            self.servers.guard(node, order.space.id, servers.ports_of(there))

    def remove(self, space: str) -> None:
        """Its ports and its server first, then all else: nobody has it open then."""
        for node in self.servers.nodes_of(space):
            there = self.servers.one_on(node, space)
            if there is not None:
                host = self.servers.host(node)
                self.servers.images.close(host, there.device, space)
                packet_filter.remove(host, space)
                servers.DAEMONS.end(host, space)
                self.servers.images.remove(host, there.device, space)

    def _serve(self, node: str, space: str) -> None:
        """Let clients through to its server, and start that, unless it runs as it is to."""
        host, image = self.servers.host(node), self.servers.made_on(node, space)
        self.servers.guard(node, space, servers.ports_of(image))
        if servers.DAEMONS.running(host).get(space) != servers.hash_of(host, image):
            servers.start(host, image)

    def _found_on(self, node: str) -> dict[str, Found]:
        there = self.servers.all_on(node)
        if not there:
            return {}
        host = self.servers.host(node)
        running, filters = servers.DAEMONS.running(host), packet_filter.in_force(host)
        return {
            image.space: _unmade(node, image)
            if image.state == "unmade"
            else Found(
                space=image.space,
                whole=image.state == "whole"
                and image.mounted
                and running.get(image.space) == servers.hash_of(host, image)
                and self.servers.is_guarded(filters, image.space, servers.ports_of(image)),
                shares={(node, image.device): image.size_bytes},
                access=servers.access_of(image),
                export=servers.export_of(host, image),
            )
            for image in there
        }


def maker(known: Known) -> NfsMaker:
    """The maker of the daemon."""
    return NfsMaker(known, NodesOfClusters())


def needs() -> Needs:
    """Programs of a server."""
    return servers.needs() | images.needs() | daemons.needs() | packet_filter.needs()


def _place(order: Order) -> tuple[str, str, int]:
    """Node, device and bytes.

    Raises:
        ServiceError: it is of another kind, or lies on several devices.
    """
    if order.space.kind != "nfs":
        raise ServiceError(f"nothing makes spaces of {order.space.kind} yet: ask for nfs")
    places = order.wanted_shares()
    if len(places) != 1:
        raise ServiceError(f"a space of NFS lies on one device, not on {len(places)}")
    (((node, device), size),) = places.items()
    return node, device, size


def _unmade(node: str, image: Image) -> Found:
    """What is half made, or half removed."""
    return Found(image.space, False, {(node, image.device): image.size_bytes}, frozenset(), "")
