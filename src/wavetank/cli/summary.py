"""``wavetank summary``: what the I/O of a log is and why it is slow; everything with ``--full``, a page with ``--html``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.numpy_start import import_numpy
from wavetank.cli.output import print_lines, print_tables, prints, terminal_width
from wavetank.tables.table import Column, Definition

if TYPE_CHECKING:
    from wavetank.cli.summary_answer import Summary

SUMMARIES: Definition[Summary] = Definition(
    "summaries",
    "Logs",
    (
        Column("log", "Log", lambda i: i.path.name),
        Column("application", "Application", lambda i: i.source.application, machine=True),
        Column("n_ranks", "Ranks", lambda i: i.source.n_ranks, kind="integer"),
        Column("moved_bytes", "Moved", lambda i: i.moved_bytes, unit="B"),
        Column("io_percent", "I/O of the run", lambda i: i.source.run_times.io_percent, unit="%"),
        Column("n_critical", "Critical", lambda i: i.number("critical"), kind="integer"),
        Column("n_warning", "Warnings", lambda i: i.number("warning"), kind="integer"),
        Column("n_note", "Notes", lambda i: i.number("note"), kind="integer", machine=True),
        Column("worst", "Why it is slow", lambda i: i.worst, wide=True),
    ),
)  # fmt: skip
DEFINITIONS = (SUMMARIES,)


@click.command("summary")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with all tables and figures to this file.",
)  # fmt: skip
@click.option(
    "--figures", type=click.Path(path_type=Path, file_okay=False),
    help="Write the figures to this folder, SVG and PNG: ranks and offsets over time, sizes, calls, phases.",
)  # fmt: skip
@prints(None, answers=True)
def command(
    logs: tuple[Path, ...], html: Path | None, figures: Path | None, output_format: str
) -> None:
    """Say what the I/O in LOG is, and why it is slow.

    LOG is a trace, a log of Darshan, DFTracer, Recorder or strace, a model or a kernel. Findings are
    sorted by the I/O time that they are about; each has its numbers and a line to paste. Of a partial
    log all numbers are at least what the run did. Several logs get a line each. With --full, the tables
    of any file that wavetank writes.

    Example: wavetank summary app.darshan
    """
    import_numpy()
    from wavetank.cli import summary_answer
    from wavetank.cli.document_tables import print_document
    from wavetank.errors import UsageError

    if (html or figures) and len(logs) > 1:
        raise UsageError("--html and --figures are of one log: give one")
    if len(logs) > 1:
        _print_several(logs, output_format)
        return
    (log,) = logs
    if html is not None or figures is not None:
        model = summary_answer.model_of(log)
        if html is not None:
            summary_answer.write_page(model, html)
        if figures is not None:
            summary_answer.write_figures(model, figures)
        return
    found = None if output_format in ("table", "json", "csv") else summary_answer.summary_of(log)
    if found is None:
        print_document(log, "table" if output_format in ("answer", "brief") else output_format)
    elif output_format == "brief":
        print_lines([found.answer])
    else:
        print_lines(summary_answer.lines(found, terminal_width()))


def _print_several(logs: Sequence[Path], output_format: str) -> None:
    """A row for each log; one that cannot be read says why."""
    from wavetank.cli.summary_answer import summary_of
    from wavetank.errors import WavetankError

    found, refused = [], 0
    for log in logs:
        try:
            one = summary_of(log)
        except WavetankError as error:
            click.echo(f"wavetank: {log}: {error}", err=True)
            refused += 1
            continue
        if one is None:
            click.echo(f"wavetank: {log} is no log, trace, model or kernel", err=True)
            refused += 1
        else:
            found.append(one)
    if output_format == "brief":
        print_lines([one.answer for one in found] or ["No log could be read."])
    else:
        table = SUMMARIES.table(sorted(found, key=lambda one: one.order))
        print_tables([table], "table" if output_format == "answer" else output_format)
    if refused:
        raise click.exceptions.Exit(1)
