"""``wavetank space check``: performs a kernel on a space that is mounted here, and compares its I/O time with a limit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import print_tables, prints
from wavetank.cli.space_mount import is_of
from wavetank.cli.space_service import service_of_tenant
from wavetank.errors import KernelError, UsageError
from wavetank.notes import carried, texts

if TYPE_CHECKING:
    from wavetank.cli.table_sets import Definitions
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.measure.statistics import AgainstLimit, Estimate
    from wavetank.service.core.records import Space

OUTSIDE = 3
"""Exit status where the time is not within the limit, as far as the runs tell."""


@dataclass(frozen=True)
class Check:
    """A space against a limit.

    Attributes:
        space: that was checked.
        at: where it is mounted here.
        io_time_s: of the kernel on it, by run.
        within_s: the limit.
        verdict: by the ends of the interval.
        caches: how they were emptied, once each.
    """

    space: Space
    at: Path
    io_time_s: Estimate
    within_s: float
    verdict: AgainstLimit
    caches: str


def _tables() -> Definitions:
    from wavetank.cli.space_tables import CHECK

    return (CHECK,)


@click.command()
@click.argument("name")
@click.option(
    "--for", "kernel", type=click.Path(path_type=Path), required=True, metavar="KERNEL",
    help="The kernel to perform.",
)  # fmt: skip
@click.option(
    "--within", required=True, metavar="TIME", help="That its I/O time must not exceed, e.g. 60s."
)
@click.option(
    "--at", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Where the space is mounted on this machine; left out, the command says how to mount it.",
)  # fmt: skip
@click.option(
    "--repetitions", type=click.IntRange(2, 1000), default=6, show_default=True,
    help="Runs of the kernel; six are the fewest with an interval of 95 %.",
)  # fmt: skip
@prints(_tables)
def check(
    name: str, kernel: Path, within: str, at: Path | None, repetitions: int, output_format: str
) -> None:
    """Perform a kernel on a space that is mounted here, and compare its I/O time with a limit.

    Ends with status 3 when the upper end of the interval is beyond the limit. All ranks run on this machine.

    Example: wavetank space check data --for app.kernel.json --within 60s --at /mnt
    """
    from wavetank.cli.space_for import limit_of
    from wavetank.cli.space_tables import CHECK
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.measure.statistics import against_limit

    limit, made = limit_of(within), Kernel.read(kernel)
    with service_of_tenant() as spaces:
        space = spaces.named(name)
    place = _mounted(space, at)
    for doubt in texts(carried(made.notes)):
        click.echo(f"note: {doubt}", err=True)
    times, caches = _performed(made, place, repetitions)
    found = Check(space, place, times, limit, against_limit(times, limit), caches)
    print_tables([CHECK.table([found])], output_format, {"verdict": found.verdict})
    if found.verdict != "within":
        sys.exit(OUTSIDE)


def _mounted(space: Space, at: Path | None) -> Path:
    """Where the space is mounted.

    Raises:
        UsageError: it is not mounted there, or was never ready.
    """
    from wavetank.service.csi.mounts import mounts_at

    if space.export is None:
        raise UsageError(
            f"space {space.name!r} is {space.state} and was never ready: wait for it ('wavetank space show {space.name}')"
        )
    how = f"wavetank space mount {space.name} DIR"
    if at is None:
        raise UsageError(
            f"mount space {space.name!r} on this machine, and say where with --at. As root: {how}"
        )
    place = at.resolve()
    for folder in (place, *place.parents):
        if there := mounts_at(str(folder)):
            if is_of(there[-1], space):
                return place
            raise UsageError(
                f"--at: {at} is on {there[-1].source}, which is mounted at {folder}, and not on space {space.name!r} "
                f"({space.export}). As root: {how}"
            )
    raise UsageError(f"--at: what {at} is on cannot be told. As root: {how}")


def _performed(kernel: Kernel, at: Path, repetitions: int) -> tuple[Estimate, str]:
    """I/O times of a kernel in a folder of its own below a place, which is removed; and how caches were emptied.

    Raises:
        KernelError: it cannot be performed, or failed.
    """
    from dataclasses import replace

    from wavetank.cli.replay import starter_of
    from wavetank.kernel.execution.replay import ReplayOptions, run_replay
    from wavetank.kernel.execution.scratch import scratch_folder
    from wavetank.kernel.preparation.input_files import prepare_files
    from wavetank.kernel.preparation.page_cache import drop_cached
    from wavetank.measure.statistics import estimate

    starter, options = starter_of(kernel), ReplayOptions(flush="end")
    times, caches = [], []
    with _folder(at) as root, scratch_folder() as scratch:
        for run in range(repetitions):
            prepare_files(kernel, root)
            how = drop_cached(kernel, root)
            caches.append(how.partition(":")[0])
            run_options = replace(options, settings=(("cache", how),))
            result = run_replay(kernel, root, starter, scratch, None, run_options, tell=_say)
            if result.status == "failed":
                raise KernelError(f"the replay failed in run {run + 1}: {result.failure}")
            times.append(result.io.total_s)
            _say(f"run {run + 1} of {repetitions}: {times[-1]:.3g} s of I/O")
    words = ", ".join(f"{caches.count(each)} {each}" for each in dict.fromkeys(caches))
    return estimate(times), f"of this machine: {words}; of the servers: not touched"


@contextmanager
def _folder(at: Path) -> Iterator[Path]:
    """A new folder for the kernel's files, which is gone afterwards."""
    import tempfile

    try:
        made = tempfile.TemporaryDirectory(prefix="wavetank-check-", dir=at)
    except OSError as error:
        raise KernelError(f"cannot write to {at}: {error.strerror}") from error
    with made as root:
        yield Path(root)


def _say(line: str) -> None:
    click.echo(f"wavetank: {line}", err=True)
