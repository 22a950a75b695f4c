"""How often one may ask: a bucket of requests for each, which fills at a rate up to what it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable

MOST_BUCKETS = 10_000  # those of strangers come from anywhere; the longest unused goes first


class Rates:
    """Buckets by name. Any thread may take from them."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float]) -> None:
        """Full buckets.

        Args:
            per_s: requests that a bucket gets in a second.
            burst: requests that it holds.
            clock: seconds from any moment on.
        """
        self.per_s = per_s
        self.burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # requests, and when they were counted

    def take(self, name: str) -> float:
        """Take one request out of a bucket.

        Returns:
            0 when there was one; else the seconds until there is, and nothing is taken.
        """
        with self._lock:
            now = self._clock()
            held, counted = self._buckets.pop(name, (float(self.burst), now))
            held = min(float(self.burst), held + (now - counted) * self.per_s)
            wait_s = 0.0 if held >= 1 else (1 - held) / self.per_s
            self._buckets[name] = (held if wait_s else held - 1, now)
            if len(self._buckets) > MOST_BUCKETS:
                del self._buckets[next(iter(self._buckets))]
            return wait_s
