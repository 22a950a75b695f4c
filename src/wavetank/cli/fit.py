"""``wavetank fit``: models at several process counts become functions of the process count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_tables, prints
from wavetank.cli.table_sets import model_definitions
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import DASH, numbers_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wavetank.model.scaling.fitting import Fit, FittedValue


@dataclass(frozen=True)
class _Field:
    """A field, and what it is as a function of np.

    Attributes:
        ph_ids: its phase; for people, several that are the same in all else; none: it is the application's.
        ranks: those that it is about; None: all.
        values: at each process count.
        function: in words, or why there is none.
        n_checks: runs that are left to check it.
    """

    ph_ids: tuple[int, ...]
    field: str
    function: str
    n_checks: int | None
    values: tuple[str | None, ...] = ()
    ranks: str | None = None


def _phase(field: _Field, nothing: str) -> Cell:
    return Cell(
        numbers_text(field.ph_ids) if field.ph_ids else nothing,
        field.ph_ids[0] if field.ph_ids else None,
    )


_FUNCTION: tuple[Column[_Field], ...] = (
    Column("function", "Function", lambda i: i.function, wide=True),
    Column("runs_left_to_check", "Runs left to check", lambda i: i.n_checks, kind="integer"),
)

FIELDS: Definition[_Field] = Definition(
    "fields-by-number-of-processes",
    "Fields by number of processes",
    (
        Column("ph_id", "Phase", lambda i: _phase(i, "application"), kind="integer"),
        Column("field", "Field", lambda i: i.field),
        *_FUNCTION,
    ),
    each=Column("^np [0-9]+$", "Value at this number of processes", lambda _: None),
    command="fit",
)

BY_RANK: Definition[_Field] = Definition(
    "by-rank",
    "By rank",
    (
        Column("ph_id", "Phase", lambda i: _phase(i, DASH), kind="integer"),
        Column("ranks", "Ranks", lambda i: i.ranks),
        Column("field", "Field", lambda i: i.field),
        *_FUNCTION,
    ),
    command="fit",
)
DEFINITIONS = (FIELDS, BY_RANK)


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
@prints(lambda: (*DEFINITIONS, *model_definitions()))
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
    rows = []
    for field in fit.fields:
        told = tuple(None if value is None else str(value) for value in field.values.values())
        if any(value is not None for value in told):
            ph_ids = () if field.ph_id is None else (field.ph_id,)
            rows.append(_Field(ph_ids, field.field, _functions(field), field.n_checks, told))
    counts = [_count(at, n) for at, n in enumerate(fit.models)]
    columns = (*FIELDS.columns[:2], *counts, *FIELDS.columns[2:])
    return replace(FIELDS, columns=columns).table(rows, people=_joined(rows), caption=_note(fit))


def _count(at: int, n_processes: int) -> Column[_Field]:
    name = f"np {n_processes}"
    return Column(name, name, lambda i: i.values[at])


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


def _joined(rows: Sequence[_Field]) -> list[_Field]:
    """Rows that differ in the phase alone as one."""
    spans: dict[tuple[bool, _Field], list[int]] = {}
    for row in rows:
        spans.setdefault((bool(row.ph_ids), replace(row, ph_ids=())), []).extend(row.ph_ids)
    return [
        replace(row, ph_ids=tuple(ph_ids))
        for (_, row), ph_ids in sorted(spans.items(), key=lambda item: item[0][0])
    ]


def _rank_table(fit: Fit) -> Table:
    """What each group of ranks does, as functions of np and the rank."""
    from wavetank.model.scaling.functions.process_functions import NoFunctionError

    if isinstance(fit.grouped, NoFunctionError):
        return BY_RANK.table([], caption=f"Not extrapolated: {fit.grouped}.")
    rows: list[_Field] = []
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
            _Field(
                () if number is None else (ids[number],),
                field,
                text,
                n_checks,
                ranks=group.members_text,
            )
            for number, field, text, n_checks in told
        ]
    rows += [
        _Field((), f"not extrapolated: {kind}", reason, None)
        for kind, reason in fit.grouped.left_out.items()
    ]
    note = f"Phases are numbered as at np {max(fit.models)}. Only what has a run left to check it is extrapolated."
    return BY_RANK.table(rows, people=_joined(rows), caption=note)
