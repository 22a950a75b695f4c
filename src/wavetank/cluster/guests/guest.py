"""A guest as its hypervisor starts it, and as its process 1 sets it up.

A guest runs in a node out of namespaces. Its root is that node's: this machine's file system, read-only, below a layer
of the node's own. Its network device is on a bridge with the node's, so the node's limits are the guest's. A second
device leads to the node alone: commands come by it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.cluster.namespaces.network import MTU

# Of the link between a guest and its node; every node has a network namespace, so all can use the same.
NODE_ADDRESS = "10.78.0.1"
GUEST_ADDRESS = "10.78.0.2"
AGENT = f"{GUEST_ADDRESS}:7700"
TAP = "tap0"
# Two seconds on a quiet machine, twenty where it has a tenth of a processor.
BOOT_TIMEOUT_S = 300.0
CONTROL_TAP = "control"
# Below the guest's root: what process 1 runs, and what it makes when commands can come.
DIRECTORY = "/etc/wavetank-guest"
INIT = f"{DIRECTORY}/init"
READY = f"{DIRECTORY}/ready"
# The volume of a guest: in its node a file, or a link to one; in the guest a link to its device.
VOLUME_FILE = f"{DIRECTORY}/volume"
VOLUME_DEVICE = "/run/wavetank-volume"

# Of QEMU: the node's files once more, as what is mounted in the node is seen by them. A root cannot be unmounted to empty its caches.
PASSED_TAG = "passed"
MSIZE_BYTES = 500 * 1024
"""Of 9p: read and written at once; the most that virtio takes (Linux 6.1)."""
OPTIONS_9P = f"trans=virtio,version=9p2000.L,msize={MSIZE_BYTES},cache=mmap,access=any"


@dataclass(frozen=True)
class GuestDisk:
    """A disk of a guest.

    Attributes:
        device: on this machine, e.g. /dev/loop0.
        at: where the guest mounts it.
        kind: of its file system.
    """

    device: str
    at: str
    kind: str


@dataclass(frozen=True)
class Guest:
    """A guest.

    Attributes:
        name: of the node that it is.
        position: of the node, from 0.
        address: on the cluster's network.
        memory_bytes: of the guest's kernel and what runs on it.
        vcpus: as the instance has them.
        disks: the guest's devices, in this order.
        modules: of its kernel, to be loaded.
        around: address of its node on the cluster's network; None: the guest alone is there.
        volume_bytes: size of one more disk, the last, which the guest mounts when the file system is there; None: without.
    """

    name: str
    position: int
    address: str
    memory_bytes: int
    vcpus: float
    disks: tuple[GuestDisk, ...]
    modules: tuple[str, ...]
    around: str | None = None
    volume_bytes: int | None = None

    @property
    def has_view(self) -> bool:
        """Whether it sees what is mounted around it."""
        return self.around is not None and self.volume_bytes is None

    @property
    def files(self) -> tuple[str, ...]:
        """Files and devices of the node that are the guest's disks, in order."""
        volume = (VOLUME_FILE,) if self.volume_bytes is not None else ()
        return (*(disk.device for disk in self.disks), *volume)

    @property
    def mac(self) -> str:
        """Of its device on the cluster's network."""
        return f"02:77:00:00:00:{self.position + 1:02x}"

    @property
    def control_mac(self) -> str:
        """Of its device on the link to its node."""
        return f"02:78:00:00:00:{self.position + 1:02x}"


def node_links(own_address: str | None = None) -> str:
    """``ip -batch`` lines, in a node whose eth0 is connected: a bridge for the guest's device, and the link to it.

    Args:
        own_address: of the node itself on the cluster's network; None: the guest alone is there.
    """
    return "\n".join(
        [
            "address flush dev eth0",
            "link add name guest type bridge forward_delay 0",
            f"link set guest mtu {MTU} up",
            "link set eth0 master guest",
            *([f"address add {own_address}/24 dev guest"] if own_address else []),
            f"tuntap add dev {TAP} mode tap",
            f"link set {TAP} mtu {MTU} master guest up",
            f"tuntap add dev {CONTROL_TAP} mode tap",
            f"address add {NODE_ADDRESS}/30 dev {CONTROL_TAP}",
            f"link set {CONTROL_TAP} up",
            "",
        ]
    )


# $1...: what to do. Fails with a line on the console and ends the guest: nobody would see its kernel panic.
_HEAD = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
do_or_end() {
  "$@" && return
  echo "wavetank: '$*' failed, so the guest ends"
  echo o >/proc/sysrq-trigger
  exec sleep 1000
}
name_device() {
  for device in /sys/class/net/*; do
    if [ "$(cat "$device/address")" = "$1" ]; then
      do_or_end ip link set "${device##*/}" name "$2"
      return
    fi
  done
  do_or_end false "no network device $1"
}
mount -t proc -o nosuid,nodev,noexec proc /proc
do_or_end mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
mountpoint -q /dev || do_or_end mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
do_or_end mount -t devpts -o mode=600,ptmxmode=666 devpts /dev/pts
do_or_end mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs /dev/shm
do_or_end mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs /run
"""


def init_script(guest: Guest, devices: Sequence[str], node_program: str) -> str:
    """What the guest's process 1 does before it becomes the agent.

    Args:
        guest: the guest.
        devices: of its disks, as its kernel names them.
        node_program: path of wavetank-node, which is the agent.
    """
    lines = [
        f"echo {shlex.quote(guest.name)} >/proc/sys/kernel/hostname",
        f"name_device {guest.mac} eth0",
        f"name_device {guest.control_mac} control",
        "do_or_end ip -batch - <<END",
        "link set lo up",
        f"link set eth0 mtu {MTU}",
        f"address add {guest.address}/24 dev eth0",
        "link set eth0 up",
        f"address add {GUEST_ADDRESS}/30 dev control",
        "link set control up",
        "END",
    ]
    if guest.modules:
        lines.append(f"do_or_end modprobe -a {' '.join(guest.modules)}")
    if guest.volume_bytes is not None:
        *devices, volume = devices
        lines.append(f"do_or_end ln -s {volume} {VOLUME_DEVICE}")
    for disk, device in zip(guest.disks, devices, strict=True):
        lines += [
            f"mkdir -p {disk.at}",
            f"do_or_end mount -t {disk.kind} -o noatime {device} {disk.at}",
        ]
    words = [node_program, "agent", AGENT, NODE_ADDRESS, READY]
    lines.append(f"do_or_end exec {shlex.join(words)}")
    return _HEAD + "\n".join(lines) + "\n"
