"""The times that a campaign was run, and how each ended: what tells one that is over from one that was stopped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from wavetank.campaign.database import Database


@dataclass(frozen=True)
class Ending:
    """How the last run of a campaign ended.

    Attributes:
        is_whole: it went to its end; False: it was stopped, or is not at its end yet.
        n_failed: measurements that failed.
        n_not_afforded: measurements that the budget left out.
    """

    is_whole: bool
    n_failed: int = 0
    n_not_afforded: int = 0


class Invocations(Database):
    """One row for each time that results were opened for adding to them."""

    def begin_invocation(self) -> None:
        """Note that the campaign is run."""
        self._write("INSERT INTO invocation (begun_utc) VALUES (?)", (now_utc(),))

    def end_invocation(self, n_failed: int, n_not_afforded: int) -> None:
        """Note that the run that was begun last went to its end.

        Args:
            n_failed: measurements that failed.
            n_not_afforded: measurements that the budget left out.
        """
        self._write(
            "UPDATE invocation SET ended_utc = ?, n_failed = ?, n_not_afforded = ? "
            "WHERE id = (SELECT max(id) FROM invocation)",
            (now_utc(), n_failed, n_not_afforded),
        )

    def ending(self) -> Ending | None:
        """How the last run ended; None where there was none."""
        last = self._connection.execute(
            "SELECT ended_utc, n_failed, n_not_afforded FROM invocation ORDER BY id DESC LIMIT 1"
        ).fetchone()
        if last is None:
            return None
        return Ending(True, last[1], last[2]) if last[0] is not None else Ending(False)


def now_utc() -> str:
    """The time, as a store notes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
