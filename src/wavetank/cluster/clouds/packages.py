"""Packages that nodes get from their distribution at their first start."""

from __future__ import annotations

from functools import cache

from wavetank.cluster import registry
from wavetank.cluster.clouds.hosts import as_hosts
from wavetank.cluster.clouds.user_data import packages_of
from wavetank.cluster.needs import needs_by_node
from wavetank.cluster.spec import ClusterSpec

# Of every node: local file systems, several disks as one, ranks.
ALWAYS = ("mdadm", "openmpi-bin", "xfsprogs")
WITH_APT = ("debian-12", "ubuntu-24.04")


def packages_of_node(spec: ClusterSpec, node: str) -> tuple[str, ...]:
    """Debian packages of a node; none for images that have another way, or are somebody's own."""
    if spec.cloud is None or spec.cloud.image not in WITH_APT:
        return ()
    needs = needs_by_node(_driver(spec.file_system.kind), as_hosts(spec))[node]
    return tuple(sorted({*ALWAYS, *packages_of([*needs.programs.values(), *needs.files.values()])}))


def package_problems(spec: ClusterSpec) -> list[str]:
    """What an image cannot be given: packages of Amazon Linux have other names, which are not known here."""
    if spec.cloud is None or spec.cloud.image != "amazon-linux-2023":
        return []
    needs = needs_by_node(_driver(spec.file_system.kind), as_hosts(spec))
    if not any(need.programs or need.files for need in needs.values()):
        return []
    return [
        f"cloud.image amazon-linux-2023: the packages of {spec.file_system.kind} are known by their names in Debian and Ubuntu "
        "only: take debian-12 or ubuntu-24.04, or an image of your own (ami-...) that has them"
    ]


@cache
def _driver(kind: str) -> object:
    return registry.file_system(kind)
