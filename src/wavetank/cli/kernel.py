"""``wavetank kernel``: a model's kernel, as a replay and as the nearest lines of benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import format_option, print_tables
from wavetank.tables.table import Table, Value, plain_table

if TYPE_CHECKING:
    from wavetank.kernel.benchmarks.fio import FioPlan
    from wavetank.kernel.document.kernel import IorLine, Kernel, KernelFile, Refused


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
    help="Have IOR, fio and MPI-IO Test approximate phases that they cannot express; says by how much. "
    "Without it they are refused.",
)  # fmt: skip
@click.option(
    "--fio", "fio_file", type=click.Path(path_type=Path), help="Write a fio job file as well."
)
@click.option(
    "--mpi-io-test", is_flag=True, help="Print lines of LANL's MPI-IO Test (fs_test) as well."
)
@click.option(
    "--variant", metavar="KNOB=VALUE",
    help="Turn one knob of the application, e.g. request-size=1MiB or aggregators=4, and say what that changes.",
)  # fmt: skip
@format_option
def command(
    *, model: Path, output: Path, ior_version: str, ior_directory: Path | None, approximate: bool,
    fio_file: Path | None, mpi_io_test: bool, variant: str | None, output_format: str,
) -> None:  # fmt: skip
    """Turn a model into a kernel: exact replay, and the nearest IOR lines.

    Prints what the replay performs, the IOR lines, and what each does not reproduce.

    Example: wavetank kernel abyss.model.json -o abyss.kernel.json
    """
    from wavetank.kernel.construction.below import SENTENCE, is_without_places, model_below
    from wavetank.kernel.construction.from_model import make_kernel
    from wavetank.model.document.model import Model

    source = Model.read(model)
    if is_without_places(source):
        source = model_below(source)
        model = output.with_name(f"{output.stem}.posix.model.json")
        source.write(model)
        click.echo(f"wavetank: {SENTENCE}. Their model is {model}", err=True)
    if variant is not None:
        _refuse_with_variant(fio_file is not None, mpi_io_test)
    kernel = make_kernel(source, model, ior_version, approximate)
    if variant is not None:
        kernel = _turned(kernel, variant)
    kernel.write(output)
    tables = kernel_tables(kernel, ior_directory)
    if fio_file is not None:
        from wavetank.document import write_whole
        from wavetank.kernel.benchmarks.fio import fio_plan

        plan = fio_plan(kernel)
        write_whole(fio_file, plan.text())
        tables += _fio_tables(plan)
    if mpi_io_test:
        from wavetank.kernel.benchmarks.mpi_io_test import mpi_io_test_lines

        lines, refused = mpi_io_test_lines(kernel, source.series)
        tables += _line_tables("MPI-IO Test", lines, refused)
    print_tables(tables, output_format, {"kernel": str(output)})


def _refuse_with_variant(fio: bool, mpi_io_test: bool) -> None:
    from wavetank.errors import UsageError

    if fio or mpi_io_test:
        named = "--fio" if fio else "--mpi-io-test"
        raise UsageError(
            f"{named} writes lines for the application's own kernel, and --variant makes another: leave one out"
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


def kernel_tables(kernel: Kernel, ior_directory: Path | None = None) -> list[Table]:
    """The tables of a kernel; ``ior_directory``: of the files in IOR's lines."""
    from wavetank.kernel.document.variant_words import variant_tables
    from wavetank.model.tables.approximation_tables import approximation_tables

    tables = [_replay_table(kernel), _file_table(kernel)]
    tables += variant_tables(kernel.variant)
    tables += approximation_tables(kernel.approximation)
    if kernel.not_reproduced:
        tables.append(
            plain_table(
                "Not reproduced by the replay", ["what"], [[what] for what in kernel.not_reproduced]
            )
        )
    if kernel.ior:
        tables.extend(_ior_tables(kernel, ior_directory))
    if kernel.ior_refused:
        rows = _reasons((refused.ph_ids, refused.reason) for refused in kernel.ior_refused)
        note = None if kernel.approximate else "With --approximate it gets lines that come near."
        tables.append(plain_table("Refused by IOR", ["phases", "reason"], rows, note=note))
    return [*tables, *_mdtest_tables(kernel)]


def _mdtest_tables(kernel: Kernel) -> list[Table]:
    """Mdtest's lines for the phases of calls that move no data, and which it cannot make."""
    tables = []
    if kernel.mdtest:
        lines: list[list[Value]] = [
            [
                _phases(line.md_ids) if line.md_ids else "-",
                _phases(line.ph_ids) if line.ph_ids else "-",
                line.command,
            ]
            for line in kernel.mdtest
        ]
        missing: list[list[Value]] = [
            [_phases(line.md_ids) if line.md_ids else "-", what]
            for line in kernel.mdtest
            for what in line.not_reproduced
        ]
        note = "Phases of calls that move no data are numbered by themselves (md_id). Run each in an empty directory."
        tables.append(plain_table("mdtest", ["md_phases", "phases", "command"], lines, note=note))
        if missing:
            tables.append(plain_table("Not reproduced by mdtest", ["md_phases", "what"], missing))
    if kernel.mdtest_refused:
        rows = _reasons((one.md_ids, one.reason) for one in kernel.mdtest_refused)
        tables.append(plain_table("Refused by mdtest", ["md_phases", "reason"], rows))
    return tables


def _replay_table(kernel: Kernel) -> Table:
    from wavetank.model.tables.phase_table import operations_text, sizes_text
    from wavetank.units import format_size

    names = {file.file_id: file.name for file in kernel.files}
    rows: list[list[Value]] = [
        [phase.ph_id, names[phase.file_id], operations_text(phase),
         phase.ph_np, phase.ph_nrep, [member.rs for member in phase.pattern], phase.ph_weight]
        for phase in kernel.phases
    ]  # fmt: skip
    exact = "exact" if not kernel.not_reproduced else "with the differences below"
    if kernel.approximation is not None:
        exact = "approximate, with the differences below"
    return plain_table(
        "Replay",
        ["phase", "file", "operations", "ranks", "repetitions", "request_bytes", "weight_bytes"],
        rows,
        [
            [*map(str, row[:-2]), sizes_text(phase), format_size(phase.ph_weight)]
            for row, phase in zip(rows, kernel.phases, strict=True)
        ],
        note=f"{kernel.application}: {kernel.n_ranks} ranks, {exact}; needs {format_size(kernel.capacity_bytes)}."
        + (
            ""
            if kernel.extrapolation is None
            else f" Its model is {kernel.extrapolation.sentence()}."
        ),
    )


_ALIKE = 16  # files that differ in numbers only, from which on people are shown one line for them


def _file_table(kernel: Kernel) -> Table:
    rows: list[list[Value]] = [[file.title, file.role, file.prepare_bytes] for file in kernel.files]
    columns = ["name", "role", "made_beforehand_bytes"]
    return plain_table("Files", columns, rows, _files_for_people(kernel.files))


def _files_for_people(files: Sequence[KernelFile]) -> list[list[str]]:
    """A line for each file; one for many whose names differ in numbers only, and that are the same for the rest."""
    from wavetank.model.metadata.names import name_shape, where_they_differ

    groups: dict[tuple[object, ...], list[KernelFile]] = {}
    for file in files:
        own = file.file_id if file.members is not None else None
        key = (name_shape(file.name), file.role, file.prepare_bytes, file.directory, own)
        groups.setdefault(key, []).append(file)
    shown = []
    for alike in groups.values():
        titles = [file.title for file in alike]
        if len(alike) >= _ALIKE:
            what = "directories" if alike[0].directory else "files"
            pattern = where_they_differ([file.name for file in alike])
            titles = [f"{pattern} ({len(alike):,} {what})"]
        shown += [[title, alike[0].role, str(alike[0].prepare_bytes)] for title in titles]
    return shown


# What is in the IOR table's own columns, and then the rest by what matters most.
_IN_COLUMNS = ("Bytes:", "Operations:", "Request size")
_FIRST = (
    "Offsets",
    "The last operation",
    "The MPI file view",
    "Other ranks",
    "The files are named",
)


def _ior_tables(kernel: Kernel, directory: Path | None) -> list[Table]:
    from wavetank.kernel.fidelity.certificate import ior_fidelity

    issued = {row.ph_ids: row for row in ior_fidelity(kernel, kernel.phases)}
    request = {phase.ph_id: phase.pattern[0].rs for phase in kernel.phases}
    lines: list[list[Value]] = []
    for line in kernel.ior:
        row = issued[line.ph_ids]
        if line.before is not None:
            lines.append(
                [f"before {_phases(line.ph_ids)}", _in(line.before, directory), "", "", ""]
            )
        theirs = int(line.command.split(" -t ")[1].split()[0])
        lines.append(
            [_phases(line.ph_ids), _in(line.command, directory), _becomes(request[line.ph_ids[0]], theirs),
             _becomes(row.model.operations, row.kernel.operations), _becomes(row.model.bytes, row.kernel.bytes)]
        )  # fmt: skip
    columns = ["phases", "command", "request_bytes", "operations", "bytes"]
    where = " in a directory of their own" if directory is None else ""
    note = f"Run them in this order{where}; lines marked 'before' make what the next one reads."
    return [
        plain_table("IOR", columns, lines, note=note),
        plain_table("Not reproduced by IOR", ["phases", "what"], _sentences(kernel)),
    ]


def _in(command: str, directory: Path | None) -> str:
    """An IOR line with its file in a directory; without one as it is."""
    if directory is None:
        return command
    options, name = command.rsplit(" -o ", 1)
    return f"{options} -o {quote(str(directory / name))}"


def _fio_tables(plan: FioPlan) -> list[Table]:
    jobs: list[list[Value]] = [
        [
            job.ph_id,
            job.rank,
            job.file,
            job.engine,
            "write" if job.write else "read",
            job.block,
            job.skip,
            job.count,
        ]
        for job in plan.jobs
    ]
    columns = ["phase", "rank", "file", "ioengine", "rw", "bs", "skip", "number_ios"]
    missing: list[list[Value]] = [
        [str(ph_id), what] for ph_id, notes in plan.not_reproduced.items() for what in notes
    ]
    refused = _reasons((one.ph_ids, one.reason) for one in plan.refused)
    return [
        plain_table("fio jobs", columns, jobs),
        plain_table("Not reproduced by fio", ["phases", "what"], missing),
        *([plain_table("Refused by fio", ["phases", "reason"], refused)] if refused else []),
    ]


def _line_tables(name: str, lines: Sequence[IorLine], refused: Sequence[Refused]) -> list[Table]:
    commands: list[list[Value]] = [[_phases(line.ph_ids), line.command] for line in lines]
    missing: list[list[Value]] = [
        [_phases(line.ph_ids), what] for line in lines for what in line.not_reproduced
    ]
    reasons = _reasons((one.ph_ids, one.reason) for one in refused)
    return [
        plain_table(name, ["phases", "command"], commands),
        plain_table(f"Not reproduced by {name}", ["phases", "what"], missing),
        *([plain_table(f"Refused by {name}", ["phases", "reason"], reasons)] if reasons else []),
    ]


def _becomes(ours: int, theirs: int) -> str:
    return str(ours) if ours == theirs else f"{ours} -> {theirs}"


def _sentences(kernel: Kernel) -> list[list[Value]]:
    """Each sentence once, with the phases that it is true of."""
    phases: dict[str, list[int]] = {}
    for line in kernel.ior:
        for sentence in line.not_reproduced:
            if not sentence.startswith(_IN_COLUMNS):
                phases.setdefault(sentence, []).extend(line.ph_ids)
    everything = sorted(ph_id for line in kernel.ior for ph_id in line.ph_ids)

    def importance(sentence: str) -> int:
        return next(
            (i for i, start in enumerate(_FIRST) if sentence.startswith(start)), len(_FIRST)
        )

    return [
        ["all" if sorted(ph_ids) == everything else _phases(ph_ids), sentence]
        for sentence, ph_ids in sorted(phases.items(), key=lambda item: importance(item[0]))
    ]


def _reasons(refused: Iterable[tuple[Sequence[int], str]]) -> list[list[Value]]:
    """Rows of the phases that a benchmark cannot express, a row for each reason."""
    from wavetank.kernel.document.kernel import by_reason

    return [[_phases(ph_ids), reason] for ph_ids, reason in by_reason(refused)]


def _phases(ph_ids: Sequence[int]) -> str:
    """Phase numbers as "1-40,42"."""
    from wavetank.kernel.lowering.plan_text import rank_list

    return rank_list(sorted(ph_ids))
