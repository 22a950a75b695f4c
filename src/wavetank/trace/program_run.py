"""Runs the traced program to its end, also where it is interrupted."""

from __future__ import annotations

import logging
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from wavetank.trace.inherited import current_umask, interrupts_are_ignored

_GRACE_S = 10.0  # between asking the program to end and killing it

log = logging.getLogger(__name__)


class Interrupts:
    """Ctrl-C while a program is traced: the terminal sends it to the program as well, which gets time to end.

    A second one kills the program. None of them costs the trace.
    """

    def __init__(self) -> None:
        self.n = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None

    def take(self, *_: object) -> None:
        """The handler of the signal."""
        self.n += 1
        if self.process is None:
            return
        if self.n > 1:
            self.process.kill()
        else:
            self._timer = threading.Timer(_GRACE_S, self.process.kill)
            self._timer.daemon = True
            self._timer.start()

    def ended(self) -> None:
        """The program has ended."""
        self.process = None
        if self._timer is not None:
            self._timer.cancel()


@contextmanager
def interrupts_noted() -> Iterator[Interrupts]:
    """Within it Ctrl-C raises nothing; it is noted."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread() or interrupts_are_ignored():
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, interrupts.take)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def run_to_its_end(command: Sequence[str], env: dict[str, str], interrupts: Interrupts) -> int:
    """Run a command; its status, negative where a signal ended it."""
    log.info("running %s", shlex.join(command))
    # By posix_spawn glibc would make it ignore two signals of glibc's own (32 and 33); with an umask Python forks.
    with subprocess.Popen(command, env=env, close_fds=False, umask=current_umask()) as process:
        interrupts.process = process
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
        finally:
            interrupts.ended()
