"""``wavetank cluster run``: the user's own program on the nodes of a cluster that is up."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.errors import UsageError
from wavetank.notes import texts

if TYPE_CHECKING:
    from wavetank.application.perform import Done

TIMED_OUT = 124  # as timeout(1) has it


@click.command(short_help="Run your own program on a cluster that is up.")
@click.argument("name")
@click.option(
    "-n", "--np", "n_ranks", type=click.IntRange(min=1), metavar="RANKS",
    help="Number of ranks. [default: the mapping's places on all compute nodes]",
)  # fmt: skip
@click.option(
    "--mapping", metavar="kPxCN",
    help="Ranks per compute node, e.g. 2PxCN. [default: the cluster's, or as many as -n takes]",
)  # fmt: skip
@click.option(
    "--launcher", "launcher_name", type=click.Choice(["openmpi", "mpich", "none"]),
    help="Starts the ranks; none: one process on one node. [default: that of the program's MPI, else openmpi]",
)  # fmt: skip
@click.option(
    "--node", "nodes", multiple=True, metavar="NODE",
    help="Use this compute node only; may be given several times. With --launcher none any node.",
)  # fmt: skip
@click.option(
    "--directory", metavar="PATH",
    help="Where the program runs, on the nodes. [default: the cluster's mount]",
)  # fmt: skip
@click.option(
    "-x", "--env", "environment", multiple=True, metavar="NAME[=VALUE]",
    help="Environment of the program; without a value, that of this shell. May be given several times.",
)  # fmt: skip
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="End the program on all nodes after so many seconds; exit status 124.",
)  # fmt: skip
@click.option(
    "--trace", "folder", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Record the I/O of every rank into this folder of this machine.",
)  # fmt: skip
@click.option(
    "--include", multiple=True, metavar="PATH",
    help="With --trace: record this file, directory or glob although it would be left out.",
)  # fmt: skip
@click.option(
    "--exclude", multiple=True, metavar="PATH", help="With --trace: leave it out."
)  # fmt: skip
@click.option("--force", is_flag=True, help="With --trace: replace an existing trace.")
@click.argument("command_line", nargs=-1, required=True, metavar="-- PROGRAM [ARGUMENT]...")
def command(
    *, name: str, n_ranks: int | None, mapping: str | None, launcher_name: str | None, nodes: tuple[str, ...],
    directory: str | None, environment: tuple[str, ...], timeout_s: float | None, folder: Path | None,
    include: tuple[str, ...], exclude: tuple[str, ...], force: bool, command_line: tuple[str, ...],
) -> int:  # fmt: skip
    """Run your own program on the nodes of the cluster NAME, which is up.

    It runs in the directory where the cluster's file system is mounted; {mount} in an argument, and $WAVETANK_MOUNT,
    name that directory. Standard input, output and error are this command's; the exit status is the program's.
    Ctrl-C and SIGTERM end it on all nodes. With --trace, ranks that left no trace make the status 1.

    Input files are copied first: wavetank cluster run lab --launcher none -- cp /data/input.nc {mount}/

    Example: wavetank cluster run lab --mapping 2PxCN --trace run.trace -- ./app input.nc
    """  # fmt: skip
    from wavetank.application.perform import Request, perform
    from wavetank.application.program import Wanted
    from wavetank.cluster import deploy
    from wavetank.cluster.state import directory_of
    from wavetank.trace.capture import CaptureOptions

    if folder is None and (include or exclude or force):
        raise UsageError("--include, --exclude and --force are of a trace: give --trace too")
    cluster = deploy.find(name, also_failed=True)
    request = Request(
        wanted=Wanted(command_line, directory, _environment(environment)),
        launcher_name=launcher_name,
        nodes=nodes,
        mapping=mapping,
        n_ranks=n_ranks,
        timeout_s=timeout_s,
        trace=folder,
        options=CaptureOptions(include=include, exclude=exclude, force=force),
    )
    with directory_of(name).used("cluster run", alone=False):
        done = perform(cluster, request, lambda what: click.echo(f"wavetank: {what}", err=True))
    return _report(done, name, folder, timeout_s)


def _environment(settings: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE as given; NAME alone as this process has it."""
    found = {}
    for setting in settings:
        key, has_value, value = setting.partition("=")
        if not key.isidentifier():
            raise UsageError(
                f"-x {setting}: {key!r} is no name of a variable. Write NAME or NAME=VALUE"
            )
        if not has_value and key not in os.environ:
            raise UsageError(f"-x {key}: this shell has no variable {key}. Write {key}=VALUE")
        found[key] = value if has_value else os.environ[key]
    return found


def _report(done: Done, name: str, folder: Path | None, timeout_s: float | None) -> int:
    """Say how it ended, on standard error; the exit status."""
    from wavetank.cli.trace import report_trace

    ended = done.ended
    if done.collected is not None and folder is not None:
        report_trace(done.collected.captured, folder)
        absent = done.collected.absent
        if absent:
            click.echo(
                f"wavetank: {len(absent)} of {done.n_ranks} rank(s) left no trace: {', '.join(map(str, absent[:10]))}. The trace "
                "is not that of the whole program",
                err=True,
            )
    if ended.why == "time":
        click.echo(
            f"wavetank: the time limit of {timeout_s:g} s ran out; the program is ended on all nodes of {name}",
            err=True,
        )
        return TIMED_OUT
    if ended.why == "interrupted":
        click.echo(f"wavetank: interrupted; the program is ended on all nodes of {name}", err=True)
        return 128 + (ended.interrupt or 2)
    if ended.status != 0:
        click.echo(f"wavetank: the program ended with status {ended.status} on {name}", err=True)
        return ended.status
    sys.stderr.flush()
    return (
        1
        if (found := done.collected) and (found.absent or texts(found.captured.trace.notes, "lost"))
        else 0
    )
