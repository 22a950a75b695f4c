"""What is forgotten when it is old: spaces that are gone, with all that is told of them, and what the audit log's file has."""

from __future__ import annotations

from datetime import datetime

from wavetank.service.store.base import Base
from wavetank.service.store.rows import audit_written_of, text_of
from wavetank.service.store.schema import READS

MOST_AT_A_TIME = 500  # rows in one transaction, so that requests need not wait for long


class Age(Base):
    """Rows that go for their age."""

    def forget(self, before: datetime) -> int:
        """Forget spaces that were gone before a time, with their events; older events of the service; older audit rows.

        Audit rows stay until the audit log's file has them. What is there of a space that was forgotten is unknown from then on.

        Returns:
            How many spaces were forgotten.
        """
        n = 0
        while found := self._forget_some(before):
            n += found
        limit = text_of(before)
        with self._connections.changing() as connection:
            connection.execute("DELETE FROM event WHERE space IS NULL AND at_utc < ?", (limit,))
            connection.execute(
                "DELETE FROM audit WHERE at_utc < ? AND number <= ?",
                (limit, audit_written_of(connection)),
            )
        return n

    def _forget_some(self, before: datetime) -> int:
        with self._connections.changing() as connection:
            gone = connection.execute(
                READS["long gone"], (text_of(before), MOST_AT_A_TIME)
            ).fetchall()
            for table, key in (
                ("access", "space"),
                ("intent", "space"),
                ("event", "space"),
                ("space", "id"),
            ):
                connection.executemany(f"DELETE FROM {table} WHERE {key} = ?", gone)  # noqa: S608 - names from above
        return len(gone)
