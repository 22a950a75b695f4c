"""Processes that end at a point: before or after a commit, or anything lasting that a maker does."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wavetank.service.store.connections import Connections

DONE, KILLED, BROKEN = 0, 9, 1


class Points:
    """Counts points; at one of them the process ends."""

    def __init__(self, kill_at: int | None) -> None:
        self.n, self._kill_at = 0, kill_at

    def __call__(self) -> None:
        self.n += 1
        if self.n == self._kill_at:
            os._exit(KILLED)


@contextmanager
def points(kill_at: int | None) -> Iterator[Points]:
    """Points, of which every commit has one before and one after it."""
    counted, commit = Points(kill_at), Connections.commit

    def commit_between_points(connections: Connections) -> None:
        counted()
        commit(connections)
        counted()

    Connections.commit = commit_between_points
    try:
        yield counted
    finally:
        Connections.commit = commit


def ended(child: Callable[[], object]) -> int:
    """Run something in a process of its own; how that ended."""
    process = os.fork()
    if not process:
        try:
            child()
            os._exit(DONE)
        except BaseException:  # noqa: BLE001 - the parent sees how it ended
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(BROKEN)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
