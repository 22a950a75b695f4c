"""What hosts need for Lustre, and which packages of which distribution have it.

Names of packages: lustre.spec.in and debian/control of Lustre 2.15.5 and 2.17, and Whamcloud's repositories for Enterprise Linux.
"""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.cluster.needs import Needs

PAGE = "docs/how-to/lustre.md"
ANYWHERE = f"install Lustre for the kernel that runs there ({PAGE})"
EL_CLIENT = f"dnf install lustre-client kmod-lustre-client, of Whamcloud's repository for the kernel that runs there ({PAGE})"
EL_SERVER = (
    "dnf install lustre kmod-lustre kmod-lustre-osd-{0} lustre-osd-{0}-mount{1}, of Whamcloud's repository for the kernel that runs there "
    f"({PAGE})"
)
# not "apt-get install ...": Debian has no such packages, they are built from Lustre's source
DEB_CLIENT = f"build and install lustre-client-utils and lustre-client-modules-dkms ({PAGE})"
DEB_SERVER = f"build and install lustre-server-utils and lustre-server-modules for its kernel, or take Enterprise Linux ({PAGE})"
AMAZON_CLIENT = f"dnf install lustre-client ({PAGE})"
AMAZON_SERVER = f"Amazon Linux has no servers of Lustre: take Enterprise Linux ({PAGE})"
CLIENT_PROGRAMS = ("lctl", "lfs", "lnetctl", "mount.lustre", "lustre_rmmod")


def of_clients() -> Needs:
    """Tools, and the client's module."""
    return _needs(
        CLIENT_PROGRAMS, ("lnet", "lustre"), EL_CLIENT, DEB_CLIENT, AMAZON_CLIENT
    ) | _tools("modprobe", "ip")


def of_servers(backend: str, devices: Sequence[str]) -> Needs:
    """Tools, and the server's modules.

    Args:
        backend: ldiskfs or zfs.
        devices: block devices that the specification names.
    """
    more = " e2fsprogs" if backend == "ldiskfs" else " zfs"
    on_el = EL_SERVER.format(backend, more)
    needs = _needs(
        (*CLIENT_PROGRAMS, "mkfs.lustre"),
        ("lnet", "lustre", f"osd_{backend}"),
        on_el,
        DEB_SERVER,
        AMAZON_SERVER,
    )
    needs |= _tools("modprobe", "ip", "wipefs", "truncate")
    files = dict.fromkeys(devices, "name block devices that the server has, in file_system.options")
    if backend == "zfs":
        needs |= Needs({"zpool": "install zfs"}, {"/etc/hostid": "zgenhostid"})
    elif not devices:
        needs |= _tools("losetup")
        files["/dev/loop-control"] = "modprobe loop"
    return needs | Needs(files=files)


def _tools(*names: str) -> Needs:
    packages = {"modprobe": "kmod", "ip": "iproute2", "truncate": "coreutils"}
    return Needs({name: f"install {packages.get(name, 'util-linux')}" for name in names})


def _needs(
    programs: Sequence[str], modules: Sequence[str], on_el: str, on_debian: str, on_amazon: str
) -> Needs:
    names = (*programs, *modules)
    return Needs(
        programs=dict.fromkeys(programs, ANYWHERE),
        modules=dict.fromkeys(modules, ANYWHERE),
        elsewhere={
            "rhel": dict.fromkeys(names, on_el),
            "debian": dict.fromkeys(names, on_debian),
            "amzn": dict.fromkeys(names, on_amazon),
        },
    )
