"""The moment at which a replay's time runs out, or a fault comes: when its ranks have said where they are, not after a time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from wavetank.kernel.execution import child_process, replay
from wavetank.kernel.results.rank_status import Watch

AHEAD_S = 1e6


class Clock:
    """Stands for the module ``time`` where a replay's limits are kept: from a moment on it is ahead of the machine's clock."""

    def __init__(
        self,
        has_come: Callable[[], bool],
        ahead_s: float = AHEAD_S,
        when_seen: Callable[[], object] = lambda: None,
    ) -> None:
        """``has_come`` tells whether the moment has come; ``when_seen`` is called when the limits were looked at since."""
        self._has_come, self._ahead_s, self._when_seen = has_come, ahead_s, when_seen
        self._has_begun, self._looks = False, 0

    def monotonic(self) -> float:
        if not self._has_begun or not self._has_come():  # first asked for the time of the start
            self._has_begun = True
            return time.monotonic()
        self._looks += 1
        if self._looks == 10:  # a turn of waiting looks twice
            self._when_seen()
        return time.monotonic() + self._ahead_s

    sleep = staticmethod(time.sleep)


def when_told(patch: pytest.MonkeyPatch, *words: str, do: Callable[[], object]) -> None:
    """Have something done once, when all of these words are in what is known of a replay's ranks."""

    class Followed(Watch):
        is_done = False

        def line(self, line: str) -> bool:
            is_stuck = super().line(line)
            if not self.is_done and all(word in self.told() for word in words):
                self.is_done = True
                do()
            return is_stuck

    patch.setattr(replay, "Watch", Followed)


def time_runs_out_when_told(patch: pytest.MonkeyPatch, *words: str) -> None:
    """Let the time limit of replays run out when all of these words are in what is known of their ranks."""
    told: list[bool] = []
    patch.setattr(child_process, "time", Clock(lambda: bool(told)))
    when_told(patch, *words, do=lambda: told.append(True))
