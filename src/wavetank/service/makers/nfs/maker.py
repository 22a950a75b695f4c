"""Makes NFS spaces: an image with a file system of its own on a device of a server, and an export with a list of clients.

The same for shared and dedicated spaces: whose the server is besides is a matter of placement. One ganesha a server serves all of
its spaces.
"""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.cluster.filesystems.nfs_export import ganesha
from wavetank.cluster.host import Host
from wavetank.cluster.needs import Needs
from wavetank.errors import ServiceError, WavetankError
from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.records import Server
from wavetank.service.makers import images
from wavetank.service.makers.hosts import NodesOfClusters
from wavetank.service.makers.images import Image
from wavetank.service.makers.nfs import exports
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
        for node in self.servers.nodes():
            try:
                found |= self._found_on(node)
            except WavetankError as error:
                away[node] = str(error)
        return There(found, away)

    def find(self, space: str) -> Found | None:
        """One space. A server is asked that has, or had, a share of it; all are, where none does."""
        for node in self.servers.nodes_of(space):
            if (found := self._found_on(node).get(space)) is not None:
                return found
        return None

    def make(self, order: Order) -> None:
        """Image, file system, rules; then the export."""
        node, device, size = _place(order)
        server = self.servers.host(node)
        number = exports.free_number(self.servers.all_on(node))
        rules = exports.rules_text(number, order.space.access)
        self.servers.images.make(server, device, order.space.id, size, rules)
        self._put_in_force(node)

    def resize(self, order: Order) -> None:
        """Grow it while it is used; the same size puts right what is not mounted or not exported.

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
        self._put_in_force(node)

    def change_access(self, order: Order) -> None:
        """Other rules. Ganesha looks at them with each request, so that they hold for mounts that there are."""
        node, device, _ = _place(order)
        there = self.servers.made_on(node, order.space.id)
        rules = exports.rules_text(exports.number_of(there), order.space.access)
        self.servers.images.set_rules(self.servers.host(node), device, order.space.id, rules)
        self._put_in_force(node)

    def remove(self, space: str) -> None:
        """The export first, then all else: nobody has it open then."""
        for node in self.servers.nodes_of(space):
            there = self.servers.one_on(node, space)
            if there is not None:
                self.servers.images.close(self.servers.host(node), there.device, space)
                self._put_in_force(node)
                self.servers.images.remove(self.servers.host(node), there.device, space)

    def _found_on(self, node: str) -> dict[str, Found]:
        there = self.servers.all_on(node)
        if not there:
            return {}
        server = self.servers.host(node)
        in_force = exports.in_force(server, there)
        return {image.space: _found(node, server, image, in_force) for image in there}

    def _put_in_force(self, node: str) -> None:
        exports.put_in_force(self.servers.host(node), self.servers.all_on(node))


def maker(known: Known) -> NfsMaker:
    """The maker of the daemon."""
    return NfsMaker(known, NodesOfClusters())


def needs() -> Needs:
    """Programs of a server."""
    showmount = Needs({"showmount": "apt-get install nfs-common"})
    return ganesha.needs("nfs-ganesha-vfs") | images.needs() | showmount


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


def _found(node: str, server: Host, image: Image, in_force: bool) -> Found:
    made = image.state != "unmade"
    return Found(
        space=image.space,
        whole=image.state == "whole" and image.mounted and in_force,
        shares={(node, image.device): image.size_bytes},
        access=exports.access_of(image) if made else frozenset(),
        export=exports.export_of(server, image.space),
    )
