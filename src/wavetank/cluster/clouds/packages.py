"""Packages that nodes get from their distribution at their first start, by what the file system's driver says that it needs.

Drivers name packages as Debian does. What they are called elsewhere is a table here; nothing else knows of distributions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from wavetank.cluster import registry
from wavetank.cluster.clouds.hosts import as_hosts
from wavetank.cluster.clouds.user_data import modules_of, packages_of
from wavetank.cluster.needs import Needs, needs_by_node, needs_of_made_hosts
from wavetank.cluster.spec import ClusterSpec

# Of every node: local file systems, several disks as one, ranks.
ALWAYS = ("mdadm", "openmpi-bin", "xfsprogs")
WITH_APT = ("debian-12", "ubuntu-24.04")  # the same names in both
# Debian's name -> Amazon Linux's, which has Fedora's. What is not here, it does not have: no Ganesha, GlusterFS, Ceph.
AMAZON_LINUX = {
    "attr": "attr",
    "mdadm": "mdadm",
    "nfs-common": "nfs-utils",
    "nfs-kernel-server": "nfs-utils",
    "openmpi-bin": "openmpi",
    "rpcbind": "rpcbind",
    "util-linux": "util-linux",
    "xfsprogs": "xfsprogs",
}
NAMES: dict[str, Mapping[str, str] | None] = {
    **dict.fromkeys(WITH_APT),
    "amazon-linux-2023": AMAZON_LINUX,
}


def starts_services(spec: ClusterSpec) -> bool:
    """Whether packages of the image's distribution start their services as they are installed, as Debian's do."""
    return spec.cloud is not None and spec.cloud.image in WITH_APT


def packages_of_node(spec: ClusterSpec, node: str) -> tuple[str, ...]:
    """Packages of a node, as its distribution calls them; none for images of somebody's own, which have them."""
    if spec.cloud is None or spec.cloud.image not in NAMES:
        return ()
    names = NAMES[spec.cloud.image]
    wanted = {*ALWAYS, *_debian(needs_of_hosts(spec)[node])}
    if names is None:
        return tuple(sorted(wanted))
    return tuple(sorted({names[each] for each in wanted if each in names}))


def modules_of_node(spec: ClusterSpec, node: str) -> tuple[str, ...]:
    """Modules of the kernel that a node loads; none on images of somebody's own, which have what they need."""
    if spec.cloud is None or spec.cloud.image not in NAMES:
        return ()
    return modules_of(needs_of_hosts(spec)[node].files.values())


def needs_of_hosts(spec: ClusterSpec) -> dict[str, Needs]:
    """What hosts must have when they are there: of known images also what makes the driver take its better way."""
    needs = (
        needs_by_node
        if spec.cloud is None or spec.cloud.image not in NAMES
        else needs_of_made_hosts
    )
    return needs(_driver(spec.file_system.kind), as_hosts(spec))


def package_problems(spec: ClusterSpec) -> list[str]:
    """Packages that the distribution of the image does not have, and what to take."""
    names = None if spec.cloud is None else NAMES.get(spec.cloud.image)
    if spec.cloud is None or names is None:
        return []
    wanted = {each for needs in needs_of_hosts(spec).values() for each in _debian(needs)}
    missing = sorted(wanted - names.keys())
    if not missing:
        return []
    image = spec.cloud.image
    return [
        f"cloud.image {image} has no packages of {', '.join(missing)}, which file_system {spec.file_system.kind} needs: take "
        f"{' or '.join(WITH_APT)}, or an image of your own (ami-...) that has them. Of nfs it has the kernel's server: "
        "file_system.options.server: kernel"
    ]


def _debian(needs: Needs) -> Iterable[str]:
    return packages_of([*needs.programs.values(), *needs.files.values()])


@cache
def _driver(kind: str) -> object:
    return registry.file_system(kind)
