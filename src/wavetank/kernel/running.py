"""Running a launcher or a benchmark to its end, or to its time limit; no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from wavetank.errors import KernelError

_GRACE_S = 5.0  # between asking a launcher to end its ranks and killing it


def run_to_end(
    argv: Sequence[str], timeout_s: float | None, folder: Path | None = None
) -> tuple[int | None, str, str]:
    """Exit status, standard output and standard error; the status is None when time ran out.

    Args:
        argv: the program and its arguments.
        timeout_s: seconds after which it is ended; None: never.
        folder: where it runs; None: here.

    Raises:
        KernelError: it cannot be started.
    """
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise KernelError(f"cannot start the replay: {argv[0]}: {error.strerror}") from error
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        stdout, stderr = _end(process)
        return None, stdout, stderr
    except BaseException:
        _end(process)
        raise
    return process.returncode, stdout, stderr


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    # mpirun ends its ranks, also on other hosts, when it is asked to; killed at once it cannot.
    process.terminate()
    try:
        return process.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()
