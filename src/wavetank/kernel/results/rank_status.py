"""What ranks are at, as the processes that watch them say it (native/replay/ranks/watchdog.c), and what launchers say.

Samples, each on a line of standard output:

    wavetank-replay-waiting {"rank": 1, "call": "barrier", "file": "communicator 0", "offset": -1, "size": -1,
     "step": 7, "steps": 9, "state": "waits", "seconds": 60.1}    (one line)
    wavetank-replay-moving {"rank": 1}

and, when MPI_Init is through:

    wavetank-replay-started

and, when the run is over (replay_output.py):

    wavetank-replay-result-end
    wavetank-replay-failure {...}
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from wavetank.kernel.document.calls import is_collective

_NEWS = re.compile(r"wavetank-replay-(waiting|moving) (\{.*\})")
_STARTED = "wavetank-replay-started"
_OVER = ("wavetank-replay-result-end", "wavetank-replay-failure {")
_MOST_TOLD = 8  # ranks
_SLOWEST_BYTES_PER_S = 1e6  # at which a collective call is still taken for one that moves its bytes

# mpirun (Open MPI 4.1): "mpirun noticed that process rank 1 with PID 0 on node n exited on signal 9 (Killed)."
_BY_RANK = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on signal (\d+)")
# mpiexec (MPICH's hydra 4.0): "=   PID 4711 RUNNING AT n", "=   EXIT CODE: 9". It ends the other ranks by the same
# signal and names any of them, so the number says nothing.
_OF_SOME = re.compile(r"PID \d+ RUNNING AT .*?EXIT CODE: (\d+)", re.DOTALL)


class Watch:
    """Follows what is said of ranks that make no progress."""

    def __init__(self, n_ranks: int, tell: Callable[[str], None] = lambda _: None) -> None:
        """``tell`` is given a sentence on each rank that makes no progress, unless it pauses."""
        self._n_ranks = n_ranks
        self._tell = tell
        self._waiting: dict[int, dict[str, Any]] = {}
        self._closed = False
        self.is_stuck = False
        self._still_since: float | None = None
        self.has_started = False
        self._told_start = False
        self._over_since: float | None = None

    def over_for(self) -> float:
        """Seconds since a result or a failure was told; 0 before."""
        return 0.0 if self._over_since is None else time.monotonic() - self._over_since

    def close(self) -> None:
        """Take no more news: ranks that are being ended move again, or fail."""
        self._closed = True

    def line(self, line: str) -> bool:
        """Take a line of standard output; True when every rank waits for other ranks, so none can go on."""
        self.has_started |= _STARTED in line
        if not self._closed and self._over_since is None and any(word in line for word in _OVER):
            self._over_since = time.monotonic()
        found = None if self._closed else _NEWS.search(line)
        if found is None:
            return False
        try:
            news = json.loads(found[2])
            rank = int(news["rank"])
        except (json.JSONDecodeError, KeyError, ValueError):  # broken by another rank's output
            return False
        if found[1] == "moving":
            self._waiting.pop(rank, None)
            self._still_since = None
            return False
        self._waiting[rank] = news
        if news["state"] == "starts" and not self.has_started:
            self._tell_start(float(news["seconds"]))
        elif news["state"] != "pauses":
            self._tell(f"no progress for {news['seconds']:.0f} s: rank {rank} {_doing(news)}")
        self.is_stuck = len(self._waiting) == self._n_ranks and all(
            each["state"] == "waits" for each in self._waiting.values()
        )
        if self._still_since is None and self._all_wait_in_calls():
            self._still_since = time.monotonic()
        return self.is_stuck

    def _tell_start(self, seconds: float) -> None:
        """Once for all ranks: a launcher with many of them on few cores takes its time."""
        if not self._told_start:
            self._told_start = True
            self._tell(f"MPI has not started all {self._n_ranks} ranks after {seconds:.0f} s")

    def is_stuck_for(self, seconds: float) -> bool:
        """Whether all ranks have stood for so long in calls in which they wait for each other.

        A collective call that moves bytes may take its time: they are added at 1 MB/s.
        """
        if self._still_since is None:
            return False
        told = self._waiting.values()
        moved = sum(max(0, int(each["size"])) for each in told if each["state"] == "works")
        stood = time.monotonic() - self._still_since + min(float(each["seconds"]) for each in told)
        if stood >= seconds + moved / _SLOWEST_BYTES_PER_S:
            self.is_stuck = True
        return self.is_stuck

    def _all_wait_in_calls(self) -> bool:
        """Whether no rank does anything on its own: each is in a barrier or a collective call."""
        return len(self._waiting) == self._n_ranks > 1 and all(
            each["state"] == "waits" or (each["state"] == "works" and is_collective(each["call"]))
            for each in self._waiting.values()
        )

    def told(self) -> str:
        """What each rank is at, as far as it is known."""
        ranks = sorted(self._waiting)
        parts = [f"rank {rank} {_doing(self._waiting[rank])}" for rank in ranks[:_MOST_TOLD]]
        if len(ranks) > _MOST_TOLD:
            parts.append(f"{len(ranks) - _MOST_TOLD} more ranks make no progress either")
        if len(ranks) < self._n_ranks:
            parts.append(f"no {'other ' if ranks else ''}rank stood still for long")
        return ", ".join(parts)


def who_died(output: str) -> str | None:
    """A sentence on the rank that a launcher says was killed; None if it says nothing."""
    if found := _BY_RANK.search(output):
        return f"rank {found[1]} died (signal {found[2]})"
    if found := _OF_SOME.search(output):
        return f"a rank died (signal or status {found[1]}; the launcher does not tell which)"
    return None


def place(record: Mapping[str, Any]) -> str:
    """Call, file, offset and size; empty where there is no call."""
    parts = [str(record["call"])] if record["call"] else []
    if record["file"]:
        parts.append(f"{'on' if record['call'] == 'barrier' else 'of'} {record['file']}")
    if record["offset"] >= 0:
        parts.append(f"at offset {record['offset']}")
    if record["size"] >= 0:
        parts.append(f"({record['size']} bytes)")
    return " ".join(parts)


def where(record: Mapping[str, Any]) -> str:
    """Where a rank was, after "died": in or after which call."""
    at = place(record)
    if record["state"] == "ended":
        return "after the end of its program"
    if record["state"] == "pauses":
        return f"in a pause after {at}" if at else "in a pause before its first call"
    return f"in {at}" if at else "before its first call"


def _doing(news: Mapping[str, Any]) -> str:
    at = place(news)
    step = f" (step {news['step']} of {news['steps']})" if news["step"] else ""
    if news["state"] == "pauses":
        return f"pauses{at and ' after '}{at}{step}"
    verb = {"waits": "waits in ", "works": "is in "}.get(news["state"])
    return f"{verb}{at}{step}" if verb and at else f"starts{step}"
