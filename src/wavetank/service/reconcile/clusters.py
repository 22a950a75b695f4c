"""What brings up the servers of a space as a cluster of its own, as the driver of the service calls it."""

from __future__ import annotations

from typing import Protocol

from wavetank.errors import ServiceError
from wavetank.service.core.own_servers import Look, OwnServers, Template


class Clusters(Protocol):
    """Brings clusters of spaces' servers up, and takes them down.

    It may be killed inside of each call; what is there afterwards is told by ``look``.
    """

    def see(self, template: Template) -> None:
        """See that a server of a template could be brought up, before the service takes the template. Any thread may call.

        Raises:
            WavetankError: it could not, with all that is wrong.
        """

    def look(self, space: str) -> Look:
        """How far the cluster of a space's servers is there."""

    def bring_up(self, own: OwnServers) -> None:
        """Bring servers up of which nothing is there.

        Raises:
            WavetankError: they do not come up; nothing of them is left then, or ``look`` tells it. A tenant may read the text.
        """

    def take_down(self, space: str) -> None:
        """Take the servers of a space down, whatever is there of them. Nothing is no error.

        Raises:
            WavetankError: something of them cannot be removed.
        """


class NoClusters:
    """Of a service that brings up nothing."""

    def see(self, template: Template) -> None:
        """Refuse all templates."""
        raise ServiceError(f"this service brings up no servers, and none of {template.name}")

    def look(self, space: str) -> Look:
        """Nobody knows."""
        raise ServiceError(f"this service brings up no servers, and cannot ask those of {space}")

    def bring_up(self, own: OwnServers) -> None:
        """Nothing is brought up."""
        raise ServiceError(f"this service brings up no servers, and none of {own.space}")

    def take_down(self, space: str) -> None:
        """Nothing is taken down."""
        raise ServiceError(f"this service brings up no servers, and cannot end those of {space}")
