"""Where spaces lie on servers: never more than there is, tenants apart where that can be, and why where there is no room.

A space has equal shares on equally many devices of each of its servers. A server is looked at alone: so a space fits exactly
where enough servers have room for their shares, and no choice made here keeps it from fitting.

Choice, for shared spaces: servers that hold this tenant's spaces only, then empty ones, then those with others; among these
the emptiest; then by name. For dedicated ones: the smallest empty server that does; then by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wavetank.service.core.records import Device, Held, Kind, Mode, Share
from wavetank.service.core.refusals import Refused
from wavetank.units import exact_size

MOST_SERVERS_NAMED = 5


@dataclass(frozen=True)
class Ask:
    """What a space needs of servers.

    Attributes:
        name: of the space, for messages.
        tenant: whose it is.
        kind: of file system.
        mode: shared or dedicated.
        size: bytes that can be stored.
        redundancy: further copies of each byte.
        servers: how many.
        devices: of each server.
    """

    name: str
    tenant: str
    kind: Kind
    mode: Mode
    size: int
    redundancy: int
    servers: int
    devices: int

    @property
    def share(self) -> int:
        """Bytes of each device."""
        return share_bytes(self.size, self.redundancy, self.servers, self.devices)


def share_bytes(size: int, redundancy: int, servers: int, devices: int) -> int:
    """Bytes of each device of a space with all of its copies, rounded up."""
    return -(-size * (redundancy + 1) // (servers * devices))


def place(ask: Ask, servers: Iterable[Held]) -> tuple[Share, ...]:
    """A place for a new space.

    Raises:
        Refused: no_room, with what each server lacks.
    """
    return _on_new(ask, list(servers), ask.servers)


def replace(ask: Ask, current: Sequence[Share], servers: Iterable[Held]) -> tuple[Share, ...]:
    """A place for a space that is there, with another size or other servers.

    It stays on the servers that it is on as far as it can: more servers are added to them, fewer are some of them. Until
    it is so, it holds on each device the larger of what it had and what it will have.

    Args:
        ask: what it needs now.
        current: its shares; those that hold nothing are left out.
        servers: all of them; what is free of them is without what this space holds.

    Raises:
        Refused: no_room, with what each server lacks.
    """
    known = {each.server.node: each for each in servers}
    own: dict[str, list[Share]] = {}
    for share in current:
        if share.held:
            own.setdefault(share.node, []).append(share)
    lacks = {node: _own_lack(ask, shares, known.get(node)) for node, shares in own.items()}
    fitting = [node for node in own if lacks[node] is None]
    needed = min(len(own), ask.servers)
    if len(fitting) < needed:
        raise _no_room(ask, {node: lack for node, lack in lacks.items() if lack}, "its servers")
    kept = set(sorted(fitting, key=lambda node: _keep_first(node, own[node]))[:needed])
    shares = [
        Share(
            node=share.node,
            device=share.device,
            made=share.made,
            wanted=ask.share if node in kept else 0,
            held=max(share.held, ask.share) if node in kept else share.held,
        )
        for node, its in own.items()
        for share in its
    ]
    others = [each for node, each in known.items() if node not in own]
    shares += _on_new(ask, others, ask.servers - needed)
    return tuple(sorted(shares, key=lambda share: (share.node, share.device)))


def no_room(lacking: Refused, templates: Mapping[str, str]) -> Refused:
    """A refusal for lack of room, with what templates of servers lack for it too.

    Args:
        lacking: of the servers that there are.
        templates: name -> what it lacks.
    """
    told = [f"template {name}: {lack}" for name, lack in sorted(templates.items())]
    return Refused("no_room", "; ".join([str(lacking), *told]))


def settled(shares: Iterable[Share]) -> tuple[Share, ...]:
    """The shares of a space once it is as it was wanted: what it left is free."""
    return tuple(
        share.model_copy(update={"made": share.wanted, "held": share.wanted})
        for share in shares
        if share.wanted
    )


def _on_new(ask: Ask, servers: Sequence[Held], n: int) -> tuple[Share, ...]:
    """Shares on ``n`` servers that the space is not on."""
    lacks = {each.server.node: _lack(ask, each) for each in servers}
    fitting = [each for each in servers if lacks[each.server.node] is None]
    if len(fitting) < n:
        reasons = {node: lack for node, lack in lacks.items() if lack is not None}
        raise _no_room(ask, reasons, f"{n} {'server' if n == 1 else 'servers'}", len(fitting))
    chosen = sorted(fitting, key=lambda each: _choose_first(ask, each))[:n]
    return tuple(
        Share(node=each.server.node, device=name, made=0, wanted=ask.share, held=ask.share)
        for each in sorted(chosen, key=lambda each: each.server.node)
        for name in sorted(device.name for device in _roomiest(each)[: ask.devices])
    )


def _roomiest(held: Held) -> list[Device]:
    """Devices of a server, those with most free bytes first; among equals by name."""
    return sorted(held.server.devices, key=lambda device: (-held.free[device.name], device.name))


def _choose_first(ask: Ask, held: Held) -> tuple[int, int, str]:
    if ask.mode == "dedicated":
        return 0, sum(device.size for device in held.server.devices), held.server.node
    rank = 0 if held.tenants == {ask.tenant} else 2 if held.tenants else 1
    return rank, -held.free_bytes, held.server.node


def _keep_first(node: str, shares: Sequence[Share]) -> tuple[bool, bool, str]:
    """What was made before what was begun: data is there."""
    return (
        not any(share.made for share in shares),
        not any(share.wanted for share in shares),
        node,
    )


def _lack(ask: Ask, held: Held) -> str | None:
    """What a server lacks for a share of a space that is not on it; None when nothing."""
    server = held.server
    if ask.kind not in server.kinds:
        return f"serves {', '.join(server.kinds)}, not {ask.kind}"
    if held.dedicated_to is not None:
        return "is dedicated to another space"
    if ask.mode == "dedicated" and held.tenants:
        return "holds other spaces"
    if len(server.devices) < ask.devices:
        return f"has {_devices(len(server.devices))}, not {ask.devices}"
    free = [held.free[device.name] for device in _roomiest(held)]
    fit = sum(1 for each in free if each >= ask.share)
    if fit < ask.devices:
        next_free = free[fit]
        return (
            f"has {fit} of {_devices(ask.devices)} with {exact_size(ask.share)} free; the next has "
            f"{exact_size(next_free)}, {exact_size(ask.share - next_free)} too little"
        )
    return None


def _own_lack(ask: Ask, shares: Sequence[Share], held: Held | None) -> str | None:
    """What a server lacks for a larger share of a space that is on it; None when nothing."""
    if held is None:
        return "is no server of the service any more"
    for share in shares:
        more = ask.share - share.held
        free = held.free[share.device]
        if more > free:
            return (
                f"device {share.device} needs {exact_size(more)} more and has {exact_size(free)} free, "
                f"{exact_size(more - free)} too little"
            )
    return None


def _devices(n: int) -> str:
    return f"{n} device" if n == 1 else f"{n} devices"


def _no_room(ask: Ask, lacks: Mapping[str, str], where: str, found: int | None = None) -> Refused:
    each = f"{_devices(ask.devices)} of {exact_size(ask.share)} each"
    have = "" if found is None else f"; {found} {'has' if found == 1 else 'have'} room"
    named = [f"{node}: {lack}" for node, lack in sorted(lacks.items())]
    more = len(named) - MOST_SERVERS_NAMED
    told = named[:MOST_SERVERS_NAMED] + ([f"and {more} more"] if more > 0 else [])
    told = told or ["there are no other servers"]
    return Refused(
        "no_room",
        f"no room for {ask.mode} {ask.kind} space {ask.name!r}: it needs {where} with {each}{have}. {'; '.join(told)}",
    )
