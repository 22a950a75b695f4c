"""Tables of ``wavetank service``: tenants, their tokens, devices of servers, templates of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavetank.tables.table import Column, Definition

if TYPE_CHECKING:
    from wavetank.service.core.answers import TenantAnswer
    from wavetank.service.core.own_servers import Stock
    from wavetank.service.core.records import Device, Held, Token

TENANTS: Definition[TenantAnswer] = Definition(
    "tenants",
    "Tenants",
    (
        Column("name", "Name", lambda i: i.name),
        Column("used_bytes", "Used", lambda i: i.used.bytes, kind="integer", unit="B"),
        Column("quota_bytes", "of", lambda i: i.quota.bytes, kind="integer", unit="B"),
        Column("used_servers", "Dedicated servers", lambda i: i.used.servers, kind="integer"),
        Column("quota_servers", "of", lambda i: i.quota.servers, kind="integer"),
        Column("used_spaces", "Spaces", lambda i: i.used.spaces, kind="integer"),
        Column("quota_spaces", "of", lambda i: i.quota.spaces, kind="integer"),
    ),
    command="service tenant list",
)

TOKENS: Definition[Token] = Definition(
    "tokens",
    "Tokens",
    (
        Column("id", "Identity", lambda i: i.id),
        Column("tenant", "Tenant", lambda i: i.tenant),
        Column("created_utc", "Made (UTC)", lambda i: i.created_utc.isoformat(timespec="seconds")),
        Column(
            "expires_utc",
            "Expires (UTC)",
            lambda i: (
                None if i.expires_utc is None else i.expires_utc.isoformat(timespec="seconds")
            ),
        ),
    ),
    command="service token list",
)

DEVICES: Definition[tuple[Held, Device]] = Definition(
    "devices-of-servers",
    "Servers",
    (
        Column("node", "Server", lambda i: i[0].server.node),
        Column("device", "Device", lambda i: i[1].name),
        Column("size_bytes", "Size", lambda i: i[1].size, kind="integer", unit="B"),
        Column("free_bytes", "Free", lambda i: i[0].free[i[1].name], kind="integer", unit="B"),
        Column("kinds", "Kinds", lambda i: ", ".join(i[0].server.kinds)),
        Column("tenants", "Tenants", lambda i: ", ".join(sorted(i[0].tenants)) or None),
        Column("dedicated_to", "Dedicated to", lambda i: i[0].dedicated_to),
    ),
    command="service server list",
)

TEMPLATES: Definition[Stock] = Definition(
    "templates-of-servers",
    "Templates of servers",
    (
        Column("name", "Name", lambda i: i.template.name),
        Column("provider", "Provider", lambda i: i.template.cluster.get("provider", "local")),
        Column("devices", "Devices a server", lambda i: len(i.template.devices), kind="integer"),
        Column(
            "device_bytes",
            "Room of a server",
            lambda i: i.template.device_bytes,
            kind="integer",
            unit="B",
        ),
        Column("kinds", "Kinds", lambda i: ", ".join(i.template.kinds)),
        Column("used_servers", "Servers", lambda i: i.used, kind="integer"),
        Column("most_servers", "of", lambda i: i.template.most_servers, kind="integer"),
    ),
    command="service template list",
)
DEFINITIONS = (TENANTS, TOKENS, DEVICES, TEMPLATES)
