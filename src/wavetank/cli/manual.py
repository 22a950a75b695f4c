"""Manual pages of all commands, from the parser: a page a command, as ``man wavetank-cluster-up`` asks for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click


def pages(version: str) -> dict[str, str]:
    """Name of each file, e.g. "wavetank-trace.1", and its text (man(7)).

    Args:
        version: of wavetank, for the foot of each page.
    """
    from wavetank.cli.main import cli

    return {
        f"{_name(context)}.1": _page(context, version)
        for context in _contexts(click.Context(cli, info_name="wavetank"))
    }


def _contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    for name, command in _below(context):
        yield from _contexts(click.Context(command, info_name=name, parent=context))


def _below(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                yield name, command


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _page(context: click.Context, version: str) -> str:
    command, name = context.command, _name(context)
    text = inspect.cleandoc(command.help or "")
    first = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH {_escaped(name.upper())} 1 "" "wavetank {_escaped(version)}" "User commands"',
        *(".SH NAME", rf"{_escaped(name)} \- {_escaped(first.rstrip('.'))}"),
        *(".SH SYNOPSIS", rf"\fB{_escaped(context.command_path)}\fR {_escaped(usage)}"),
        *(".SH DESCRIPTION", *_paragraphs(text)),
        *_options(context),
        *_commands(context),
    ]
    if context.parent is not None:
        lines += [".SH SEE ALSO", rf"\fB{_escaped(_name(context.parent))}\fR(1)"]
    return "\n".join(lines) + "\n"


def _options(context: click.Context) -> Iterator[str]:
    records = [
        record
        for each in context.command.get_params(context)
        if isinstance(each, click.Option) and (record := each.get_help_record(context))
    ]
    if records:
        yield ".SH OPTIONS"
    for option, said in records:
        yield from (".TP", rf"\fB{_escaped(option)}\fR", _escaped(" ".join(said.split())) or r"\&")


def _commands(context: click.Context) -> Iterator[str]:
    below = list(_below(context))
    if below:
        yield ".SH COMMANDS"
    for name, command in below:
        page = _escaped(f"{_name(context)}-{name}")
        yield from (".TP", rf"\fB{page}\fR(1)", _escaped(command.get_short_help_str(limit=200)))


def _paragraphs(text: str) -> Iterator[str]:
    """A help text's; one that begins with a backspace character stays in its lines, as click has it."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", *map(_escaped, paragraph.splitlines()[1:]), ".fi")
        else:
            yield _escaped(" ".join(paragraph.split()))


def _escaped(text: str) -> str:
    """As roff prints it: hyphens can be copied, and no line is taken for a request."""
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
