"""Memory that was used and is not any more."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LITTLE = 256 << 20  # bytes


@contextmanager
def without_collection() -> Iterator[None]:
    """Let Python not look for unreachable cycles meanwhile: for code that makes many records and keeps them.

    Of a model of 5,800 phases the extraction took a tenth less time so. What was made meanwhile counts as old
    afterwards: the first collection would else go through all of it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():  # what others have frozen stays so
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def return_freed_memory(little: int = _LITTLE) -> None:
    """Return to the system what was freed since, in a process that holds much; where the C library cannot, do nothing.

    glibc keeps freed blocks below 32 MiB: of a million files as much again as their trace takes (measured by
    benchmarks/scale). Of small traces, returning them takes a sixth of an extraction's time.

    Args:
        little: bytes that a process holds, up to which it returns nothing: it would only ask for the same pages again.
    """
    held = _resident_bytes()
    if held is not None and held <= little:
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _resident_bytes() -> int | None:
    """Memory that this process holds; None where the system does not say."""
    try:
        with Path("/proc/self/statm").open("rb", buffering=0) as statm:
            pages = statm.read(256).split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
