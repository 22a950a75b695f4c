"""``wavetank fit``: models at several process counts become functions of the process count."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import format_option, print_tables
from wavetank.tables.table import Table, Value, plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wavetank.model.scaling.fitting import Fit, FittedValue


@click.command(name="fit")
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--np",
    "n_processes",
    type=click.IntRange(min=1),
    help="Make the model of a run with this many processes, never traced.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write that model to this file (JSON).",
)
@click.option(
    "--name",
    help="The program's name, where it differs with the number of processes (lu.A.4, lu.A.16).  [default: the models']",
)
@format_option
def command(
    models: tuple[Path, ...],
    n_processes: int | None,
    output: Path | None,
    name: str | None,
    output_format: str,
) -> None:
    """Fit models of one application at several process counts, and extrapolate.

    MODELS are model files of runs that differ in the number of processes alone. Prints each field as the
    function of np (and of the rank) that fits exactly, sizes in bytes, and how many runs are left to check it.
    A kernel of the extrapolated model replays at that process count; what no function gives is refused there.

    Example: wavetank fit bt4.json bt9.json bt16.json --np 36 -o bt36.json
    """  # fmt: skip
    from wavetank.cli.model_output import print_model
    from wavetank.document import provenance
    from wavetank.errors import UsageError
    from wavetank.model.document.model import Model
    from wavetank.model.scaling.extrapolation import extrapolate
    from wavetank.model.scaling.fitting import fit_models

    if output is not None and n_processes is None:
        raise UsageError("-o writes the extrapolated model: say for how many processes with --np")
    given = [Model.read(path) for path in models]
    if name is not None:
        given = [model.model_copy(update={"application": name}) for model in given]
    fit = fit_models(given)
    if n_processes is None:
        print_tables([_table(fit), _rank_table(fit)], output_format)
        return
    model = extrapolate(fit, n_processes, provenance(models))
    if output is not None:
        model.write(output)
    print_model(model, output_format)
    if output is not None:
        click.echo(f"wrote {output}", err=True)


def _table(fit: Fit) -> Table:
    """A row for each field; phases with the same rows are joined for people."""
    counts = list(fit.models)
    rows: list[tuple[Value, ...]] = []
    for field in fit.fields:
        if all(value is None for value in field.values.values()):
            continue
        values = [None if value is None else str(value) for value in field.values.values()]
        function = _functions(field)
        rows.append((field.ph_id, field.field, *values, function, field.n_checks))
    columns = (
        "ph_id", "field", *(f"np {count}" for count in counts), "function", "runs_left_to_check"
    )  # fmt: skip
    return plain_table(
        "Fields by number of processes",
        columns,
        rows,
        _joined(rows, "application"),
        note=_note(fit),
    )


def _functions(field: FittedValue) -> str:
    """The functions of as many parameters that give all values: if there are several, no run tells them apart."""
    if field.functions:
        return " or ".join(map(str, field.functions))
    if None in field.values.values():
        return "not known in all runs"
    if field.unsure:
        return "not sure: one run alone checks " + " or ".join(map(str, field.unsure))
    return "two runs tell no more than a constant" if len(field.values) < 3 else "no function fits"


def _note(fit: Fit) -> str | None:
    """What does not correspond, and what few runs cannot tell."""
    from wavetank.model.scaling.functions.process_functions import LEAST_CHECKS, MOST_PARAMETERS

    notes = []
    if fit.why_not is not None:
        notes.append(f"{fit.why_not}: fields of phases are left out here.")
    if len(fit.models) < MOST_PARAMETERS + LEAST_CHECKS:
        notes.append(
            f"A formula needs {LEAST_CHECKS} runs more than it has parameters: a proportion 3 runs, a line 4."
        )
    return " ".join(notes) or None


def _joined(rows: Sequence[tuple[Value, ...]], nothing: str) -> list[list[str]]:
    """Rows that differ in the phase alone as one."""
    from wavetank.tables.words import numbers_text

    spans: dict[tuple[Value, ...], list[int]] = {}
    shown: list[list[str]] = []
    for row in rows:
        if isinstance(row[0], int):
            spans.setdefault(row[1:], []).append(row[0])
        else:
            shown.append([nothing, *("-" if cell is None else str(cell) for cell in row[1:])])
    for rest, numbers in spans.items():
        shown.append(
            [numbers_text(numbers), *("-" if cell is None else str(cell) for cell in rest)]
        )
    return shown


def _rank_table(fit: Fit) -> Table:
    """What each group of ranks does, as functions of np and the rank."""
    from wavetank.model.scaling.functions.process_functions import NoFunctionError

    columns = ("ph_id", "ranks", "field", "function", "runs_left_to_check")
    title = "By rank"
    if isinstance(fit.grouped, NoFunctionError):
        return plain_table(title, columns, [], [], note=f"Not extrapolated: {fit.grouped}.")
    rows: list[tuple[Value, ...]] = []
    for group in fit.grouped.groups:
        ids = [phase.ph_id for phase in group.sample.phases]
        told: list[tuple[int | None, str, str, int | None]] = [
            *group.fields,
            *(
                (number, "not extrapolated", reason, None)
                for number, reason in group.reasons.items()
            ),
            *(
                (None, "not extrapolated", reason, None)
                for reason in dict.fromkeys(group.step_reasons)
            ),
        ]
        rows += [
            (None if number is None else ids[number], group.members_text, field, text, n_checks)
            for number, field, text, n_checks in told
        ]
    rows += [
        (None, "-", f"not extrapolated: {kind}", reason, None)
        for kind, reason in fit.grouped.left_out.items()
    ]
    note = f"Phases are numbered as at np {max(fit.models)}. Only what has a run left to check it is extrapolated."
    return plain_table(title, columns, rows, _joined(rows, "-"), note=note)
