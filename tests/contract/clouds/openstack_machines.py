"""The stand-ins of OpenStack with servers that are machines: each is a node of a local cluster, as loopback_machines.py has it.

Usage: openstack_machines.py LOCAL, in the network of the local cluster LOCAL; else as openstack_standin.py. Without a free node there is
no valid host. A node sees as disks what Nova attaches: a root, a configuration drive, and each volume with its id as serial number. Only
volumes can be formatted, and only what is formatted can be mounted. A floating address is an address of its node. What reaches this
network from outside of the nodes, as whoever runs wavetank does, reaches no node without one.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from loopback_machines import Machines, first_start
from openstack_nova import ZONES
from openstack_standin import Standin
from served_standin import serve

from wavetank.cluster.namespaces.network import SWITCH_ADDRESS

OUTSIDE = "198.51.100.0/24"  # floating addresses of openstack_network.py
UNREACHABLE = ("unreachable", f"{SWITCH_ADDRESS}/32")
LSBLK = """case "$*" in
  *NAME,TYPE*) printf '%s disk\\n' standin0 standin1 {names} ;;
  *PKNAME*) echo standin0 ;;
  *LABEL*standin1) echo config-2 ;;
  {serials}
esac"""
SERIAL = "*SERIAL*{name}) echo {serial} ;;"
MOST_SERIAL = 20  # characters, of virtio
# $1: -f or -F, $2: the device. A file system is a folder on the node's own disk, which is the first one.
MKFS = """case "$2" in {devices}) ;; *) echo "$2 is no volume" >&2; exit 1 ;; esac
mkdir -p "/storage/of-${{2#/dev/}}"
"""
# $1: the device, $2: where it is to be
MOUNT_VOLUME = """folder="/storage/of-${1#/dev/}"
[ -d "$folder" ] || { echo "$1 has no file system" >&2; exit 32; }
[ "$2" = /storage ] || exec /usr/bin/mount --bind "$folder" "$2"
rmdir "$folder" # the node's own disk is there, and holds nothing
"""


class Loopback(Standin):
    """Servers are nodes."""

    def __init__(self, local: str) -> None:
        self.machines = Machines(local)
        super().__init__()
        subprocess.run(["ip", "route", "replace", OUTSIDE, "dev", "switch"], check=True)

    def clear(self) -> None:
        super().clear()
        self.user_data: dict[str, str] = {}  # of each server that has not started
        self.reached: dict[str, str] = {}  # server by its floating address

    def _start(self, asked: Any) -> str:
        server = super()._start(asked)
        self.user_data[server] = asked["server"]["user_data"]
        return server

    def _place(self, server: dict[str, Any]) -> None:
        """Also a node for the server, with its address, and the first start on it."""
        self.no_room = [] if self.machines.n_free else list(ZONES)
        super()._place(server)
        identifier = server["id"]
        if server["status"] != "ACTIVE":
            return
        host = self.machines.take(identifier)
        server["addresses"]["lan"][0]["addr"] = host.address
        for port in self.neutron.things["port"].values():
            if port["device_id"] == identifier:
                port["fixed_ips"][0]["ip_address"] = host.address
        host.run(["ip", "route", "replace", *UNREACHABLE])
        volumes = [
            key
            for key, each in self.volumes.items()
            if each.get("server") == identifier and each["bootable"] == "false"
        ]
        user_data = self.user_data.pop(identifier)
        first_start(host, server["name"][:63], user_data, _disks(volumes))

    def _nova(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        answer = super()._nova(method, path, asked, query)
        server = path.rpartition("/")[2]
        if method == "DELETE" and self.machines.get(server) is not None:
            self.machines.power_off(server)
        return answer

    def _neutron(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        """Floating addresses are reached while they are there."""
        answer = super()._neutron(method, path, asked, query)
        ports = self.neutron.things["port"]
        given = {
            each["floating_ip_address"]: ports[each["port_id"]]["device_id"]
            for each in self.neutron.things["floatingip"].values()
            if each["port_id"] in ports
        }
        for address, server in self.reached.items() - given.items():
            self._reach(server, address, "delete")
        for address, server in given.items() - self.reached.items():
            self._reach(server, address, "add")
        self.reached = given
        return answer

    def _reach(self, server: str, address: str, do: str) -> None:
        """At no interface of the server's network: MPI would call other ranks from there, and no server has that address itself."""
        host = self.machines.get(server)
        assert host is not None
        host.run(["ip", "address", do, f"{address}/32", "dev", "lo"])
        host.run(["ip", "route", "delete" if do == "add" else "add", *UNREACHABLE])


def _disks(volumes: list[str]) -> dict[str, str]:
    """Programs of a node that see its volumes as disks."""
    names = [f"standin{i + 2}" for i in range(len(volumes))]
    serials = [
        SERIAL.format(name=name, serial=volume[:MOST_SERIAL])
        for name, volume in zip(names, volumes, strict=True)
    ]
    devices = "|".join(["/dev/md/wavetank", *(f"/dev/{name}" for name in names)])
    mkfs = MKFS.format(devices=devices)
    return {
        "lsblk": LSBLK.format(names=" ".join(names), serials="\n  ".join(serials)),
        "mkfs.xfs": mkfs,
        "mkfs.ext4": mkfs,
        "mount": MOUNT_VOLUME,
    }


if __name__ == "__main__":
    serve(Loopback(sys.argv[1]))
