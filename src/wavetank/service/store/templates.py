"""Templates of servers, and the servers of spaces' own, as the store keeps them."""

from __future__ import annotations

from datetime import datetime

from wavetank.service.core.own_servers import Stock, Template
from wavetank.service.core.records import Space
from wavetank.service.core.refusals import Refused
from wavetank.service.store.base import Base
from wavetank.service.store.rows import (
    Connection,
    add_event,
    own_of,
    put_server,
    remove_server,
    stocks_of,
)


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

    def admit(self, space: Space, cluster: str, now: datetime) -> None:
        """Take servers of a space, which are up and were looked at, as servers of the service.

        Args:
            space: whose they are.
            cluster: that they are nodes of. One that the space is not to have any more is left as it is.
            now: when.
        """
        with self._connections.changing() as connection:
            own = own_of(connection, space.id)
            its = () if own is None else own.clusters
            found = next((each for each in its if each.name == cluster and each.wanted), None)
            if own is None or found is None or found.admitted:
                return
            for server in own.servers_of(found):
                put_server(connection, server)
            _set_admitted(connection, space, cluster, admitted=True)
            text = f"{', '.join(found.nodes)}: of template {own.template.name}"
            add_event(connection, None, "server", text, now)

    def release(self, space: Space, cluster: str) -> None:
        """Give servers of a space back, on which nothing of it is any more, before they are taken down: they are not asked from then on."""
        with self._connections.changing() as connection:
            own = own_of(connection, space.id)
            for each in () if own is None else own.clusters:
                if each.name == cluster and each.admitted:
                    for node in each.nodes:
                        remove_server(connection, node)
                    _set_admitted(connection, space, cluster, admitted=False)


def _set_admitted(connection: Connection, space: Space, cluster: str, *, admitted: bool) -> None:
    connection.execute(
        "UPDATE own_cluster SET admitted = ? WHERE space = ? AND name = ?",
        (int(admitted), space.id, cluster),
    )
