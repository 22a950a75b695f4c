"""Which nodes of a cluster in a cloud are made alike, what disks they get, and what they do at their first start."""

from __future__ import annotations

import itertools

from wavetank.cluster.clouds.cloud import Keys, Lease
from wavetank.cluster.clouds.disks import data_volumes, on_own_disks
from wavetank.cluster.clouds.packages import (
    modules_of_node,
    packages_of_node,
    preparations_of_node,
    starts_services,
)
from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.clouds.user_data import DataDisks, user_data
from wavetank.cluster.spec import ClusterSpec


def roles(spec: ClusterSpec) -> tuple[tuple[str, ...], ...]:
    """Nodes that are made together: neighbours of one kind, instance type and disks."""

    def alike(node: str) -> tuple[object, ...]:
        return (
            node.rstrip("0123456789"),
            spec.instance_of(node).name,
            data_disks(spec, node),
            packages_of_node(spec, node),
            modules_of_node(spec, node),
        )

    return tuple(tuple(group) for _, group in itertools.groupby(spec.node_names(), alike))


def role_name(lease: Lease, nodes: tuple[str, ...]) -> str:
    """Name of what makes the nodes of a role."""
    return f"{lease.token}-{nodes[0]}"


def data_disks(spec: ClusterSpec, node: str) -> DataDisks | None:
    """Disks that become the storage of a node; None of nodes that hold no data."""
    own = on_own_disks(spec, node)
    number = spec.storage.devices if own else len(data_volumes(spec, node))
    if not number:
        return None
    storage = spec.storage
    by_serial = spec.cloud is not None and spec.cloud.openstack is not None
    return DataDisks(number, own, storage.local_file_system, storage.striped > 1, by_serial)


def first_start(spec: ClusterSpec, terms: Terms, lease: Lease, keys: Keys, node: str) -> str:
    """The cloud-config of a node, and of those that are made together with it."""
    return user_data(
        expires=lease.expires,
        ttl_s=terms.ttl,
        keys=keys,
        packages=packages_of_node(spec, node),
        disks=data_disks(spec, node),
        modules=modules_of_node(spec, node),
        services_off=starts_services(spec),
        prepare=preparations_of_node(spec, node),
    )
