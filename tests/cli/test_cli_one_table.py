"""``--table NAME``: one of the tables that a command prints, alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from measure_fakes import abyss_kernel

from wavetank.cli.main import cli
from wavetank.errors import UsageError


@pytest.fixture(autouse=True)
def _a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the current folder. 'show' prints three tables of it: files, phases, not_reproduced."""
    monkeypatch.chdir(tmp_path)
    abyss_kernel().write(Path("k.json"))


def show(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["summary", "k.json", *arguments], catch_exceptions=False)


def _phases() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(show("--format", "json").stdout)["phases"]
    return rows


def test_a_table_alone_is_csv_with_a_header_and_nothing_else() -> None:
    printed = show("--table", "phases").stdout
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["ph_id"] for row in rows] == [str(row["ph_id"]) for row in _phases()]
    assert list(rows[0]) == list(_phases()[0])
    assert "# " not in printed
    assert "" not in printed.splitlines()  # what parts tables


def test_a_name_that_was_not_printed_is_refused_with_those_that_were() -> None:
    with pytest.raises(UsageError) as refused:
        show("--table", "advice", "--format", "json")
    assert str(refused.value) == (
        "--table: there is no table 'advice' here. This command printed: files, phases, not_reproduced"
    )


def test_a_name_that_no_command_prints_is_refused_before_anything_is_done() -> None:
    def invoke(name: str) -> Result:
        return CliRunner().invoke(cli, ["summary", "no-such-file", "--table", name])

    assert str(invoke("phasse").exception) == (
        "--table: no command prints a table 'phasse'. Did you mean 'phases'? 'wavetank schema tables' has them all"
    )
    assert "no-such-file" in str(invoke("phases").exception or invoke("phases").output)


def test_a_table_without_rows_this_time_is_its_header(tmp_path: Path) -> None:
    """A cluster that is no cloud's has no ttl: what reads the table needs no exception."""
    body = {"name": "lab", "provider": "null", "nodes": {"compute": 2}, "file_system": {"kind": "none"},
            "instance": {"name": "c3.large", "vcpus": 2}}  # fmt: skip
    (tmp_path / "lab.yaml").write_text(json.dumps(body))
    arguments = ["cluster", "plan", "lab.yaml", "--table", "cost_until_the_ttl"]
    found = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    head, *rows = found.stdout.splitlines()
    assert "," in head and rows == []
    assert "note: --table: 'cost_until_the_ttl' has no rows" in found.stderr


def _commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from _commands(found, f"{before}{name} ")
        elif found is not None:
            yield before + name, found
