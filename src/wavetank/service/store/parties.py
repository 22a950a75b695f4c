"""Tenants and servers, as the store keeps them."""

from __future__ import annotations

from datetime import datetime

from wavetank.service.core.records import Device, Held, Server, Tenant, Usage
from wavetank.service.core.refusals import Refused
from wavetank.service.store.base import Base
from wavetank.service.store.rows import (
    Connection,
    add_event,
    put_server,
    remove_server,
    servers_of,
    tenant_of,
    tenant_record,
    text_of,
    usage_of,
)
from wavetank.units import exact_size


class Parties(Base):
    """Who asks, and what there is to give: by the administrator."""

    def put_tenant(self, tenant: Tenant, now: datetime, actor: str = "admin") -> Tenant:
        """Make a tenant, or give it another quota. A quota below what it has keeps it from having more.

        Raises:
            ServiceError: the store cannot be written.
        """
        quota = tenant.quota
        with self._asked(actor, "put tenant", tenant.name, now) as connection:
            connection.execute(
                "INSERT INTO tenant VALUES (?,?,?,?,?) ON CONFLICT (name) DO UPDATE SET "
                "quota_bytes = excluded.quota_bytes, quota_servers = excluded.quota_servers, "
                "quota_spaces = excluded.quota_spaces",
                (tenant.name, quota.bytes, quota.servers, quota.spaces, text_of(now)),
            )
        return tenant

    def remove_tenant(self, name: str, now: datetime, actor: str = "admin") -> None:
        """Forget a tenant and its tokens. What is told of it and its former spaces is the administrator's from then on.

        Raises:
            Refused: unknown; in_use while it has spaces.
        """
        with self._asked(actor, "remove tenant", name, now) as connection:
            tenant_of(connection, name)
            n = usage_of(connection, name).spaces
            if n:
                raise Refused(
                    "in_use",
                    f"tenant {name} has {n} {'space' if n == 1 else 'spaces'}: delete them first",
                )
            connection.execute("DELETE FROM token WHERE tenant = ?", (name,))
            connection.execute("DELETE FROM tenant WHERE name = ?", (name,))
            # A later tenant of this name sees nothing of this one.
            connection.execute("UPDATE event SET tenant = NULL WHERE tenant = ?", (name,))
            connection.execute("UPDATE space SET tenant = '' WHERE tenant = ?", (name,))

    def tenant(self, name: str) -> Tenant:
        """A tenant.

        Raises:
            Refused: unknown.
        """
        with self._connections.reading() as connection:
            return tenant_of(connection, name)

    def tenants(self) -> tuple[Tenant, ...]:
        """All tenants by name."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                "SELECT name, quota_bytes, quota_servers, quota_spaces FROM tenant ORDER BY name"
            )
            return tuple(map(tenant_record, rows))

    def usage(self, tenant: str) -> Usage:
        """What a tenant has of its quota.

        Raises:
            Refused: unknown.
        """
        with self._connections.reading() as connection:
            tenant_of(connection, tenant)
            return usage_of(connection, tenant)

    def put_server(self, server: Server, now: datetime, actor: str = "admin") -> Held:
        """Add a server, or change it.

        Raises:
            Refused: in_use where a device or kind that spaces need would go, or a device would be smaller than what they hold.
        """
        with self._asked(actor, "put server", server.node, now) as connection:
            _see_enough(connection, server)
            put_server(connection, server)
            add_event(connection, None, "server", _told(server), now)
            return next(each for each in servers_of(connection) if each.server.node == server.node)

    def remove_server(self, node: str, now: datetime, actor: str = "admin") -> None:
        """Forget a server.

        Raises:
            Refused: unknown; in_use while a space is on it.
        """
        with self._asked(actor, "remove server", node, now) as connection:
            if not connection.execute("SELECT 1 FROM server WHERE node = ?", (node,)).fetchone():
                raise Refused("unknown", f"there is no server {node!r}")
            (n,) = connection.execute(
                "SELECT count(DISTINCT space) FROM placement WHERE node = ?", (node,)
            ).fetchone()
            if n:
                raise Refused(
                    "in_use",
                    f"server {node} holds {n} {'space' if n == 1 else 'spaces'}: delete them first",
                )
            remove_server(connection, node)
            add_event(connection, None, "server", f"{node} was removed", now)

    def servers(self) -> tuple[Held, ...]:
        """All servers by name, with what is free of them and who is on them (for administrators only)."""
        with self._connections.reading() as connection:
            return servers_of(connection)


def _told(server: Server) -> str:
    size = exact_size(sum(device.size for device in server.devices))
    n = len(server.devices)
    return (
        f"{server.node}: {n} {'device' if n == 1 else 'devices'}, {size}, {', '.join(server.kinds)}"
    )


def _see_enough(connection: Connection, server: Server) -> None:
    """See that a server still has what spaces hold of it."""
    devices: dict[str, Device] = {device.name: device for device in server.devices}
    problems = []
    for name, held in connection.execute(
        "SELECT device, sum(held) FROM placement WHERE node = ? GROUP BY device", (server.node,)
    ):
        size = devices[name].size if name in devices else 0
        if held > size:
            problems.append(
                f"spaces hold {exact_size(held)} of device {name}, which would have {exact_size(size)}"
            )
    for (kind,) in connection.execute(
        "SELECT DISTINCT space.kind FROM placement JOIN space ON space.id = placement.space "
        "WHERE placement.node = ?",
        (server.node,),
    ):
        if kind not in server.kinds:
            problems.append(f"it holds spaces of {kind}")
    if problems:
        raise Refused("in_use", f"server {server.node} cannot be so: {'; '.join(problems)}")
