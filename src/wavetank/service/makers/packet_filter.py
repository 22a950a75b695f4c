"""A packet filter of each server of spaces, by nftables: who may not use a space does not reach what serves it.

One table has all of it. A port of a space leads to the chain of the space, which lets the clients of its rules through and resets the
connections of all others, also those that were there before. Ports of spaces that lead nowhere are closed. The server reaches itself.

Each change is one transaction of the kernel. What is in force is told by a hash in the last rule of each chain.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from wavetank.cluster.facade import Host, Needs
from wavetank.service.core.records import Access, Network
from wavetank.service.makers.run import LOOK_TIMEOUT_S, do

TABLE = "inet wavetank_spaces"
FIRST_PORT, LAST_PORT = 24099, 29999
"""Of all kinds of spaces: above those of glusterd, below those of Kubernetes, and of clients."""
EVERYBODY: tuple[Network, ...] = (
    ipaddress.IPv4Network("0.0.0.0/0"),
    ipaddress.IPv6Network("::/0"),
)
_BASE = f"""add table {TABLE}
add map {TABLE} ports {{ type inet_service : verdict ; }}
add chain {TABLE} input {{ type filter hook input priority -5 ; policy accept ; }}
flush chain {TABLE} input
add rule {TABLE} input iifname "lo" accept
add rule {TABLE} input tcp dport vmap @ports
add rule {TABLE} input tcp dport {FIRST_PORT}-{LAST_PORT} reject with tcp reset
add rule {TABLE} input udp dport {FIRST_PORT}-{LAST_PORT} drop
"""
_CHAIN = re.compile(r"^\tchain (\S+) \{(.*?)^\t\}", re.MULTILINE | re.DOTALL)
_HASH = re.compile(r'reject with tcp reset comment "([0-9a-f]{32})"')
# Standard input: what nft reads; words: its options, "-c" to change nothing and have the kernel say what it lacks.
PUT = r"""PATH=$PATH:/usr/sbin:/sbin
said=$(nft "$@" -f - 2>&1) && exit 0
printf '%s\n' "$said" | head -n 1 >&2
exit 1
"""
LIST = f"PATH=$PATH:/usr/sbin:/sbin; nft list table {TABLE} 2>/dev/null || :"
# $1 chain. A port that leads to it goes first, as it needs the chain. Sample (nft 1.0.6): "24100 : goto sp-1f".
REMOVE = f"""PATH=$PATH:/usr/sbin:/sbin
nft list chain {TABLE} "$1" >/dev/null 2>&1 || exit 0
ports=$(nft list map {TABLE} ports | grep -o "[0-9]* : goto $1\\b" || :)
{{
  printf '%s\\n' "$ports" | while read -r port; do [ -z "$port" ] || echo "delete element {TABLE} ports {{ $port }}"; done
  echo "delete chain {TABLE} $1"
}} | nft -f -
"""


def needs() -> Needs:
    """Programs of a server."""
    return Needs({"nft": "apt-get install nftables"})


def networks_of(access: Iterable[Access]) -> tuple[Network, ...]:
    """Networks of rules; rules by certificate let everybody come as far as TLS."""
    rules = tuple(access)
    if any(rule.kind == "certificate" for rule in rules):
        return EVERYBODY
    return tuple(rule.network for rule in rules if rule.kind == "ip")


def see(server: Host) -> None:
    """See that a server's kernel can filter so.

    Raises:
        ServiceError: it cannot, or nft is not there.
    """
    text = chain_text("sp-0", EVERYBODY, (FIRST_PORT,)).replace(TABLE, f"{TABLE}_checked")
    do(server, "filter packets by nftables", PUT, ["-c"], text, timeout_s=LOOK_TIMEOUT_S)


def put(server: Host, chain: str, networks: Collection[Network], ports: Collection[int]) -> None:
    """Let these networks reach these ports, and nobody else.

    Raises:
        ServiceError: the server does not do it.
    """
    text = chain_text(chain, networks, ports)
    do(server, f"filter packets to {chain}", PUT, [], text, timeout_s=LOOK_TIMEOUT_S)


def remove(server: Host, chain: str) -> None:
    """Close the ports of a chain, and forget it. None is no error.

    Raises:
        ServiceError: the server does not do it.
    """
    do(server, f"forget the filter of {chain}", REMOVE, [chain], timeout_s=LOOK_TIMEOUT_S)


def in_force(server: Host) -> Mapping[str, str]:
    """Chain -> hash of what it is, of a server.

    Raises:
        ServiceError: it cannot be asked.
    """
    said = do(server, "say what it filters", LIST, [], timeout_s=LOOK_TIMEOUT_S).stdout
    found = ((name, _HASH.search(body)) for name, body in _CHAIN.findall(said))
    return {name: match[1] for name, match in found if match is not None}


def hash_of(networks: Iterable[Network], ports: Iterable[int]) -> str:
    """Of a chain."""
    text = "\n".join((*_rules(networks), *map(str, sorted(ports))))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def chain_text(chain: str, networks: Collection[Network], ports: Collection[int]) -> str:
    """What nft reads to make a chain, in place of one of that name."""
    rules = [*_rules(networks), f'reject with tcp reset comment "{hash_of(networks, ports)}"']
    lines = [f"add chain {TABLE} {chain}", f"flush chain {TABLE} {chain}"]
    lines += [f"add rule {TABLE} {chain} {rule}" for rule in rules]
    lines += [f"add element {TABLE} ports {{ {port} : goto {chain} }}" for port in sorted(ports)]
    return _BASE + "".join(f"{line}\n" for line in lines)


def _rules(networks: Iterable[Network]) -> Iterator[str]:
    """Rules that let networks through; those within others are left out, as a set has no two that overlap."""
    every = tuple(networks)
    four = ipaddress.collapse_addresses(n for n in every if isinstance(n, ipaddress.IPv4Network))
    six = ipaddress.collapse_addresses(n for n in every if isinstance(n, ipaddress.IPv6Network))
    for word, protocol, found in (("ip", "ipv4", tuple(four)), ("ip6", "ipv6", tuple(six))):
        if any(each.prefixlen == 0 for each in found):
            yield f"meta nfproto {protocol} accept"
        elif found:
            yield f"{word} saddr {{ {', '.join(map(str, found))} }} accept"
