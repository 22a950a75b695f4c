"""wavetank cluster init: a file that plan accepts at once, with a comment for every key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wavetank.cli.main import cli
from wavetank.errors import UsageError


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["cluster", *arguments])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_asked_for_is_in_the_file_and_plan_takes_it() -> None:
    asked = ["--instance", "c5.large", "--io-instance", "i3.large", "--file-system", "glusterfs"]
    done = run("init", *asked, "--servers", "2", "--compute", "4", "-o", "lab.yaml")
    assert done.exit_code == 0, done.output
    planned = run("plan", "lab.yaml", "--format", "json")
    assert planned.exit_code == 0, planned.output
    nodes = json.loads(planned.stdout)["nodes"]
    assert [node["node"] for node in nodes] == ["c1", "c2", "c3", "c4", "io1", "io2"]
    assert [node["instance"] for node in nodes] == ["c5.large"] * 4 + ["i3.large"] * 2
    assert nodes[0]["network_bytes_per_s"] == 93_750_000


def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("mine")
    done = run("init", "--instance", "c5.large", "-o", "lab.yaml")
    assert isinstance(done.exception, UsageError)
    assert (tmp_path / "lab.yaml").read_text() == "mine"


@pytest.mark.parametrize("option", ["--instance", "--io-instance"])
def test_an_unknown_type_is_refused_with_those_near_it(option: str, tmp_path: Path) -> None:
    words = ["--instance", "c5.xlarge", option, "c5.lage"]
    done = run("init", *words, "-o", "lab.yaml")
    assert isinstance(done.exception, UsageError)
    assert "c5.large" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_what_makes_no_cluster_is_refused(tmp_path: Path) -> None:
    for words, said in (
        (["--servers", "2"], "nfs has 1 data server, not 2"),
        (["--storage", "much"], "--storage"),
        (["--storage", "1 MiB"], "too small"),
        (["--name", "Lab 1"], "name"),
    ):
        done = run("init", "--instance", "c5.large", *words, "-o", "lab.yaml")
        assert done.exception is not None
        assert said in str(done.exception), done.output
    assert list(tmp_path.iterdir()) == []


def test_limits_that_this_machine_cannot_hold_are_said() -> None:
    done = run("init", "--instance", "u7in-24tb.224xlarge")  # 24 TiB of memory
    assert done.exit_code == 0, done.output
    assert "of this machine, which cannot back it" in done.stderr
