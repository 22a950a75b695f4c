"""What brings up the servers of a space as a cluster of its own, as the driver of the service calls it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from wavetank.errors import ServiceError
from wavetank.service.core.own_servers import Look, OwnCluster, OwnServers, Template


class Clusters(Protocol):
    """Brings clusters of spaces' servers up, and takes them down.

    It may be killed inside of each call; what is there afterwards is told by ``look``.
    """

    def see(self, template: Template) -> None:
        """See that a server of a template could be brought up, before the service takes the template. Any thread may call.

        Raises:
            WavetankError: it could not, with all that is wrong.
        """

    def look(self, cluster: str) -> Look:
        """How far a cluster of a space's servers is there."""

    def ends(self, cluster: str) -> datetime | None:
        """When servers that are up end themselves, in UTC; None where they do not."""

    def bring_up(self, own: OwnServers, cluster: OwnCluster) -> None:
        """Bring servers up of which nothing is there.

        Raises:
            WavetankError: they do not come up; nothing of them is left then, or ``look`` tells it. A tenant may read the text.
        """

    def take_down(self, cluster: str) -> None:
        """Take a cluster of a space's servers down, whatever is there of it. Nothing is no error.

        Raises:
            WavetankError: something of them cannot be removed.
        """


class NoClusters:
    """Of a service that brings up nothing."""

    def see(self, template: Template) -> None:
        """Refuse all templates."""
        raise ServiceError(f"this service brings up no servers, and none of {template.name}")

    def look(self, cluster: str) -> Look:
        """Nobody knows."""
        raise ServiceError(f"this service brings up no servers, and cannot ask those of {cluster}")

    def ends(self, cluster: str) -> datetime | None:
        """Nobody knows."""
        raise ServiceError(f"this service brings up no servers, and cannot ask those of {cluster}")

    def bring_up(self, own: OwnServers, cluster: OwnCluster) -> None:
        """Nothing is brought up."""
        raise ServiceError(f"this service brings up no servers, and none of {cluster.name}")

    def take_down(self, cluster: str) -> None:
        """Nothing is taken down."""
        raise ServiceError(f"this service brings up no servers, and cannot end those of {cluster}")
