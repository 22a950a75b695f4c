"""Tables of spaces and their rules, for tenants and administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavetank.tables.table import Column, Definition

if TYPE_CHECKING:
    from wavetank.service.core.records import Access, Event, Space

SPACES: Definition[Space] = Definition(
    "spaces",
    "Spaces",
    (
        Column("name", "Name", lambda i: i.name),
        Column("state", "State", lambda i: i.state),
        Column("size_bytes", "Size", lambda i: i.size, kind="integer", unit="B"),
        Column("kind", "Kind", lambda i: i.kind),
        Column("mode", "Mode", lambda i: i.mode),
        Column("servers", "Servers", lambda i: i.servers, kind="integer"),
        Column("devices_per_server", "Devices a server", lambda i: i.devices_per_server, kind="integer"),
        Column("export", "Mount", lambda i: i.export, wide=True),
        Column("reason", "Reason", lambda i: i.reason, wide=True),
        Column("id", "Identity", lambda i: i.id),
    ),
    command="space list",
)  # fmt: skip

RULES: Definition[Access] = Definition(
    "access-rules",
    "Access rules",
    (
        Column("kind", "Kind", lambda i: i.kind),
        Column("subject", "Subject", lambda i: i.subject),
        Column("level", "Level", lambda i: i.level),
    ),
    command="space show",
)

EVENTS: Definition[Event] = Definition(
    "events-of-a-space",
    "Events",
    (
        Column("at_utc", "Time (UTC)", lambda i: i.at_utc.isoformat(timespec="seconds")),
        Column("kind", "Kind", lambda i: i.kind),
        Column("times", "Times", lambda i: i.times, kind="integer"),
        Column("text", "Text", lambda i: i.text, wide=True),
    ),
    command="space show",
)
DEFINITIONS = (SPACES, RULES, EVENTS)
