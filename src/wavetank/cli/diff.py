"""``wavetank diff``: two models, phase by phase."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.numpy_start import import_numpy
from wavetank.cli.output import print_tables, prints, say
from wavetank.cli.table_sets import difference_definitions

if TYPE_CHECKING:
    from wavetank.model.document.model import Model


@click.command(name="diff")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@prints(difference_definitions)
def command(first: Path, second: Path, output_format: str) -> int:
    """Compare two models phase by phase.

    Sizes and offsets are in bytes. Exit status 0 when they stand for the same I/O, 3 when they
    differ, 1 when a file cannot be read, 2 when it is a trace and no model.

    Example: wavetank diff app.model.json replay.model.json
    """
    import_numpy()
    from wavetank.model.comparison.difference import compare_models
    from wavetank.model.comparison.difference_table import counts, difference_table
    from wavetank.model.comparison.library_calls import notes_on_library_calls

    a, b = _model(first), _model(second)
    result = compare_models(a, b)
    notes = [*notes_on_library_calls(a, b, result), *result.notes]
    if result.same and output_format == "table":
        say(f"The models stand for the same I/O. {counts(result)}")
    else:
        print_tables(
            [difference_table(result)],
            output_format,
            extra={
                "same": result.same,
                "n_equal_phases": result.n_equal_phases,
                "notes": notes,
            },
        )
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return 0 if result.same else 3


def _model(path: Path) -> Model:
    """The model in a file.

    Raises:
        UsageError: it is a trace or a log.
    """
    from wavetank.errors import ModelError, TraceError, UsageError
    from wavetank.model.document.model import Model
    from wavetank.trace.open import kind_of

    try:
        return Model.read(path)
    except ModelError:
        try:
            kind_of(path)
        except TraceError:
            pass
        else:
            raise UsageError(
                f"{path} is a trace, and diff compares models. Make one with: wavetank model {path} -o {path.stem}.model.json"
            ) from None
        raise
