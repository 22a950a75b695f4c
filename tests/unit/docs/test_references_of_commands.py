"""The reference of commands: each option has a paragraph with its default, what it may be, and an example that is taken."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from reference_pages import EXAMPLE, REFERENCE, REFUSED, paragraphs, says_default

from wavetank.cli.main import cli
from wavetank.errors import WavetankError

ALONE, OF_GROUPS = "commands", "commands-of-groups"


def _commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands that do something, by their names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from _commands(found, f"{before}{name} ")
        elif found is not None and not found.hidden:
            yield before + name, found


COMMANDS = dict(_commands(cli))
OPTIONS: dict[tuple[str, str], click.Option] = {
    (name, next(each for each in parameter.opts if each.startswith("--"))): parameter
    for name, command in COMMANDS.items()
    for parameter in command.params
    if isinstance(parameter, click.Option)
}
REFUSALS = [
    found
    for page in (ALONE, OF_GROUPS)
    for _, text in paragraphs(page)
    for found in REFUSED.findall(text)
]


def _section(name: str) -> list[tuple[str, str]]:
    return paragraphs(OF_GROUPS if " " in name else ALONE, f"## `wavetank {name}`")


@pytest.mark.parametrize("page", [ALONE, OF_GROUPS])
def test_the_page_has_a_section_for_each_command(page: str) -> None:
    said = re.findall(
        r"^## `wavetank ([a-z ]+)`$", (REFERENCE / f"{page}.md").read_text(), re.MULTILINE
    )
    there = [name for name in COMMANDS if (" " in name) == (page == OF_GROUPS)]
    assert sorted(said) == sorted(there)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_has_a_paragraph_and_each_paragraph_an_option(name: str) -> None:
    said = [option for option, _ in _section(name)]
    assert said == [option for command, option in OPTIONS if command == name]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_a_paragraph_says_the_default_and_every_choice(name: str, option: str) -> None:
    text, parameter = dict(_section(name))[option], OPTIONS[name, option]
    default: Any = parameter.get_default(click.Context(COMMANDS[name]))
    assert ("Required." in text) == parameter.required
    assert parameter.required or says_default(text, default)
    if isinstance(parameter.type, click.Choice):
        assert [word for word in parameter.type.choices if f"`{word}`" not in text] == []
    short = [each for each in parameter.opts if not each.startswith("--")]
    assert [each for each in short if f"`{each}`" not in text] == []


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_the_example_of_an_option_is_taken_and_is_not_its_default(
    name: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameter, command = OPTIONS[name, option], COMMANDS[name]
    assert parameter.name is not None
    monkeypatch.chdir(tmp_path)
    for needed in command.params:  # files that the parser itself looks for
        if isinstance(needed.type, click.Path) and needed.type.exists:
            (tmp_path / f"{needed.name}.whl").touch()
            (tmp_path / str(needed.name)).mkdir()
    (example,) = EXAMPLE.findall(dict(_section(name))[option])
    words = shlex.split(example)
    start = ["wavetank", *name.split()]
    assert words[: len(start)] == start
    context = command.make_context(name, words[len(start) :])  # parsed; nothing is run
    default = parameter.get_default(click.Context(command))
    assert context.params[parameter.name] not in (default, None, ())


@pytest.mark.parametrize(("line", "words"), REFUSALS)
def test_what_a_paragraph_says_to_be_refused_is_refused_with_these_words(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, shlex.split(line)[1:])
    assert isinstance(result.exception, WavetankError | SystemExit)
    assert words in " ".join(f"{result.output} {result.exception}".split())
    assert list(tmp_path.iterdir()) == []
