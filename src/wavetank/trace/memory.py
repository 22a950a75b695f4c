"""Memory that was used and is not any more."""

from __future__ import annotations

import ctypes


def return_freed_memory() -> None:
    """Return to the system what was freed since; where the C library cannot, do nothing.

    glibc keeps freed blocks below 32 MiB: of a million files as much again as their trace takes (measured by
    benchmarks/scale).
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
