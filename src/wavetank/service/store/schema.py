"""Tables of the service's database, and the statements that its reads make, each of which an index serves."""

from __future__ import annotations

from wavetank.service.core.states import UNSETTLED

SCHEMA_VERSION = 1

_UNSETTLED = ", ".join(f"'{state}'" for state in UNSETTLED)


SCHEMA = f"""
CREATE TABLE IF NOT EXISTS tenant (
    name TEXT PRIMARY KEY,
    quota_bytes INTEGER,
    quota_servers INTEGER,
    quota_spaces INTEGER,
    created_utc TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS token (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    salt BLOB NOT NULL,
    hash BLOB NOT NULL,
    created_utc TEXT NOT NULL,
    expires_utc TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS token_tenant ON token (tenant);
CREATE TABLE IF NOT EXISTS server (
    node TEXT PRIMARY KEY,
    kinds TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS device (
    node TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (node, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS space (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    kind TEXT NOT NULL,
    mode TEXT NOT NULL,
    servers INTEGER NOT NULL,
    devices_per_server INTEGER NOT NULL,
    stripe_size INTEGER,
    redundancy INTEGER NOT NULL,
    state TEXT NOT NULL,
    generation INTEGER NOT NULL,
    made_generation INTEGER NOT NULL,
    failed_in TEXT,
    reason TEXT,
    export TEXT,
    created_utc TEXT NOT NULL,
    changed_utc TEXT NOT NULL,
    asked TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS space_name ON space (tenant, name) WHERE state <> 'gone';
CREATE INDEX IF NOT EXISTS space_usage ON space (tenant, mode, servers, size, state) WHERE state <> 'gone';
CREATE INDEX IF NOT EXISTS space_unsettled ON space (number, state) WHERE state IN ({_UNSETTLED});
CREATE INDEX IF NOT EXISTS space_gone ON space (changed_utc) WHERE state = 'gone';
CREATE TABLE IF NOT EXISTS access (
    space TEXT NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    level TEXT NOT NULL,
    authority TEXT,
    PRIMARY KEY (space, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS placement (
    space TEXT NOT NULL,
    node TEXT NOT NULL,
    device TEXT NOT NULL,
    made INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    held INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    dedicated INTEGER NOT NULL,
    PRIMARY KEY (space, node, device)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS placement_use ON placement (node, device, tenant, dedicated, held);
CREATE TABLE IF NOT EXISTS intent (
    number INTEGER PRIMARY KEY,
    space TEXT NOT NULL,
    generation INTEGER NOT NULL,
    deed TEXT NOT NULL,
    begun_utc TEXT NOT NULL,
    ended_utc TEXT,
    outcome TEXT
);
CREATE INDEX IF NOT EXISTS intent_open ON intent (number) WHERE ended_utc IS NULL;
CREATE INDEX IF NOT EXISTS intent_space ON intent (space);
CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at_utc TEXT NOT NULL,
    tenant TEXT,
    space TEXT,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    times INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX IF NOT EXISTS event_tenant ON event (tenant, number);
CREATE INDEX IF NOT EXISTS event_space ON event (space, number);
CREATE TABLE IF NOT EXISTS audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at_utc TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS mark (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS template (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS own_servers (
    space TEXT PRIMARY KEY,
    template TEXT NOT NULL,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS own_cluster (
    space TEXT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    servers INTEGER NOT NULL,
    admitted INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    PRIMARY KEY (space, position)
) WITHOUT ROWID;
"""

SPACE_COLUMNS = (
    "id", "tenant", "name", "size", "kind", "mode", "servers", "devices_per_server", "stripe_size",
    "redundancy", "state", "generation", "made_generation", "failed_in", "reason", "export",
    "created_utc", "changed_utc",
)  # fmt: skip
EVENT_COLUMNS = "number, at_utc, tenant, space, kind, text, times"

_SPACES = f"SELECT {', '.join(SPACE_COLUMNS)} FROM space"  # noqa: S608 - names from above
_EVENTS = f"SELECT {EVENT_COLUMNS} FROM event"  # noqa: S608

READS = {
    "tenant": "SELECT name, quota_bytes, quota_servers, quota_spaces FROM tenant WHERE name = ?",
    "token": "SELECT id, tenant, created_utc, expires_utc, salt, hash FROM token WHERE id = ?",
    "space": f"{_SPACES} WHERE id = ?",
    "space named": f"{_SPACES} WHERE tenant = ? AND name = ? AND state <> 'gone'",
    "asked": "SELECT asked FROM space WHERE id = ?",
    "page of a tenant": f"{_SPACES} WHERE tenant = ? AND name > ? AND state <> 'gone' ORDER BY name LIMIT ?",
    "page of all": f"{_SPACES} INDEXED BY space_name WHERE (tenant, name) > (?, ?) AND state <> 'gone' "
    "ORDER BY tenant, name LIMIT ?",
    "access": "SELECT kind, subject, level, authority FROM access WHERE space = ? ORDER BY position",
    "shares": "SELECT node, device, made, wanted, held FROM placement WHERE space = ? ORDER BY node, device",
    "usage": "SELECT coalesce(sum(size), 0), coalesce(sum(CASE mode WHEN 'dedicated' THEN servers ELSE 0 END), 0), count(*) "
    "FROM space INDEXED BY space_usage WHERE tenant = ? AND state <> 'gone'",
    "unsettled": f"SELECT id FROM space INDEXED BY space_unsettled WHERE state IN ({_UNSETTLED}) ORDER BY number",  # noqa: S608
    "open intents": "SELECT number, space, generation, deed FROM intent WHERE ended_utc IS NULL ORDER BY number",
    "events": f"{_EVENTS} WHERE number > ? ORDER BY number LIMIT ?",
    "events of a tenant": f"{_EVENTS} WHERE tenant = ? AND number > ? ORDER BY number LIMIT ?",
    "events of a space": f"{_EVENTS} WHERE space = ? AND number > ? ORDER BY number LIMIT ?",
    "audit": "SELECT number, at_utc, actor, action, subject, outcome, detail FROM audit WHERE number > ? ORDER BY number LIMIT ?",
    "long gone": "SELECT id FROM space INDEXED BY space_gone WHERE state = 'gone' AND changed_utc < ? ORDER BY changed_utc LIMIT ?",
}
"""Reads by name. None of them looks at rows that it does not answer with, but for sums over one tenant's spaces."""

USE = (
    "SELECT node, device, tenant, sum(held), max(CASE dedicated WHEN 1 THEN space END) FROM placement INDEXED BY placement_use "
    "GROUP BY node, device, tenant"
)
"""What is held of each device: over all placements, for placing and for administrators only."""
