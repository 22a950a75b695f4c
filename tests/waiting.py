"""How tests wait: for what they need to have happened, never for a time to pass.

What a test waits for comes soon on an idle machine and later on a busy one. ``HANG_S`` only ends a test whose event never comes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

HANG_S = 900.0
"""Seconds after which nothing comes any more: far longer than any step of a test takes on a machine that is very busy."""

LOOK_S = 0.02

Value = TypeVar("Value")


def until(happened: Callable[[], Value], what: str = "what the test waits for") -> Value:
    """Look again and again until ``happened`` gives something that counts as true; that is returned.

    Raises:
        AssertionError: it has not happened after ``HANG_S``; with ``what``.
    """
    deadline = time.monotonic() + HANG_S
    while not (value := happened()):
        assert time.monotonic() < deadline, f"not within {HANG_S:g} s: {what}"
        time.sleep(LOOK_S)
    return value


def between_looks(n: int = 1) -> None:
    """Wait as between two looks, or ``n`` times that where a look costs much: for what looks by itself, and is told how it waits."""
    time.sleep(n * LOOK_S)
