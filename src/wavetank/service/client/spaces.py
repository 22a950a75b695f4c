"""What people do with spaces, by their names: each is one request or a few, and can be waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from wavetank.errors import ServiceError, UsageError
from wavetank.service.client.connection import AnsweredError, Connection
from wavetank.service.client.news import News
from wavetank.service.core.answers import ClassAnswer, Classes, EventPage, SpacePage
from wavetank.service.core.records import Access, Event, Resize, Space, SpaceRequest
from wavetank.service.core.states import UNSETTLED
from wavetank.units import exact_size

MOST_TRIES = 10  # of changing rules while others change them


class Spaces:
    """A tenant's spaces.

    Attributes:
        service: asked for them.
    """

    def __init__(self, service: Connection) -> None:
        self.service = service

    def create(self, asked: SpaceRequest) -> Space:
        """Ask for a space. Asked again, it is the same one."""
        body = asked.model_dump(mode="json", exclude_defaults=True)
        return self.service.send("POST", "/v1/spaces", Space, body)

    def classes(self) -> tuple[ClassAnswer, ...]:
        """Kinds of file systems in their modes, offered or not."""
        return self.service.get("/v1/classes", Classes).classes

    def all(self) -> list[Space]:
        """All spaces by name, page by page."""
        found: list[Space] = []
        after: str | None = ""
        while after is not None:
            page = self.service.get("/v1/spaces", SpacePage, after=after, limit=1000)
            found += page.spaces
            after = page.next
        return found

    def named(self, name: str) -> Space:
        """The space that has a name.

        Raises:
            AnsweredError: unknown.
        """
        page = self.service.get("/v1/spaces", SpacePage, name=name)
        if not page.spaces:
            raise AnsweredError(
                "unknown",
                f"there is no space {name!r}: 'wavetank space list' shows those that there are",
            )
        return page.spaces[0]

    def events(self, space: Space) -> tuple[Event, ...]:
        """What happened to a space, as far as one page tells: the first thousand."""
        page = self.service.get("/v1/events", EventPage, space=space.id, limit=1000)
        return page.events

    def grow(self, name: str, asked: Resize) -> Space:
        """Ask for more bytes or servers.

        Raises:
            UsageError: that would be fewer.
        """
        space = self.named(name)
        if asked.size is not None and asked.size < space.size:
            raise UsageError(
                f"space {name!r} has {exact_size(space.size)}: {exact_size(asked.size)} would be less"
            )
        if asked.servers is not None and asked.servers < space.servers:
            raise UsageError(
                f"space {name!r} is on {space.servers} servers: {asked.servers} would be fewer"
            )
        body = asked.model_dump(mode="json", exclude_none=True)
        return self.service.send("POST", f"/v1/spaces/{space.id}/resize", Space, body)

    def grant(self, name: str, rules: Sequence[Access]) -> Space:
        """Add rules; one of the same kind and subject is replaced.

        A rule by certificate that names no authority has that of the space's other ones, where these have one.
        """
        new = {(rule.kind, rule.subject): rule for rule in rules}

        def granted(space: Space) -> list[Access]:
            kept = [rule for rule in space.access if (rule.kind, rule.subject) not in new]
            signs = {rule.authority for rule in space.access if rule.kind == "certificate"}
            theirs = signs.pop() if len(signs) == 1 else None
            return [*kept, *(_signed(rule, theirs) for rule in new.values())]

        return self._change(name, granted)

    def revoke(self, name: str, subjects: Sequence[Access]) -> Space:
        """Take rules away, by kind and subject, whatever their level is.

        Raises:
            UsageError: there is no such rule.
        """
        gone = {(rule.kind, rule.subject) for rule in subjects}

        def revoked(space: Space) -> list[Access]:
            there = {(rule.kind, rule.subject) for rule in space.access}
            if missing := gone - there:
                told = ", ".join(f"{kind}:{subject}" for kind, subject in sorted(missing))
                raise UsageError(
                    f"space {name!r} has no rule {told}: 'wavetank space show {name}' shows its rules"
                )
            return [rule for rule in space.access if (rule.kind, rule.subject) not in gone]

        return self._change(name, revoked)

    def delete(self, name: str) -> Space:
        """Ask for a space and its data to go."""
        return self.service.send("DELETE", f"/v1/spaces/{self.named(name).id}", Space)

    def retry(self, name: str) -> Space:
        """Ask for what failed to be tried again."""
        return self.service.send("POST", f"/v1/spaces/{self.named(name).id}/retry", Space)

    def settled(self, space: Space, pause: Callable[[], None], say: Callable[[str], None]) -> Space:
        """Wait until nothing is to be done with a space any more.

        Args:
            space: as it was last seen.
            pause: called between two looks.
            say: is given a line for each event of the space, as it comes.

        Raises:
            ServiceError: it has failed, with the reason.
        """
        news, waited = News(self.service, space, say), False
        try:
            while space.state in UNSETTLED:
                news.tell()
                pause()
                space, waited = self.service.get(f"/v1/spaces/{space.id}", Space), True
            if waited:
                news.tell(but="failed")  # the error says it
        except (KeyboardInterrupt, SystemExit):
            with suppress(ServiceError):  # whoever leaves does not wait for the service
                news.tell()
            raise
        finally:
            news.end()
        if space.state == "failed":
            raise ServiceError(f"space {space.name!r} has failed: {space.reason}")
        return space

    def _change(self, name: str, change: Callable[[Space], list[Access]]) -> Space:
        """Put other rules, made of those that the space has when they are put."""
        for left in reversed(range(MOST_TRIES)):
            space = self.named(name)
            body = {"access": [rule.model_dump(mode="json") for rule in change(space)]}
            try:
                return self.service.send(
                    "PUT", f"/v1/spaces/{space.id}/access", Space, body, generation=space.generation
                )
            except AnsweredError as error:
                if error.code != "changed" or not left:
                    raise
        raise AssertionError("the last try returns or raises")


def _signed(rule: Access, authority: str | None) -> Access:
    """A rule; one by certificate that names no authority, with this one."""
    if rule.kind != "certificate" or rule.authority is not None:
        return rule
    return rule.model_copy(update={"authority": authority})
