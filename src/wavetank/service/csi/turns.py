"""One call for a volume at a time, and how long a call may take."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from wavetank.service.csi.statuses import CallError, Code

LONGEST_S = 600.0
"""Of a call whose caller sets no limit."""


class Call(Protocol):
    """What is known of a call: a part of gRPC's ``ServicerContext``."""

    def time_remaining(self) -> float | None:
        """Seconds; None: the caller sets no limit."""

    def is_active(self) -> bool:
        """Whether the caller still waits."""


def remaining_s(call: Call) -> float:
    """How long a call may still take."""
    left = call.time_remaining()
    return LONGEST_S if left is None else max(0.0, left)


class Turns:
    """Lets calls for one volume follow each other; calls for different ones do not wait."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._taken: set[str] = set()

    @contextmanager
    def of(self, volume: str, call: Call) -> Iterator[None]:
        """Have the volume alone.

        Raises:
            CallError: ABORTED: another call has it for as long as this one may take.
        """
        with self._condition:
            if not self._condition.wait_for(lambda: volume not in self._taken, remaining_s(call)):
                raise CallError(
                    Code.ABORTED, f"another call for {volume} is not done yet: repeat this one"
                )
            self._taken.add(volume)
        try:
            yield
        finally:
            with self._condition:
                self._taken.discard(volume)
                self._condition.notify_all()
