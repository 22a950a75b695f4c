"""The command line: finds commands, turns errors into messages and exit statuses.

Commands live in a file each and are imported only when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import signal
import sys
from types import FrameType
from typing import IO, NoReturn

import click

from wavetank.cli.going_on import asked, how_to_go_on
from wavetank.cli.progress import Mode, show_steps
from wavetank.cli.streams import outlive_readers
from wavetank.cli.version import print_version
from wavetank.errors import WavetankError
from wavetank.nearest import did_you_mean
from wavetank.steps import STEPS

# group -> name -> (module below wavetank.cli, one line of help). A module holds several commands as "module:name".
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Analyse": {
        "summary": ("summary", "What the I/O of a log is and why it is slow: one screen; several logs: a line each."),
        "diff": ("diff", "Compare two models phase by phase."),
        "trace": ("trace", "Run a program and record its I/O."),
    },
    "Decide": {
        "try": ("attempt", "From a log to ranked file systems and a report, with sensible defaults."),
        "replay": ("replay", "Perform a kernel in a directory of this machine."),
        "instances": ("instances", "Which types of cloud instances suit an application, and what they cost."),
    },
    "Measure": {
        "run": ("campaign:run", "Measure kernels on clusters by a campaign file, and rank the clusters."),
        "results": ("campaign:results", "Print what a campaign found."),
        "check": ("campaign_check:check_command", "Say whether results are slower than a baseline."),
        "report": ("report", "Write a campaign's report as one self-contained HTML file."),
    },
    "Clusters": {
        "cluster": ("cluster", "Bring virtual clusters up and down, list them, check specifications."),
    },
    "Machine": {
        "doctor": ("doctor", "What is missing on this machine, what that costs, how to install it."),
    },
}  # fmt: skip
STAGES: dict[str, tuple[str, str]] = {
    "convert": ("convert", "Take a log of Darshan, DFTracer, Recorder or strace into a trace."),
    "model": ("model", "Turn a trace into the I/O model: application, files, phases."),
    "fit": ("fit", "Fit models of one application at several process counts, and extrapolate."),
    "kernel": ("kernel", "Turn a model into a kernel: exact replay, and the nearest IOR lines."),
    "fidelity": ("fidelity", "Compare the operations that a kernel will issue with its model's."),
    "characterise": ("characterise", "What the storage and network of a cluster that is up can do."),
    "measure": ("measure", "Measure a kernel once on a cluster that is up."),
    "interfere": ("interfere", "Run groups of clients alone and together, and see what they do to each other."),
    "space": ("space", "Ask a service for file systems of one's own: spaces."),
    "service": ("service", "Run a service of file systems for tenants, and administer it."),
    "measurements": ("campaign:measurements", "List every measurement of a campaign."),
    "raw": ("campaign:raw", "Print what a measurement's programs wrote."),
    "own-model": ("campaign:model", "Print the model of a run of the application itself."),
    "export": ("campaign_check:export_command", "Write results as a baseline, or a ReFrame test."),
    "schema": ("schema", "Print the JSON Schema of a file that wavetank writes or reads."),
    "completion": ("completion", "Print what has a shell complete our commands, options and names."),
}  # fmt: skip
COMMANDS = {name: entry for group in (*GROUPS.values(), STAGES) for name, entry in group.items()}
_HIDDEN = {"job": ("campaign:job", "Make a measurement inside of a Slurm job.")}
_RENAMED = {"campaign model": "own-model"}


def _print_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the help with all commands, and end."""
    del param
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_ALL = "wavetank.help-all"


OLD_NAMES = {"show": "summary --full FILE", "plot": "summary --figures FOLDER LOG"}
"""Commands of before, and what does their work now."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the work."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        del ctx
        entry = COMMANDS.get(cmd_name) or _HIDDEN.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry[0].partition(":")
        command: click.Command = getattr(
            importlib.import_module(f"wavetank.cli.{module}"), name or "command"
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a wrong name is refused with those near it, which click does not know."""
        name = args[0]
        if name in OLD_NAMES and not ctx.resilient_parsing:
            ctx.fail(f"'wavetank {name}' is 'wavetank {OLD_NAMES[name]}' now.")
        known = name in COMMANDS or name in _HIDDEN
        if not known and not name.startswith("-") and not ctx.resilient_parsing:
            if name == "campaign" and args[1:]:
                old = " ".join(args[:2])
                ctx.fail(f"'wavetank {old}' is 'wavetank {_RENAMED.get(old, args[1])}' now.")
            ctx.fail(f"No such command {name!r}.{did_you_mean(name, COMMANDS)}")
        if not ctx.resilient_parsing:
            asked[:] = [name]
        return super().resolve_command(ctx, args)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """What may come next, without importing the commands: a shell asks at each tabulator."""
        names = [
            click.shell_completion.CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by task without importing them; the stages where all are asked for."""
        groups = {**GROUPS, "Stages": STAGES} if ctx.meta.get(_ALL) else GROUPS
        for title, entries in groups.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, text) for name, (_, text) in entries.items()], col_max=13
                )


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version,
    help="Print the version, the commit where it is known, and which C parts there are.",
)  # fmt: skip
@click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_print_all,
    help="Show all commands, the single stages too, and exit.",
)  # fmt: skip
@click.option(
    "-v", "--verbose", count=True, help="More progress on standard error; twice for debugging."
)
@click.option(
    "--progress", type=click.Choice(["auto", "lines", "json"]), default="auto", show_default=True,
    envvar="WAVETANK_PROGRESS",
    help="How far long work is, on standard error: one line that is rewritten on a terminal and lines elsewhere, always "
    "lines, or a JSON object a line.",
)  # fmt: skip
def cli(verbose: int, progress: Mode) -> None:
    """Test a scale model of a parallel application's I/O on virtual clusters.

    Example: wavetank try job.darshan
    """
    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logs = logging.StreamHandler(sys.stderr)
    logs.addFilter(lambda record: record.name != STEPS)  # they have lines of their own
    logging.basicConfig(level=level, handlers=[logs], format="%(levelname)s %(name)s: %(message)s")
    show_steps(progress)


class _Signalled(SystemExit):
    """A signal that asks to end."""


def _terminate(signum: int, frame: FrameType | None) -> NoReturn:
    """Leave through every ``finally``, as for Ctrl-C, so that nothing is left behind."""
    del frame
    raise _Signalled(128 + signum)


def say(error: WavetankError | click.ClickException, file: IO[str] | None = None) -> int:
    """Say what is wrong, on standard error unless a file is given; the exit status of it."""
    if isinstance(error, click.ClickException):
        error.show(file)
        return error.exit_code
    click.echo(f"wavetank: {error}", file, err=True)
    return error.exit_status


def main() -> NoReturn:
    """Entry point: exit status 0 ok, 1 failed, 2 usage, 3 outside tolerance."""
    # Imports leave no garbage, and looking for it takes a fifth of a short command's time; so it does again at the end.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    lost = outlive_readers()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:  # nohup
            signal.signal(signum, _terminate)
    try:
        status = cli.main(standalone_mode=False)
    except (WavetankError, click.ClickException) as error:
        sys.exit(say(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"wavetank: interrupted{how_to_go_on()}", err=True)
        sys.exit(130)
    except _Signalled:
        click.echo(f"wavetank: ended by a signal{how_to_go_on()}", err=True)
        raise
    print(end="", flush=True)  # there may be no standard output (>&-)
    if lost.reason:
        click.echo(f"wavetank: cannot write to standard output: {lost.reason}", err=True)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
