"""What is done now, a line a step: on standard error also without ``-v``, for clusters and builds that take minutes.

Steps are records of one logger; the command line prints them. Whatever waits for long says so once a minute.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

STEPS = "wavetank.steps"
EVERY = timedelta(minutes=1)

steps = logging.getLogger(STEPS)


class Reminder:
    """Whether it is time to say again what is waited for.

    Args:
        began: when waiting began.
    """

    def __init__(self, began: datetime) -> None:
        self._began = self._said = began

    def is_due(self, now: datetime) -> bool:
        """Whether a minute went by since something was said; then that is now."""
        if now - self._said < EVERY:
            return False
        self._said = now
        return True

    def waited(self, now: datetime) -> str:
        """For how long, e.g. "4 min"."""
        return f"{int((now - self._began) / EVERY)} min"
