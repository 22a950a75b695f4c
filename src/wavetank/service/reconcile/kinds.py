"""Several makers as one: each kind of file system has its own."""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.errors import ServiceError
from wavetank.service.core.classes import KINDS
from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.records import Kind, Server
from wavetank.service.reconcile.maker import Maker


class MakerOfKinds:
    """A maker that has each order carried out by the maker of its kind.

    Attributes:
        makers: by kind.
    """

    def __init__(self, makers: Mapping[Kind, Maker]) -> None:
        self.makers = makers

    def see(self, server: Server) -> None:
        """See that a server can serve its kinds, as far as there are makers of them."""
        for kind in server.kinds:
            if kind in self.makers:
                self.makers[kind].see(server)

    def there(self) -> There:
        """All spaces of all makers, and the servers that one of them cannot ask."""
        spaces: dict[str, Found] = {}
        away: dict[str, str] = {}
        for maker in self.makers.values():
            found = maker.there()
            spaces |= found.spaces
            away |= found.away
        return There(spaces, away)

    def find(self, space: str) -> Found | None:
        """The space, of whichever maker has something of it."""
        for maker in self.makers.values():
            if (found := maker.find(space)) is not None:
                return found
        return None

    def make(self, order: Order) -> None:
        """Make a space."""
        self._of(order).make(order)

    def resize(self, order: Order) -> None:
        """Give a space the shares of the order."""
        self._of(order).resize(order)

    def change_access(self, order: Order) -> None:
        """Put the rules of the order in force."""
        self._of(order).change_access(order)

    def shut_out(self, order: Order, node: str) -> None:
        """Shut out clients that the rules leave out."""
        self._of(order).shut_out(order, node)

    def remove(self, space: str) -> None:
        """Remove a space from every maker that has something of it."""
        for maker in self.makers.values():
            if maker.find(space) is not None:
                maker.remove(space)

    def _of(self, order: Order) -> Maker:
        kind = order.space.kind
        if kind not in self.makers:
            raise ServiceError(
                f"there is no maker for {KINDS[kind].title} in this service: start it with one"
            )
        return self.makers[kind]
