"""Options that commands which measure kernels have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def flush_option(command: F) -> F:
    """Add ``--flush/--no-flush``, as argument ``flush``."""
    return click.option(
        "--flush/--no-flush", default=True, show_default=True,
        help="What is written is on storage within the I/O time; or only what the application flushes itself.",
    )(command)  # fmt: skip
