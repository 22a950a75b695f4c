"""What libraries of clouds log of their calls: credentials and keys are in headers and bodies."""

from __future__ import annotations

import logging
from collections.abc import Iterable


def keep_unlogged(talkers: Iterable[str]) -> None:
    """Have loggers log warnings alone, whatever is asked of wavetank: no log holds credentials or keys.

    Args:
        talkers: names of the loggers of a library.
    """
    for name in talkers:
        talker = logging.getLogger(name)
        talker.setLevel(max(logging.WARNING, talker.getEffectiveLevel()))
