"""What a command line starts, before it is started: whether the tracer will see its calls.

Reads the command line and the program's file; leaves sentences for the user.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from wavetank.errors import TraceError
from wavetank.launchers.base import Launcher
from wavetank.launchers.family import against, mpi4py_family, run_here
from wavetank.trace.elf import (
    interpreter_of,
    is_go,
    is_of_other_class,
    is_privileged,
    is_static,
)


def check_program(argv: Sequence[str], launcher: Launcher) -> list[str]:
    """Sentences about what of the command will not be seen.

    Raises:
        TraceError: there is no such program, or nothing of it would be recorded.
    """
    found = shutil.which(argv[0])
    if found is None:
        if Path(argv[0]).exists():
            raise TraceError(
                f"{argv[0]} is not an executable file. Make it one: chmod +x {argv[0]}"
            )
        raise TraceError(f"there is no program {argv[0]}. Check its name and the PATH")
    if launcher.name == "none":
        started = interpreter_of(Path(found))
        shown = found if started == Path(found) else f"{started}, which runs {found},"
        if is_static(started):
            raise TraceError(
                f"{shown} is statically linked: its calls do not pass through the C library that the tracer "
                "stands before, so nothing would be recorded. Link it dynamically, or trace it by strace "
                "(strace -f -v -ttt -y -T -o FILE) and convert that with: wavetank convert"
            )
        if is_of_other_class(started):
            raise TraceError(
                f"{shown} is a program of 32 bits, into which the tracer cannot be loaded: nothing would be recorded. "
                "Trace it by strace (strace -f -v -ttt -y -T -o FILE) and convert that with: wavetank convert"
            )
        return unseen(Path(found))
    at = _program_at(argv)
    program = None if at is None else Path(shutil.which(argv[at]) or argv[at])
    if at is not None and program is not None and launcher.name != "srun":
        words = [str(program), *argv[at + 1 :]]
        of_python = mpi4py_family(interpreter_of(program), words, run_here)
        reason = against(program, argv[0], launcher.mpi_family, of_python)
        if reason is not None:
            raise TraceError(reason)
    return unseen(program)


def _program_at(argv: Sequence[str]) -> int | None:
    """Where in a launcher's command line is what it starts: the first word behind it that is a program."""
    return next(
        (
            number
            for number, word in enumerate(argv[1:], start=1)
            if not word.startswith("-") and shutil.which(word)
        ),
        None,
    )


def unseen(program: Path | None, name: str | None = None) -> list[str]:
    """Sentences about calls of a program that the tracer will not see.

    Args:
        program: its file; None: not known.
        name: what to call it, where the file is a copy.
    """
    if program is None:
        return []
    shown = name or str(program)
    program = interpreter_of(program)
    if is_static(program):
        return [f"{shown} is statically linked: its operations are not seen"]
    if is_of_other_class(program):
        return [f"{shown} is a program of 32 bits: its operations are not seen"]
    if is_privileged(program):
        return [
            f"{shown} runs with the rights of another user or with capabilities: the dynamic loader leaves the "
            "tracer out, and nothing of it is seen. Trace it as that user, or a copy without these rights"
        ]
    if is_go(program):
        return [
            f"{shown} is a Go program: it makes its system calls itself, and only what it does through C is seen. "
            "Trace it by strace (strace -f -v -ttt -y -T -o FILE) and convert that with: wavetank convert"
        ]
    return []


def started_together(argv: Sequence[str], launcher: Launcher) -> bool:
    """Whether all ranks run one program that loads the tracer, so that they can compare their clocks."""
    several = (":", "--app", "-app", "-configfile", "--configfile", "--multi-prog")
    at = _program_at(argv)
    program = None if at is None else Path(shutil.which(argv[at]) or argv[at])
    return (
        launcher.name != "none"
        and not any(word in several for word in argv)
        and program is not None
        and not unseen(program)
    )
