"""wavetank completion: what has a shell complete our command lines, from the parser itself."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """The text that a shell takes: it asks the command itself what may come next.

    Args:
        shell: one of SHELLS.

    Raises:
        KeyError: it is none of them.
    """
    from wavetank.cli.main import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise KeyError(shell)
    # not the class's own method: bash's looks at the version of the bash that is installed here
    return ShellComplete.source(kind(cli, {}, "wavetank", "_WAVETANK_COMPLETE"))


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what has SHELL complete wavetank's commands, options and names.

    Packages of distributions install it. Of an installation by pip, pipx or uv, put it where the shell looks.

    Example: wavetank completion bash > ~/.local/share/bash-completion/completions/wavetank
    """
    click.echo(script(shell))
