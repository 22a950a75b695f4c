"""Imports numpy without the threads that its linear algebra starts: no command needs them, and they cost half of the import."""

from __future__ import annotations

import os

_THREADS = "OPENBLAS_NUM_THREADS"


def import_numpy() -> None:
    """Import numpy with one thread, unless the user has set their number. Programs that a command starts do not see it."""
    given = _THREADS in os.environ
    os.environ.setdefault(_THREADS, "1")
    import numpy  # noqa: F401 - for all that follow

    if not given:
        del os.environ[_THREADS]
