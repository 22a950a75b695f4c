"""Spaces as tenants and the administrator ask for them: each request in one transaction.

``tenant`` None is the administrator, who may see and change all; to others, a space of another tenant is unknown.
"""

from __future__ import annotations

import secrets
from datetime import datetime

from wavetank.service.core import changes
from wavetank.service.core.orders import Order
from wavetank.service.core.records import (
    AccessList,
    Kind,
    Resize,
    Space,
    SpaceRequest,
)
from wavetank.service.core.refusals import Refused
from wavetank.service.store.base import Base
from wavetank.service.store.rows import (
    Connection,
    add_event,
    own_of,
    page_of,
    put_own,
    put_shares,
    put_space,
    servers_of,
    shares_of,
    space_named,
    space_of,
    stocks_of,
    tenant_of,
    usage_of,
)
from wavetank.service.store.schema import READS
from wavetank.units import exact_size

MOST_OF_A_PAGE = 1000


class Spaces(Base):
    """Spaces, asked for and read."""

    def create_space(
        self, tenant: str, request: SpaceRequest, now: datetime, actor: str
    ) -> tuple[Space, bool]:
        """Take a request, once: with the name of a space that is there, and the same request, that space is the answer.

        Returns:
            The space, and whether it is new. A new one is in state requested, with its place on servers kept.

        Raises:
            Refused: unknown (tenant); exists, with what differs; state while that space is being deleted; not_offered, invalid,
                quota, no_room with the reason.
        """
        subject = f"{tenant}/{request.name}"
        with self._asked(actor, "create space", subject, now) as connection:
            owner = tenant_of(connection, tenant)
            there = space_named(connection, tenant, request.name)
            if there is not None:
                _see_same(connection, there, request)
                return there, False
            space, shares, own = changes.create_on_own(
                f"sp-{secrets.token_hex(8)}",
                owner,
                request,
                usage_of(connection, tenant),
                servers_of(connection),
                stocks_of(connection),
                now,
            )
            put_space(connection, space, request)
            put_shares(connection, space, shares)
            if own is not None:
                put_own(connection, own)
            add_event(connection, space, "requested", _size_told(space), now)
            return space, True

    def resize_space(
        self, space: str, resize: Resize, now: datetime, actor: str, tenant: str | None = None
    ) -> Space:
        """Want another size or other servers. What it is already is no change.

        Raises:
            Refused: unknown, invalid, state, quota, no_room.
        """
        with self._asked(actor, "resize space", space, now) as connection:
            before = space_of(connection, space, tenant)
            own = own_of(connection, space)
            asked = (
                before,
                shares_of(connection, space),
                resize,
                tenant_of(connection, before.tenant),
                usage_of(connection, before.tenant),
                servers_of(connection),
                now,
            )
            if own is None:
                after, shares = changes.resize(*asked)
            else:
                stocks = stocks_of(connection)
                after, shares, own = changes.resize_on_own(*asked, own, stocks)
            if after is not before:
                put_space(connection, after)
                put_shares(connection, after, shares)
                if own is not None:
                    put_own(connection, own)
                told = f"{_size_told(before)} before; {_size_told(after)} wanted"
                add_event(connection, after, after.state, told, now)
            return after

    def set_access(
        self,
        space: str,
        access: AccessList,
        now: datetime,
        actor: str,
        tenant: str | None = None,
        generation: int | None = None,
    ) -> Space:
        """Want these rules in place of those that there are. The same rules are no change.

        Args:
            space: its identity.
            access: all rules.
            now: when.
            actor: who asks.
            tenant: whose space it must be; None: anybody's.
            generation: that the space must still have, so that nobody's rules are lost who asked meanwhile; None: any.

        Raises:
            Refused: unknown, changed, invalid, state.
        """
        with self._asked(actor, "set access", space, now) as connection:
            before = space_of(connection, space, tenant)
            if generation not in (None, before.generation):
                raise Refused(
                    "changed",
                    f"space {before.name!r} has generation {before.generation} and not {generation}: "
                    "it was changed meanwhile. Look at it again",
                )
            return _put_if_changed(
                connection, before, changes.set_access(before, access.access, now), "access", now
            )

    def delete_space(
        self, space: str, now: datetime, actor: str, tenant: str | None = None
    ) -> Space:
        """Want a space gone, with its data. One that is being deleted, or is gone, is no error.

        Raises:
            Refused: unknown.
        """
        with self._asked(actor, "delete space", space, now) as connection:
            before = space_of(connection, space, tenant)
            return _put_if_changed(connection, before, changes.delete(before, now), "deleting", now)

    def retry_space(
        self, space: str, now: datetime, actor: str, tenant: str | None = None
    ) -> Space:
        """Try again what failed.

        Raises:
            Refused: unknown; state where it has not failed.
        """
        with self._asked(actor, "retry space", space, now) as connection:
            before = space_of(connection, space, tenant)
            return _put_if_changed(connection, before, changes.retry(before, now), "retry", now)

    def space(self, space: str, tenant: str | None = None) -> Space:
        """A space by its identity, gone or not.

        Raises:
            Refused: unknown.
        """
        with self._connections.reading() as connection:
            return space_of(connection, space, tenant)

    def space_named(self, tenant: str, name: str) -> Space | None:
        """The space that has a name now; None when none has."""
        with self._connections.reading() as connection:
            return space_named(connection, tenant, name)

    def spaces(
        self, tenant: str | None, after: tuple[str, str] | None = None, limit: int = 100
    ) -> tuple[Space, ...]:
        """A page of spaces that are not gone, by tenant and name.

        Args:
            tenant: whose; None: of all.
            after: (tenant, name) of the last space of the page before; None: the first page.
            limit: spaces at most, 1 to 1000.

        Raises:
            Refused: invalid (limit).
        """
        see_limit(limit)
        with self._connections.reading() as connection:
            return page_of(connection, tenant, after or ("", ""), limit)

    def kinds(self) -> frozenset[Kind]:
        """Kinds of file systems of all spaces that are not gone."""
        with self._connections.reading() as connection:
            rows = connection.execute("SELECT DISTINCT kind FROM space WHERE state <> 'gone'")
            return frozenset(kind for (kind,) in rows)

    def order(self, space: str) -> Order:
        """A space with its places on servers (for administrators and makers).

        Raises:
            Refused: unknown.
        """
        with self._connections.reading() as connection:
            return Order(
                space_of(connection, space, None),
                shares_of(connection, space),
                own_of(connection, space),
            )


def see_limit(limit: int) -> None:
    """See that a page has a length that can be.

    Raises:
        Refused: invalid.
    """
    if not 1 <= limit <= MOST_OF_A_PAGE:
        raise Refused("invalid", f"limit {limit} must be 1 to {MOST_OF_A_PAGE}")


def _see_same(connection: Connection, there: Space, request: SpaceRequest) -> None:
    (text,) = connection.execute(READS["asked"], (there.id,)).fetchone()
    found = changes.differences(SpaceRequest.model_validate_json(text), request)
    if found:
        raise Refused(
            "exists",
            f"space {there.name!r} is there already, and was asked for with {', '.join(found)}. "
            "Ask for the same, or choose another name",
        )
    if there.state == "deleting" or there.failed_in == "deleting":
        raise Refused("state", f"space {there.name!r} is being deleted: ask again when it is gone")


def _put_if_changed(
    connection: Connection, before: Space, after: Space, kind: str, now: datetime
) -> Space:
    if after is not before:
        put_space(connection, after)
        add_event(connection, after, kind, f"{before.state} before, {after.state} now", now)
    return after


def _size_told(space: Space) -> str:
    n = space.servers
    return f"{space.mode} {space.kind}, {exact_size(space.size)} on {n} {'server' if n == 1 else 'servers'}"
