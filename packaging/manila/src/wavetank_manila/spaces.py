"""Shares as spaces of the service: made, resized, opened to addresses and deleted, each waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from wavetank_manila.service import Limit, RefusedError, Service, ServiceError

GIB = 2**30
PAGE = 1000
UNSETTLED = frozenset({"requested", "making", "growing", "changing", "deleting"})
GOING = frozenset({"deleting", "gone"})

Space = Mapping[str, Any]
"""A space as the service tells it."""
Rule = Mapping[str, str]
"""A rule as the service takes it: kind, subject, level."""
Mode = Literal["shared", "dedicated"]


class AbsentError(ServiceError):
    """The service has no such space, or it is going."""


@dataclass(frozen=True)
class Capacity:
    """Room for spaces, in whole GiB.

    Attributes:
        total: that the servers' disks have.
        free: that no space has of them, as far as the tenant's quota leaves it; 0 where no further space is allowed.
    """

    total: int
    free: int


class Spaces:
    """The spaces of a tenant.

    Attributes:
        service: asked for them.
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    def named(self, name: str) -> Space | None:
        """The space that has a name; None: there is none."""
        found: Sequence[Space] = self.service.ask("GET", "/v1/spaces", {"name": name})["spaces"]
        return found[0] if found else None

    def all(self) -> dict[str, Space]:
        """All spaces that are not gone, by name."""
        found: dict[str, Space] = {}
        after: str | None = ""
        while after is not None:
            params = {"after": after, "limit": str(PAGE)}
            page = self.service.ask("GET", "/v1/spaces", params)
            found |= {space["name"]: space for space in page["spaces"]}
            after = page["next"]
        return found

    def fields(self) -> frozenset[str]:
        """What a request for a space may say, as the service's description has it."""
        described = self.service.ask("GET", "/v1/openapi.json")
        return frozenset(described["components"]["schemas"]["SpaceRequest"]["properties"])

    def kinds(self, mode: Mode) -> dict[str, str | None]:
        """Kinds of file systems, with why they are not offered in a mode; None: they are."""
        classes = self.service.ask("GET", "/v1/classes")["classes"]
        return {each["kind"]: each["refused"] for each in classes if each["mode"] == mode}

    def create(self, asked: Mapping[str, Any]) -> Space:
        """A space that is ready. One of that name and these values that is there already is the answer; one that failed is tried again.

        Raises:
            RefusedError: refused; nothing is there.
            ServiceError: it cannot be made, or takes longer than the limit. It is there, and counts until it is deleted.
        """
        limit = self.service.limit()
        space: Space = self.service.ask("POST", "/v1/spaces", body=asked)
        if space["state"] == "failed":
            space = self.service.ask("POST", f"/v1/spaces/{space['id']}/retry")
        return self._settled(space, limit)

    def resize(self, name: str, size: int) -> Space:
        """A space of so many bytes.

        Raises:
            AbsentError: there is none.
            RefusedError: refused; it has the bytes that it had.
            ServiceError: that cannot be made, or takes longer than the limit.
        """
        limit = self.service.limit()
        space = self._there(name)
        resized = self.service.ask("POST", f"/v1/spaces/{space['id']}/resize", body={"size": size})
        return self._settled(resized, limit)

    def delete(self, name: str) -> None:
        """Have a space and its data gone. None of that name is no error.

        Raises:
            ServiceError: it cannot be removed, or that takes longer than the limit.
        """
        limit = self.service.limit()
        space = self.named(name)
        if space is not None:
            self._settled(self.service.ask("DELETE", f"/v1/spaces/{space['id']}"), limit)

    def open_to(self, name: str, rules: Sequence[Rule]) -> dict[int, str]:
        """Have a space let in these clients and no others; which of the rules it cannot keep, by their place, with the reason.

        All are asked for at once. Where the service refuses that, those that the space has already stay, and the others are asked for one
        by one: so no client that may stay is shut out meanwhile, and each rule that can be kept is.

        Raises:
            AbsentError: there is no such space.
            RefusedError: refused for another reason than a rule.
            ServiceError: that cannot be made, or takes longer than the limit.
        """
        limit = self.service.limit()
        space = self._there(name)
        if not rules and _never_ready(space):
            return {}  # nobody can mount it, and it keeps no rules
        refused: dict[int, str] = {}
        try:
            space = self._put(space, rules)
        except RefusedError as error:
            if error.code != "invalid":
                raise
            space, refused = self._put_one_by_one(space, rules)
        self._settled(space, limit)
        return refused

    def capacity(self, mode: Mode) -> Capacity:
        """What the servers' disks have and have free, as far as the tenant's quota leaves it."""
        room = self.service.ask("GET", "/v1/room", {"mode": mode})
        tenant = self.service.ask("GET", "/v1/tenant")
        quota, used = tenant["quota"], tenant["used"]
        total, free = room["bytes"], room["free"]
        if quota["bytes"] is not None:
            free = min(free, max(quota["bytes"] - used["bytes"], 0))
        counted = ("spaces", "servers") if mode == "dedicated" else ("spaces",)
        if any(quota[each] is not None and used[each] >= quota[each] for each in counted):
            free = 0
        return Capacity(total // GIB, free // GIB)

    def _there(self, name: str) -> Space:
        space = self.named(name)
        if space is None or space["state"] in GOING:
            raise AbsentError(f"the service has no space {name!r}")
        return space

    def _put(self, space: Space, rules: Sequence[Rule]) -> Space:
        body = {"access": [dict(rule) for rule in rules]}
        found: Space = self.service.ask("PUT", f"/v1/spaces/{space['id']}/access", body=body)
        return found

    def _put_one_by_one(self, space: Space, rules: Sequence[Rule]) -> tuple[Space, dict[int, str]]:
        has = [{key: rule[key] for key in ("kind", "subject", "level")} for rule in space["access"]]
        kept = [rule for rule in rules if rule in has]
        space = self._put(space, kept)
        refused = {}
        for place, rule in enumerate(rules):
            if rule in has:
                continue
            try:
                space = self._put(space, [*kept, rule])
            except RefusedError as error:
                if error.code != "invalid":
                    raise
                refused[place] = str(error)
            else:
                kept.append(rule)
        return space, refused

    def _settled(self, space: Space, limit: Limit) -> Space:
        while space["state"] in UNSETTLED:
            if not limit.pause():
                raise ServiceError(
                    f"space {space['name']!r} is still {space['state']}: the service goes on with it. See that it makes spaces"
                )
            space = self.service.ask("GET", f"/v1/spaces/{space['id']}")
        if space["state"] == "failed":
            raise ServiceError(f"space {space['name']!r} has failed: {space['reason']}")
        return space


def _never_ready(space: Space) -> bool:
    return space["state"] == "failed" and not space["made_generation"]
