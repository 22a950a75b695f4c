"""A cluster of a cloud as hosts over ssh: the inventory of what was made, which all that follows goes by."""

from __future__ import annotations

import ipaddress
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from wavetank.cluster.clouds.cloud import Keys, Made
from wavetank.cluster.clouds.disks import jump_node
from wavetank.cluster.clouds.user_data import HOMES, USER
from wavetank.cluster.components import Ssh
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directory_of
from wavetank.document import write_whole
from wavetank.errors import ProviderError

USER_KEY = "user-key"
HOST_KEY = "host-key"


def make_keys(folder: Path, label: str) -> Keys:
    """Make both, ed25519, in a folder that only this user may read.

    Raises:
        ProviderError: ssh-keygen is missing or fails.
    """
    if shutil.which("ssh-keygen") is None:
        raise ProviderError("ssh-keygen is not installed: apt-get install openssh-client")
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in (USER_KEY, HOST_KEY):
        argv = [
            "ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            label,
            "-f",
            str(folder / name),
        ]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise ProviderError(f"ssh-keygen cannot make {folder / name}: {done.stderr.strip()}")
        os.chmod(folder / name, 0o600)  # noqa: PTH101 - beside the line that made it
    return Keys(
        user_public=(folder / f"{USER_KEY}.pub").read_text().strip(),
        host_private=(folder / HOST_KEY).read_text(),
        host_public=" ".join((folder / f"{HOST_KEY}.pub").read_text().split()[:2]),
    )


INVENTORY = "inventory.json"
KNOWN_HOSTS = "known-hosts"


def as_hosts(spec: ClusterSpec) -> ClusterSpec:
    """The specification with the key ssh: of the instances where they are made, else of addresses that nobody has."""
    directory = directory_of(spec.name)
    addresses = read_inventory(directory)
    private = _inventory(directory.path, "network") or {}
    own_jump = (_inventory(directory.path, "jump") or {}).get("at")
    bastion = spec.cloud.bastion if spec.cloud is not None else "none"
    jump = f"{USER}@{own_jump}" if own_jump is not None else bastion
    ssh = Ssh(
        hosts=addresses or dict.fromkeys(spec.node_names(), "not-made-yet"),
        user=USER,
        identity_file=str(directory.path / "keys" / USER_KEY),
        known_hosts=str(directory.path / KNOWN_HOSTS),
        sudo=True,
        directory=HOMES,
        network=network_of(private.values()),
        jump=None if jump == "none" else jump,
    )
    # not validated: the key is a person's with provider ssh only
    return spec.model_copy(update={"ssh": ssh})


def inside(spec: ClusterSpec) -> ClusterSpec:
    """A specification as ``as_hosts`` gives it, as instances see each other: by private addresses, without a bastion."""
    if spec.ssh is None:
        return spec
    network = _inventory(directory_of(spec.name).path, "network") or {}
    ssh = spec.ssh.model_copy(update={"hosts": {**spec.ssh.hosts, **network}, "jump": None})
    return spec.model_copy(update={"ssh": ssh})


def network_of(addresses: Iterable[str]) -> str | None:
    """The smallest network that all addresses are in; None of none. Servers and ranks use it, not the public addresses."""
    numbers = [int(ipaddress.IPv4Address(address)) for address in addresses]
    if not numbers:
        return None
    differing = (min(numbers) ^ max(numbers)).bit_length()
    return str(ipaddress.IPv4Network((min(numbers), 32 - differing), strict=False))


def addresses_of(spec: ClusterSpec, made: Mapping[str, Made]) -> dict[str, str]:
    """By which each node is reached from here: its public address, or the private one by a bastion or without a public one.

    Raises:
        ProviderError: a node has no address.
    """
    by_bastion = spec.cloud is not None and spec.cloud.bastion != "none"
    by_bastion |= jump_node(spec) is not None
    found = {}
    for node in spec.node_names():
        instance = made[node]
        address = (
            instance.private_address
            if by_bastion
            else instance.public_address or instance.private_address
        )
        if address is None:
            raise ProviderError(f"{node} ({instance.key}) has no address")
        found[node] = address
    return found


def jump_address(spec: ClusterSpec, made: Mapping[str, Made]) -> str | None:
    """Address of the node that all others are reached by; None where none is.

    Raises:
        ProviderError: it has no address of the outside.
    """
    node = jump_node(spec)
    if node is None:
        return None
    address = made[node].public_address
    if address is None:
        raise ProviderError(f"{node} ({made[node].key}) has no address of the outside")
    return address


def write_inventory(
    directory: ClusterDirectory, keys: Keys, addresses: Mapping[str, str], made: Mapping[str, Made],
    jump: str | None = None,
) -> None:  # fmt: skip
    """Write addresses by node, and the host key that each of them has.

    Args:
        directory: of the cluster.
        keys: of the cluster.
        addresses: by which nodes are reached.
        made: the instance of each node; by their private addresses they reach each other.
        jump: address of the node that all others are reached by, where there is one.
    """
    network = {node: each.private_address for node, each in made.items() if each.private_address}
    known = {*addresses.values(), *network.values(), *([] if jump is None else [jump])}
    text = "".join(f"{address} {keys.host_public}\n" for address in sorted(known))
    write_whole(directory.path / KNOWN_HOSTS, text)
    inventory = {
        "hosts": dict(addresses),
        "network": network,
        "jump": {} if jump is None else {"at": jump},
    }
    write_whole(directory.path / INVENTORY, json.dumps(inventory))


def read_inventory(directory: ClusterDirectory) -> dict[str, str] | None:
    """Addresses by which nodes are reached; None before they are made."""
    return _inventory(directory.path, "hosts")


def ssh_command(spec: ClusterSpec, node: str) -> str | None:
    """By which a person reaches a node, also one that never became ready; None before it has an address."""
    ssh = as_hosts(spec).ssh
    if ssh is None or read_inventory(directory_of(spec.name)) is None:
        return None
    base = ["ssh", "-i", str(ssh.identity_file), "-o", f"UserKnownHostsFile={ssh.known_hosts}"]
    jump = [] if ssh.jump is None else ["-J", ssh.jump]
    if (
        ssh.jump is not None and jump_node(spec) is not None
    ):  # -J would ask it with the user's own keys
        jump = ["-o", f"ProxyCommand={shlex.join([*base, '-W', '%h:%p', ssh.jump])}"]
    return shlex.join([*base, *jump, f"{ssh.user}@{ssh.hosts[node]}"])


def _inventory(folder: Path, key: str) -> dict[str, str] | None:
    try:
        return dict(json.loads((folder / INVENTORY).read_text())[key])
    except (OSError, ValueError, KeyError):
        return None
