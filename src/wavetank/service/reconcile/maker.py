"""What makes spaces on servers, as the driver of the service calls it."""

from __future__ import annotations

from typing import Protocol

from wavetank.service.core.orders import Found, Order, There
from wavetank.service.core.records import Server


class Maker(Protocol):
    """Makes, changes and removes spaces on servers.

    It may be killed inside of each call; whatever is there afterwards is told by ``there`` and ``find``. Each call may be made
    again with the same order. A call that cannot be carried out raises a WavetankError, whose text a tenant may read.
    """

    def see(self, server: Server) -> None:
        """See that spaces can be made on a server, before the service takes it. Any thread may call.

        Raises:
            WavetankError: they cannot, with all that is wrong.
        """

    def there(self) -> There:
        """All spaces of this service on the servers that can be asked, and the servers that cannot."""

    def find(self, space: str) -> Found | None:
        """One space as it is there; None when nothing of it is.

        Raises:
            WavetankError: a server cannot be asked.
        """

    def make(self, order: Order) -> None:
        """Make a space of which nothing is there."""

    def resize(self, order: Order) -> None:
        """Give a space the shares of the order while its data stays: also one that a call before left half way.

        Raises:
            UnfinishedError: what is to be done takes long, or waits for clients: it is to be called again later.
        """

    def change_access(self, order: Order) -> None:
        """Put the rules of the order in force, and no others. Clients that they leave out lose their mounts."""

    def shut_out(self, order: Order, node: str) -> None:
        """Shut out of a server at once all clients that the rules of the order leave out. Any thread may call, whatever others call.

        What else is to be in force, ``change_access`` puts in force.
        """

    def remove(self, space: str) -> None:
        """Remove all of a space and its data. Nothing is left is no error."""
