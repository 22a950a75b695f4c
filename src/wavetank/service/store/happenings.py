"""What happened, as the store keeps it: events for tenants, audit rows for the administrator."""

from __future__ import annotations

from datetime import datetime

from wavetank.service.core.records import AuditRow, Event
from wavetank.service.store.base import Base
from wavetank.service.store.rows import add_audit, audit_record, audit_written_of, event_record
from wavetank.service.store.schema import READS
from wavetank.service.store.spaces import see_limit


class Happenings(Base):
    """Events and audit rows."""

    def events(
        self,
        tenant: str | None = None,
        space: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> tuple[Event, ...]:
        """Events with numbers above ``after``, in order; of a tenant, of a space, or all.

        Args:
            tenant: whose; None: of all.
            space: of one space, by identity; of a tenant's, when ``tenant`` is given too.
            after: number of the last event of the page before.
            limit: events at most, 1 to 1000.

        Raises:
            Refused: invalid (limit).
        """
        see_limit(limit)
        with self._connections.reading() as connection:
            if space is not None:
                rows = connection.execute(READS["events of a space"], (space, after, limit))
                found = tuple(map(event_record, rows))
                return tuple(each for each in found if tenant in (None, each.tenant))
            if tenant is not None:
                rows = connection.execute(READS["events of a tenant"], (tenant, after, limit))
            else:
                rows = connection.execute(READS["events"], (after, limit))
            return tuple(map(event_record, rows))

    def audit(self, after: int = 0, limit: int = 100) -> tuple[AuditRow, ...]:
        """Audit rows with numbers above ``after``, in order.

        Raises:
            Refused: invalid (limit).
        """
        see_limit(limit)
        with self._connections.reading() as connection:
            return tuple(map(audit_record, connection.execute(READS["audit"], (after, limit))))

    def audit_written(self) -> int:
        """Number of the last audit row that is in the audit log's file; 0: none is."""
        with self._connections.reading() as connection:
            return audit_written_of(connection)

    def set_audit_written(self, number: int) -> None:
        """Say that all audit rows up to this one are in the audit log's file, on disk."""
        with self._connections.changing() as connection:
            connection.execute("INSERT OR REPLACE INTO mark VALUES ('audit', ?)", (number,))

    def note(
        self, actor: str, action: str, subject: str, outcome: str, now: datetime, detail: str = ""
    ) -> None:
        """Add an audit row of something that the store itself does not see, e.g. a token that is nobody's.

        Args:
            actor: who asked, as far as known.
            action: one word or two.
            subject: on what. Never a secret.
            outcome: "done" or the code of a refusal.
            now: when.
            detail: a sentence. Never a secret.
        """
        with self._connections.changing() as connection:
            add_audit(connection, actor, action, subject, outcome, detail, now)
