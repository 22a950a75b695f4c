"""``wavetank fidelity``: the operations that a kernel will issue against its model's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.numpy_start import import_numpy
from wavetank.cli.output import print_tables, prints
from wavetank.notes import carried, texts
from wavetank.tables.words import id_range

if TYPE_CHECKING:
    from wavetank.cli.table_sets import Definitions
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.kernel.fidelity.rows import PhaseFidelity

_OUTSIDE_TOLERANCE = 3


def _tables() -> Definitions:
    from wavetank.kernel.tables.fidelity import DEFINITIONS

    return DEFINITIONS


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path))
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--of", "which", type=click.Choice(["replay", "ior", "fio"]), default="replay", show_default=True,
    help="Which form of the kernel to compare.",
)  # fmt: skip
@click.option(
    "--tolerance", type=click.FloatRange(min=0), default=0.0, show_default=True, metavar="PERCENT",
    help="How far operations and bytes of a phase may be off, in percent; 0 asks for exactness.",
)  # fmt: skip
@prints(_tables)
def command(kernel: Path, model: Path, which: str, tolerance: float, output_format: str) -> None:
    """Compare the operations that a kernel will issue with its model's.

    Ends with status 3 when a phase is outside of the tolerance. A stronger proof is a
    run: trace 'wavetank replay', and give its model and the kernel's to 'wavetank diff'.

    Example: wavetank fidelity abyss.kernel.json abyss.model.json
    """
    import_numpy()
    from wavetank.document import sha256_of
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.kernel.fidelity.benchmark_certificate import fio_fidelity, ior_fidelity
    from wavetank.kernel.fidelity.certificate import replay_fidelity
    from wavetank.kernel.tables.fidelity import fidelity_tables
    from wavetank.model.document.model import Model

    ours, theirs = Kernel.read(kernel), Model.read(model)
    if ours.model_sha256 != sha256_of(model):
        click.echo(
            f"wavetank: warning: {kernel} was made from another model than {model} (their hashes differ)", err=True
        )  # fmt: skip
    rows = {
        "replay": lambda: replay_fidelity(ours, theirs),
        "ior": lambda: ior_fidelity(ours, theirs.phases),
        "fio": lambda: fio_fidelity(ours, theirs.phases),
    }[which]()
    outside = [row for row in rows if not row.within(tolerance / 100)]
    said = (
        _exact(ours, which)
        if all(row.exact or row.left_to_mpi for row in rows)
        else f"{len(outside)} of {len(rows)} outside of the tolerance of {tolerance:g} %."
    )
    extrapolated = None if ours.extrapolation is None else ours.extrapolation.sentence()
    whence = "" if extrapolated is None else f" The kernel and its model are {extrapolated}."
    left_out = texts(ours.notes) if which == "replay" else ()
    tables = fidelity_tables(rows, f"{said}{_races(rows)}{whence}", left_out)
    print_tables(
        tables,
        output_format,
        {
            "within_tolerance": not outside,
            "of": which,
            "extrapolated": extrapolated,
            "doubts": list(texts(carried(ours.notes))),
        },
    )
    if outside:
        sys.exit(_OUTSIDE_TOLERANCE)


def _exact(kernel: Kernel, which: str) -> str:
    """What to say of a kernel that does what its model says; of one that leaves something out, no more than that."""
    if doubts := texts(carried(kernel.notes)):
        return f"The kernel does what its model says, which is not all that the application did: {'; '.join(doubts)}."
    if which == "replay" and kernel.notes:
        return "Exact as far as the model tells; what the kernel leaves out, changes or does not know is below."
    return "Exact."


def _races(rows: list[PhaseFidelity]) -> str:
    """A sentence on phases whose places are not compared because the application does not determine them."""
    ph_ids = [ph_id for row in rows if row.places_by_race for ph_id in row.ph_ids]
    if not ph_ids:
        return ""
    return (
        f" Where the calls of phase {id_range(ph_ids)} go is not determined by the application: which rank comes "
        "first to the shared file pointer is decided anew in each run, and in each replay."
    )
