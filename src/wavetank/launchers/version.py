"""What a launcher program says about itself."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache


def version_text(program: str) -> str | None:
    """Output of ``program --version``; None when it is not there or does not answer.

    mpirun (Open MPI) 4.1.4 / HYDRA build details: Version: 4.0.2 (MPICH) / slurm 22.05.8
    """
    path = shutil.which(program)
    return None if path is None else _answer(path)


@cache
def _answer(path: str) -> str | None:
    try:
        found = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout + found.stderr


def first_with(programs: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, str] | None:
    """The first of some programs whose version text holds one of ``words``: (program, text)."""
    for program in programs:
        text = version_text(program)
        if text is not None and any(word in text for word in words):
            return program, text
    return None
