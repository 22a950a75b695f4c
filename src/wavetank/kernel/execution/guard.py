"""Launchers below a process of ours that kills what they leave behind (native/guard)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from wavetank import native

KILL_S = 6.0
"""Seconds that the guard may take to kill what is left, once a launcher's grace is over: it gives up after 5."""

_GUARD = "bin/wavetank-guard"


def guarded(argv: Sequence[str], grace_s: float) -> list[str]:
    """The command line that runs ``argv`` below the guard.

    Without the C parts, as for IOR and fio alone, it is ``argv``; also for a program that is not there, so that the caller learns so.

    Args:
        argv: the launcher and its arguments.
        grace_s: seconds between asking the launcher to end its ranks and killing what is left.
    """
    if not native.available(_GUARD) or shutil.which(argv[0]) is None:
        return list(argv)
    guard = native.find(_GUARD, "end launchers")
    return [str(guard), str(os.getpid()), str(round(grace_s * 1000)), *argv]
