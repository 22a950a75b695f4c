"""``wavetank kernel``: a model's kernel, as a replay and as the nearest lines of benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.numpy_start import import_numpy
from wavetank.cli.output import print_tables, prints

if TYPE_CHECKING:
    from wavetank.cli.table_sets import Definitions
    from wavetank.kernel.document.kernel import Kernel


def _tables() -> Definitions:
    from wavetank.kernel.document.variant_words import DEFINITIONS as VARIANT
    from wavetank.kernel.tables.kernel import FILES, NOT_BY_REPLAY, REPLAY
    from wavetank.kernel.tables.lines import DEFINITIONS as LINES
    from wavetank.model.tables.approximation_tables import ASSUMPTIONS, QUANTITIES

    return (REPLAY, FILES, *VARIANT, QUANTITIES, ASSUMPTIONS, NOT_BY_REPLAY, *LINES)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Kernel file to write."
)
@click.option(
    "--ior-version", type=click.Choice(["4.0", "3.3", "2.10"]), default="4.0", show_default=True,
    help="Dialect of the IOR lines; 2.10 is that of the papers.",
)  # fmt: skip
@click.option(
    "--ior-directory", type=click.Path(path_type=Path),
    help="Directory on the storage under test: printed IOR lines name their files in it.",
)  # fmt: skip
@click.option(
    "--approximate", is_flag=True,
    help="Have IOR and fio approximate phases that they cannot express; says by how much. "
    "Without it they are refused.",
)  # fmt: skip
@click.option(
    "--fio", "fio_file", type=click.Path(path_type=Path), help="Write a fio job file as well."
)
@click.option(
    "--variant", metavar="KNOB=VALUE",
    help="Turn one knob of the application, e.g. request-size=1MiB or aggregators=4, and say what that changes.",
)  # fmt: skip
@prints(_tables)
def command(
    *, model: Path, output: Path, ior_version: str, ior_directory: Path | None, approximate: bool,
    fio_file: Path | None, variant: str | None, output_format: str,
) -> None:  # fmt: skip
    """Turn a model into a kernel: exact replay, and the nearest IOR lines.

    Prints what the replay performs, the IOR lines, and what each does not reproduce.

    Example: wavetank kernel abyss.model.json -o abyss.kernel.json
    """
    import_numpy()
    from wavetank.kernel.construction.from_model import make_kernel
    from wavetank.kernel.construction.places import BELOW, is_without_places
    from wavetank.kernel.tables.all import kernel_tables
    from wavetank.model.document.model import Model

    if variant is not None:
        _refuse_with_variant(variant, fio_file is not None)
    source = Model.read(model)
    if is_without_places(source):
        from wavetank.kernel.construction.below import model_below

        source = model_below(source)
        model = output.with_name(f"{output.stem}.posix.model.json")
        source.write(model)
        click.echo(f"wavetank: {BELOW}. Their model is {model}", err=True)
    kernel = make_kernel(source, model, ior_version, approximate)
    if variant is not None:
        kernel = _turned(kernel, variant)
    kernel.write(output)
    tables = kernel_tables(kernel, ior_directory)
    if fio_file is not None:
        from wavetank.document import write_whole
        from wavetank.kernel.benchmarks.fio import fio_plan
        from wavetank.kernel.tables.lines import fio_tables

        plan = fio_plan(kernel)
        write_whole(fio_file, plan.text())
        tables += fio_tables(plan)
    print_tables(tables, output_format, {"kernel": str(output)})


def _refuse_with_variant(variant: str, fio: bool) -> None:
    """What cannot be, whatever the model is.

    Raises:
        UsageError: there is no such knob, or lines are asked for that only the application's own kernel has.
    """
    from wavetank.errors import UsageError
    from wavetank.variants.make import check_settings

    check_settings([variant])
    if fio:
        raise UsageError(
            "--fio writes jobs for the application's own kernel, and --variant makes another: leave one out"
        )


def _turned(kernel: Kernel, setting: str) -> Kernel:
    """The kernel with one knob turned.

    Raises:
        KernelError: the knob has nothing to turn in it.
    """
    from wavetank.errors import KernelError
    from wavetank.variants.base import DoesNotApplyError
    from wavetank.variants.make import make_variant

    try:
        return make_variant(kernel, setting)
    except DoesNotApplyError as error:
        raise KernelError(
            f"{setting} does not apply to {kernel.application}: {error}. No kernel was written"
        ) from error
