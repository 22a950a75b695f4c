"""What all parts of the store do: a change with the audit row of who asked for it, refused or done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from wavetank.service.core.refusals import Refused
from wavetank.service.store.connections import Connections
from wavetank.service.store.rows import Connection, add_audit


class Base:
    """An open database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def _asked(self, actor: str, action: str, subject: str, now: datetime) -> Iterator[Connection]:
        """A change that somebody asks for: whole and in the audit rows, or refused and in the audit rows.

        Raises:
            Refused: what the block raised.
            ServiceError: the database cannot be written.
        """
        try:
            with self._connections.changing() as connection:
                yield connection
                add_audit(connection, actor, action, subject, "done", "", now)
        except Refused as refused:
            with self._connections.changing() as connection:
                add_audit(connection, actor, action, subject, refused.code, str(refused), now)
            raise
