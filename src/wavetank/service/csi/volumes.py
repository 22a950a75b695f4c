"""Volumes are spaces of one tenant, by their identity: asked from the service, and waited for."""

from __future__ import annotations

import itertools
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from wavetank.service.client.connection import AnsweredError
from wavetank.service.client.spaces import Spaces
from wavetank.service.core.answers import SpacePage, TenantAnswer
from wavetank.service.core.records import Access, Resize, Space, SpaceRequest
from wavetank.service.csi.statuses import CallError, Code
from wavetank.service.csi.turns import Call, remaining_s

SHORTEST_S, LONGEST_S = 0.1, 2.0
"""Between two looks; each pause is half as long again as the one before, as a tenant may ask only so often."""
_log = logging.getLogger(__name__)
_IDENTITY = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]*$")


@dataclass(frozen=True)
class Volumes:
    """A tenant's spaces as volumes.

    Attributes:
        spaces: asked from the service.
        sleep: seconds between two looks.
    """

    spaces: Spaces
    sleep: Callable[[float], None] = time.sleep

    def find(self, volume: str) -> Space | None:
        """The space of a volume; None: there is none, or none any more."""
        if not _IDENTITY.match(volume):
            return None
        try:
            space = self.spaces.service.get(f"/v1/spaces/{volume}", Space)
        except AnsweredError as error:
            if error.code == "unknown":
                return None
            raise
        return None if space.state == "gone" else space

    def get(self, volume: str) -> Space:
        """The space of a volume that is to be there.

        Raises:
            CallError: NOT_FOUND.
        """
        space = self.find(volume)
        if space is None or space.state == "deleting":
            raise CallError(Code.NOT_FOUND, f"there is no volume {volume}")
        return space

    def named(self, name: str) -> Space | None:
        """The space that has a name."""
        page = self.spaces.service.get("/v1/spaces", SpacePage, name=name)
        return page.spaces[0] if page.spaces else None

    def page(self, after: str, most: int) -> SpacePage:
        """Some spaces, by name."""
        return self.spaces.service.get("/v1/spaces", SpacePage, after=after, limit=most)

    def tenant(self) -> TenantAnswer:
        """What the tenant may have, and has."""
        return self.spaces.service.get("/v1/tenant", TenantAnswer)

    def create(self, asked: SpaceRequest) -> Space:
        """Ask for a space."""
        return self.spaces.create(asked)

    def made(self, space: Space, call: Call) -> Space:
        """A space that is ready. One that could not be made before is tried again.

        Raises:
            CallError: it takes longer than the call may.
            ServiceError: it cannot be made.
        """
        if space.state == "failed":
            space = self._post(space, "retry")
        return self.settled(space, call)

    def grow(self, space: Space, size: int, call: Call) -> Space:
        """Give a space so many bytes, and wait."""
        body = Resize(size=size).model_dump(mode="json", exclude_none=True)
        return self.settled(self._post(space, "resize", body), call)

    def allow(self, space: Space, rule: Access, call: Call) -> Space:
        """Let somebody mount a space, and wait until that is in force."""
        return self.settled(self.spaces.grant(space.name, [rule]), call)

    def forbid(self, space: Space, rules: list[Access], call: Call) -> Space:
        """Take rules away, and wait until that is in force."""
        return self.settled(self.spaces.revoke(space.name, rules), call)

    def delete(self, space: Space, call: Call) -> None:
        """Have a space gone, and wait."""
        asked = self.spaces.service.send("DELETE", f"/v1/spaces/{space.id}", Space)
        self.settled(asked, call)

    def settled(self, space: Space, call: Call) -> Space:
        """Wait until nothing is to be done with a space any more.

        Raises:
            CallError: the call ends before; the service goes on, and the same call again finds that.
            ServiceError: it has failed.
        """
        pauses = (min(SHORTEST_S * 1.5 ** min(n, 8), LONGEST_S) for n in itertools.count())

        def pause() -> None:
            pause_s = next(pauses)
            if not call.is_active() or remaining_s(call) <= pause_s:
                raise CallError(
                    Code.DEADLINE_EXCEEDED, f"space {space.name!r} is not ready yet: ask again"
                )
            self.sleep(pause_s)

        return self.spaces.settled(space, pause, _log.info)

    def _post(self, space: Space, verb: str, body: dict[str, int] | None = None) -> Space:
        return self.spaces.service.send("POST", f"/v1/spaces/{space.id}/{verb}", Space, body)
