"""Makes NFS spaces: an image with a file system of its own on a device of a server, and an export with a list of clients.

The same for shared and dedicated spaces: whose the server is besides is a matter of placement. One ganesha a server serves all of
its spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from wavetank.cluster.filesystems.nfs_export import ganesha
from wavetank.cluster.host import Host
from wavetank.cluster.needs import Needs
from wavetank.errors import ServiceError, WavetankError
from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.records import Held, Server
from wavetank.service.makers.nfs import exports, images
from wavetank.service.makers.nfs.images import Image
from wavetank.units import exact_size


class Known(Protocol):
    """What the maker asks the service: its store is one."""

    def servers(self) -> Iterable[Held]:
        """All servers."""

    def order(self, space: str) -> Order:
        """A space with its places on servers."""


class NfsMaker:
    """Makes NFS spaces on servers; see ``reconcile.maker.Maker``.

    Attributes:
        known: what the service knows.
        hosts: node -> how to run commands there, as root. A device of a server is a folder there on which a local file system is mounted
            that is its alone.
    """

    def __init__(self, known: Known, hosts: Mapping[str, Host]) -> None:
        self.known = known
        self.hosts = hosts

    def see(self, server: Server) -> None:
        """See that a server is reached, has the programs, and that its devices are local file systems for spaces alone.

        Raises:
            ServiceError: naming all that is wrong.
        """
        devices = [(device.name, device.size) for device in server.devices]
        problems = images.problems_of(self._host(server.node), needs(), devices)
        if problems:
            raise ServiceError(f"server {server.node} cannot serve NFS: {'; '.join(problems)}")

    def there(self) -> There:
        """All spaces on all servers for NFS that can be asked."""
        found: dict[str, Found] = {}
        away: dict[str, str] = {}
        for node in self._nodes():
            try:
                found |= self._found_on(node)
            except WavetankError as error:
                away[node] = str(error)
        return There(found, away)

    def find(self, space: str) -> Found | None:
        """One space. A server is asked that has, or had, a share of it; all are, where none does."""
        nodes = {share.node for share in self.known.order(space).shares} or set(self._nodes())
        for node in sorted(nodes):
            if (found := self._found_on(node).get(space)) is not None:
                return found
        return None

    def make(self, order: Order) -> None:
        """Image, file system, rules; then the export."""
        node, device, size = _place(order)
        server = self._host(node)
        number = exports.free_number(self._images(node))
        rules = exports.rules_text(number, order.space.access)
        images.make(server, device, order.space.id, size, rules)
        self._put_in_force(node)

    def resize(self, order: Order) -> None:
        """Grow it while it is used; the same size puts right what is not mounted or not exported.

        Raises:
            ServiceError: it has more bytes than are wanted. XFS does not shrink.
        """
        node, device, size = _place(order)
        there = self._made(node, order.space.id)
        if there.size_bytes > size:
            raise ServiceError(
                f"a space of NFS does not shrink: it has {exact_size(there.size_bytes)}, and {exact_size(size)} are wanted. "
                "Make a smaller one, and copy"
            )
        images.grow(self._host(node), device, order.space.id, size)
        self._put_in_force(node)

    def change_access(self, order: Order) -> None:
        """Other rules. Ganesha looks at them with each request, so that they hold for mounts that there are."""
        node, device, _ = _place(order)
        there = self._made(node, order.space.id)
        rules = exports.rules_text(exports.number_of(there), order.space.access)
        images.set_rules(self._host(node), device, order.space.id, rules)
        self._put_in_force(node)

    def remove(self, space: str) -> None:
        """The export first, then all else: nobody has it open then."""
        nodes = {share.node for share in self.known.order(space).shares} or set(self._nodes())
        for node in sorted(nodes):
            there = self._image(node, space)
            if there is not None:
                images.close(self._host(node), there.device, space)
                self._put_in_force(node)
                images.remove(self._host(node), there.device, space)

    def _found_on(self, node: str) -> dict[str, Found]:
        there = self._images(node)
        if not there:
            return {}
        server = self._host(node)
        in_force = exports.in_force(server, there)
        return {image.space: _found(node, server, image, in_force) for image in there}

    def _put_in_force(self, node: str) -> None:
        exports.put_in_force(self._host(node), self._images(node))

    def _image(self, node: str, space: str) -> Image | None:
        return next((each for each in self._images(node) if each.space == space), None)

    def _made(self, node: str, space: str) -> Image:
        there = self._image(node, space)
        if there is None or there.state == "unmade":
            raise ServiceError(f"server {node} has no such space any more")
        return there

    def _images(self, node: str) -> tuple[Image, ...]:
        held = next((each for each in self.known.servers() if each.server.node == node), None)
        if held is None:
            raise ServiceError(f"server {node} is not known any more. Add it again")
        return images.images_of(self._host(node), [each.name for each in held.server.devices])

    def _nodes(self) -> list[str]:
        return [held.server.node for held in self.known.servers() if "nfs" in held.server.kinds]

    def _host(self, node: str) -> Host:
        try:
            return self.hosts[node]
        except KeyError:
            raise ServiceError(
                f"server {node} cannot be reached: the service does not know how"
            ) from None


def needs() -> Needs:
    """Programs of a server."""
    return ganesha.needs("nfs-ganesha-vfs") | images.needs()


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
