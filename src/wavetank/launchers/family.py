"""Which MPI a program is built with: read from its file, as launchers of another MPI start ranks that do not meet."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

# Names of shared libraries that a program asks the dynamic loader for. MPICH and all that keep its binary interface
# (MVAPICH2, Intel MPI, Cray MPICH, the wheel mpich) have libmpi.so.12 or, in Debian, libmpich.so.12; Open MPI 1.8 and
# later libmpi.so.20, 40, 80.
_OPEN_MPI = re.compile(rb"\0libmpi\.so\.(?!12\0)\d+\0")
_MPICH = re.compile(rb"\0(libmpich\.so(\.\d+)?|libmpi\.so\.12)\0")
_PROGRAMS = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}
_TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def mpi_family_of(program: Path) -> str | None:
    """Family of a program, openmpi or mpich; None for scripts, programs without MPI, and where that cannot be told."""
    try:
        content = program.read_bytes()
    except OSError:
        return None
    if not content.startswith(b"\x7fELF"):
        return None
    found = [
        family
        for family, pattern in (("openmpi", _OPEN_MPI), ("mpich", _MPICH))
        if pattern.search(content)
    ]
    return found[0] if len(found) == 1 else None


def against(program: Path, launcher: str, launcher_family: str | None) -> str | None:
    """Why a launcher is not the program's; None when it may be.

    Args:
        program: the program's file.
        launcher: the launcher's program, as it was called.
        launcher_family: MPI that it belongs to; None: any.
    """
    family = mpi_family_of(program)
    if family is None or launcher_family in (None, family):
        return None
    other = _PROGRAMS[family]
    found = f": {other}" if shutil.which(other) else ""
    return (
        f"{program} is built with {_TITLES[family]}, and {launcher} is {_TITLES.get(launcher_family, launcher_family)}'s: "
        f"each of its ranks would run alone, as rank 0 of 1. Start it with the launcher of {_TITLES[family]}{found}"
    )
