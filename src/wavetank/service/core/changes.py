"""What requests make of a space, and what the making of it makes of it. Each function returns a new space, or refuses."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from wavetank.service.core.classes import KINDS, see_offered, smallest_bytes
from wavetank.service.core.own_servers import OwnServers, Stock, choose
from wavetank.service.core.placement import Ask, place, replace, share_bytes
from wavetank.service.core.quota import see_within
from wavetank.service.core.records import (
    Access,
    Held,
    Kind,
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
        *_kind_problems(request),
        *_server_problems(
            request.kind, request.servers, request.devices_per_server, request.redundancy
        ),
        *_access_problems(request.kind, request.access),
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
    has_own: bool = False,
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
        has_own: whether its servers were brought up for it: they are one cluster, which gets and loses none.

    Raises:
        Refused: state, invalid, quota, no_room.
    """
    _see_made(space, "resized", ("ready", "failed"))
    size = space.size if asked.size is None else asked.size
    n = space.servers if asked.servers is None else asked.servers
    if (size, n) == (space.size, space.servers) and space.state == "ready":
        return space, tuple(shares)
    problems = [
        *_server_problems(space.kind, n, space.devices_per_server, space.redundancy),
        *_shrink_problems(space, size, n, shares),
        *_leave_problems(space, n),
        *_own_problems(space, n, has_own=has_own),
        *_size_problems(space.kind, size, n, space.devices_per_server),
    ]
    if problems:
        raise Refused("invalid", f"space {space.name!r} cannot be so: {'; '.join(problems)}")
    more_servers = n - space.servers if space.mode == "dedicated" else 0
    see_within(tenant, used, Usage(bytes=size - space.size, servers=more_servers))
    wanted = space.model_copy(update={"size": size, "servers": n})
    place_now = replace(_ask(wanted), shares, servers)
    grows = size > space.size or n > space.servers
    return _wants(wanted, "growing" if grows else "changing", now), place_now


def set_access(space: Space, access: Iterable[Access], now: datetime) -> Space:
    """A space that is to have these rules in place of its own. The same rules are no change.

    Raises:
        Refused: state, invalid.
    """
    rules = tuple(access)
    if space.state == "failed" or space.state in ("deleting", "gone"):
        _see_made(space, "given other access rules", ("failed",))
    if problems := list(_access_problems(space.kind, rules)):
        raise Refused("invalid", f"space {space.name!r}: {'; '.join(problems)}")
    if set(rules) == set(space.access) and space.state != "failed":
        return space
    wanted = space.model_copy(update={"access": rules})
    state: State = "changing" if space.state in ("ready", "failed") else space.state
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


def _kind_problems(request: SpaceRequest) -> Iterator[str]:
    facts = KINDS[request.kind]
    if request.stripe_size is not None and not facts.stripes:
        yield f"{facts.title} does not stripe files: leave stripe_size out"
    if request.stripe_size is not None and request.stripe_size < facts.smallest_stripe_bytes:
        yield (
            f"{facts.title} makes no stripes below {exact_size(facts.smallest_stripe_bytes)}, and {exact_size(request.stripe_size)} "
            "are asked for"
        )
    yield from _size_problems(
        request.kind, request.size, request.servers, request.devices_per_server
    )
    if request.redundancy and not facts.copies:
        yield f"{facts.title} keeps no copies: leave redundancy out"


def _size_problems(kind: Kind, size: int, servers: int, devices: int) -> Iterator[str]:
    facts = KINDS[kind]
    smallest = smallest_bytes(kind, servers * devices)
    if size < smallest:
        on = (
            f" on {servers} {'server' if servers == 1 else 'servers'}"
            if servers * devices > 1
            else ""
        )
        on += f" with {devices} devices each" if devices > 1 else ""
        yield f"{facts.title} makes no space below {exact_size(smallest)}{on}, and {exact_size(size)} are asked for"


def _leave_problems(space: Space, servers: int) -> Iterator[str]:
    """What was never made may still be made elsewhere; growth that failed may have put data on what it got."""
    if not KINDS[space.kind].leaves and space.made_generation and servers < space.servers:
        yield (
            f"{KINDS[space.kind].title} keeps a space on all of its servers, {space.servers}: make one on {servers}, and copy"
        )


def _own_problems(space: Space, servers: int, *, has_own: bool) -> Iterator[str]:
    if has_own and servers != space.servers:
        yield (
            f"its {space.servers} servers were brought up for it as one cluster, which gets and loses none: "
            f"make a space on {servers}, and copy"
        )


def _server_problems(kind: Kind, servers: int, devices: int, redundancy: int) -> Iterator[str]:
    facts = KINDS[kind]
    if facts.most_servers is not None and servers > facts.most_servers:
        yield f"{facts.title} serves a space from {facts.most_servers} server, not from {servers}"
    if facts.most_devices is not None and devices > facts.most_devices:
        yield f"{facts.title} keeps a space on {facts.most_devices} device of a server, not on {devices}"
    if redundancy >= servers:
        yield f"redundancy {redundancy} needs {redundancy + 1} servers, not {servers}: each copy is on another one"
    elif servers * devices % (redundancy + 1):
        yield (
            f"redundancy {redundancy} makes groups of {redundancy + 1} devices, and {servers} servers with {devices} each "
            f"make {servers * devices}"
        )


def _shrink_problems(
    space: Space, size: int, servers: int, shares: Sequence[Share]
) -> Iterator[str]:
    """Growth that failed may be taken back: what was made counts, not what was wanted."""
    facts = KINDS[space.kind]
    if facts.shrinks:
        return
    made = sum(share.made for share in shares)
    largest = max((share.made for share in shares), default=0)
    parts = servers * space.devices_per_server
    if size < made:
        yield f"{facts.title} does not shrink a space, and it has {exact_size(made)}: make a smaller one, and copy"
    elif share_bytes(size, space.redundancy, servers, space.devices_per_server) < largest:
        least = largest * parts // (space.redundancy + 1)
        yield (
            f"all parts of a space are equal, {facts.title} does not shrink them, and each has {exact_size(largest)}: on {servers} servers "
            f"it has {exact_size(least)} or more"
        )


def _access_problems(kind: Kind, access: Iterable[Access]) -> Iterator[str]:
    facts = KINDS[kind]
    for wrong in sorted({rule.kind for rule in access} - set(facts.access)):
        keeps = f"rules by {' or '.join(facts.access)}" if facts.access else "no access rules"
        yield f"{facts.title} keeps {keeps}, not by {wrong}"
    if kind == "glusterfs":
        yield from _address_problems(facts.title, access)
    for wrong_level in sorted({rule.level for rule in access} - set(facts.levels)):
        yield f"{facts.title} keeps rules for {' or '.join(facts.levels)}, not for {wrong_level}"


def _address_problems(title: str, access: Iterable[Access]) -> Iterator[str]:
    """What lists of patterns of addresses cannot hold."""
    for rule in access:
        if rule.kind == "ip":
            network = ipaddress.ip_network(rule.subject)
            if network.version != 4:
                yield f"{title} keeps rules by addresses of IPv4, not by {rule.subject}"
            elif network.prefixlen < 8:
                yield f"{title} keeps no networks larger than /8, and {rule.subject} is one"
