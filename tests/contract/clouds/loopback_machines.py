"""Machines of a cloud that are nodes of a local cluster, each with a real sshd: what emulators of all clouds share.

What is real: users, keys, ssh, and the shell text of the user data, which is run as cloud-init would. What is not: packages, which
this machine has already; programs that would change this machine (STAND_INS); the boot. A node stands for one machine, once.
With WAVETANK_TEST_CLOUD_REUSED in the environment it stands for others later, without what machines left. A machine that ends takes
all of its processes with it.
"""

from __future__ import annotations

import base64
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
import yaml
from emulated_account import MOUNT

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.filesystems.base import wait_until
from wavetank.cluster.host import Host

BIN = "/run/loopback/bin"
REUSED = "WAVETANK_TEST_CLOUD_REUSED" in os.environ
WASH = f"""
umount -l {MOUNT} /storage2
rm -rf /storage/wavetank /storage/of-* /run/wavetank-* /run/systemd/shutdown /run/loopback*
true
"""
# Disks have names that no machine has. The storage is the node's own disk, which is there.
STAND_INS = {
    "shutdown": 'mkdir -p /run/systemd/shutdown; echo "$@" >/run/systemd/shutdown/scheduled',
    "systemctl": "exit 1",
    "systemd-run": "exit 1",
    "modprobe": "exit 0",
    "mdadm": "exit 0",
    "mkfs.xfs": "exit 0",
    "mkfs.ext4": "exit 0",
    "lsblk": """case "$*" in
  *NAME,TYPE*) for i in 1 2 3 4 5 6 7 8; do echo "standin$i disk"; done ;;
  *PKNAME*) echo standin0 ;;
esac""",
    "mount": "exit 0",
}
# $1: user, $2: hostname. Standard input: the user's public key. What cloud-init does with "users" and the name.
MAKE_USER = f"""
id "$1" >/dev/null 2>&1 || useradd -m -p '*' "$1"
printf '%s ALL=(ALL) NOPASSWD: ALL\\n' "$1" >/etc/sudoers.d/wavetank-loopback
mkdir -p /run/sshd {BIN}
cat >/run/loopback-keys
chmod 644 /run/loopback-keys
hostname "$2"
echo "127.0.0.1 localhost $2" >/etc/hosts
"""
# $1: name, $2: text
PUT = f'printf "#!/bin/sh\\n%s\\n" "$2" >{BIN}/$1 && chmod 755 {BIN}/$1'
SSHD = (
    "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", "22", "-h", "/run/loopback-host-key",
    "-o", "AuthorizedKeysFile=/run/loopback-keys", "-o", "StrictModes=no", "-o", "MaxStartups=100",
    "-o", "KexAlgorithms=curve25519-sha256",
)  # fmt: skip


class Machines:
    """Nodes, and which of them stands for which machine."""

    def __init__(self, local: str) -> None:
        """Take the compute nodes of a local cluster of this name."""
        self._free = list(deploy.find(local).compute_hosts)
        self._hosts: dict[str, Host] = {}  # of each machine that there is or was
        self._washed: set[str] = set()
        self._taking = threading.Lock()

    @property
    def n_free(self) -> int:
        """Nodes that have stood for no machine yet."""
        return len(self._free)

    def get(self, machine: str) -> Host | None:
        """The node that stands for a machine; None where none does yet."""
        return self._hosts.get(machine)

    def take(self, machine: str) -> Host:
        """Have a node stand for a machine, which has not started yet."""
        with self._taking:
            host = self._hosts[machine] = self._free.pop(0)
        return host

    def power_off(self, machine: str) -> None:
        """Kill everything in the node but its first process, and who asks for it."""
        host = self._hosts[machine]
        host.run(["sh", "-c", "kill -9 -1 || true"])
        if REUSED and machine not in self._washed:
            self._washed.add(machine)
            host.run(["sh", "-c", WASH])
            with self._taking:
                self._free.append(host)


def first_start(
    host: Host, name: str, user_data: str, programs: Mapping[str, str] | None = None
) -> None:
    """What a machine does at its first start, as far as a node can do it.

    Args:
        host: the node.
        name: that the cloud gives the machine.
        user_data: as the cloud was given it, in base64.
        programs: further ones in place of this machine's, by name: shell text.
    """
    asked: dict[str, Any] = yaml.safe_load(base64.b64decode(user_data))
    user = asked["users"][1]
    key = user["ssh_authorized_keys"][0] + "\n"
    host.run(["sh", "-ec", MAKE_USER, "sh", user["name"], name], stdin=key)
    for program, text in {**STAND_INS, **(programs or {})}.items():
        host.run(["sh", "-ec", PUT, "sh", program, text])
    path = {"PATH": f"{BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    for argv in [*asked["bootcmd"], *asked["runcmd"]]:
        host.run(argv, env=path)
    host_key = asked["ssh_keys"]["ed25519_private"]
    host.run(["sh", "-c", "umask 077; cat >/run/loopback-host-key"], stdin=host_key)
    host.start(SSHD, log="sshd-loopback")
    wait_until(host, ["sh", "-c", "ss -ltn | grep -q ':22 '"], "sshd", HANG_S, "sshd-loopback")
