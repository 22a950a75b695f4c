"""Tokens of tenants. A token is shown once, when it is made; the store keeps a salted hash of its secret.

A token is ``wt_ID_SECRET``. Its identity is no secret: audit rows and lists name it. The secret has 256 random bits, so that
one round of a keyed hash keeps it; a slow hash is for what people choose.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from wavetank.service.core.records import Token
from wavetank.service.core.refusals import Refused
from wavetank.service.store.base import Base
from wavetank.service.store.rows import tenant_of, text_of, time_of
from wavetank.service.store.schema import READS

_TOKEN = re.compile(r"^wt_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$")
_NOBODYS = (bytes(16), bytes(32))  # what an unknown token is compared with


class Tokens(Base):
    """Who is who: by the administrator, but for ``token_of``."""

    def add_token(
        self,
        tenant: str,
        now: datetime,
        actor: str = "admin",
        expires: datetime | None = None,
    ) -> tuple[Token, str]:
        """Make a token: whoever has its text acts as the tenant, until it expires.

        Returns:
            What is known of it, and its text, which is kept nowhere.

        Raises:
            Refused: unknown (tenant).
        """
        identity, secret, salt = (
            secrets.token_hex(6),
            secrets.token_urlsafe(32),
            secrets.token_bytes(),
        )
        made = Token(id=identity, tenant=tenant, created_utc=now, expires_utc=expires)
        with self._asked(actor, "add token", f"{tenant}/{identity}", now) as connection:
            tenant_of(connection, tenant)
            connection.execute(
                "INSERT INTO token VALUES (?,?,?,?,?,?)",
                (
                    identity,
                    tenant,
                    salt,
                    _hash(salt, secret),
                    text_of(now),
                    expires and text_of(expires),
                ),
            )
        return made, f"wt_{identity}_{secret}"

    def tokens(self, tenant: str | None = None) -> tuple[Token, ...]:
        """Tokens of a tenant, or of all, the oldest first.

        Raises:
            Refused: unknown (tenant).
        """
        with self._connections.reading() as connection:
            if tenant is not None:
                tenant_of(connection, tenant)
            rows = connection.execute(
                "SELECT id, tenant, created_utc, expires_utc FROM token WHERE ? IN (tenant, '') ORDER BY created_utc, id",
                (tenant or "",),
            )
            return tuple(map(_record, rows))

    def revoke_token(self, identity: str, now: datetime, actor: str = "admin") -> None:
        """Take a token back: whoever has it is nobody from then on.

        Raises:
            Refused: unknown.
        """
        with self._asked(actor, "revoke token", identity, now) as connection:
            if not connection.execute("DELETE FROM token WHERE id = ?", (identity,)).rowcount:
                raise Refused("unknown", f"there is no token {identity!r}")

    def revoke_tokens(self, tenant: str, now: datetime, actor: str = "admin") -> int:
        """Take all tokens of a tenant back; how many there were.

        Raises:
            Refused: unknown.
        """
        with self._asked(actor, "revoke tokens", tenant, now) as connection:
            tenant_of(connection, tenant)
            return connection.execute("DELETE FROM token WHERE tenant = ?", (tenant,)).rowcount

    def token_of(self, text: str) -> Token | None:
        """What is known of a token, expired or not; None when it is nobody's. Takes as long for a wrong secret as for a right one."""
        match = _TOKEN.match(text)
        if match is None:
            return None
        with self._connections.reading() as connection:
            row = connection.execute(READS["token"], (match[1],)).fetchone()
        salt, expected = row[-2:] if row else _NOBODYS
        same = hmac.compare_digest(_hash(salt, match[2]), expected)
        return _record(row[:-2]) if same and row else None


def _record(row: Sequence[Any]) -> Token:
    identity, tenant, created, expires = row
    return Token(
        id=identity,
        tenant=tenant,
        created_utc=time_of(created),
        expires_utc=expires and time_of(expires),
    )


def _hash(salt: bytes, secret: str) -> bytes:
    return hmac.digest(salt, secret.encode(), hashlib.sha256)
