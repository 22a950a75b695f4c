"""``wavetank replay``: perform a kernel in a directory of this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_tables, prints
from wavetank.errors import KernelError, UsageError
from wavetank.notes import carried, texts

if TYPE_CHECKING:
    from wavetank.cli.table_sets import Definitions
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.kernel.execution.replay import ReplayOptions
    from wavetank.launchers.base import Launcher


def _tables() -> Definitions:
    from wavetank.kernel.tables.results import DEFINITIONS

    return DEFINITIONS


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path))
@click.option(
    "--root", type=click.Path(path_type=Path), required=True,
    help="Directory that holds the kernel's files.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Result file to write.")
@click.option("--np", "n_ranks", type=click.IntRange(min=1), help="Must equal the kernel's ranks.")
@click.option(
    "--launcher", "launcher_name", type=click.Choice(["openmpi", "mpich", "srun", "none"]), default=None,
    help="Starts the ranks; by default none for one rank without MPI-IO, else that of the traced run's MPI where it is installed.",
)  # fmt: skip
@click.option(
    "--prepare/--no-prepare", default=True, show_default=True,
    help="Make the input files beforehand; not measured.",
)  # fmt: skip
@click.option("--drop-caches", is_flag=True, help="Empty the page cache of the kernel's files.")
@click.option(
    "--pauses", default="drop", show_default=True, metavar="drop|keep|scale=X|at-most=S",
    help="Pauses between operations: left out, as recorded, times X, or shortened to S seconds.",
)  # fmt: skip
@click.option(
    "--flush", type=click.Choice(["none", "phase", "end"]), default="end", show_default=True,
    help="Have written data on storage: as the application does, at the end of each phase within its time, or at the end "
    "of the run within the I/O time.",
)  # fmt: skip
@click.option("--verify", is_flag=True, help="Check every byte that is read.")
@click.option("--direct", is_flag=True, help="Open files with O_DIRECT.")
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0.1), metavar="SECONDS",
    help="End the run after so many seconds; it then counts as failed. Ranks without progress for a quarter of it, at most a "
    "minute, are named.",
)  # fmt: skip
@click.option(
    "--with", "program", type=click.Choice(["replay", "ior", "fio"]), default="replay", show_default=True,
    help="Perform it exactly, or by the nearest lines of an installed IOR or jobs of an installed fio (says what differs).",
)  # fmt: skip
@click.option("--keep/--no-keep", default=True, show_default=True, help="Keep the kernel's files.")
@prints(_tables)
def command(
    *, kernel: Path, root: Path, output: Path | None, n_ranks: int | None, launcher_name: str | None, prepare: bool,
    drop_caches: bool, pauses: str, flush: str, verify: bool, direct: bool, timeout_s: float | None, keep: bool, program: str,
    output_format: str,
) -> None:  # fmt: skip
    """Perform a kernel in a directory of this machine. Needs no root and no cluster.

    Example: wavetank replay abyss.kernel.json --root /scratch/tank -o result.json
    """
    from typing import Literal, cast

    from wavetank.document import check_writable, provenance, sha256_of
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.kernel.execution.fio_run import run_fio
    from wavetank.kernel.execution.ior_run import run_ior
    from wavetank.kernel.execution.moved import how_far
    from wavetank.kernel.execution.replay import (
        ReplayOptions,
        run_replay,
        scaled,
        with_settings,
    )
    from wavetank.kernel.execution.scratch import scratch_folder
    from wavetank.kernel.preparation.input_files import prepare_files, remove_files
    from wavetank.kernel.results.result import ReplayRun
    from wavetank.kernel.tables.results import result_tables
    from wavetank.launchers.family import other_library
    from wavetank.launchers.registry import launcher
    from wavetank.steps import doing, steps

    _refuse_replay_options(program, pauses, flush, verify=verify, direct=direct)
    with_pauses = scaled(ReplayOptions(), pauses)
    made = Kernel.read(kernel)
    if output is not None:
        check_writable(output)
    _require_ranks(made, n_ranks)
    for doubt in texts(carried(made.notes)):
        click.echo(f"note: {doubt}", err=True)
    starter = launcher(launcher_name or _default_launcher(made, program))
    if program == "replay":
        _require_exact(made, starter, pauses)
        if (another := other_library(made.mpi_library, starter.mpi_family)) is not None:
            click.echo(f"note: {another}", err=True)
    flushing = cast(Literal["none", "phase", "end"], flush)
    settings = (("prepared", "yes" if prepare else "no: files as they were found"),)
    options = replace(
        with_pauses,
        flush=flushing,
        verify=verify,
        direct=direct,
        timeout_s=timeout_s,
        settings=settings,
    )
    if prepare:
        prepare_files(made, root, lambda what: steps.info("%s", what))
    elif not root.is_dir():
        raise KernelError(f"{root} is not a directory. Name the one that holds the kernel's files")
    options = _with_cache(options, _dropped(made, root) if drop_caches else "warm, not touched")
    with (
        scratch_folder() as scratch,
        doing(f"replaying {made.application}, {_ranks(made)}", unit="B") as replaying,
    ):
        if program == "fio":
            result = run_fio(made, root.resolve(), scratch, timeout_s, flush=flush != "none")
        elif program == "ior":
            result = run_ior(
                made, root.resolve(), starter, scratch, timeout_s, flush=flush != "none"
            )
        else:
            result = run_replay(
                made, root.resolve(), starter, scratch, None, options,
                tell=lambda what: steps.info("%s", what),
                on_moved=how_far(replaying, made),
            )  # fmt: skip
    result = with_settings(result, **dict(options.settings))
    if prepare and (not keep or result.status == "failed"):
        remove_files(made, root)
    if output is not None:
        ReplayRun(
            provenance=provenance(inputs=[kernel]),
            application=made.application,
            kernel_sha256=sha256_of(kernel),
            root=str(root.resolve()),
            result=result,
        ).write(output)
    if result.status == "failed":
        raise KernelError(f"the replay failed: {result.failure}")
    print_tables(result_tables(made, result), output_format, {"status": result.status})


def _ranks(kernel: Kernel) -> str:
    return "1 rank" if kernel.n_ranks == 1 else f"{kernel.n_ranks} ranks"


def starter_of(kernel: Kernel) -> Launcher:
    """What starts a kernel's ranks on this machine for an exact replay without pauses, where nobody chose it.

    Raises:
        KernelError: it cannot be performed here.
    """
    from wavetank.launchers.registry import launcher

    starter = launcher(_default_launcher(kernel, "replay"))
    _require_exact(kernel, starter, "drop")
    return starter


def _require_exact(kernel: Kernel, starter: Launcher, pauses: str) -> None:
    """Refuse what the exact replay cannot do, before anything is prepared for it; say what it will not do."""
    from wavetank.kernel.execution.pauses import NO_PAUSES, holds_pauses
    from wavetank.kernel.execution.replay import require_installed, require_launcher
    from wavetank.kernel.lowering.collectives import require_agreement

    require_launcher(kernel, starter)
    require_installed(starter)
    require_agreement(kernel)
    if pauses != "drop" and not holds_pauses(kernel):
        click.echo(f"pauses: {NO_PAUSES}", err=True)


def _dropped(kernel: Kernel, root: Path) -> str:
    """Drop the page cache; how that went, which is also said where it did not work."""
    from wavetank.kernel.preparation.page_cache import drop_cached

    how = drop_cached(kernel, root)
    if how.startswith("not cold"):
        click.echo(f"page cache: {how}", err=True)
    return how


def _with_cache(options: ReplayOptions, how: str) -> ReplayOptions:
    return replace(options, settings=(*options.settings, ("cache", how)))


def _require_ranks(kernel: Kernel, n_ranks: int | None) -> None:
    if n_ranks is not None and n_ranks != kernel.n_ranks:
        raise UsageError(
            f"the kernel has {kernel.n_ranks} ranks, not {n_ranks}. For another number make a kernel from a model "
            "extrapolated to it (wavetank fit)"
        )


def _refuse_replay_options(
    program: str, pauses: str, flush: str, *, verify: bool, direct: bool,
) -> None:  # fmt: skip
    """What only the exact replay does must not be left out silently."""
    if program == "replay":
        return
    asked = {
        "--pauses": pauses != "drop",
        "--flush phase": flush == "phase",
        "--verify": verify,
        "--direct": direct,
    }
    for option, is_asked in asked.items():
        if is_asked:
            raise UsageError(f"{option} is for the exact replay; {program} does not do it")


def _default_launcher(kernel: Kernel, program: str) -> str:
    if program == "ior":
        from wavetank.kernel.execution.ior_program import find_ior

        return find_ior().family or "openmpi"
    mpi = any(phase.level == "mpiio" for phase in kernel.phases)
    if kernel.n_ranks == 1 and not mpi:
        return "none"
    from wavetank.launchers.registry import launcher_of_library

    return launcher_of_library(kernel.mpi_library).name
