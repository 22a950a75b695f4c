"""Running a launcher or a benchmark to its end, or to its time limit; no process is left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from wavetank.errors import KernelError
from wavetank.kernel.execution.guard import KILL_S, guarded

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_LOOK_S = 0.05
_GRACE_S = 5.0  # between asking a launcher to end its ranks and killing it


def run_to_end(
    argv: Sequence[str], timeout_s: float | None, folder: Path | None = None,
    on_line: Callable[[str], bool] = lambda _: False, on_late: Callable[[], None] = lambda: None,
    must_end: Callable[[float], bool] = lambda _: False,
) -> tuple[int | None, str, str]:  # fmt: skip
    """Exit status, standard output and standard error; the status is None when it was ended.

    Args:
        argv: the program and its arguments.
        timeout_s: seconds after which it is ended; None: never.
        folder: where it runs; None: here.
        on_line: is given each line of standard output as it comes; True ends the program.
        on_late: is called when time ran out, before the program is ended.
        must_end: is given the seconds since the start; True ends the program.

    Raises:
        KernelError: it cannot be started.
    """
    try:
        process = subprocess.Popen(
            guarded(argv, _GRACE_S), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
            text=True, errors="replace", start_new_session=True,
            preexec_fn=_end_with_us,  # noqa: PLW1509 - one system call, which takes no lock
        )  # fmt: skip
    except OSError as error:
        raise KernelError(f"cannot start the replay: {argv[0]}: {error.strerror}") from error
    output = (_Reader(process.stdout, on_line), _Reader(process.stderr, lambda _: False))
    start = time.monotonic()
    ends = None if timeout_s is None else start + timeout_s
    try:
        ended = _wait(process, output, ends, lambda: must_end(time.monotonic() - start))
    except BaseException:
        _end(process, output)
        raise
    if not ended:
        on_late()
        _end(process, output)
    for reader in output:
        reader.join(_GRACE_S)
    status = process.returncode if ended else None
    return status, output[0].text(), output[1].text()


def _end_with_us() -> None:
    """Asked to end when this process is killed, mpirun ends its ranks; otherwise they would perform all that is left."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class _Reader(threading.Thread):
    """Collects a stream line by line."""

    def __init__(self, stream: IO[str] | None, on_line: Callable[[str], bool]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._on_line = on_line
        self._lines: list[str] = []
        self.asks_for_the_end = False
        self.start()

    def run(self) -> None:
        """Until the last process that writes to it is gone."""
        if self._stream is None:
            return
        with self._stream as stream:
            for line in stream:
                self._lines.append(line)
                self.asks_for_the_end |= self._on_line(line)

    def text(self) -> str:
        """All so far."""
        return "".join(self._lines)


def _wait(
    process: subprocess.Popen[str], output: Sequence[_Reader], ends: float | None, must_end: Callable[[], bool],
) -> bool:  # fmt: skip
    """Until it has ended and all that it said was read; False when it has to be ended."""
    while any(reader.is_alive() for reader in output):
        for reader in output:
            reader.join(_LOOK_S)
        late = ends is not None and time.monotonic() >= ends
        if late or must_end() or any(reader.asks_for_the_end for reader in output):
            return False
    return _waited(process, None if ends is None else max(0.0, ends - time.monotonic()))


def _waited(process: subprocess.Popen[str], timeout_s: float | None) -> bool:
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def wait_until_gone(mark: str) -> None:
    """Wait for processes of this machine whose command line holds ``mark``: a launcher may end before its ranks have."""
    ends = time.monotonic() + _GRACE_S
    while any(mentioning(mark)) and time.monotonic() < ends:
        time.sleep(_LOOK_S)


def mentioning(mark: str) -> Iterator[Path]:
    """Folders below /proc of the processes of this machine, but this one, whose command line holds ``mark``."""
    word = mark.encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if int(process.name) != os.getpid() and word in (process / "cmdline").read_bytes():
                yield process


def _end(process: subprocess.Popen[str], output: Sequence[_Reader]) -> None:
    # mpirun ends its ranks, also on other hosts, when it is asked to; killed at once it cannot.
    process.terminate()
    ended = _waited(process, _GRACE_S + KILL_S)
    for reader in output:
        reader.join(_GRACE_S)
    if not ended or any(reader.is_alive() for reader in output):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
