"""What ranks were at when one was killed: the small files that the replay program keeps of each.

Layout: struct whereabouts of native/replay/whereabouts.h.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

_LAYOUT = struct.Struct("=q32s128sqq")

# mpirun (Open MPI 4.1): "mpirun noticed that process rank 1 with PID 0 on node n exited on signal 9 (Killed)."
_BY_RANK = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on signal (\d+)")
# mpiexec (MPICH's hydra 4.0): "=   PID 4711 RUNNING AT n", "=   EXIT CODE: 9". It ends the other ranks by the same
# signal and names any of them, so the number says nothing.
_OF_SOME = re.compile(r"PID \d+ RUNNING AT .*?EXIT CODE: (\d+)", re.DOTALL)
_MOST_TOLD = 8  # ranks


def who_died(output: str, folder: Path | None) -> str | None:
    """A sentence on the rank that a launcher says was killed, and what it was at; None if it says nothing.

    Where the launcher does not tell which rank it was, what each of them was at.

    Args:
        output: of the launcher.
        folder: with the ranks' files; None: there is none.
    """
    if found := _BY_RANK.search(output):
        at = None if folder is None else _at(folder / f"rank-{found[1]}")
        return f"rank {found[1]} died (signal {found[2]})" + (f" in {at}" if at else "")
    if found := _OF_SOME.search(output):
        return f"a rank died (signal or status {found[1]}; the launcher does not tell which){_all(folder)}"
    return None


def _all(folder: Path | None) -> str:
    paths = sorted(
        folder.glob("rank-*") if folder else (),
        key=lambda path: int(path.name.removeprefix("rank-")),
    )
    told = [
        f"{path.name.replace('-', ' ')} was in {at}"
        for path in paths[:_MOST_TOLD]
        if (at := _at(path))
    ]
    return f": {', '.join(told)}" if told else ""


def _read(path: Path) -> tuple[str, str, int, int] | None:
    try:
        _, call, file, offset, size = _LAYOUT.unpack(path.read_bytes()[: _LAYOUT.size])
    except (OSError, struct.error):
        return None
    names = [text.split(b"\0")[0].decode(errors="replace") for text in (call, file)]
    return names[0], names[1], offset, size


def _at(path: Path) -> str | None:
    found = _read(path)
    if found is None or not found[0]:
        return None
    call, file, offset, size = found
    text = f"{call} of {file}"
    if offset >= 0:
        text += f" at offset {offset}"
    return text + (f" ({size} bytes)" if size >= 0 else "")
