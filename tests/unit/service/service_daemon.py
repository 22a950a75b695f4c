"""A daemon of the service in a process of its own, with a maker whose spaces are folders, that can be killed at a point."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from service_fakes import FolderMaker

from wavetank.service.client.connection import as_administrator, as_tenant
from wavetank.service.core.places import admin_socket
from wavetank.service.daemon.run import serve
from wavetank.service.daemon.settings import Settings
from wavetank.service.store.connections import Connections

BROKEN = 70


class Daemon:
    """Runs from when it is made.

    Attributes:
        folder: of the service.
        url: for tenants.
    """

    def __init__(self, folder: Path, point: Callable[[], None] = lambda: None, **settings: object):
        self.folder = folder
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(reading)
            self._child(writing, point, settings)
        os.close(writing)
        with os.fdopen(reading) as told:
            self.url = told.readline().strip()  # "" when it ended before

    def _child(self, writing: int, point: Callable[[], None], settings: dict[str, object]) -> None:
        try:
            commit = Connections.commit

            def commit_between_points(connections: Connections) -> None:
                point()
                commit(connections)
                point()

            Connections.commit = commit_between_points
            chosen = Settings(folder=self.folder, port=0, retry_s=0.05, **settings)
            maker = FolderMaker(self.folder.parent / "made", point)

            def told(url: str) -> None:
                os.write(writing, f"{url}\n".encode())
                os.close(writing)

            serve(chosen, lambda _: {"glusterfs": maker}, told)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the parent sees how it ended
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(BROKEN)

    def admin(self):
        return as_administrator(admin_socket(self.folder))

    def tenant(self, token, **others):
        return as_tenant(self.url, token, **others)

    def ends(self, number: int | None = None) -> int:
        """Send a signal, wait until it ended, and say how: its status, or minus the signal that killed it."""
        if number is not None:
            os.kill(self.pid, number)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            self.ends(signal.SIGKILL)
