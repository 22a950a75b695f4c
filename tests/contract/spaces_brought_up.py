"""What tests share of servers that a service brings up by itself: a service with a template of them, and processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from service_fakes import Clock, request, tenant
from service_killing import ended

from wavetank.service.core.own_servers import Template
from wavetank.service.core.records import Device, Kind, Resize, Space
from wavetank.service.daemon.registry import load_clusters, load_makers
from wavetank.service.reconcile.driver import Reconciler
from wavetank.service.reconcile.kinds import MakerOfKinds
from wavetank.service.store.folder import open_store
from wavetank.service.store.store import Store

MIB = 2**20
SMALL = 320 * MIB  # of each server


class Service:
    """A service without servers, and a template of some.

    Args:
        folder: of the test.
        cluster: what the template's cluster file says.
        room: bytes of each server's device.
        most: servers of the template.
    """

    def __init__(self, folder: Path, cluster: dict[str, Any], room: int, most: int = 2) -> None:
        self.folder, self.now = folder, Clock()
        with self.open() as store:
            store.put_tenant(tenant(), self.now())
            template = Template(
                name="mine",
                cluster=cluster,
                devices=(Device(name="/storage", size=room),),
                kinds=("nfs", "glusterfs"),
                most_servers=most,
            )
            load_clusters().see(template)
            store.put_template(template, self.now())

    def open(self):
        return open_store(self.folder / "service")

    def settle(self, store: Store) -> None:
        maker = MakerOfKinds(load_makers(store))
        Reconciler(store, maker, self.now, clusters=load_clusters()).recover()

    def create(self, kind: Kind, servers: int, *access: Any) -> Space:
        asked = request("data", servers * SMALL, kind=kind, mode="dedicated", servers=servers, access=access)  # fmt: skip
        with self.open() as store:
            space, _ = store.create_space("ann", asked, self.now(), "ann")
        return space

    def resize(self, space: Space, size: int, servers: int | None = None) -> None:
        with self.open() as store:
            store.resize_space(space.id, Resize(size=size, servers=servers), self.now(), "ann")

    def delete(self, space: Space) -> None:
        with self.open() as store:
            store.delete_space(space.id, self.now(), "ann")

    def settled(self, space: Space) -> Space:
        with self.open() as store:
            self.settle(store)
            return store.space(space.id)


def killed_after(programs: int, do: Callable[[], object], of: str = "") -> int:
    """Do something in a process of its own that is killed when it starts its n-th program; how that ended.

    Args:
        programs: n, from 0 on.
        do: what is done.
        of: programs are counted that have this in their arguments, as those of a cluster have its folder.
    """

    def child() -> None:
        left, start = programs, subprocess.Popen.__init__

        def counted(self, argv, *args, **others):
            nonlocal left
            left -= any(of in str(word) for word in argv)
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            start(self, argv, *args, **others)

        subprocess.Popen.__init__ = counted
        do()

    return ended(child)
