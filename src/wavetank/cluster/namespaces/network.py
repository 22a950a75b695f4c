"""The network of a cluster: a bridge in a switch namespace of its own, a link to every node, rates by tbf.

Nothing of this machine's own network is touched; every cluster can use the same addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NETWORK = "10.77.0.0/24"
SWITCH_ADDRESS = "10.77.0.254"
MTU = 9000
AROUND_FROM = 128  # 10.77.0.128 and on: of nodes around guests


def address_of(position: int) -> str:
    """The address of the n-th node, from 0."""
    return f"10.77.0.{position + 1}"


def address_around(position: int) -> str:
    """The address of the node around the n-th node's guest, where both are on the network."""
    return f"10.77.0.{AROUND_FROM + position}"


def switch_links(pids: Sequence[int]) -> str:
    """``ip -batch`` lines, in the switch: the bridge, and a link into the namespace of each node's process 1."""
    lines = [
        "link set lo up",
        "link add name switch type bridge forward_delay 0",
        f"link set switch mtu {MTU} up",
        f"address add {SWITCH_ADDRESS}/24 dev switch",
    ]
    for position, pid in enumerate(pids):
        lines += [
            f"link add name p{position} mtu {MTU} type veth peer name eth0 mtu {MTU} netns {pid}",
            f"link set p{position} master switch up",
        ]
    return "\n".join(lines) + "\n"


def node_links(address: str) -> str:
    """``ip -batch`` lines, in a node."""
    return f"link set lo up\naddress add {address}/24 dev eth0\nlink set eth0 up\n"


def shape(rates: Mapping[str, int]) -> str:
    """``tc -batch`` lines that limit what is sent through each device, bytes/s.

    tbf holds within 2-4 % up to 5 Gbit/s, htb is low by 20 % there (measured); a burst below 64 KiB
    or 1/250 s of the rate loses throughput on a kernel with 250 Hz.
    """
    lines = []
    for device, rate in rates.items():
        burst = max(64 * 1024, rate // 250)
        lines.append(
            f"qdisc replace dev {device} root tbf rate {rate * 8}bit burst {burst} latency 20ms"
        )
    return "\n".join(lines) + "\n"
