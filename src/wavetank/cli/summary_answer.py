"""The answer of ``wavetank summary``: at most 25 lines, the first of which says why the I/O is slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

from wavetank.cli.answer import first_that_fits, shortened
from wavetank.cli.document_tables import is_log, kind_of_document
from wavetank.document import provenance
from wavetank.errors import ReportError, UsageError
from wavetank.findings.all_findings import all_findings
from wavetank.findings.answer import Application, what_it_is, why_slow
from wavetank.findings.finding import HEADLINES, Finding, percent
from wavetank.findings.requests import io_of
from wavetank.model.document.model import Model
from wavetank.notes import Note, texts
from wavetank.trace.schema import FoldTable, Trace

_INDENT = "         "  # as wide as "critical "
_SIZES = ((99, 3, 3), (6, 3, 3), (5, 2, 3), (4, 2, 3), (3, 2, 2), (2, 2, 1), (1, 1, 0))
"""Findings, lines of each, lines on files: the first of these that fits is taken."""


@dataclass(frozen=True)
class Summary:
    """What is said of one log.

    Attributes:
        path: of it.
        source: its model, or the kernel that it is.
        notes: of it.
    """

    path: Path
    source: Application
    notes: Sequence[Note]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The most severe first."""
        return all_findings(self.source)

    @cached_property
    def moved_bytes(self) -> int:
        """By the application's own calls."""
        return io_of(self.source).moved_bytes

    @property
    def answer(self) -> str:
        """One sentence."""
        return why_slow(self.source, self.findings)

    @property
    def worst(self) -> str:
        """The first finding in a few words."""
        return HEADLINES[self.findings[0].kind] if self.findings else ""

    @property
    def order(self) -> tuple[int, int, float, str]:
        """Those with the gravest findings first."""
        share = self.source.run_times.io_percent or 0.0
        return (-self.number("critical"), -self.number("warning"), -share, self.path.name)

    def number(self, severity: str) -> int:
        """Findings of this severity."""
        return sum(one.severity == severity for one in self.findings)


def summary_of(path: Path) -> Summary | None:
    """What is said of a log, trace, model or kernel; None of another document of wavetank's."""
    if is_log(path):
        model = _model_of_log(path)
        return Summary(path, model, model.notes)
    kind = kind_of_document(path)
    if kind == "model":
        model = Model.read(path)
        return Summary(path, model, model.notes)
    if kind == "kernel":
        from wavetank.kernel.document.kernel import Kernel

        kernel = Kernel.read(path)
        return Summary(path, kernel, kernel.notes)
    return None


def model_of(path: Path) -> Model:
    """The model of a log or trace, or in a model file.

    Raises:
        UsageError: it is none of these.
    """
    if is_log(path):
        return _model_of_log(path)
    if kind_of_document(path) != "model":
        raise UsageError(f"{path} has no figures: give a log, a trace or a model")
    return Model.read(path)


def _model_of_log(path: Path) -> Model:
    """Of what is left, where a log is partial. Where only single operations are missing, its counters are whole."""
    from wavetank.model.extract import extract_model
    from wavetank.trace.open import open_trace

    trace = open_trace(path)
    if texts(trace.notes, "lost") and trace.counters:
        trace = _counted(trace)
    return extract_model(trace, provenance([path]))


def _counted(trace: Trace) -> Trace:
    columns = {
        column.name: getattr(trace.folds, column.name)[:0]
        for column in fields(FoldTable)
        if column.name != "details"
    }
    return replace(trace, folds=FoldTable(**columns, details=trace.folds.details))


def lines(summary: Summary, width: int | None) -> list[str]:
    """What is printed.

    Args:
        summary: of a log.
        width: of the terminal, characters; None: nothing wraps.
    """
    last = f"Everything: wavetank summary --full {summary.path}; as a page: --html FILE"
    return first_that_fits(_SIZES, lambda size: _lines(summary, width, *size), last)


def _lines(
    summary: Summary, width: int | None, n_findings: int, n_lines: int, n_files: int
) -> list[str]:
    found = shortened(summary.answer, width, 3)
    if lost := texts(summary.notes, "lost"):
        found += shortened(f"All numbers are at least: {lost[0]}.", width, 2)
    facts = what_it_is(summary.source)
    about_files = [line for line in facts if line.startswith("  ")]
    for line in facts:
        if line not in about_files:
            found += shortened(line, width, 2)
    for line in about_files[:n_files]:
        found += shortened(line, width, 1)
    found.append("")
    for one in summary.findings[:n_findings]:
        share = "" if one.share_of_time is None else f"[{percent(one.share_of_time)}] "
        parts = shortened(
            f"{share}{one.sentence}", None if width is None else width - len(_INDENT), n_lines
        )
        found += [f"{one.severity:9}{parts[0]}", *(_INDENT + part for part in parts[1:])]
        if one.paste is not None:
            found.append(f"{_INDENT}-> {one.paste}")
    if (more := len(summary.findings) - n_findings) > 0:
        found.append(f"{_INDENT}and {more} more {'finding' if more == 1 else 'findings'}")
    return found


def write_page(model: Model, path: Path) -> None:
    """All tables and figures of a model as one HTML file.

    Raises:
        ReportError: it cannot be written.
    """
    from wavetank.report.page.html import render_model

    text = render_model(model)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}. Choose another file") from error


def write_figures(model: Model, folder: Path) -> None:
    """The figures that a model has, as SVG and PNG; prints their names.

    Raises:
        ReportError: the folder cannot be made.
    """
    import click

    from wavetank.report.plots.kinds import KINDS, draw
    from wavetank.report.plots.model import Axis, has_times
    from wavetank.report.plots.svg import save

    axis: Axis = "time" if has_times(model) else "tick"
    kinds = [
        kind for kind in KINDS if model.timeline or kind not in ("heat", "temporal", "spatial")
    ]
    plots = [draw(model, kind, axis) for kind in kinds]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(
            f"cannot make the folder {folder}: {error.strerror}. Choose another"
        ) from error
    for plot in plots:
        for image_format in ("svg", "png"):
            path = folder / f"{plot.name}.{image_format}"
            save(plot, path, image_format)
            click.echo(path)
