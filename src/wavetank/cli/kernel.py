"""``wavetank kernel``: a model's kernel, as a replay and as the nearest lines of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import Cell, Table, format_option, print_tables

if TYPE_CHECKING:
    from wavetank.kernel.plan import Kernel


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Kernel file to write."
)
@click.option(
    "--ior-version", type=click.Choice(["4.0", "3.3", "2.10"]), default="4.0", show_default=True,
    help="Dialect of the IOR lines; 2.10 is that of the papers.",
)  # fmt: skip
@format_option
def command(model: Path, output: Path, ior_version: str, output_format: str) -> None:
    """Turn a model into a kernel: exact replay, and the nearest IOR lines.

    Prints what the replay performs, the IOR lines, and what each does not reproduce.

    Example: wavetank kernel abyss.model.json -o abyss.kernel.json
    """
    from wavetank.kernel.from_model import make_kernel
    from wavetank.model.application import Model

    kernel = make_kernel(Model.read(model), model, ior_version=ior_version)
    kernel.write(output)
    print_tables(kernel_tables(kernel), output_format, {"kernel": str(output)})


def kernel_tables(kernel: Kernel) -> list[Table]:
    """The tables of a kernel."""
    tables = [_replay_table(kernel), _file_table(kernel)]
    if kernel.not_reproduced:
        tables.append(
            Table(
                "Not reproduced by the replay", ["what"], [[what] for what in kernel.not_reproduced]
            )
        )
    if kernel.ior:
        tables.extend(_ior_tables(kernel))
    if kernel.ior_refused:
        rows: list[list[Cell]] = [
            [_phases(refused.ph_ids), refused.reason] for refused in kernel.ior_refused
        ]
        tables.append(Table("Refused by IOR", ["phases", "reason"], rows))
    return tables


def _replay_table(kernel: Kernel) -> Table:
    from wavetank.units import format_size

    rows: list[list[Cell]] = [
        [phase.ph_id, _file_name(kernel, phase.file_id), ", ".join(member.iop_type for member in phase.pattern),
         phase.ph_np, phase.ph_nrep, phase.pattern[0].rs, phase.ph_weight]
        for phase in kernel.phases
    ]  # fmt: skip
    exact = "exact" if not kernel.not_reproduced else "with the differences below"
    return Table(
        "Replay",
        ["phase", "file", "operations", "ranks", "repetitions", "request_bytes", "weight_bytes"],
        rows,
        [
            [*map(str, row[:-1]), format_size(phase.ph_weight)]
            for row, phase in zip(rows, kernel.phases, strict=True)
        ],
        note=f"{kernel.application}: {kernel.n_ranks} ranks, {exact}; needs {format_size(kernel.capacity_bytes)}.",
    )


def _file_table(kernel: Kernel) -> Table:
    rows: list[list[Cell]] = [[file.name, file.role, file.prepare_bytes] for file in kernel.files]
    return Table("Files", ["name", "role", "made_beforehand_bytes"], rows)


def _ior_tables(kernel: Kernel) -> list[Table]:
    lines: list[list[Cell]] = [[_phases(line.ph_ids), line.command] for line in kernel.ior]
    missing: list[list[Cell]] = [
        [_phases(line.ph_ids), what] for line in kernel.ior for what in line.not_reproduced
    ]
    return [
        Table("IOR", ["phases", "command"], lines, note="Run each in the directory of the kernel's files."),
        Table("Not reproduced by IOR", ["phases", "what"], missing),
    ]  # fmt: skip


def _file_name(kernel: Kernel, file_id: int) -> str:
    return next(file.name for file in kernel.files if file.file_id == file_id)


def _phases(ph_ids: Sequence[int]) -> str:
    """Phase numbers as "1-40,42"."""
    from wavetank.kernel.lower import rank_list

    return rank_list(sorted(ph_ids))
