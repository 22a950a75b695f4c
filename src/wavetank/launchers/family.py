"""Which MPI a program is built with: read from its file, as launchers of another MPI start ranks that do not meet."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

# Names of shared libraries that a program asks the dynamic loader for. MPICH and all that keep its binary interface
# (MVAPICH2, Intel MPI, Cray MPICH, the wheel mpich) have libmpi.so.12 or, in Debian, libmpich.so.12; Open MPI 1.8 and
# later libmpi.so.20, 40, 80.
_OPEN_MPI = re.compile(rb"\0libmpi\.so\.(?!12\0)\d+\0")
_MPICH = re.compile(rb"\0(libmpich\.so(\.\d+)?|libmpi\.so\.12)\0")
_PROGRAMS = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}
_TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
# The library's own word, without MPI_Init: a wheel of mpi4py has a module for each MPI, and takes the one that it finds.
_TELL_VERSION = (
    "import mpi4py; mpi4py.rc.initialize = mpi4py.rc.finalize = False; from mpi4py import MPI; "
    "print(MPI.Get_library_version())"
)
_ASKED_S = 30.0


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


def family_of_library(library: str | None) -> str | None:
    """Family of an MPI library by what it says of itself ("MPICH Version: 4.0.2"); None: none, or another one."""
    if library is None:
        return None
    return next((family for family, title in _TITLES.items() if library.startswith(title)), None)


def other_library(library: str | None, family: str | None) -> str | None:
    """A sentence where a program is performed by another MPI than that of its run; None elsewhere.

    Args:
        library: of the run, as it says of itself.
        family: that performs it; None: none.
    """
    own = family_of_library(library)
    if own is None or family in (None, own):
        return None
    return (
        f"the run was of {library}, and {_TITLES.get(family or '', family)} performs it: the MPI library decides which POSIX calls "
        f"become of MPI-IO calls, and may refuse some. Where {_TITLES[own]} is installed, it is taken (--launcher {own})"
    )


def mpi4py_family(
    interpreter: Path, words: Sequence[str], run: Callable[[Sequence[str]], str | None]
) -> str | None:
    """The MPI of mpi4py, openmpi or mpich, where a Python program names that; None elsewhere, and where it cannot be told.

    Args:
        interpreter: what the kernel starts for the program.
        words: the program's words: the interpreter and what it is given, or a script and its arguments.
        run: runs a command, and gives what it printed; None where it fails.
    """
    if not _PYTHON.fullmatch(interpreter.name) or not any(map(_names_mpi4py, words)):
        return None
    version = run([str(interpreter), "-c", _TELL_VERSION]) or ""
    return family_of_library(version)


def run_here(words: Sequence[str]) -> str | None:
    """What a command on this machine printed; None where it fails."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_ASKED_S, check=False, stdin=subprocess.DEVNULL
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _names_mpi4py(word: str) -> bool:
    """Whether a word is a text that names mpi4py (python -c, -m), or a file that holds such a text."""
    if "mpi4py" in word:
        return True
    try:
        return Path(word).is_file() and b"mpi4py" in Path(word).read_bytes()
    except (OSError, ValueError):  # a text that is too long for a name
        return False


def against(
    program: Path, launcher: str, launcher_family: str | None, of_python: str | None = None
) -> str | None:
    """Why a launcher is not the program's; None when it may be.

    Args:
        program: the program's file.
        launcher: the launcher's program, as it was called.
        launcher_family: MPI that it belongs to; None: any.
        of_python: that of ``mpi4py_family``.
    """
    family = of_python or mpi_family_of(program)
    if family is None or launcher_family in (None, family):
        return None
    other = _PROGRAMS[family]
    found = f": {other}" if shutil.which(other) else ""
    what = f"the mpi4py of {program}" if of_python else str(program)
    return (
        f"{what} is built with {_TITLES[family]}, and {launcher} is {_TITLES.get(launcher_family, launcher_family)}'s: "
        f"each of its ranks would run alone, as rank 0 of 1. Start it with the launcher of {_TITLES[family]}{found}"
    )
