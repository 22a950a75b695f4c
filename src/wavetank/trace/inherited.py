"""What a traced program inherits: all that it would inherit from the user's shell, and what keeps its calls in sight.

Python changes some of it in its own process when it starts; here this is taken back for the program.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")  # what Python sets LC_CTYPE to in the C locale (PEP 538)

# UCX, below Debian's MPICH and many other MPI libraries, writes over mmap in the process to hear of mappings: the tracer
# would not see those of files. docs/decisions/ucx-and-mmap.md
_KEEPS_IN_SIGHT = {"UCX_MEM_MMAP_HOOK_MODE": "none"}


def added_environment() -> dict[str, str]:
    """Variables that keep a program's calls in sight of the tracer; without those that the user has set."""
    return {name: value for name, value in _KEEPS_IN_SIGHT.items() if name not in os.environ}


def inherited_environment() -> dict[str, str]:
    """The environment of this process without the locale that Python has put into it."""
    env = dict(os.environ)
    if env.get("LC_CTYPE") in _COERCED and not _had_at_start("LC_CTYPE"):
        del env["LC_CTYPE"]
    return env


def interrupts_are_ignored() -> bool:
    """Whether Ctrl-C was ignored when this process started, as a shell does for what runs in the background.

    A handler of ours would end that: a program started by a process that handles a signal gets the default.
    """
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def current_umask() -> int:
    """The umask of this process, which can be asked for by setting another one only."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def _had_at_start(name: str) -> bool:
    """Whether the process was started with a variable; True where that is not known."""
    try:
        words = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return True
    return any(word.startswith(name.encode() + b"=") for word in words)
