"""wavetank trace: run a program and record its I/O."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.notes import texts

if TYPE_CHECKING:
    from wavetank.trace.capture import Captured


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FOLDER",
    help="Folder for the trace. [default: PROGRAM.trace]",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(["posix", "mpiio", "mpi"]),
    help="Record this level only; may be given several times. [default: all]",
)
@click.option(
    "--times",
    type=click.Choice(["fold", "event"]),
    default="fold",
    show_default=True,
    help="Keep times for each fold of equal operations, or for every operation (larger trace).",
)
@click.option(
    "--include",
    multiple=True,
    metavar="PATH",
    help="Record this file, directory or glob although it would be left out (system files, Python modules).",
)
@click.option(
    "--exclude", multiple=True, metavar="PATH", help="Leave this file, directory or glob out."
)
@click.option(
    "--standard-streams",
    is_flag=True,
    help="Record standard output and error as well, where your shell sends them into files.",
)
@click.option("--force", is_flag=True, help="Replace an existing trace.")
@click.argument("command_line", nargs=-1, required=True, metavar="-- PROGRAM [ARGUMENT]...")
def command(
    output: Path | None,
    levels: tuple[str, ...],
    times: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    standard_streams: bool,
    force: bool,
    command_line: tuple[str, ...],
) -> int:
    """Run a program and record its I/O.

    PROGRAM may be serial, a script, or a launcher with an MPI program. Its exit status is passed on;
    where it is 0 and the trace is not whole (a full disk), the status is 1.

    Example: wavetank trace -o run.trace -- mpirun -np 4 ./app
    """  # fmt: skip
    from wavetank.trace.capture import LEVELS, CaptureOptions, trace

    options = CaptureOptions(
        levels=levels or LEVELS,
        times=times,
        include=include,
        exclude=exclude,
        standard_streams=standard_streams,
        force=force,
    )
    folder = output if output is not None else Path(f"{_name(command_line)}.trace")
    captured = trace(command_line, folder, options)
    report_trace(captured, folder)
    if captured.interrupted:
        return 130
    status = captured.index.exit_status or 0
    if status == 0 and texts(captured.trace.notes, "lost"):
        return 1
    return status if status >= 0 else 128 - status


def _name(command_line: tuple[str, ...]) -> str:
    """The program's name, for the folder: the first word that is a program, behind a launcher."""
    import shutil

    from wavetank.launchers.registry import recognise

    if recognise(command_line).name == "none":
        return Path(command_line[0]).name
    for word in command_line[1:]:
        if not word.startswith("-") and shutil.which(word):
            return Path(word).name
    return Path(command_line[0]).name


def report_trace(captured: Captured, folder: Path) -> None:
    """One line of what was recorded, and every warning, on standard error."""
    from wavetank.units import format_duration, format_size

    index, recorded = captured.index, captured.trace
    for warning in texts(index.notes):
        click.echo(f"wavetank: warning: {warning}", err=True)
    n_operations, n_folds = captured.n_operations, recorded.n_folds
    size = sum(path.stat().st_size for path in folder.iterdir())
    if n_operations == 0:
        click.echo(
            f"wavetank: {folder}: the program did no I/O on files that are recorded. System files, programs' code "
            "and this trace are left out; --include PATH records them all the same",
            err=True,
        )
        return
    partial = "PARTIAL trace of " if texts(recorded.notes, "lost") else ""
    click.echo(
        f"wavetank: {folder}: {partial}{index.n_ranks} rank(s), {index.n_files} file(s), {n_operations:,} operations in "
        f"{n_folds:,} folds, {format_size(size)} on disk, run of {format_duration(index.elapsed_s)}",
        err=True,
    )
    sys.stderr.flush()
