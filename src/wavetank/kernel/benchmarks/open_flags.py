"""Flags of the opens that a phase's data go through, as far as benchmarks have options for them: O_DIRECT, O_SYNC, O_DSYNC."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, RepeatStep, Step
from wavetank.model.document.step_walks import orders_expanded

SECTOR = 512  # bytes: O_DIRECT asks that places and lengths are multiples of it at least
_OPENS = frozenset({"open"})
_CHANGED = os.O_APPEND | os.O_DIRECT  # by fcntl(F_SETFL)
Synchronous = Literal["", "dsync", "sync"]


@dataclass(frozen=True)
class OpenMode:
    """How the files of some phases are open.

    Attributes:
        direct: by O_DIRECT, in all opens.
        sync: by O_SYNC or O_DSYNC, in all opens.
        sometimes: flags that some of the opens have, and not all.
    """

    direct: bool = False
    sync: Synchronous = ""
    sometimes: tuple[str, ...] = ()

    def unlike(self) -> tuple[str, ...]:
        """Sentences on what no line can say."""
        return tuple(
            f"{name} is left out: only some of the opens that its data go through have it."
            for name in self.sometimes
        )


class OpenFlags:
    """The flags by which a kernel's phases have their files open."""

    def __init__(self, kernel: Kernel) -> None:
        self._file = {phase.ph_id: phase.file_id for phase in kernel.phases}
        self._of: defaultdict[int, set[int]] = defaultdict(set)
        for program in kernel.programs:
            self._walk(program.steps, {})

    def of(self, phases: Iterable[Phase]) -> OpenMode:
        """How the files of some phases are open."""
        flags = set[int]().union(*(self._of.get(phase.ph_id, ()) for phase in phases))
        if not flags:
            return OpenMode()
        synced = {_synchronous(one) for one in flags}
        sometimes = []
        if len({one & os.O_DIRECT for one in flags}) > 1:
            sometimes.append("O_DIRECT")
        if len(synced) > 1:
            sometimes += [name for name in ("O_SYNC", "O_DSYNC") if name[2:].lower() in synced]
        return OpenMode(
            direct=all(one & os.O_DIRECT for one in flags),
            sync=next(iter(synced)) if len(synced) == 1 else "",
            sometimes=tuple(sometimes),
        )

    def _walk(self, steps: Sequence[Step], opened: dict[int, int]) -> None:
        for step in orders_expanded(steps):
            if isinstance(step, RepeatStep):
                self._walk(step.steps, opened)
            elif isinstance(step, FileStep) and step.iop_type in _OPENS and not step.error:
                opened[step.file_id] = step.flags
            elif isinstance(step, FileStep) and step.iop_type == "fcntl" and not step.error:
                kept = opened.get(step.file_id, 0) & ~_CHANGED
                opened[step.file_id] = kept | step.flags & _CHANGED
            elif isinstance(step, DataStep) and step.ph_id in self._file:
                flags = opened.get(self._file[step.ph_id])
                if flags is not None:
                    self._of[step.ph_id].add(flags)


def _synchronous(flags: int) -> Synchronous:
    if flags & os.O_SYNC == os.O_SYNC:
        return "sync"
    return "dsync" if flags & os.O_DSYNC else ""
