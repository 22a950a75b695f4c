"""Packages that nodes get from their distribution at their first start, by what the file system's driver says that it needs.

Drivers name packages as Debian does. What they are called elsewhere is a table here; nothing else knows of distributions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import cache

from wavetank.cluster import registry
from wavetank.cluster.clouds.cloud import Keys, Lease
from wavetank.cluster.clouds.disks import data_volumes, on_own_disks
from wavetank.cluster.clouds.hosts import as_hosts
from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.clouds.user_data import DataDisks, modules_of, packages_of, user_data
from wavetank.cluster.components import FileSystem
from wavetank.cluster.filesystems.base import FileSystemDriver, needs_by_node
from wavetank.cluster.needs import TOOLS, Needs
from wavetank.cluster.spec import ClusterSpec

LUSTRE = "lustre-client-modules-aws"
# Of every node: local file systems, several disks as one, ranks; and what characterises a cluster or performs kernels' fio jobs.
ALWAYS = ("mdadm", "openmpi-bin", "xfsprogs", *TOOLS.programs)
WITH_APT = ("debian-12", "ubuntu-24.04")  # the same names in both
# Of the FSx for Lustre user guide, "Installing the Lustre client": a repository of Amazon's, with modules for the kernels of Ubuntu's
# images for AWS. It has none for Debian. Amazon Linux 2023 has the client in its own repositories (kernel 6.1.79 and later).
LUSTRE_ON_UBUNTU = """set -e
keys=/usr/share/keyrings/fsx-ubuntu-public-key.gpg
curl -fsS --retry 5 https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc | gpg --dearmor --yes -o $keys
echo "deb [signed-by=$keys] https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu noble main" >/etc/apt/sources.list.d/fsx-lustre.list
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install -y "lustre-client-modules-$(uname -r)"
"""
# None could be tried there, and a name that is wrong must not keep a cluster from coming up: each by itself, and 'up' asks.
TOOLS_ON_AMAZON_LINUX = (
    f"for each in {' '.join(TOOLS.programs)}; do dnf install -y $each || true; done"
)
# Debian's name -> Amazon Linux's, which has Fedora's. What is not here, none of its documents names: no Ganesha, GlusterFS, Ceph.
# Open MPI: 4.1 (amazonlinux/amazon-linux-2023#492). Lustre: #309 there. stunnel: what Amazon's own EFS client takes from it.
AMAZON_LINUX = {
    "attr": "attr",
    LUSTRE: "lustre-client",
    "mdadm": "mdadm",
    "nfs-common": "nfs-utils",
    "nfs-kernel-server": "nfs-utils",
    "openmpi-bin": "openmpi",
    "rpcbind": "rpcbind",
    "stunnel4": "stunnel",
    "util-linux": "util-linux",
    "xfsprogs": "xfsprogs",
}
# What builds wavetank's C parts, where those of this machine do not run. Amazon Linux has Fedora's names.
COMPILERS = {
    **dict.fromkeys(
        WITH_APT,
        ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y",
         "--no-install-recommends", "cmake", "gcc", "libc6-dev", "libopenmpi-dev", "make"),
    ),
    "amazon-linux-2023": ("dnf", "install", "-y", "cmake", "gcc", "glibc-devel", "make", "openmpi-devel"),
}  # fmt: skip
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
    found = (
        wanted - {LUSTRE} if names is None else {names[each] for each in wanted if each in names}
    )
    return tuple(sorted({*found, *spec.cloud.packages}))


def preparations_of_node(spec: ClusterSpec, node: str) -> tuple[str, ...]:
    """Shell texts that install on a node what its distribution has in no repository of its own."""
    if spec.cloud is None:
        return ()
    if spec.cloud.image == "amazon-linux-2023":
        return (TOOLS_ON_AMAZON_LINUX,)
    is_lustre_on_ubuntu = spec.cloud.image == "ubuntu-24.04" and LUSTRE in _debian(
        needs_of_hosts(spec)[node]
    )
    return (LUSTRE_ON_UBUNTU,) if is_lustre_on_ubuntu else ()


def compilers_of(spec: ClusterSpec) -> tuple[tuple[str, ...], ...]:
    """Commands that install what builds the C parts on a host; none for images of somebody's own, which may have it."""
    if spec.cloud is None or spec.cloud.image not in COMPILERS:
        return ()
    return (COMPILERS[spec.cloud.image],)


def modules_of_node(spec: ClusterSpec, node: str) -> tuple[str, ...]:
    """Modules of the kernel that a node loads; none on images of somebody's own, which have what they need."""
    if spec.cloud is None or spec.cloud.image not in NAMES:
        return ()
    return modules_of(needs_of_hosts(spec)[node].files.values())


def needs_of_hosts(spec: ClusterSpec) -> dict[str, Needs]:
    """What hosts must have when they are there: of known images also what makes the driver take its better way."""
    is_known = spec.cloud is not None and spec.cloud.image in NAMES
    return needs_by_node(_driver(spec.file_system.kind), as_hosts(spec), preferred=is_known)


def package_problems(spec: ClusterSpec) -> list[str]:
    """What the image lacks and no package of its distribution brings, and what to take."""
    if spec.cloud is None or spec.cloud.image not in NAMES:
        return []
    image, fs = spec.cloud.image, spec.file_system
    if no_image := _what_no_package_brings(fs, image):
        return [no_image]
    names = NAMES[image]
    wanted = {each for needs in needs_of_hosts(spec).values() for each in _debian(needs)}
    if LUSTRE in wanted and image == "debian-12":
        return [
            "cloud.image debian-12: Amazon has no Lustre client for Debian's kernel, which file_system fsx-lustre needs: take "
            "ubuntu-24.04 or amazon-linux-2023, or an image of your own (ami-...) that has it"
        ]
    if names is None:
        return []
    missing = sorted(wanted - names.keys())
    if not missing:
        return []
    return [
        f"cloud.image {image} has no packages of {', '.join(missing)}, which file_system {fs.kind} needs: take "
        f"{' or '.join(WITH_APT)}, or an image of your own (ami-...) that has them. Of nfs it has the kernel's server: "
        "file_system.options.server: kernel"
    ]


def _what_no_package_brings(fs: FileSystem, image: str) -> str | None:
    if fs.package is not None:
        if fs.package.endswith(".deb") and image not in WITH_APT:
            return (
                f"file_system.package {fs.package}: cloud.image {image} has no dpkg: give a .tar.gz"
            )
        return None
    lacking = fs.facts.lacking_on_images
    return (
        f"file_system {fs.kind}: cloud.image {image} {lacking.format(path=fs.path)}"
        if lacking
        else None
    )


def tools_unknown(spec: ClusterSpec) -> list[str]:
    """Why it is not known before an instance runs whether it has what measures besides the replay; nothing where it is known."""
    if spec.cloud is None or spec.cloud.image in WITH_APT:
        return []
    image, tools = spec.cloud.image, " and ".join(TOOLS.programs)
    how = (
        "its instances are given them where their repositories have them"
        if image in NAMES
        else "an image of your own must have them"
    )
    return [
        f"whether cloud.image {image} has {tools} is not known before an instance runs: {how}, and 'up' says what each lacks. "
        f"{' and '.join(WITH_APT)} have both"
    ]


def _debian(needs: Needs) -> Iterable[str]:
    return packages_of([*needs.programs.values(), *needs.files.values()])


@cache
def _driver(kind: str) -> FileSystemDriver:
    return registry.file_system(kind)


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
