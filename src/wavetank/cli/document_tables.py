"""The tables of any file or trace of the chain, told by its content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import note_rows, print_notes, print_tables
from wavetank.errors import DocumentError
from wavetank.tables.table import Fact, facts

if TYPE_CHECKING:
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.measure.result import Measurement
    from wavetank.tables.table import Table


def print_document(path: Path, output_format: str) -> None:
    """Print the tables of a log, or of a file that wavetank wrote.

    Raises:
        DocumentError: it is neither.
    """
    if is_log(path):
        _print_log(path, output_format)
        return
    kind = kind_of_document(path)
    if kind == "model":
        from wavetank.cli.model_output import print_model
        from wavetank.model.document.model import Model

        print_model(Model.read(path), output_format)
    elif kind == "kernel":
        from wavetank.kernel.document.kernel import Kernel

        _show_kernel(Kernel.read(path), output_format)
    elif kind == "measurement":
        from wavetank.measure.result import Measurement

        _show_measurement(Measurement.read(path), output_format)
    else:
        print_tables([_generic(path)], output_format)


def is_log(path: Path) -> bool:
    """Whether this is a trace, or a log of a tool that traces are imported from."""
    from wavetank.errors import TraceError
    from wavetank.trace.open import kind_of

    if path.exists() and not path.is_file() and not path.is_dir():
        kind_of(path)  # refuses a pipe, which can be read only once
    if path.is_dir():
        return True  # the reader of traces says what it lacks
    try:
        with path.open("rb") as stream:
            if stream.read(64).lstrip().startswith(b"{"):
                return False
        kind_of(path)
    except (OSError, TraceError):
        return False
    return True


def kind_of_document(path: Path) -> str:
    """What a file is, by its ``schema`` key: "model" of "wavetank.model/1"."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DocumentError(
            f"there is no {path}. Give a trace folder or a file that wavetank wrote"
        ) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DocumentError(
            f"cannot print {path}: it is no JSON file that wavetank wrote, and no log of another tool ({error}). "
            "Give a trace folder, or a model, kernel or measurement file"
        ) from error
    schema = body.get("schema") if isinstance(body, dict) else None
    if not isinstance(schema, str) or not schema.startswith("wavetank."):
        raise DocumentError(
            f"cannot print {path}: it is JSON, but its schema is {schema!r} and not one of wavetank's"
        )
    return schema.removeprefix("wavetank.").split("/")[0]


def _print_log(path: Path, output_format: str) -> None:
    """Ranks, operations by file and call; and the tables of its model, unless nothing can be modelled."""
    from wavetank.cli.model_output import described
    from wavetank.document import provenance
    from wavetank.errors import ModelError
    from wavetank.model.extract import extract_model
    from wavetank.model.tables.trace_tables import trace_tables
    from wavetank.trace.open import open_trace

    trace = open_trace(path)
    tables, notes = trace_tables(trace), trace.notes
    answer: str | None = None
    try:
        model = extract_model(trace, provenance([path]))
        answer, of_model = described(model)
        tables, notes = [*of_model, *tables], model.notes
    except ModelError as error:
        click.echo(f"note: no model: {error}", err=True)
    print_tables(tables, output_format, extra={"answer": answer, "notes": note_rows(notes)})
    print_notes(notes)


def _show_kernel(kernel: Kernel, output_format: str) -> None:
    from wavetank.kernel.tables.kernel import file_table, omission_table
    from wavetank.model.tables.approximation_tables import approximation_tables
    from wavetank.model.tables.phase_table import phase_table

    names = {file.file_id: file.name for file in kernel.files}
    print_tables(
        [
            *approximation_tables(kernel.approximation),
            file_table(kernel),
            phase_table(kernel.phases, (), names, kernel.n_ranks),
            omission_table(kernel),
        ],
        output_format,
    )


def _show_measurement(measurement: Measurement, output_format: str) -> None:
    from wavetank.kernel.tables.results import totals_table
    from wavetank.measure.tables import measurement_table, phase_table

    tables = [
        measurement_table(measurement),
        phase_table(measurement),
        totals_table(measurement.result),
    ]
    print_tables(tables, output_format)


DOCUMENT = facts("document", "Document", "key", command="summary")
DEFINITIONS = (DOCUMENT,)


def _generic(path: Path) -> Table:
    """Top-level keys of another document: values as they are, lists by their length."""
    body = json.loads(path.read_text(encoding="utf-8"))
    rows: list[Fact] = []
    for key, value in body.items():
        if isinstance(value, list):
            rows.append((key, f"{len(value)} entries"))
        elif isinstance(value, dict):
            rows.append((key, ", ".join(value)))
        else:
            rows.append((key, value))
    return DOCUMENT.table(rows, title=str(body["schema"]))
