"""What makes spaces on servers, as the driver of the service calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from wavetank.service.core.orders import Found, Order


class Maker(Protocol):
    """Makes, changes and removes spaces on servers.

    It may be killed inside of each call; whatever is there afterwards is told by ``there`` and ``find``. Each call may be made
    again with the same order. A call that cannot be carried out raises a WavetankError, whose text a tenant may read.
    """

    def there(self) -> Mapping[str, Found]:
        """All spaces of this service that are on the servers, whole or not, by identity.

        Raises:
            WavetankError: a server cannot be asked. Nothing is known then: not that a space is not there.
        """

    def find(self, space: str) -> Found | None:
        """One space as it is there; None when nothing of it is.

        Raises:
            WavetankError: a server cannot be asked.
        """

    def make(self, order: Order) -> None:
        """Make a space of which nothing is there."""

    def resize(self, order: Order) -> None:
        """Give a space the shares of the order while its data stays: also one that a call before left half way."""

    def change_access(self, order: Order) -> None:
        """Put the rules of the order in force, and no others. Clients that they leave out lose their mounts."""

    def remove(self, space: str) -> None:
        """Remove all of a space and its data. Nothing is left is no error."""
