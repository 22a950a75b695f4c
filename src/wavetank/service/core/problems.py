"""What of a request for a space, or for a change of one, cannot be, whatever servers there are: sentences."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence

from wavetank.service.core.classes import KINDS, smallest_bytes
from wavetank.service.core.placement import share_bytes
from wavetank.service.core.records import Access, Kind, Share, Space, SpaceRequest
from wavetank.units import exact_size


def kind_problems(request: SpaceRequest) -> Iterator[str]:
    """What the kind of file system does not do."""
    facts = KINDS[request.kind]
    if request.stripe_size is not None and not facts.stripes:
        yield f"{facts.title} does not stripe files: leave stripe_size out"
    if request.stripe_size is not None and request.stripe_size < facts.smallest_stripe_bytes:
        yield (
            f"{facts.title} makes no stripes below {exact_size(facts.smallest_stripe_bytes)}, and {exact_size(request.stripe_size)} "
            "are asked for"
        )
    yield from size_problems(
        request.kind, request.size, request.servers, request.devices_per_server
    )
    if request.redundancy and not facts.copies:
        yield f"{facts.title} keeps no copies: leave redundancy out"


def size_problems(kind: Kind, size: int, servers: int, devices: int) -> Iterator[str]:
    """A size below the smallest one."""
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


def leave_problems(space: Space, servers: int, least: int) -> Iterator[str]:
    """What was never made may still be made elsewhere; growth that failed may have put data on what it got.

    Args:
        space: as it is.
        servers: that are asked for.
        least: servers on which something of it may be.
    """
    if not KINDS[space.kind].leaves and space.made_generation and servers < least:
        yield (
            f"{KINDS[space.kind].title} keeps a space on all of its servers, {least}: make one on {servers}, and copy"
        )


def server_problems(kind: Kind, servers: int, devices: int, redundancy: int) -> Iterator[str]:
    """Servers, devices and copies that do not go together."""
    facts = KINDS[kind]
    if facts.most_servers is not None and servers > facts.most_servers:
        yield f"{facts.title} serves a space from {facts.most_servers} server, not from {servers}"
    if facts.most_devices is not None and devices > facts.most_devices:
        yield (
            f"{facts.title} keeps a space on {facts.most_devices} device of a server, not on {devices}: have them joined below it "
            "(storage.devices_as: raid0 of their cluster)"
        )
    if redundancy >= servers:
        yield f"redundancy {redundancy} needs {redundancy + 1} servers, not {servers}: each copy is on another one"
    elif servers * devices % (redundancy + 1):
        yield (
            f"redundancy {redundancy} makes groups of {redundancy + 1} devices, and {servers} servers with {devices} each "
            f"make {servers * devices}"
        )


def shrink_problems(
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


def access_problems(kind: Kind, access: Iterable[Access]) -> Iterator[str]:
    """Rules that the kind does not keep."""
    facts = KINDS[kind]
    for wrong in sorted({rule.kind for rule in access} - set(facts.access)):
        keeps = f"rules by {' or '.join(facts.access)}" if facts.access else "no access rules"
        yield f"{facts.title} keeps {keeps}, not by {wrong}"
    if kind == "glusterfs":
        yield from _address_problems(facts.title, access)
    if facts.tls:
        yield from _certificate_problems(facts.title, access)
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


def _certificate_problems(title: str, access: Iterable[Access]) -> Iterator[str]:
    """What bricks cannot hold that either speak TLS or do not."""
    by_name = [rule for rule in access if rule.kind == "certificate"]
    if by_name and any(rule.kind != "certificate" for rule in access):
        yield (
            f"{title} keeps rules by ip or by certificate, not both in one space: its bricks speak TLS, or they do not. "
            "Revoke the others first"
        )
    if len({rule.authority for rule in by_name if rule.authority}) > 1:
        yield (
            f"{title} trusts all authorities of a space for all of its names: give its rules one authority, or make a space for each"
        )
    for rule in by_name:
        if rule.authority is None:
            yield f"the rule for certificate {rule.subject} does not say which authority signs it: give its certificate, as by --authority"
