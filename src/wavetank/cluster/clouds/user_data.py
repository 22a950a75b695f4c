"""What an instance does at its first start, as cloud-init reads it: its own end first, then its keys, disk and packages.

The end is scheduled before anything that can hang. Cloud-init's own order: bootcmd, ssh_keys, packages, runcmd.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import yaml

from wavetank.cluster.clouds.cloud import Keys
from wavetank.cluster.clouds.disks import STORAGE

USER = "wavetank"
HOMES = f"{STORAGE}/wavetank"  # where hosts keep data, on every node
READY = "/run/wavetank-ready"
MOST_BYTES = 16 * 1024  # of EC2, before base64

# By the clock the end is where the tags have it; a clock that is wrong makes it no later than the whole time.
# 'shutdown' needs the login manager, which may not run that early; systemd-run reaches the first process itself.
END = (
    "m=$(( ({at} - $(date +%s) + 59) / 60 )); [ $m -ge 1 ] || m=1; [ $m -le {most} ] || m={most}; "
    "shutdown -P +$m || systemd-run --unit=wavetank-ttl --on-active=${{m}}m systemctl poweroff"
)
# Whether that end is scheduled: asked by ssh before the instance is used.
HAS_END = (
    "test -e /run/systemd/shutdown/scheduled || systemctl is-active --quiet wavetank-ttl.timer"
)

# Debian's packages start their services as they are installed, unless this says no (invoke-rc.d(8)). Drivers start servers of
# their own, at the same ports.
NO_SERVICES = "/usr/sbin/policy-rc.d"
KEEP_SERVICES_OFF = f"printf '#!/bin/sh\\nexit 101\\n' >{NO_SERVICES} && chmod 755 {NO_SERVICES}"

# Disks that are neither the root's nor in use. Types of the Nitro generation tell by the model what a disk is.
DISK = """set -e
root=$(lsblk -no PKNAME "$(findmnt -no SOURCE /)" | head -n 1)
set --
for disk in $(lsblk -dno NAME,TYPE | awk '$2 == "disk" {{ print $1 }}'); do
  [ "$disk" != "$root" ] || continue
  [ -z "$(lsblk -no MOUNTPOINT "/dev/$disk" | tr -d '[:space:]')" ] || continue
  {which}
  [ $# -eq {number} ] || set -- "$@" "/dev/$disk"
done
[ $# -eq {number} ] || {{ echo "{storage} needs {number} disks, and there are $#" >&2; exit 1; }}
{join}n=
for device in "$@"; do
  mkdir -p "{storage}$n"
  mkfs.{kind} {force} "$device"
  mount "$device" "{storage}$n"
  n=$(( ${{n:-1}} + 1 ))
done
"""
JOIN = """mdadm --create /dev/md/wavetank --run --level=0 --raid-devices=$# "$@"
set -- /dev/md/wavetank
"""
OWN_DISK, VOLUME = "Instance Storage", "Elastic Block Store"
BY_MODEL = 'case $(lsblk -dno MODEL "/dev/$disk") in *"{not_model}"*) continue ;; esac'
# Nova gives a volume its id as serial number (of virtio the first 20 characters); other disks have none. A configuration drive may be
# a disk too.
SERIAL = "[0-9a-f]*-[0-9a-f]*-[0-9a-f]*-*"
IS_VOLUME = f'case $(lsblk -dno SERIAL "/dev/$disk") in {SERIAL}) ;; *) continue ;; esac'
IS_NO_VOLUME = (
    f'case $(lsblk -dno SERIAL "/dev/$disk") in {SERIAL}) continue ;; esac; '
    '[ "$(lsblk -dno LABEL "/dev/$disk")" != config-2 ] || continue'
)


@dataclass(frozen=True)
class DataDisks:
    """Disks that become the storage of a node.

    Attributes:
        number: of them.
        own: the instance's own, not volumes.
        local_file_system: "xfs" or "ext4".
        striped: whether several are one device (RAID 0); else each is mounted by itself: /storage, /storage2, ...
        by_serial: whether volumes are told from other disks by their serial number (OpenStack), not by the model (EC2).
    """

    number: int
    own: bool
    local_file_system: str
    striped: bool = False
    by_serial: bool = False

    def script(self) -> str:
        """Shell text that makes and mounts the storage."""
        which = BY_MODEL.format(not_model=VOLUME if self.own else OWN_DISK)
        if self.by_serial:
            which = IS_NO_VOLUME if self.own else IS_VOLUME
        return DISK.format(
            storage=STORAGE,
            number=self.number,
            which=which,
            join=JOIN if self.striped else "",
            kind=self.local_file_system,
            force={"xfs": "-f", "ext4": "-F"}[self.local_file_system],
        )


HOME = "mkdir -p {homes} && chown {user} {homes}"


def packages_of(remedies: Iterable[str]) -> tuple[str, ...]:
    """Debian packages that remedies like "apt-get install rpcbind" name, each once."""
    found: dict[str, None] = {}
    for remedy in remedies:
        for match in re.finditer(r"apt-get install ((?:[a-z0-9][a-z0-9.+-]+ ?)+)", remedy):
            found.update(dict.fromkeys(match[1].split()))
    return tuple(found)


def modules_of(remedies: Iterable[str]) -> tuple[str, ...]:
    """Modules of the kernel that remedies like "modprobe fuse" name, each once."""
    found = (match[1] for each in remedies for match in re.finditer(r"modprobe ([a-z0-9_]+)", each))
    return tuple(dict.fromkeys(found))


def user_data(
    *,
    expires: datetime,
    ttl_s: float,
    keys: Keys,
    packages: Iterable[str],
    disks: DataDisks | None,
    modules: Iterable[str] = (),
    services_off: bool = False,
    prepare: Iterable[str] = (),
) -> str:
    """The cloud-config of instances.

    Args:
        expires: when they end themselves.
        ttl_s: seconds from now till then.
        keys: of the cluster.
        packages: as the distribution calls them.
        disks: of nodes that hold data; None for others.
        modules: of the kernel, which are loaded after the packages are there.
        services_off: whether packages are kept from starting their services as they are installed.
        prepare: shell texts of what else is installed, after the packages.
    """
    end = END.format(at=int(expires.timestamp()), most=max(1, -(-int(ttl_s) // 60)))
    run: list[list[str]] = [
        ["sh", "-c", end]
    ]  # again where the first could not be scheduled that early
    if disks is not None:
        run.append(["sh", "-c", disks.script()])
    run += [["sh", "-c", text] for text in prepare]
    home, names = HOME.format(homes=HOMES, user=USER), sorted(set(packages))
    run += [["modprobe", "--", module] for module in modules]
    if services_off:
        run.append(["rm", "-f", NO_SERVICES])
    # all in one: the marker says that everything before it went well
    script = " && ".join(
        shlex.join(argv) for argv in [*run[1:], ["sh", "-c", home], ["touch", READY]]
    )
    body = {
        "bootcmd": [
            ["sh", "-c", end],
            *([["sh", "-c", KEEP_SERVICES_OFF]] if services_off else []),
        ],
        "ssh_deletekeys": True,
        "ssh_keys": {"ed25519_private": keys.host_private, "ed25519_public": keys.host_public},
        "users": [
            "default",
            {
                "name": USER,
                "shell": "/bin/sh",
                "sudo": "ALL=(ALL) NOPASSWD:ALL",
                "lock_passwd": True,
                "ssh_authorized_keys": [keys.user_public],
            },
        ],
        # or cloud-init mounts an own disk of older types at /mnt; its schema has no null in place of a mount point
        "mounts": [["ephemeral0"]],
        # an empty list is against its schema
        **({"package_update": True, "packages": names} if names else {}),
        "runcmd": [["sh", "-c", f"{HAS_END} || {{ {end}; }}"], ["sh", "-c", script]],
    }
    text = "#cloud-config\n" + yaml.safe_dump(body, sort_keys=False, width=4096)
    if len(text.encode()) > MOST_BYTES:
        raise ValueError(
            f"user data of {len(text)} bytes is more than {MOST_BYTES}: {json.dumps(names)}"
        )
    return text
