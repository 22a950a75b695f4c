"""The program's name in a command line that may begin with a launcher."""

from __future__ import annotations

from collections.abc import Sequence
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
            scripts = [w for w in command[position + 1 :] if not w.startswith("-")]
            return PurePath(scripts[0]).name if scripts else base
        else:
            return base
    return "application"
