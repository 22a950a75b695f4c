"""What guests have where the nodes around them mount: a view of that, or in User-mode Linux a disk that is a file there.

User-mode Linux has hostfs for the view. QEMU has 9p, as VirtFS in P12: a second device with the node's files, as a root stays mounted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.cluster.components import Hypervisor
from wavetank.cluster.filesystems.base import ANSWER_TIMEOUT_S
from wavetank.cluster.guests.guest import OPTIONS_9P, PASSED_TAG, VOLUME_DEVICE, VOLUME_FILE
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.namespaces.disks import MKFS

WRITE_BACK_TIMEOUT_S = 600.0  # the guest's memory, by the slowest disk

# $1: where it is mounted, in the guest and around it.
SHOW_HOSTFS = 'mkdir -p -- "$1" && mount -t hostfs -o "$1" passed-through "$1"'
PASSED = "/run/wavetank-passed"
# Mounted anew each time: what the guest keeps of files in memory ends with it. It stays busy below the binding, so the mount is detached.
SHOW_9P = f"""mkdir -p -- "$1" {PASSED} && mount -t 9p -o {OPTIONS_9P} {PASSED_TAG} {PASSED} &&
mount --bind -- {PASSED}"$1" "$1" && umount -l {PASSED}"""
HIDE = 'if mountpoint -q -- "$1"; then umount -- "$1"; fi'
IS_SHOWN = 'mountpoint -q -- "$1" && stat -f -- "$1" >/dev/null'

# In the node. The guest's kernel opens VOLUME_FILE whenever its device is mounted, and so follows the link.
# $1: the file, $2: its bytes.
LINK = f"""ln -sfn -- "$1" {VOLUME_FILE} || exit
[ -e "$1" ] || {{ truncate -s "$2" -- "$1" && echo new; }}"""
# In the guest. $1: where it is mounted, $2: its local file system.
MOUNT = f'mkdir -p -- "$1" && mount -t "$2" -o noatime {VOLUME_DEVICE} "$1"'


def show(guests: Sequence[Host], path: str, hypervisor: Hypervisor) -> None:
    """Have guests see what is mounted around them: by a hostfs, or by QEMU's 9p.

    Raises:
        RemoteCommandError: one does not.
    """
    script = SHOW_HOSTFS if hypervisor == "uml" else SHOW_9P
    on_all(guests, lambda guest: _run(guest, script, path))


def mount_volumes(
    guests: Sequence[Host], around: Mapping[str, Host], path: str, size_bytes: int, local: str
) -> None:
    """Mount each guest's volume, a file of what is mounted around it; made when there is none yet.

    Args:
        guests: the guests.
        around: by name of a guest: the node around it.
        path: where the nodes mount the file system, and guests their volumes.
        size_bytes: of a volume.
        local: the file system on it.

    Raises:
        RemoteCommandError: one cannot be made or mounted.
    """

    def mount(guest: Host) -> None:
        file = f"{path}/.wavetank-volume-{guest.name}"
        if _run(around[guest.name], LINK, file, str(size_bytes)):
            guest.run([*MKFS[local], VOLUME_DEVICE], timeout_s=WRITE_BACK_TIMEOUT_S)
        _run(guest, MOUNT, path, local)

    on_all(guests, mount)


def hide(guests: Sequence[Host], path: str) -> None:
    """Have them see it no more: what they kept of it in memory is written, and gone.

    Raises:
        RemoteCommandError: one still does.
    """
    on_all(guests, lambda guest: _run(guest, HIDE, path, timeout_s=WRITE_BACK_TIMEOUT_S))


def check(guests: Sequence[Host], path: str) -> None:
    """See that they see it.

    Raises:
        RemoteCommandError: one does not.
    """
    on_all(guests, lambda guest: _run(guest, IS_SHOWN, path))


def _run(host: Host, script: str, *arguments: str, timeout_s: float = ANSWER_TIMEOUT_S) -> str:
    return host.run(["sh", "-c", script, "sh", *arguments], timeout_s=timeout_s).stdout
