"""What happens to a space while somebody waits for it, told as it comes."""

from __future__ import annotations

from collections.abc import Callable

from wavetank.service.client.connection import Connection
from wavetank.service.core.answers import EventPage
from wavetank.service.core.records import Event, Space

PAGE = 1000


class News:
    """Events of a space from its last change on, each told once.

    One that comes again and again keeps its number, and counts: how often it came is told when another one follows, or at the end.
    """

    def __init__(self, service: Connection, space: Space, say: Callable[[str], None]) -> None:
        """Nothing is told yet.

        Args:
            service: asked for events.
            space: as the request that is waited for left it.
            say: is given a line for each event.
        """
        self._service = service
        self._space = space
        self._say = say
        self._last: Event | None = None  # that was told, as it was last seen
        self._said_times = 1

    def tell(self, but: str | None = None) -> None:
        """Tell what came since the last call.

        Args:
            but: a kind of event that is not told: somebody else says it.
        """
        for event in self._new():
            if self._last is not None and event.number == self._last.number:
                self._last = event
                continue
            if event.at_utc < self._space.changed_utc or event.kind == but:
                continue
            self.end()
            self._last, self._said_times = event, 1
            self._say(f"{event.at_utc:%H:%M:%S} UTC {self._space.name}: {event.kind}: {event.text}")

    def end(self) -> None:
        """Tell how often the last event came, where that was not told."""
        if self._last is not None and self._last.times > self._said_times:
            self._said_times = self._last.times
            self._say(
                f"{self._space.name}: {self._last.kind}: the same {self._last.times} times by now"
            )

    def _new(self) -> list[Event]:
        """The event that was told last, as it is now, and those after it; page by page."""
        after = 0 if self._last is None else self._last.number - 1
        found: list[Event] = []
        while True:
            page = self._service.get(
                "/v1/events", EventPage, space=self._space.id, after=after, limit=PAGE
            )
            found += page.events
            if len(page.events) < PAGE:
                return found
            after = page.next
