"""The emulator of AWS with instances that are machines: each is a node of a local cluster with a real sshd.

Usage: aws_machines.py LOCAL, in the network of the local cluster LOCAL; else as aws_emulator.py.
What is real: users, keys, ssh, and the shell text of the user data, which is run as cloud-init would. What is not: packages, which
this machine has already; programs that would change this machine (STAND_INS); the boot. A node stands for one instance, once:
without a free one there is no room. With WAVETANK_TEST_AWS_REUSED in the environment it stands for others later, without what
instances left. An instance that ends takes all of its processes with it.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
import yaml
from aws_emulator import MAKERS, Hostile, serve

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.filesystems.base import wait_until
from wavetank.cluster.host import Host

BIN = "/run/loopback/bin"
REUSED = "WAVETANK_TEST_AWS_REUSED" in os.environ
WASH = "umount -l /made-by-aws/mount; rm -rf /storage/wavetank /run/wavetank-* /run/systemd/shutdown /run/loopback*; true"
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


def first_start(host: Host, user_data: str) -> None:
    """What an instance does at its first start, as far as a node can do it."""
    asked: dict[str, Any] = yaml.safe_load(base64.b64decode(user_data))
    user = asked["users"][1]
    key = user["ssh_authorized_keys"][0] + "\n"
    name = f"ip-{host.address.replace('.', '-')}"
    host.run(["sh", "-ec", MAKE_USER, "sh", user["name"], name], stdin=key)
    for program, text in STAND_INS.items():
        host.run(["sh", "-ec", PUT, "sh", program, text])
    path = {"PATH": f"{BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    for argv in [*asked["bootcmd"], *asked["runcmd"]]:
        host.run(argv, env=path)
    host_key = asked["ssh_keys"]["ed25519_private"]
    host.run(["sh", "-c", "umask 077; cat >/run/loopback-host-key"], stdin=host_key)
    host.start(SSHD, log="sshd-loopback")
    wait_until(host, ["sh", "-c", "ss -ltn | grep -q ':22 '"], "sshd", HANG_S, "sshd-loopback")


class Loopback(Hostile):
    """Instances are nodes."""

    restates = True

    def __init__(self, local: str) -> None:
        super().__init__()
        self.free = list(deploy.find(local).compute_hosts)
        self.hosts: dict[str, Host] = {}  # of each instance that there is or was
        self.washed: set[str] = set()
        self.taking = threading.Lock()

    def _before_run(self, asked: dict[str, list[str]]) -> Any:
        own = super()._before_run(asked)
        if own is None and int(asked["MinCount"][0]) > len(self.free):
            return 500, "InsufficientInstanceCapacity", "All nodes have stood for instances."
        return own

    def _after(self, name: str, region: str, asked: dict[str, list[str]], text: bytes) -> bytes:
        text = super()._after(name, region, asked, text)
        instances = re.findall(MAKERS["RunInstances"], text.decode())
        if name == "RunInstances":
            for each in instances:
                with self.taking:
                    self.hosts[each] = self.free.pop(0)
                first_start(self.hosts[each], asked["UserData"][0])
        if name == "TerminateInstances":
            for each in instances:
                self._power_off(each)
        return text

    def _end(self, instance: str) -> None:
        super()._end(instance)
        self._power_off(instance)

    def _power_off(self, instance: str) -> None:
        """Kill everything in the node but its first process, and who asks for it."""
        host = self.hosts[instance]
        host.run(["sh", "-c", "kill -9 -1 || true"])
        if REUSED and instance not in self.washed:
            self.washed.add(instance)
            host.run(["sh", "-c", WASH])
            with self.taking:
                self.free.append(host)

    def _restate(self, item: ET.Element, instance: str, space: str) -> None:
        super()._restate(item, instance, space)
        if instance not in self.hosts:  # it starts just now
            return
        for element in item.iter():
            if element.tag in (f"{space}ipAddress", f"{space}privateIpAddress"):
                element.text = self.hosts[instance].address


if __name__ == "__main__":
    serve(Loopback(sys.argv[1]))
