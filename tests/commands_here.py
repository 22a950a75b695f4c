"""Commands of wavetank in this process: a start of Python and what it imports take longer than most of them."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

import click
from click.testing import CliRunner

from wavetank.cli.main import cli, say
from wavetank.errors import WavetankError

# They start no program whose output would not be seen here, but for ``trace``: what the traced program prints is not.
COMMANDS = ("convert", "diff", "fidelity", "fit", "kernel", "model", "summary", "trace")


def run_here(where: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """What a command prints, and its status, as a process of its own has them."""
    assert words[0] in COMMANDS
    argv = [str(word) for word in words]
    with contextlib.chdir(where):
        result = CliRunner().invoke(cli, argv, standalone_mode=False)
    error, said = result.exception, io.StringIO()
    status = result.return_value if isinstance(result.return_value, int) else result.exit_code
    if isinstance(error, WavetankError | click.ClickException):
        status = say(error, said)
    elif error is not None and not isinstance(error, SystemExit):
        raise error
    return subprocess.CompletedProcess(argv, status, result.stdout, result.stderr + said.getvalue())
