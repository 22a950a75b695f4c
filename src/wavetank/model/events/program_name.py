"""The program's name in a command line that may begin with a launcher."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePath

_LAUNCHERS = (
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "srun",
    "aprun",
    "jsrun",
    "env",
    "time",
    "nice",
    "numactl",
)
# Options of the launchers that take a value, and how many.
_VALUES = {
    **dict.fromkeys(
        (
            "-n", "-np", "--np", "-c", "-N", "-H", "--host", "-host", "-hosts", "--hostfile", "-hostfile", "-f",
            "-machinefile", "--machinefile", "-x", "--map-by", "-map-by", "--bind-to", "-bind-to", "--rank-by",
            "-wdir", "--wdir", "-wd", "-ppn", "--ntasks", "--nodes", "--tag-output-to", "-p", "-A", "-t", "-rf",
            "--rankfile", "--output-filename", "--prefix", "-path", "--path", "--timeout", "--cpu-set", "-w",
            "--nodelist", "-J", "--job-name", "-C", "--constraint", "--qos", "-D", "--chdir", "--partition",
            "--account", "--time", "--ntasks-per-node", "--cpus-per-task",
        ),
        1,
    ),
    **dict.fromkeys(("-mca", "--mca", "-gmca", "--gmca", "-genv", "-env", "--prtemca"), 2),
}  # fmt: skip
_INTERPRETERS = ("python", "python3", "perl", "bash", "sh")


_MARKS = ".-_ "  # between the parts of a name


def common_name(names: Sequence[str]) -> str | None:
    """What names that differ in their ends have in common: "lu.A" of lu.A.4 and lu.A.16. None: nothing."""
    if any(name[:1] != names[0][:1] for name in names):
        return None
    letters = takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    common = "".join(column[0] for column in letters).rstrip("0123456789")
    if any(name[len(common) :][:1].isalpha() for name in names):  # within a word
        common = common[: max(map(common.rfind, _MARKS)) + 1]
    return common.rstrip(_MARKS) or None


def program_name(command: Sequence[str]) -> str:
    """Base name of the program; "application" for an empty command."""
    position = 0
    launched = False
    while position < len(command):
        word = command[position]
        base = PurePath(word).name
        if base.split(".")[0] in _LAUNCHERS:
            launched = True
            position += 1
        elif launched and word.startswith("-"):
            position += 1 + _VALUES.get(word, 0)
        elif launched and "=" in word and "/" not in word.split("=", 1)[0]:
            position += 1
        elif base in _INTERPRETERS and position + 1 < len(command):
            return _script_name(base, command[position + 1 :])
        else:
            return base
    return "application"


def _script_name(interpreter: str, words: Sequence[str]) -> str:
    """Name of the script or module; the interpreter's own where its program is text on the command line."""
    text = "e" if interpreter == "perl" else "c"
    for index, word in enumerate(words):
        if not word.startswith("-"):
            return PurePath(word).name
        if word == "-m" and interpreter.startswith("python"):
            return words[index + 1] if index + 1 < len(words) else interpreter
        if not word.startswith("--") and word.endswith(text):
            return interpreter
    return interpreter
