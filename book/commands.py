"""Commands and their options as the program has them: a section for each command, from the parser."""

from __future__ import annotations

from collections.abc import Iterator

import click

from wavetank.cli.main import cli


def sections() -> str:
    """What is added to the page of the commands."""
    return "\n".join(line for name, command in commands(cli) for line in _section(name, command))


def commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands that do something, by their full names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, f"{before}{name} ")
        elif found is not None and not found.hidden:
            yield before + name, found


def _section(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"wavetank {name}")
    yield from (f"## wavetank {name}", "", "~~~~text", command.get_usage(context), "~~~~", "")
    for paragraph in (command.help or "").replace("\b", "").split("\n\n"):
        text = " ".join(paragraph.split())
        if text.startswith("Example: "):
            yield from ("~~~~text", text.removeprefix("Example: "), "~~~~", "")
        else:
            yield from (_plain(text), "")
    records = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts
        and (record := parameter.get_help_record(context))
    ]  # fmt: skip
    if records:
        yield from ("| option | meaning |", "|---|---|")
        yield from (f"| `{names.replace('|', chr(92) + '|')}` | {_plain(text)} |" for names, text in records)  # fmt: skip
        yield ""


def _plain(text: str) -> str:
    """A text in which Markdown finds no markup."""
    for sign in "\\|<>*_[]`":
        text = text.replace(sign, f"&#{ord(sign)};")
    return " ".join(text.split())
