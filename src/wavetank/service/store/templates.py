"""Templates of servers, and the servers of spaces' own, as the store keeps them."""

from __future__ import annotations

from datetime import datetime

from wavetank.service.core.own_servers import Stock, Template
from wavetank.service.core.records import Space
from wavetank.service.core.refusals import Refused
from wavetank.service.store.base import Base
from wavetank.service.store.rows import add_event, own_of, put_server, stocks_of


class Templates(Base):
    """What servers can be brought up, by the administrator; and which of them are there."""

    def put_template(self, template: Template, now: datetime, actor: str = "admin") -> Stock:
        """Add a template, or change it. Spaces that have servers of it keep them as they are.

        Raises:
            ServiceError: the store cannot be written.
        """
        with self._asked(actor, "put template", template.name, now) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO template VALUES (?,?)",
                (template.name, template.model_dump_json()),
            )
            return next(
                each for each in stocks_of(connection) if each.template.name == template.name
            )

    def remove_template(self, name: str, now: datetime, actor: str = "admin") -> None:
        """Forget a template. Spaces that have servers of it keep them.

        Raises:
            Refused: unknown.
        """
        with self._asked(actor, "remove template", name, now) as connection:
            if not connection.execute("DELETE FROM template WHERE name = ?", (name,)).rowcount:
                raise Refused("unknown", f"there is no template {name!r}")

    def templates(self) -> tuple[Stock, ...]:
        """All templates by name, with the servers that spaces have of them."""
        with self._connections.reading() as connection:
            return stocks_of(connection)

    def admit(self, space: Space, now: datetime) -> None:
        """Take the servers of a space, which are up and were looked at, as servers of the service."""
        with self._connections.changing() as connection:
            own = own_of(connection, space.id)
            if own is None or own.admitted:
                return
            for server in own.nodes():
                put_server(connection, server)
            connection.execute("UPDATE own_servers SET admitted = 1 WHERE space = ?", (space.id,))
            nodes = ", ".join(server.node for server in own.nodes())
            add_event(connection, None, "server", f"{nodes}: of template {own.template.name}", now)
