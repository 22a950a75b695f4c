"""Rows of the service's database as records, and back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from wavetank.service.core.own_servers import OwnCluster, OwnServers, Stock, Template
from wavetank.service.core.records import (
    Access,
    AuditRow,
    Device,
    Event,
    Held,
    Quota,
    Server,
    Share,
    Space,
    SpaceRequest,
    Tenant,
    Usage,
)
from wavetank.service.core.refusals import Refused
from wavetank.service.store.schema import READS, SPACE_COLUMNS, USE

Connection = sqlite3.Connection


def text_of(moment: datetime) -> str:
    """A time as the database keeps it: in UTC, so that texts are in the order of times."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def time_of(text: str) -> datetime:
    """A time that the database keeps."""
    return datetime.fromisoformat(text)


def tenant_of(connection: Connection, name: str) -> Tenant:
    """A tenant.

    Raises:
        Refused: unknown.
    """
    row = connection.execute(READS["tenant"], (name,)).fetchone()
    if row is None:
        raise Refused("unknown", f"there is no tenant {name!r}")
    return tenant_record(row)


def tenant_record(row: Sequence[Any]) -> Tenant:
    """A tenant of a row."""
    return Tenant(name=row[0], quota=Quota(bytes=row[1], servers=row[2], spaces=row[3]))


def usage_of(connection: Connection, tenant: str) -> Usage:
    """What a tenant has of its quota: by its spaces that are not gone, also failed ones."""
    size, servers, spaces = connection.execute(READS["usage"], (tenant,)).fetchone()
    return Usage(bytes=size, servers=servers, spaces=spaces)


def servers_of(connection: Connection) -> tuple[Held, ...]:
    """All servers by name, with what is held of them."""
    devices: dict[str, list[Device]] = {}
    for node, name, size in connection.execute(
        "SELECT node, name, size FROM device ORDER BY node, name"
    ):
        devices.setdefault(node, []).append(Device(name=name, size=size))
    used: dict[tuple[str, str], int] = {}
    tenants: dict[str, set[str]] = {}
    dedicated: dict[str, str] = {}
    for node, device, tenant, held, space in connection.execute(USE):
        used[node, device] = used.get((node, device), 0) + held
        tenants.setdefault(node, set()).add(tenant)
        if space is not None:
            dedicated[node] = space
    return tuple(
        Held(
            server=Server(node=node, devices=tuple(devices[node]), kinds=tuple(kinds.split())),
            free={each.name: each.size - used.get((node, each.name), 0) for each in devices[node]},
            tenants=frozenset(tenants.get(node, ())),
            dedicated_to=dedicated.get(node),
        )
        for node, kinds in connection.execute("SELECT node, kinds FROM server ORDER BY node")
    )


def put_server(connection: Connection, server: Server) -> None:
    """Write a server and its devices, in place of what it had."""
    connection.execute("DELETE FROM device WHERE node = ?", (server.node,))
    connection.execute(
        "INSERT OR REPLACE INTO server VALUES (?,?)", (server.node, " ".join(server.kinds))
    )
    connection.executemany(
        "INSERT INTO device VALUES (?,?,?)",
        [(server.node, device.name, device.size) for device in server.devices],
    )


def remove_server(connection: Connection, node: str) -> None:
    """Forget a server and its devices."""
    connection.execute("DELETE FROM device WHERE node = ?", (node,))
    connection.execute("DELETE FROM server WHERE node = ?", (node,))


def stocks_of(connection: Connection) -> tuple[Stock, ...]:
    """All templates by name, with the servers that spaces have of them."""
    used = dict(
        connection.execute(
            "SELECT template, sum(servers) FROM own_servers JOIN own_cluster USING (space) GROUP BY template"
        )
    )
    return tuple(
        Stock(template=Template.model_validate_json(body), used=used.get(name, 0))
        for name, body in connection.execute("SELECT name, body FROM template ORDER BY name")
    )


def own_of(connection: Connection, space: str) -> OwnServers | None:
    """The servers that are brought up for a space alone; None: it has none such."""
    row = connection.execute("SELECT body FROM own_servers WHERE space = ?", (space,)).fetchone()
    if row is None:
        return None
    clusters = connection.execute(
        "SELECT name, servers, admitted, wanted FROM own_cluster WHERE space = ? ORDER BY position",
        (space,),
    )
    return OwnServers(
        space=space,
        template=Template.model_validate_json(row[0]),
        clusters=tuple(
            OwnCluster(name=name, servers=servers, admitted=bool(admitted), wanted=bool(wanted))
            for name, servers, admitted, wanted in clusters
        ),
    )


def put_own(connection: Connection, own: OwnServers) -> None:
    """Write which servers are to be brought up for a space, in place of what was."""
    template = own.template
    connection.execute(
        "INSERT OR REPLACE INTO own_servers VALUES (?,?,?)",
        (own.space, template.name, template.model_dump_json()),
    )
    connection.execute("DELETE FROM own_cluster WHERE space = ?", (own.space,))
    connection.executemany(
        "INSERT INTO own_cluster VALUES (?,?,?,?,?,?)",
        [
            (own.space, i, each.name, each.servers, int(each.admitted), int(each.wanted))
            for i, each in enumerate(own.clusters)
        ],
    )


def forget_own(connection: Connection, space: str, *, gone: bool) -> None:
    """Forget servers that were brought up for a space and are taken down.

    Args:
        connection: of a transaction that writes.
        space: its identity.
        gone: whether all of them are; else those that it is not to have any more.
    """
    own = own_of(connection, space)
    if own is None:
        return
    for cluster in own.clusters:
        if gone or not cluster.wanted:
            for node in cluster.nodes:
                remove_server(connection, node)
            connection.execute(
                "DELETE FROM own_cluster WHERE space = ? AND name = ?", (space, cluster.name)
            )
    if gone:
        connection.execute("DELETE FROM own_servers WHERE space = ?", (space,))


def space_of(connection: Connection, identity: str, tenant: str | None) -> Space:
    """A space by its identity; one of another tenant is unknown, as if there were none.

    Raises:
        Refused: unknown.
    """
    row = connection.execute(READS["space"], (identity,)).fetchone()
    if row is None or (tenant is not None and row[1] != tenant):
        raise Refused("unknown", f"there is no space {identity!r}")
    return _space_record(row, access_of(connection, identity))


def space_named(connection: Connection, tenant: str, name: str) -> Space | None:
    """The space that has a name now."""
    row = connection.execute(READS["space named"], (tenant, name)).fetchone()
    return None if row is None else _space_record(row, access_of(connection, row[0]))


def page_of(
    connection: Connection, tenant: str | None, after: tuple[str, str], limit: int
) -> tuple[Space, ...]:
    """Spaces that are not gone, by tenant and name."""
    asked = (READS["page of all"], (*after, limit))
    if tenant is not None:
        asked = (READS["page of a tenant"], (tenant, after[1] if after[0] == tenant else "", limit))
    rows = connection.execute(*asked).fetchall()
    return tuple(_space_record(row, access_of(connection, row[0])) for row in rows)


def access_of(connection: Connection, space: str) -> tuple[Access, ...]:
    """A space's rules. They fitted when they were written."""
    rows = connection.execute(READS["access"], (space,))
    return tuple(
        Access.model_construct(kind=kind, subject=subject, level=level, authority=authority)
        for kind, subject, level, authority in rows
    )


def _space_record(row: Sequence[Any], access: tuple[Access, ...]) -> Space:
    values = dict(zip(SPACE_COLUMNS, row, strict=True))
    for key in ("created_utc", "changed_utc"):
        values[key] = time_of(values[key])
    return Space.model_construct(**values, access=access)


def put_space(connection: Connection, space: Space, asked: SpaceRequest | None = None) -> None:
    """Write a space and its rules.

    Args:
        connection: in a transaction.
        space: as it is now.
        asked: the request of a new one; None: it is there already.
    """
    values = [getattr(space, name) for name in SPACE_COLUMNS[:-2]]
    values += [text_of(space.created_utc), text_of(space.changed_utc)]
    if asked is not None:
        names = ", ".join((*SPACE_COLUMNS, "asked"))
        marks = ", ".join("?" * (len(SPACE_COLUMNS) + 1))
        connection.execute(
            f"INSERT INTO space ({names}) VALUES ({marks})",  # noqa: S608 - names of the schema
            (*values, asked.model_dump_json()),
        )
    else:
        settings = ", ".join(f"{name} = ?" for name in SPACE_COLUMNS)
        connection.execute(
            f"UPDATE space SET {settings} WHERE id = ?",  # noqa: S608 - names of the schema
            (*values, space.id),
        )
    connection.execute("DELETE FROM access WHERE space = ?", (space.id,))
    connection.executemany(
        "INSERT INTO access VALUES (?,?,?,?,?,?)",
        [
            (space.id, position, rule.kind, rule.subject, rule.level, rule.authority)
            for position, rule in enumerate(space.access)
        ],
    )


def shares_of(connection: Connection, space: str) -> tuple[Share, ...]:
    """A space's place."""
    return tuple(
        Share(node=node, device=device, made=made, wanted=wanted, held=held)
        for node, device, made, wanted, held in connection.execute(READS["shares"], (space,))
    )


def put_shares(connection: Connection, space: Space, shares: Iterable[Share]) -> None:
    """Write a space's place."""
    connection.execute("DELETE FROM placement WHERE space = ?", (space.id,))
    connection.executemany(
        "INSERT INTO placement VALUES (?,?,?,?,?,?,?,?)",
        [
            (
                space.id, share.node, share.device, share.made, share.wanted, share.held,
                space.tenant, int(space.mode == "dedicated"),
            )
            for share in shares
        ],
    )  # fmt: skip


def add_event(
    connection: Connection, space: Space | None, kind: str, text: str, now: datetime
) -> None:
    """Say what happened, to a space or to the service."""
    connection.execute(
        "INSERT INTO event (at_utc, tenant, space, kind, text) VALUES (?,?,?,?,?)",
        (text_of(now), space and space.tenant, space and space.id, kind, text),
    )


def event_record(row: Sequence[Any]) -> Event:
    """An event of a row."""
    number, at_utc, tenant, space, kind, text, times = row
    return Event(
        number=number,
        at_utc=time_of(at_utc),
        tenant=tenant,
        space=space,
        kind=kind,
        text=text,
        times=times,
    )


def add_audit(
    connection: Connection,
    actor: str,
    action: str,
    subject: str,
    outcome: str,
    detail: str,
    now: datetime,
) -> None:
    """Say who asked for what, and what came of it."""
    connection.execute(
        "INSERT INTO audit (at_utc, actor, action, subject, outcome, detail) VALUES (?,?,?,?,?,?)",
        (text_of(now), actor, action, subject, outcome, detail),
    )


def audit_record(row: Sequence[Any]) -> AuditRow:
    """An audit row."""
    number, at_utc, actor, action, subject, outcome, detail = row
    return AuditRow(
        number=number,
        at_utc=time_of(at_utc),
        actor=actor,
        action=action,
        subject=subject,
        outcome=outcome,
        detail=detail,
    )


def audit_written_of(connection: Connection) -> int:
    """Number of the last audit row that is in the audit log's file; 0: none is."""
    row = connection.execute("SELECT number FROM mark WHERE name = 'audit'").fetchone()
    return 0 if row is None else int(row[0])
