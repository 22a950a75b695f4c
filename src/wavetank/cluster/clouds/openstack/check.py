"""What keeps a project from making a cluster: offers, disks of flavors, zones, quotas; asked, with nothing changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from wavetank.cluster.clouds.cloud import findings
from wavetank.cluster.clouds.disks import data_volumes, jump_node, on_own_disks, root_volumes
from wavetank.cluster.clouds.openstack.account import Account
from wavetank.cluster.clouds.openstack.offers import (
    flavor_of,
    image_of,
    network_of,
    openstack_of,
    zones_of,
)
from wavetank.cluster.clouds.openstack.shares import (
    KIND,
    needs_share_network,
    quota_of,
    share_network_of,
    share_type_of,
)
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError
from wavetank.units import GIB

SMALLEST_ROOT_GB = 10  # system, packages of a file system, logs (assumed)


def check(account: Account, spec: ClusterSpec) -> Examined:
    """All findings at once, and what is not known; credentials that are refused are one finding, as nothing else can be asked then."""
    try:
        account.owner()
    except ProviderError as error:
        return Examined([str(error)], [])
    found: list[str] = []
    for ask in (
        _zones, _flavors, _networks, _volume_type, _share, _of_nova, _of_cinder, _of_neutron, _of_manila,
    ):  # fmt: skip
        found += findings(ask(account, spec))
    return Examined(list(dict.fromkeys(found)), _unknown(spec))  # several may need the same right


def _unknown(spec: ClusterSpec) -> list[str]:
    """What no OpenStack cloud tells before."""
    share = ", and so is a share of Manila" if spec.file_system.kind == KIND else ""
    return [
        "whether the cloud's hosts have room for these flavors now is not known before servers are made",
        f"servers end themselves at the ttl by shutting down; they are in the project's quota, and on most sites' bills{share}, until "
        "'wavetank cluster down' or 'wavetank cluster prune --provider openstack --expired' removes them",
    ]


def _zones(account: Account, spec: ClusterSpec) -> Iterator[str]:
    zones_of(account, spec)
    yield from ()


def _flavors(account: Account, spec: ClusterSpec) -> Iterator[str]:
    """Flavors, and whether the image fits on their disks."""
    image: Mapping[str, Any] = {}
    try:
        image = image_of(account, spec)
    except ProviderError as error:
        yield str(error)
    by_name: dict[str, list[str]] = {}
    for node in spec.node_names():
        by_name.setdefault(spec.instance_of(node).name, []).append(node)
    for name, nodes in by_name.items():
        try:
            flavor = flavor_of(account, name)
        except ProviderError as error:
            yield str(error)
            continue
        yield from _sizes(name, flavor, image, openstack_of(spec).root_size)
        if any(on_own_disks(spec, node) for node in nodes):
            if spec.storage.devices > 1:
                yield "storage.on: instance: a flavor has one disk of its own here: write devices: 1, or leave storage.on out"
            if not flavor.get("OS-FLV-EXT-DATA:ephemeral"):
                yield f"storage.on: instance: flavor {name} has no ephemeral disk: leave storage.on out, or take a flavor that has"


def _sizes(
    name: str, flavor: Mapping[str, Any], image: Mapping[str, Any], root_size: int | None
) -> Iterator[str]:
    disk, needed = int(flavor["disk"]), max(SMALLEST_ROOT_GB, int(image.get("min_disk") or 0))
    if root_size is not None:
        if root_size < needed * GIB:
            yield f"cloud.openstack.root_size {root_size // GIB} GiB: {needed} GB are needed"
    elif disk == 0:
        yield (
            f"flavor {name} has no root disk: write cloud.openstack.root_size, e.g. {max(20, needed)} GiB, so that servers start from "
            "volumes, or take a flavor that has one"
        )
    elif disk < needed:
        yield f"flavor {name} has a root disk of {disk} GB, and {needed} GB are needed: take a larger one"
    memory = int(image.get("min_ram") or 0)
    if int(flavor["ram"]) < memory:
        yield f"flavor {name} has {flavor['ram']} MiB of memory, and the image needs {memory} MiB: take a larger one"


def _networks(account: Account, spec: ClusterSpec) -> Iterator[str]:
    there = openstack_of(spec)
    for named, external in ((there.network, False), (there.external, True)):
        if named in (None, "made"):
            continue
        try:
            network_of(account, str(named), external=external)
        except ProviderError as error:
            yield str(error)


def _volume_type(account: Account, spec: ClusterSpec) -> Iterator[str]:
    named = openstack_of(spec).volume_type
    if named is None:
        return
    known = sorted(str(each["name"]) for each in account.pages("cinder", "/types", "volume_types"))
    if named not in known:
        yield f"cloud.openstack.volume_type {named}: {account.region} has no such type; it has {', '.join(known) or 'none'}"


def _share(account: Account, spec: ClusterSpec) -> Iterator[str]:
    """Manila, the type of the share, and the network that it may need."""
    if spec.file_system.kind != KIND:
        return
    if not account.has("manila"):
        yield (
            f"file_system {KIND}: {account.region} has no Manila (service shared-file-system): take a kind that servers of the "
            "cluster's own run, as nfs"
        )
        return
    there = openstack_of(spec)
    if there.share_network is not None:
        share_network_of(account, there.share_network)
    kind = share_type_of(account, there.share_type)
    needed, name = needs_share_network(kind), kind["name"]
    if needed and there.share_network is None:
        yield (
            f"file_system {KIND}: share type {name} makes its servers in a share network: name one by cloud.openstack.share_network, "
            "or take another cloud.openstack.share_type"
        )
    if not needed and there.share_network is not None:
        yield f"cloud.openstack.share_network: share type {name} takes none: remove it"


def _short(what: str, needed: int, limit: object, used: object) -> Iterator[str]:
    """A quota that is too small; -1 is none."""
    most, there = int(str(limit)), int(str(used))
    if needed and 0 <= most < there + needed:
        yield (
            f"quota of {what}: {needed} are needed, and the project has {there} of {most} in use: take fewer or smaller ones, remove "
            "others, or ask the cloud's operator"
        )


def _of_nova(account: Account, spec: ClusterSpec) -> Iterator[str]:
    limits = account.call("nova", "GET", "/limits")["limits"]["absolute"]
    counts = Counter(spec.instance_of(node).name for node in spec.node_names())
    cores = memory = 0
    for name, n in counts.items():
        try:
            flavor = flavor_of(account, name)
        except ProviderError:
            return  # a finding already
        cores += n * int(flavor["vcpus"])
        memory += n * int(flavor["ram"])
    n_nodes = len(spec.node_names())
    n_groups = 1 if spec.placement is not None or not spec.nodes.io else 2
    for what, needed, limit, used in (
        ("servers", n_nodes, "maxTotalInstances", "totalInstancesUsed"),
        ("cores", cores, "maxTotalCores", "totalCoresUsed"),
        ("memory (MiB)", memory, "maxTotalRAMSize", "totalRAMUsed"),
        ("server groups", n_groups, "maxServerGroups", "totalServerGroupsUsed"),
    ):
        yield from _short(what, needed, limits.get(limit, -1), limits.get(used, 0))
    yield from _short(
        "servers of a group", max(counts.values()), limits.get("maxServerGroupMembers", -1), 0
    )


def _of_cinder(account: Account, spec: ClusterSpec) -> Iterator[str]:
    volumes = [
        each
        for node in spec.node_names()
        for each in (*root_volumes(spec), *data_volumes(spec, node))
    ]
    if not volumes:
        return
    limits = account.call("cinder", "GET", "/limits")["limits"]["absolute"]
    size = sum(each.size_gb for each in volumes)
    for what, needed, limit, used in (
        ("volumes", len(volumes), "maxTotalVolumes", "totalVolumesUsed"),
        ("volumes (GB)", size, "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
    ):
        yield from _short(what, needed, limits.get(limit, -1), limits.get(used, 0))


def _of_neutron(account: Account, spec: ClusterSpec) -> Iterator[str]:
    details = account.call("neutron", "GET", f"/quotas/{account.project}/details.json")["quota"]
    made = openstack_of(spec).network == "made"
    floating = int(jump_node(spec) is not None)
    n_ports = len(spec.node_names()) + (2 if made else 0)
    for what, key, needed in (
        ("security groups", "security_group", 1),
        ("floating addresses", "floatingip", floating),
        ("networks", "network", int(made)),
        ("subnets", "subnet", int(made)),
        ("routers", "router", int(made)),
        ("ports", "port", n_ports),
    ):
        found = details.get(key, {"limit": -1, "used": 0})
        yield from _short(what, needed, found["limit"], found["used"])


def _of_manila(account: Account, spec: ClusterSpec) -> Iterator[str]:
    if spec.file_system.kind != KIND or not account.has("manila"):
        return
    limits = quota_of(account)
    size = (spec.file_system.capacity or 0) // GIB
    for what, needed, limit, used in (
        ("shares", 1, "maxTotalShares", "totalSharesUsed"),
        ("shares (GB)", size, "maxTotalShareGigabytes", "totalShareGigabytesUsed"),
    ):
        yield from _short(what, needed, limits.get(limit, -1), limits.get(used, 0))
