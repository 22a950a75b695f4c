"""What can be wrong with the book, and how its commands tell it."""

from __future__ import annotations

import sys
from collections.abc import Callable


class BookError(Exception):
    """A page, a link or a notebook that has to be put right: says where and what."""


def ended(command: Callable[[], str]) -> int:
    """The exit status of a command of the book; what it did, or what is wrong, is printed.

    Args:
        command: does it, and says what it did.
    """
    try:
        print(f"book: {command()}")
    except BookError as error:
        print(f"book: {error}", file=sys.stderr)
        return 1
    return 0
