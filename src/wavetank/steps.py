"""What is done now, and how far it is: on standard error also without ``-v``, for whatever takes minutes.

Steps are records of one logger; the command line prints them, and is the only one that decides how. Whatever waits for long
says so once a minute.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, Self, TypeAlias

STEPS = "wavetank.steps"
FAR = "wavetank_far"
"""Attribute of a record that has a ``Far``, beside its words."""
EVERY = timedelta(minutes=1)
Unit: TypeAlias = Literal["", "B", "measurements", "steps"]
_SHORTEST_S = 0.1  # between two records of bytes
_FIRST_ESTIMATE_S, _FIRST_SHARE = 2.0, 0.01
"""What is done before says more of how something begins than of how it goes on."""

steps = logging.getLogger(STEPS)
_numbers = itertools.count()
_under_way: dict[str, Doing] = {}  # by its words: the outermost of each


@dataclass(frozen=True)
class Far:
    """How far something is.

    Attributes:
        what: is done: "reading app.strace".
        number: of it, among all that was begun.
        state: it has begun, goes on, or has ended, done or not.
        done: of it, in units.
        total: of it; None where nobody knows.
        unit: of both.
        left_s: seconds that it still takes, estimated; None where nothing tells.
        say: at once, not only where it takes long.
        every_s: lines of a log are at least so far apart; 0: each is one.
    """

    what: str
    number: int
    state: Literal["begun", "going", "ended"] = "begun"
    done: float = 0
    total: float | None = None
    unit: Unit = ""
    left_s: float | None = None
    say: bool = False
    every_s: float = 10.0


class Doing:
    """Something that may take long, told while it lasts. Use as a context; ``at`` may be called often."""

    def __init__(self, far: Far) -> None:
        self._far = far
        self._began = self._told = 0.0

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        _under_way.setdefault(self._far.what, self)
        _tell(self._far)
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def end(self) -> None:
        """It has ended, before the block does; said once."""
        if self._far.state != "ended":
            self._far = replace(self._far, state="ended")
            _tell(self._far)
            if _under_way.get(self._far.what) is self:
                del _under_way[self._far.what]

    def turns_out(self, total: float, unit: Unit) -> None:
        """It is known by now how much it is."""
        self._far = replace(self._far, state="going", total=total, unit=unit)
        _tell(self._far)

    def at(self, done: float, total: float | None = None, left_s: float | None = None) -> None:
        """Say how far it is.

        Args:
            done: of the whole, in units.
            total: where it is known by now, or is another than before.
            left_s: seconds that it still takes; None: as what is done so far took.
        """
        now = time.monotonic()
        far = self._far
        total = far.total if total is None else total
        if left_s is None:
            if far.unit == "B" and now - self._told < _SHORTEST_S:
                return
            left_s = _estimate(far.unit, now - self._began, done, total)
        self._told = now
        self._far = replace(far, state="going", done=done, total=total, left_s=left_s)
        _tell(self._far)


def doing(
    what: str,
    total: float | None = None,
    unit: Unit = "",
    *,
    say: bool = False,
    every_s: float = 10.0,
) -> Doing:
    """Something that may take long; arguments are those of ``Far``."""
    return Doing(Far(what, next(_numbers), total=total, unit=unit, say=say, every_s=every_s))


@contextmanager
def going_on(what: str, total: float, unit: Unit) -> Iterator[Doing]:
    """Something that a caller may have begun already, under the same words: then it is that, and the caller ends it."""
    begun = _under_way.get(what)
    if begun is None:
        with doing(what, total, unit) as mine:
            yield mine
    else:
        begun.turns_out(total, unit)
        yield begun


def _estimate(unit: Unit, elapsed_s: float, done: float, total: float | None) -> float | None:
    """Seconds left if it goes on as before; steps do not take the same time each."""
    if total is None or unit == "steps" or elapsed_s < _FIRST_ESTIMATE_S:
        return None
    if done <= 0 or done < _FIRST_SHARE * total:
        return None
    return elapsed_s * max(total - done, 0) / done


def _tell(far: Far) -> None:
    steps.info("%s", far.what, extra={FAR: far})


class Reminder:
    """Whether it is time to say again what is waited for.

    Args:
        began: when waiting began.
    """

    def __init__(self, began: datetime) -> None:
        self._began = self._said = began

    def is_due(self, now: datetime) -> bool:
        """Whether a minute went by since something was said; then that is now."""
        if now - self._said < EVERY:
            return False
        self._said = now
        return True

    def waited(self, now: datetime) -> str:
        """For how long, e.g. "4 min"."""
        return f"{int((now - self._began) / EVERY)} min"
