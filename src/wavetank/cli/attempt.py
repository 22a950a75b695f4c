"""``wavetank try``: from a log to a ranked answer and a report, with sensible defaults."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.measuring import flush_option
from wavetank.cli.output import prints
from wavetank.cli.table_sets import campaign_definitions
from wavetank.errors import DocumentError, TraceError, WavetankError
from wavetank.notes import carried, texts

if TYPE_CHECKING:
    from wavetank.compare.comparison import Comparison
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.model.document.model import Model


@click.command("try")
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("try"),
    show_default=True, help="Folder for the model, the kernel, the clusters, results and report.",
)  # fmt: skip
@click.option(
    "--repetitions", type=click.IntRange(1, 1000), default=None,
    help="Of each cluster and mapping.  [default: the fewest with which all can be told apart]",
)  # fmt: skip
@flush_option
@click.option(
    "--mapping", "mappings", multiple=True, metavar="kPxCN",
    help="I/O processes on each compute node, may be given several times.  [default: spread evenly]",
)  # fmt: skip
@click.option(
    "--memory", metavar="SIZE",
    help="Memory limit of each node, e.g. 256MiB: less than the files have, so that caches cannot hold them.  [default: as "
    "the files fit into the instance's]",
)  # fmt: skip
@click.option(
    "--on", "directories", multiple=True, metavar="DIR", type=click.Path(path_type=Path),
    help="Compare these directories of mounted file systems in place of clusters, as an ordinary user; may be given several "
    "times. The first is the baseline.",
)  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, metavar="KNOB=VALUE",
    help="Measure the application as it is and with this one knob turned, on one file system: stripe-size=4MiB, "
    "request-size=1MiB ...; may be given several times.",
)  # fmt: skip
@click.option(
    "--runs-per-month", type=click.IntRange(1), metavar="N", help="Tell the cost of a month of so many runs too.",
)  # fmt: skip
@click.option(
    "--smallest-saving", type=click.FloatRange(0, 100, max_open=True), metavar="PERCENT",
    help="Of the run's time or cost: less is no reason to leave the baseline.  [default: 5]",
)  # fmt: skip
@click.option(
    "--what-if", "what_if", is_flag=True,
    help="Measure variants of the application too, one knob turned each: request size, aggregators, files, readers ...",
)  # fmt: skip
@click.option(
    "--what-if-layouts", "layouts", is_flag=True,
    help="Measure the application on each cluster with other layouts of its files too: stripe size, stripe count, 1DFx1F. "
    "Each is a cluster more.",
)  # fmt: skip
@click.option(
    "--dry-run", is_flag=True, help="Write the files and print the plan; start no cluster."
)
@click.option("--fresh", is_flag=True, help="Forget the results that the folder holds already.")
@prints(campaign_definitions, answers=True)
def command(
    log: Path,
    output: Path,
    repetitions: int | None,
    mappings: tuple[str, ...],
    memory: str | None,
    flush: bool,
    directories: tuple[Path, ...],
    settings: tuple[str, ...],
    runs_per_month: int | None,
    smallest_saving: float | None,
    what_if: bool,
    layouts: bool,
    dry_run: bool,
    fresh: bool,
    output_format: str,
) -> None:
    """Rank the clusters that this machine can hold for the application in LOG.

    LOG is a trace, a log of another tool that wavetank reads (Darshan, DFTracer, strace, ...), a
    model or a kernel. The first line of what is printed is the answer. Everything that is made on
    the way stays in the folder, the campaign file included, to be changed and run again.
    A user who is not root compares the file systems that are mounted here; --on names them.

    Example: wavetank try job.darshan --on /home/me --on /scratch/me
    """
    from wavetank.campaign.attempt import Machine, Wishes, write_attempt
    from wavetank.campaign.attempt_notes import free_memory_bytes
    from wavetank.campaign.clusters import read_cluster, specs_of
    from wavetank.campaign.load import load_campaign
    from wavetank.campaign.plan import make_plan
    from wavetank.campaign.spec import read_campaign
    from wavetank.campaign.user_candidates import directories_asked, directories_of_a_user
    from wavetank.cli.campaign_run import print_forecast, run_plan
    from wavetank.cluster import deploy
    from wavetank.measure.mapping import parse_mapping

    for mapping in mappings:
        parse_mapping(mapping)
    share = None if smallest_saving is None else smallest_saving / 100
    wishes = Wishes(
        repetitions,
        mappings,
        _memory(memory),
        flush,
        what_if,
        layouts,
        settings,
        runs_per_month,
        share,
    )
    asked = directories_asked(directories)
    known = _read(log)  # before anything is made
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DocumentError(f"cannot make {output}: {error.strerror}") from error
    kernel, model = _kernel_of(known, log, output)
    for doubt in texts(carried(kernel.notes)):
        click.echo(f"note: {doubt}", err=True)
    ours = asked or (None if os.geteuid() == 0 else directories_of_a_user(output))
    machine = Machine(
        shutil.disk_usage(output).free, free_memory_bytes(), deploy.check, ours, bool(asked)
    )
    path = write_attempt(kernel, model, output, wishes, machine)
    spec = read_campaign(path)
    loaded = load_campaign(spec, path.resolve().parent, read_cluster)
    plan = make_plan(spec, loaded.applications, loaded.clusters)
    for note in spec.notes:
        click.echo(f"note: {note}", err=True)
    if dry_run:
        print_forecast(loaded, plan, spec.output, fresh, output_format)
        return
    try:
        comparison = run_plan(loaded, plan, spec.output, fresh, output_format)
        if asked and output_format in ("answer", "table"):
            paths = {each.name: each.file_system.path for each in specs_of(loaded.sources)}
            for line in lines_to_paste(comparison, paths):
                click.echo(line)
    finally:
        _report(spec.output, output / "report.html")


def lines_to_paste(comparison: Comparison, paths: Mapping[str, str | None]) -> list[str]:
    """Where to run the application, as a line for a shell, with what was measured there.

    Args:
        comparison: of directories.
        paths: cluster -> directory.
    """
    by_id = {each.id: each for each in comparison.configurations}
    found = []
    for verdict in comparison.verdicts:
        chosen = by_id.get(verdict.choice or "")
        path = None if chosen is None else paths.get(chosen.cluster)
        if chosen is None or path is None:
            continue
        times = None if chosen.against is None else chosen.against.times_as_fast
        speed = (
            "the best of those measured here"
            if times is None or chosen.against is None or not chosen.against.told_apart
            else f"{times.median:.1f} times as fast, measured here"
        )
        found.append(f"cd {shlex.quote(path)}    # {speed}, bytes verified")
    return found


def _memory(text: str | None) -> int | None:
    from wavetank.errors import UsageError
    from wavetank.units import parse_size

    if text is None:
        return None
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"--memory: {error}") from error


def _read(log: Path) -> Kernel | Model:
    """What the user has: a kernel, a model, or a trace of any kind as a model."""
    from wavetank.document import provenance
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.model.document.model import Model
    from wavetank.model.extract import extract_model
    from wavetank.trace.open import open_trace, require_whole

    kind = _document_kind(log)
    if kind == Kernel.kind:
        return Kernel.read(log)
    if kind == Model.kind:
        return Model.read(log)
    trace = open_trace(log)
    require_whole(
        trace, f"try a model of what is left (wavetank model {log} --allow-damaged -o ...)"
    )
    model = extract_model(trace, provenance([log]))
    if not model.phases and not any(program.steps for program in model.programs):
        why = "; ".join(texts(trace.notes)) or "it records no operation on a file"
        raise TraceError(f"{log} cannot be tried: {why}")
    return model


def _kernel_of(known: Kernel | Model, log: Path, folder: Path) -> tuple[Kernel, Path | None]:
    """The kernel, and the path of its model if there is one; a model of a trace is kept."""
    from wavetank.kernel.construction.below import model_below
    from wavetank.kernel.construction.from_model import make_kernel
    from wavetank.kernel.construction.places import is_without_places
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.model.document.model import Model

    if isinstance(known, Kernel):
        return known, None
    path = log
    lowered = is_without_places(known)
    if lowered:
        known = model_below(known)
    if lowered or _document_kind(log) != Model.kind:
        path = folder / "model.json"
        known.write(path)
        click.echo(f"wrote {path}", err=True)
    return make_kernel(known, path), path


def _document_kind(log: Path) -> str | None:
    """Which of wavetank's documents a file is, by its schema key; None when it is none of them."""
    if not log.is_file():
        return None  # a folder; or a pipe, whose reader refuses it
    try:
        with log.open(encoding="utf-8", errors="strict") as stream:
            found = re.match(r'\s*\{\s*"schema":\s*"wavetank\.([a-z-]+)/', stream.read(200))
    except (OSError, UnicodeDecodeError):
        return None  # a binary log
    return found[1] if found else None


def _report(results: Path, path: Path) -> None:
    from wavetank.campaign.database import COMPARISON
    from wavetank.document import write_whole
    from wavetank.report.gather import read_folder
    from wavetank.report.page.html import render

    if not (results / COMPARISON).is_file():
        return
    try:
        write_whole(path, render(read_folder(results)))
    except WavetankError as error:
        click.echo(f"wavetank: no report: {error}", err=True)
    else:
        click.echo(f"wrote {path}", err=True)
