"""How far spaces are, as what makes them tells the store: intents before deeds, and what came of them.

A request may change what is wanted while a deed is done. So each result names the space as it was when it was decided on: where
the store has another generation or state since, the result is noted and the space stays as it is now wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from wavetank.service.core import changes, placement
from wavetank.service.core.records import Space
from wavetank.service.core.states import UNSETTLED
from wavetank.service.core.volume import shown
from wavetank.service.store.base import Base
from wavetank.service.store.rows import (
    Connection,
    add_event,
    forget_own,
    put_shares,
    put_space,
    shares_of,
    space_of,
    text_of,
)
from wavetank.service.store.schema import READS


@dataclass(frozen=True)
class Intent:
    """Something that a maker was about to do.

    Attributes:
        number: of the intent.
        space: identity of the space.
        generation: of the space that it was for.
        deed: make, resize, change_access, remove.
    """

    number: int
    space: str
    generation: int
    deed: str


class Progress(Base):
    """What the driver that makes spaces reads and writes."""

    def unsettled(self) -> tuple[str, ...]:
        """Identities of the spaces with which something is to be done, the oldest first."""
        with self._connections.reading() as connection:
            return tuple(row[0] for row in connection.execute(READS["unsettled"]))

    def ready_spaces(self) -> tuple[str, ...]:
        """Identities of the spaces that are to be there as they are; looks at all spaces."""
        with self._connections.reading() as connection:
            rows = connection.execute("SELECT id FROM space WHERE state = 'ready' ORDER BY number")
            return tuple(row[0] for row in rows)

    def failed_spaces(self) -> tuple[str, ...]:
        """Identities of the spaces that failed; looks at all spaces."""
        with self._connections.reading() as connection:
            rows = connection.execute("SELECT id FROM space WHERE state = 'failed' ORDER BY number")
            return tuple(row[0] for row in rows)

    def open_intents(self) -> tuple[Intent, ...]:
        """Intents of which nobody has said what came of them."""
        with self._connections.reading() as connection:
            return tuple(Intent(*row) for row in connection.execute(READS["open intents"]))

    def begin(self, space: Space, now: datetime) -> bool:
        """Say that a space is being made; whether it was still as decided on."""
        with self._connections.changing() as connection:
            current = _unchanged(connection, space)
            if current is None:
                return False
            put_space(connection, changes.moved(current, "making", now))
            add_event(connection, current, "making", "its place on servers is kept", now)
            return True

    def intend(self, space: Space, deed: str, why: str, now: datetime) -> Intent:
        """Say what is about to be done, before it is done."""
        with self._connections.changing() as connection:
            cursor = connection.execute(
                "INSERT INTO intent (space, generation, deed, begun_utc) VALUES (?,?,?,?)",
                (space.id, space.generation, deed, text_of(now)),
            )
            last = _last_event(connection, space)
            if last is None or last[1] != "waiting":  # else that was told before
                add_event(connection, space, "step", f"{deed}: {why}", now)
            return Intent(cursor.lastrowid or 0, space.id, space.generation, deed)

    def did(self, intent: Intent, now: datetime) -> None:
        """Say that it was done."""
        with self._connections.changing() as connection:
            _close(connection, intent, "done", now)

    def interrupted(self, intent: Intent, now: datetime) -> None:
        """Say that a process ended while it was about to be done: it may have been, in part or not at all."""
        with self._connections.changing() as connection:
            _close(connection, intent, "interrupted", now)
            space = space_of(connection, intent.space, None)
            add_event(
                connection,
                space,
                "interrupted",
                f"the service ended before {intent.deed} was known to be done; it looks at what is there",
                now,
            )

    def could_not(self, intent: Intent, space: Space, reason: str, now: datetime) -> bool:
        """Say that it could not be done; whether the space failed by it."""
        with self._connections.changing() as connection:
            _close(connection, intent, reason, now)
            return _fail(connection, space, reason, now)

    def fail(self, space: Space, reason: str, now: datetime) -> bool:
        """Say that a space cannot be as it is wanted; whether it was still as decided on."""
        with self._connections.changing() as connection:
            return _fail(connection, space, reason, now)

    def finish(self, space: Space, export: str | None, now: datetime) -> bool:
        """Say that a space is as wanted, or gone: what it left is free then. Whether it was still as decided on."""
        with self._connections.changing() as connection:
            current = _unchanged(connection, space)
            if current is None:
                return False
            after = changes.finished(current, export, now)
            put_space(connection, after)
            shares = placement.settled(shares_of(connection, space.id))
            put_shares(connection, after, () if after.state == "gone" else shares)
            forget_own(connection, space.id, gone=after.state == "gone")
            told = (
                "its data and its place are released"
                if after.state == "gone"
                else shown(export or "")
            )
            add_event(connection, after, after.state, told, now)
            return True

    def tell(self, space: Space | None, kind: str, text: str, now: datetime) -> None:
        """Add an event, unless the last one of the space says the same; without a space: the last one of this kind.

        What keeps something that is to be done from being done is counted then.
        """
        with self._connections.changing() as connection:
            last = _last_event(connection, space, kind)
            if last is None or last[1:] != (kind, text):
                add_event(connection, space, kind, text, now)
            elif space is not None and space.state in UNSETTLED:
                connection.execute("UPDATE event SET times = times + 1 WHERE number = ?", last[:1])


def _last_event(
    connection: Connection, space: Space | None, kind: str | None = None
) -> tuple[int, str, str] | None:
    """Number, kind and text of the last event of a space; without a space: the last one of a kind."""
    of_kind = "" if space else "AND kind = ? "
    found: tuple[int, str, str] | None = connection.execute(
        f"SELECT number, kind, text FROM event WHERE space IS ? {of_kind}ORDER BY number DESC LIMIT 1",  # noqa: S608
        (space.id,) if space else (None, kind),
    ).fetchone()
    return found


def _close(connection: Connection, intent: Intent, outcome: str, now: datetime) -> None:
    connection.execute(
        "UPDATE intent SET ended_utc = ?, outcome = ? WHERE number = ?",
        (text_of(now), outcome, intent.number),
    )


def _unchanged(connection: Connection, space: Space) -> Space | None:
    """The space, where it is still as it was when it was decided on."""
    current = space_of(connection, space.id, None)
    same = (current.generation, current.state) == (space.generation, space.state)
    return current if same else None


def _fail(connection: Connection, space: Space, reason: str, now: datetime) -> bool:
    current = _unchanged(connection, space)
    if current is None:
        return False
    if current.state == "gone":  # what is left of it can only be told
        add_event(connection, current, "left", reason, now)
        return True
    after = changes.failed(current, reason, now)
    put_space(connection, after)
    add_event(connection, after, "failed", reason, now)
    return True
