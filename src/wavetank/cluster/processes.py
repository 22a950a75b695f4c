"""Processes of this machine: found by their environment or their command line, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Literal


def words_of_processes(what: Literal["environ", "cmdline"]) -> Iterator[tuple[int, list[bytes]]]:
    """Number and words of each process but this one; those that ended or are another user's left out."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / what).read_bytes().split(b"\0")


def marked(mark: str) -> set[int]:
    """Numbers of those with NAME=VALUE in their environment; the dead have none any more."""
    return {pid for pid, words in words_of_processes("environ") if os.fsencode(mark) in words}


def end_all(find: Callable[[], Collection[int]], within_s: float) -> list[int]:
    """Kill what is found until nothing is found any more; says what does not end in time."""
    deadline = time.monotonic() + within_s
    while found := find():
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return sorted(found)
        time.sleep(0.01)
    return []
