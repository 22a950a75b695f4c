"""What requests make of a space, and what the making of it makes of it. Each function returns a new space, or refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from wavetank.service.core.classes import see_offered
from wavetank.service.core.own_servers import OwnServers, Stock, choose
from wavetank.service.core.placement import Ask, place, replace
from wavetank.service.core.problems import (
    access_problems,
    kind_problems,
    leave_problems,
    server_problems,
    shrink_problems,
    size_problems,
)
from wavetank.service.core.quota import see_within
from wavetank.service.core.records import (
    Access,
    Held,
    Resize,
    Share,
    Space,
    SpaceRequest,
    Tenant,
    Usage,
)
from wavetank.service.core.refusals import Refused
from wavetank.service.core.states import State, may_follow
from wavetank.units import exact_size


def see_possible(request: SpaceRequest) -> None:
    """See that there can be such a space at all, whatever servers there are.

    Raises:
        Refused: not_offered, or invalid with all that is wrong.
    """
    see_offered(request.kind, request.mode)
    problems = [
        *kind_problems(request),
        *server_problems(
            request.kind, request.servers, request.devices_per_server, request.redundancy
        ),
        *access_problems(request.kind, request.access),
    ]
    if problems:
        raise Refused("invalid", f"space {request.name!r} cannot be: {'; '.join(problems)}")


def create(
    identity: str,
    tenant: Tenant,
    request: SpaceRequest,
    used: Usage,
    servers: Iterable[Held],
    now: datetime,
) -> tuple[Space, tuple[Share, ...]]:
    """A space that is asked for, and its place.

    Args:
        identity: of the space; no other one ever has it.
        tenant: who asks.
        request: for what.
        used: what the tenant has.
        servers: all of them.
        now: in UTC.

    Raises:
        Refused: not_offered, invalid, quota, no_room.
    """
    space = _asked_for(identity, tenant, request, used, now)
    return space, place(_ask(space), servers)


def create_on_own(
    identity: str,
    tenant: Tenant,
    request: SpaceRequest,
    used: Usage,
    servers: Iterable[Held],
    stocks: Iterable[Stock],
    now: datetime,
) -> tuple[Space, tuple[Share, ...], OwnServers | None]:
    """As ``create``; where no servers have room for a dedicated space, servers of a template are to be brought up for it.

    Args:
        identity: of the space, and name of the cluster of its servers.
        tenant: who asks.
        request: for what.
        used: what the tenant has.
        servers: all of them.
        stocks: all templates.
        now: in UTC.

    Raises:
        Refused: not_offered, invalid, quota, no_room.
    """
    try:
        return *create(identity, tenant, request, used, servers, now), None
    except Refused as refused:
        found = tuple(stocks)
        if refused.code != "no_room" or request.mode != "dedicated" or not found:
            raise
        space = _asked_for(identity, tenant, request, used, now)
        own, shares = choose(_ask(space), identity, found, refused)
        return space, shares, own


def _asked_for(
    identity: str, tenant: Tenant, request: SpaceRequest, used: Usage, now: datetime
) -> Space:
    see_possible(request)
    dedicated = request.servers if request.mode == "dedicated" else 0
    see_within(tenant, used, Usage(bytes=request.size, servers=dedicated, spaces=1))
    return Space(
        id=identity,
        tenant=tenant.name,
        state="requested",
        generation=1,
        created_utc=now,
        changed_utc=now,
        **{name: getattr(request, name) for name in SpaceRequest.model_fields},
    )


def resize(
    space: Space,
    shares: Sequence[Share],
    asked: Resize,
    tenant: Tenant,
    used: Usage,
    servers: Iterable[Held],
    now: datetime,
) -> tuple[Space, tuple[Share, ...]]:
    """A space that is to have another size or other servers, and its place. The same size and servers are no change.

    Args:
        space: as it is.
        shares: its place.
        asked: for what.
        tenant: whose it is.
        used: what the tenant has, this space included.
        servers: all of them.
        now: in UTC.

    Raises:
        Refused: state, invalid, quota, no_room.
    """
    after = _resized(space, shares, asked, tenant, used, now, least=space.servers)
    return after, tuple(shares) if after is space else replace(_ask(after), shares, servers)


def resize_on_own(
    space: Space,
    shares: Sequence[Share],
    asked: Resize,
    tenant: Tenant,
    used: Usage,
    servers: Iterable[Held],
    now: datetime,
    own: OwnServers,
    stocks: Iterable[Stock],
) -> tuple[Space, tuple[Share, ...], OwnServers]:
    """As ``resize``, of a space whose servers were brought up for it: it stays on such servers, as others may not reach them.

    Args:
        space: as it is.
        shares: its place.
        asked: for what.
        tenant: whose it is.
        used: what the tenant has, this space included.
        servers: all of them.
        now: in UTC.
        own: its servers.
        stocks: all templates.

    Raises:
        Refused: state, invalid, quota, no_room.
    """
    after = _resized(space, shares, asked, tenant, used, now, least=own.admitted)
    if after is space:
        return space, tuple(shares), own
    its = own.resized(after.servers, stocks)
    nodes = {node for each in its.clusters if each.wanted for node in each.nodes}
    stays = [share for share in shares if share.node in nodes]
    leaves = [
        share.model_copy(update={"wanted": 0})
        for share in shares
        if share.node not in nodes and share.held
    ]
    there = [each for each in servers if each.server.node in nodes]
    place_now = replace(_ask(after), stays, [*there, *its.pending_servers(stays)])
    return (
        after,
        tuple(sorted((*place_now, *leaves), key=lambda each: (each.node, each.device))),
        its,
    )


def _resized(
    space: Space,
    shares: Sequence[Share],
    asked: Resize,
    tenant: Tenant,
    used: Usage,
    now: datetime,
    *,
    least: int,
) -> Space:
    """A space that is to have another size or other servers; the same, where that is no change.

    Args:
        space: as it is.
        shares: its place.
        asked: for what.
        tenant: whose it is.
        used: what the tenant has, this space included.
        now: in UTC.
        least: servers on which something of it may be.

    Raises:
        Refused: state, invalid, quota.
    """
    _see_made(space, "resized", ("ready", "failed"))
    size = space.size if asked.size is None else asked.size
    n = space.servers if asked.servers is None else asked.servers
    if (size, n) == (space.size, space.servers) and space.state == "ready":
        return space
    problems = [
        *server_problems(space.kind, n, space.devices_per_server, space.redundancy),
        *shrink_problems(space, size, n, shares),
        *leave_problems(space, n, least),
        *size_problems(space.kind, size, n, space.devices_per_server),
    ]
    if problems:
        raise Refused("invalid", f"space {space.name!r} cannot be so: {'; '.join(problems)}")
    more_servers = n - space.servers if space.mode == "dedicated" else 0
    see_within(tenant, used, Usage(bytes=size - space.size, servers=more_servers))
    wanted = space.model_copy(update={"size": size, "servers": n})
    grows = size > space.size or n > space.servers
    return _wants(wanted, "growing" if grows else "changing", now)


def set_access(space: Space, access: Iterable[Access], now: datetime) -> Space:
    """A space that is to have these rules in place of its own. The same rules are no change.

    Raises:
        Refused: state, invalid.
    """
    rules = tuple(access)
    if space.state in ("deleting", "gone") or space.failed_in == "deleting":
        _see_made(space, "given other access rules", ("failed",))
    if problems := list(access_problems(space.kind, rules)):
        raise Refused("invalid", f"space {space.name!r}: {'; '.join(problems)}")
    if set(rules) == set(space.access) and space.state != "failed":
        return space
    wanted = space.model_copy(update={"access": rules})
    state: State = space.state
    if state in ("ready", "failed"):
        state = "changing" if space.made_generation else "making"
    return _wants(wanted, state, now)


def delete(space: Space, now: datetime) -> Space:
    """A space that is to go. One that is going, or is gone, is no change."""
    if space.state in ("deleting", "gone"):
        return space
    return _wants(space, "deleting", now)


def retry(space: Space, now: datetime) -> Space:
    """A space whose failed making, change or removal is to be tried again.

    Raises:
        Refused: state where it has not failed.
    """
    if space.state != "failed":
        raise Refused(
            "state", f"space {space.name!r} is {space.state}: only what failed is tried again"
        )
    if space.failed_in == "deleting":
        return moved(space, "deleting", now)
    if not space.made_generation:
        return moved(space, "making", now)
    return moved(space, "growing" if space.failed_in == "growing" else "changing", now)


def moved(space: Space, state: State, now: datetime, **changes: object) -> Space:
    """A space in another state.

    Raises:
        ValueError: that state may not follow.
    """
    if not may_follow(space.state, state):
        raise ValueError(f"space {space.id}: {state} may not follow {space.state}")
    cleared: dict[str, object] = {} if state == "failed" else {"reason": None, "failed_in": None}
    return space.model_copy(update={"state": state, "changed_utc": now, **cleared, **changes})


def finished(space: Space, export: str | None, now: datetime) -> Space:
    """A space that is as it was wanted: ready, or gone."""
    if space.state == "deleting":
        return moved(space, "gone", now, export=None)
    return moved(space, "ready", now, export=export, made_generation=space.generation)


def failed(space: Space, reason: str, now: datetime) -> Space:
    """A space that could not be made, changed, kept or removed."""
    return moved(space, "failed", now, reason=reason, failed_in=space.state)


def differences(asked: SpaceRequest, now_asked: SpaceRequest) -> list[str]:
    """In what two requests of one name differ, in words; none where they are the same."""
    found = []
    for name in SpaceRequest.model_fields:
        before, after = getattr(asked, name), getattr(now_asked, name)
        if name == "access":
            if set(before) != set(after):
                found.append("other access rules")
        elif before != after:
            shown = [exact_size(each) if name == "size" else each for each in (before, after)]
            found.append(f"{name} {shown[0]} and not {shown[1]}")
    return found


def _wants(space: Space, state: State, now: datetime) -> Space:
    generation = space.generation + 1
    if space.state == state:
        return space.model_copy(update={"generation": generation, "changed_utc": now})
    return moved(space, state, now, generation=generation)


def _ask(space: Space) -> Ask:
    return Ask(
        name=space.name,
        tenant=space.tenant,
        kind=space.kind,
        mode=space.mode,
        size=space.size,
        redundancy=space.redundancy,
        servers=space.servers,
        devices=space.devices_per_server,
    )


def _see_made(space: Space, verb: str, states: tuple[State, ...]) -> None:
    if space.state not in states:
        raise Refused(
            "state",
            f"space {space.name!r} is {space.state}: it can be {verb} when it is ready",
        )
    if space.state != "failed":
        return
    if space.failed_in == "deleting":
        raise Refused("state", f"space {space.name!r} failed to be deleted: delete it again")
    if not space.made_generation:
        raise Refused(
            "state",
            f"space {space.name!r} was never ready: try it again, or delete it ({space.reason})",
        )
