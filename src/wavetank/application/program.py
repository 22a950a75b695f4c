"""The program to run, as its nodes see it: where it is, what of MPI it is built with, how each rank starts it.

Asks every node before anything starts; leaves an argv that needs nothing but a POSIX shell and env on a node.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.host import Host, on_all
from wavetank.errors import ClusterError, RemoteCommandError, UsageError
from wavetank.launchers.base import Launcher
from wavetank.launchers.family import mpi4py_family, mpi_family_of
from wavetank.programs import search_path
from wavetank.trace.elf import interpreter_of

MOUNT_WORD = "{mount}"
MOUNT_VARIABLE = "WAVETANK_MOUNT"

# $1: directory of the program, $2: directory where the command was given, $3: the program. A letter, then a path:
# f found, x no program that can be run, n nothing of this name; d: there is no such directory.
_FIND = """cd -- "$1" 2>/dev/null || { echo d; exit 0; }
case $3 in
  /*) found=$3 ;;
  */*) found=$1/$3; [ -e "$found" ] || found=$2/$3 ;;
  *)
    found=
    IFS=:
    for place in $PATH; do
      if [ -f "$place/$3" ] && [ -x "$place/$3" ]; then found=$place/$3; break; fi
    done ;;
esac
if [ -z "$found" ] || [ ! -e "$found" ]; then echo n
elif [ -f "$found" ] && [ -x "$found" ]; then echo "f $found"
else echo "x $found"
fi
"""

# $1: directory; then NAME=VALUE..., the program and its arguments.
_BECOMES = 'cd -- "$1" && shift && exec env "$@"'
# ssh has no word for a program that a signal ended; a shell that waits for it has.
_WAITS = 'cd -- "$1" && shift && env "$@"; exit $?'


@dataclass(frozen=True)
class Wanted:
    """What the user asks for.

    Attributes:
        argv: the program and its arguments; {mount} in an argument stands for the cluster's mount.
        directory: on the nodes, where it runs; None: the mount.
        environment: of the program, besides what is there.
    """

    argv: tuple[str, ...]
    directory: str | None
    environment: Mapping[str, str]

    def at(self, mount: str) -> Wanted:
        """The same with the mount known.

        Raises:
            UsageError: the directory is not absolute, or a launcher would misread the arguments.
        """
        directory = (self.directory or mount).replace(MOUNT_WORD, mount)
        if not directory.startswith("/"):
            raise UsageError(
                f"the directory {directory} must be an absolute path of the nodes, e.g. {MOUNT_WORD}/run1"
            )
        argv = tuple(word.replace(MOUNT_WORD, mount) for word in self.argv)
        values = {
            name: value.replace(MOUNT_WORD, mount) for name, value in self.environment.items()
        }
        return Wanted(argv, directory, {MOUNT_VARIABLE: mount, **values})


def find_on(hosts: Sequence[Host], wanted: Wanted) -> str:
    """Path of the program on its nodes.

    Raises:
        ClusterError: a node has no such program or directory, or does not answer.
    """
    program, directory = wanted.argv[0], wanted.directory or "/"
    here = str(Path.cwd())

    def ask(host: Host) -> str:
        words = ["sh", "-c", _FIND, "sh", directory, here, program]
        path = {"PATH": wanted.environment.get("PATH", search_path())}
        return host.run(words, env=path).stdout.rstrip("\n")

    answers = dict(zip(hosts, on_all(hosts, ask), strict=True))
    found = set()
    for host, answer in answers.items():
        kind, _, path = answer.partition(" ")
        if kind == "f":
            found.add(path)
            continue
        raise ClusterError(_why_not(kind, host.name, program, path, directory, here))
    return found.pop() if len(found) == 1 else program


def _why_not(
    kind: str, node: str, program: str, path: str, directory: str, here: str
) -> str:  # fmt: skip
    if kind == "d":
        return (
            f"there is no directory {directory} on {node}. Make it there: wavetank cluster run NAME --launcher none "
            f"--directory / -- mkdir -p {shlex.quote(directory)}"
        )
    if kind == "x":
        return f"{path} on {node} is no file that can be run. Make it one: chmod +x"
    if "/" not in program:
        return f"there is no program {program} on the PATH of {node}. Write its path, or copy it to the cluster's mount"
    where = (
        program if program.startswith("/") else f"{program}, neither in {directory} nor in {here}"
    )
    return f"there is no program {where} on {node}. Copy it to the cluster's mount, or write another path"


def local_copy(host: Host, program: str, scratch: Path) -> Path:
    """A copy on this machine of the program's file, to look into; nothing of it is run."""
    copy = scratch / "program"
    host.get(program, copy)
    return copy


def family_of(copy: Path, program: str, wanted: Wanted, host: Host) -> str | None:
    """The MPI of a program on a host, or of the mpi4py of a Python program; None where that cannot be told.

    Args:
        copy: of the program's file.
        program: where that is on the host.
        wanted: the command.
        host: that has the program and its interpreter.
    """
    interpreter = interpreter_of(copy)

    def run(words: Sequence[str]) -> str | None:
        try:
            return host.run(words).stdout
        except RemoteCommandError:
            return None

    folder = Path(wanted.directory or ".")
    files = [str(folder / word) for word in wanted.argv[1:]]
    asked = Path(program) if interpreter == copy else interpreter
    return mpi_family_of(copy) or mpi4py_family(asked, [str(copy), *wanted.argv[1:], *files], run)


def refuse_other_mpi(family: str | None, program: str, launcher: Launcher) -> None:
    """Refuse a launcher of another MPI than the program's.

    Raises:
        UsageError: its ranks would not meet.
    """
    if family is not None and launcher.mpi_family not in (None, family):
        raise UsageError(
            f"{program} is built with {family}, and --launcher {launcher.name} would start each of its ranks alone, as "
            f"rank 0 of 1. Leave --launcher out, or say {family}"
        )


def starting(
    wanted: Wanted,
    program: str,
    environment: Mapping[str, str],
    launcher: Launcher,
    *,
    waits: bool = False,
) -> tuple[str, ...]:
    """The argv of each rank: changes the directory, sets the environment, becomes the program.

    The environment is set by env at the last moment, so that neither a launcher nor the shell has the tracer in it.

    Args:
        wanted: with the mount known.
        program: its path on the nodes.
        environment: besides that which is wanted.
        launcher: what starts the ranks.
        waits: a shell waits for the program, and tells which signal ended it.

    Raises:
        UsageError: arguments that a launcher takes for its own.
    """
    words = [program, *wanted.argv[1:]]
    if launcher.mpi_family is not None and ":" in words:
        raise UsageError(
            "a lone ':' among the arguments ends a program for MPI launchers. Put the command into a script"
        )
    if "=" in os.path.basename(program):  # noqa: PTH119 (a path of another machine)
        raise UsageError(
            f"the name of the program {program} holds '='. Give it another one, or a script"
        )
    settings = [f"{name}={value}" for name, value in {**wanted.environment, **environment}.items()]
    return (
        "sh",
        "-c",
        _WAITS if waits else _BECOMES,
        "sh",
        wanted.directory or "/",
        *settings,
        *words,
    )
