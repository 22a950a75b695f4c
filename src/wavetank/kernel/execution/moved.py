"""How much the ranks of a replay have moved so far, as the kernel of the system counts it.

For progress alone: the count has what the MPI library reads and writes beside, and lacks what goes through mappings.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Self, TypeAlias

from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.child_process import mentioning
from wavetank.steps import Doing

_EVERY_S = 1.0
_AGAIN_S = 10.0  # between two searches for ranks, which read the command lines of all processes
NEARLY = 0.99
"""Ranks may move more than the kernel has: they are done when they end."""
_RANK = b"wavetank-replay"  # as the system cuts the names of our programs
_MOVED = re.compile(rb"^(?:rchar|wchar): (\d+)$", re.MULTILINE)


def how_far(replaying: Doing, kernel: Kernel, n_runs: int = 1) -> Callable[[int], None]:
    """What takes the bytes that the ranks of a kernel have moved so far, and tells the share of all.

    Args:
        replaying: is told.
        kernel: that is performed.
        n_runs: so often, one after another; a count that becomes less is that of the next run.
    """
    whole = sum(phase.ph_weight for phase in kernel.phases)
    before = last = 0

    def moved(n_bytes: int) -> None:
        nonlocal before, last
        if n_bytes < last:
            before += whole
        last = n_bytes
        replaying.at(before + min(n_bytes, int(NEARLY * whole)), n_runs * whole)

    return moved


CountsElsewhere: TypeAlias = "Callable[[str], AbstractContextManager[Callable[[], int]]]"
"""Looks after ranks that this machine does not see while a block lasts: word of their command line -> what tells their bytes."""


class Moved:
    """Looks after the ranks whose command line holds a word, and tells how many bytes they have moved.

    Use as a context where ranks may be elsewhere.
    """

    def __init__(
        self, word: str, tell: Callable[[int], None], elsewhere: CountsElsewhere | None = None
    ) -> None:
        """Begin to look.

        Args:
            word: of the ranks' command line.
            tell: is given the bytes.
            elsewhere: counts ranks that this machine does not see; None: there are none.
        """
        self._word = word
        self._tell = tell
        self._elsewhere = elsewhere
        self._stack = ExitStack()
        self._counted_elsewhere: Callable[[], int] = int  # 0
        self._bytes: dict[Path, int] = {}  # by process, also of those that have ended
        self._next = self._search = 0.0

    def __enter__(self) -> Self:
        if self._elsewhere is not None:
            self._counted_elsewhere = self._stack.enter_context(self._elsewhere(self._word))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def look(self) -> None:
        """Tell what is new; does nothing most of the time, so that it may be called often."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        if now >= self._search:
            self._search = now + (_AGAIN_S if self._find() else _EVERY_S)
        for process in self._bytes:
            with suppress(OSError):  # it has ended
                found = _MOVED.findall((process / "io").read_bytes())
                self._bytes[process] = sum(map(int, found))
        # A host over ssh may be this machine: then both count the same ranks.
        if moved := max(sum(self._bytes.values()), self._counted_elsewhere()):
            self._tell(moved)

    def _find(self) -> bool:
        for process in mentioning(self._word):
            with suppress(OSError):
                if (process / "comm").read_bytes().startswith(_RANK):
                    self._bytes.setdefault(process, 0)
        return bool(self._bytes)
