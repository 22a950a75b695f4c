"""What shells complete, and manual pages: both from the parser, so that they name what is there."""

from __future__ import annotations

import re

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from wavetank.cli.completion import SHELLS
from wavetank.cli.main import COMMANDS, GROUPS, cli
from wavetank.cli.manual import pages


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_is_given_what_has_it_ask_the_command(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"_WAVETANK_COMPLETE={shell}_complete" in done.output


@pytest.mark.parametrize(
    ("before", "begun", "found"),
    [
        ([], "meas", ["measure", "measurements"]),
        ([], "c", [name for name in COMMANDS if name.startswith("c")]),
        (["cluster"], "do", ["down"]),
        (["trace"], "--lev", ["--level"]),
        (["completion"], "", list(SHELLS)),
        ([], "--ver", ["--verbose", "--version"]),
    ],
)
def test_what_may_come_next_is_completed(before: list[str], begun: str, found: list[str]) -> None:
    asked = ShellComplete(cli, {}, "wavetank", "_WAVETANK_COMPLETE")
    assert sorted(item.value for item in asked.get_completions(before, begun)) == sorted(found)


def test_each_command_has_a_page_with_each_of_its_options() -> None:
    written = pages("1.2")
    assert len(written) > 70
    assert written["wavetank.1"].count("\n.TP\n") > len(COMMANDS)
    for name in ("trace", "cluster"):
        assert f"wavetank-{name}.1" in written
    command = cli.get_command(click.Context(cli), "trace")
    assert command is not None
    page = written["wavetank-trace.1"]
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.opts[0].replace("-", r"\-") in page
    # roff takes a line that begins with a dot or quote for a request: only ours do
    requests = {
        line.split()[0]
        for text in written.values()
        for line in text.splitlines()
        if line[:1] in ".'"
    }
    assert requests <= {".TH", ".SH", ".PP", ".TP", ".nf", ".fi"}
    assert all(re.match(r"\.TH WAVETANK[A-Z\\-]* 1 ", text) for text in written.values())


def test_help_lists_commands_by_task_and_all_of_them_where_asked() -> None:
    short = CliRunner().invoke(cli, ["--help"]).stdout
    assert [f"{group}:" in short for group in GROUPS] == [True] * len(GROUPS)
    assert "Stages:" not in short
    everything = CliRunner().invoke(cli, ["--help-all"]).stdout
    for name in COMMANDS:
        assert f"\n  {name} " in everything


def test_an_old_name_prints_the_new_one() -> None:
    said = CliRunner().invoke(cli, ["campaign", "run", "campaign.yaml"])
    assert said.exit_code == 2 and "is 'wavetank run' now" in said.output
