"""wavetank convert: take another tool's log into a trace folder."""

from __future__ import annotations

from pathlib import Path

import click

from wavetank.cli.numpy_start import import_numpy
from wavetank.notes import texts


@click.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FOLDER",
    help="Folder for the trace. [default: LOG.trace]",
)
def command(log: Path, output: Path | None) -> None:
    """Convert a log of Darshan, DFTracer, Recorder or strace into a trace.

    The kind is told by the content. Every command that takes a trace takes these files as they are, too.

    Example: wavetank convert job.darshan -o job.trace
    """  # fmt: skip
    import_numpy()
    from wavetank.trace.open import kind_of, open_trace
    from wavetank.trace.store import write_imported

    kind = kind_of(log)
    if kind == "wavetank":
        raise click.UsageError(f"{log} is a wavetank trace already")
    folder = output if output is not None else Path(f"{log.name}.trace")
    trace = open_trace(log)
    write_imported(trace, folder, log)
    for warning in texts(trace.notes):
        click.echo(f"wavetank: warning: {warning}", err=True)
    click.echo(
        f"wavetank: {folder}: from {kind}: {trace.n_ranks} rank(s), {len(trace.files)} file(s), "
        f"{int(trace.folds.count.sum()):,} operations in {len(trace.folds):,} folds",
        err=True,
    )
