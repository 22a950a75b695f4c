"""Jobs of spaces, each in a thread of its own, and one at a time on each server.

A space that lies on several servers waits for all of them. Who came first has its turn first on each server that it needs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Lanes:
    """Runs jobs. Any thread may offer one.

    Attributes:
        failed: called, in the thread of a job, with what it raised.
    """

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self.failed = failed
        self._changed = threading.Condition()
        self._waiting: dict[str, tuple[frozenset[str], Callable[[], object]]] = {}
        self._busy: set[str] = set()
        self._is_open = True

    def offer(self, name: str, servers: frozenset[str], job: Callable[[], object]) -> None:
        """Run a job when its servers are free. A job of that name which has not begun yet is the same one.

        Args:
            name: of the job.
            servers: that no other job is run on meanwhile.
            job: what to run.
        """
        with self._changed:
            if self._is_open and name not in self._waiting:
                self._waiting[name] = servers | {f"job {name}"}, job
                self._begin()

    def close(self) -> None:
        """Begin no further job, and wait for those that run."""
        with self._changed:
            self._is_open = False
            self._waiting.clear()
            self._changed.wait_for(lambda: not self._busy)

    def _begin(self) -> None:
        """Begin all jobs whose servers are free of those that run, and of those that came before."""
        taken = set(self._busy)
        for name, (servers, job) in tuple(self._waiting.items()):
            if taken.isdisjoint(servers):
                del self._waiting[name]
                self._busy |= servers
                thread = threading.Thread(
                    target=self._run, args=(servers, job), name=name, daemon=True
                )
                thread.start()
            taken |= servers

    def _run(self, servers: frozenset[str], job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - whoever offered it decides
            self.failed(error)
        finally:
            with self._changed:
                self._busy -= servers
                self._begin()
                self._changed.notify_all()
