"""Interrupts (Ctrl-C, SIGTERM, SIGHUP) while a cluster comes up or goes down: the first acts, its clean-up is let finish.

Handlers are Python's, of the main thread; signals that are ignored or end the process at once are left as they are.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], object]


def struck(status: int) -> bool:
    """Whether an interrupt ended a program of ours, by its status as subprocess gives it.

    Programs run in sessions of their own, which Ctrl-C does not reach. One that was just forked is in ours for a
    moment yet; it did nothing and can be run again.
    """
    return -status in SIGNALS


def answer(text: str) -> None:
    """Say something from within a handler of a signal, on standard error.

    Straight to the descriptor: Python's streams refuse a write within another one of theirs, which the signal may have met.
    """
    with contextlib.suppress(OSError):  # closed, or nobody reads it
        os.write(2, f"wavetank: {text}\n".encode())


@contextlib.contextmanager
def once(doing: str) -> Iterator[Callable[[], None]]:
    """Let the first interrupt end the block; during the clean-up after it, later ones are only answered.

    Args:
        doing: what is done after the first one, for people who interrupt again.

    Yields:
        A function to call where the block can no longer fail: it raises the interrupt again in case something
        swallowed it (Python drops exceptions in callbacks of the garbage collector).
    """
    came: list[int] = []

    def wrap(before: Handler) -> Handler:
        def act(number: int, frame: FrameType | None) -> None:
            came.append(number)
            if len(came) > 1:
                answer(f"{doing}; please wait")
            else:
                before(number, frame)

        return act

    with _handled(wrap) as handlers:

        def check() -> None:
            if came:
                handlers[came[0]](came[0], None)

        yield check


@contextlib.contextmanager
def held_back(doing: str) -> Iterator[None]:
    """Finish the block whatever interrupts; then the first interrupt acts."""
    came: list[int] = []

    def wrap(before: Handler) -> Handler:
        del before

        def note(number: int, frame: FrameType | None) -> None:
            del frame
            came.append(number)
            answer(f"{doing}; please wait")

        return note

    try:
        with _handled(wrap):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


@contextlib.contextmanager
def _handled(wrap: Callable[[Handler], Handler]) -> Iterator[dict[int, Handler]]:
    """Handlers wrapped for the time of the block; yields those before, by number."""
    before: dict[int, Handler] = {}
    if threading.current_thread() is threading.main_thread():
        now = {int(number): signal.getsignal(number) for number in SIGNALS}
        before = {number: handler for number, handler in now.items() if callable(handler)}
    try:
        for number, handler in before.items():
            signal.signal(number, wrap(handler))
        yield before
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
