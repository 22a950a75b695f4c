"""How much storage a kernel's run needs beside its input files."""

from __future__ import annotations

import sys
from collections import Counter

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase, UnknownOffsets
from wavetank.model.document.step_walks import file_steps

_CUT_OR_MOVED = frozenset(
    {"truncate", "ftruncate", "unlink", "rename", "link", "MPI_File_set_size", "MPI_File_delete"}
)


def written_bytes(kernel: Kernel) -> dict[int, int]:
    """Bytes in each file that the run makes, by file: what is written into it, but no more than it reaches.

    Files that are cut, removed or renamed in the run are left out: they may never hold all of it at once.
    """
    made = {
        file.file_id for file in kernel.files if file.role == "output" and file.prepare_bytes == 0
    }
    for program in kernel.programs:
        made -= {
            step.file_id for step in file_steps(program.steps) if step.iop_type in _CUT_OR_MOVED
        }
    several = {file.file_id for file in kernel.files if file.members is not None}
    written: Counter[int] = Counter()
    ends: dict[int, int] = {}
    for phase in kernel.phases:
        for index, member in enumerate(phase.pattern):
            if phase.file_id in made and not calls.reads(member.iop_type):
                moved, end = _reach(phase, index)
                written[phase.file_id] += moved
                ends[phase.file_id] = max(ends.get(phase.file_id, 0), end)
    return {
        file_id: written[file_id] if file_id in several else min(written[file_id], end)
        for file_id, end in ends.items()
    }


def _reach(phase: Phase, index: int) -> tuple[int, int]:
    """Bytes that one call of a phase's pattern moves over all ranks, and the first byte behind all of them.

    Through a file view an operation's bytes lie apart: where they end is not reckoned.
    """
    offsets, rs, n = phase.offset[index], phase.pattern[index].rs, phase.ph_nrep
    if isinstance(offsets, ListedOffsets):
        reached = offsets.offset + (offsets.disp * (offsets.count - 1)).clip(min=0) + offsets.rs
        sizes = offsets.count * offsets.rs if offsets.moved is None else offsets.moved
        viewed = phase.offset_view is not None
        return int(sizes.sum()), sys.maxsize if viewed else int(reached.max())
    sizes = offsets.sizes if isinstance(offsets, UnknownOffsets) else None
    if sizes is not None:
        return int(
            (sizes.count * sizes.rs if sizes.moved is None else sizes.moved).sum()
        ), sys.maxsize
    moved = phase.ph_np * n * rs
    if not isinstance(offsets, LinearOffsets) or phase.offset_view is not None:
        return moved, sys.maxsize
    last = max(0, offsets.b * (n - 1))
    return moved, max(offsets.a * rank + offsets.c for rank in phase.ph_processid) + last + rs
