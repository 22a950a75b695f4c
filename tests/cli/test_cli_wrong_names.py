"""A name that is not known is refused with those that it may have been meant to be."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.cluster.state import directory_of

CLUSTER = {
    "name": "lab",
    "instance": {"name": "c3.2xlarge", "vcpus": 2, "memory": "512 MiB"},
    "nodes": {"compute": 2, "io": 1},
    "file_system": {"kind": "nsf"},
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    directory_of("abyss-nfs").claim()
    Path("lab.yaml").write_text(yaml.safe_dump(CLUSTER))


def said(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code != 0
    return " ".join(f"{result.output} {result.exception}".split())


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("modle",), "model"),
        (("cluster", "lsit"), "list"),
        (("cluster", "down", "abys-nfs"), "abyss-nfs"),
        (("cluster", "status", "abyss_nfs"), "abyss-nfs"),
        (("schema", "campain-spec"), "campaign-spec"),
        (("instances", "storage", "--prices", "papers2016"), "papers-2016"),
        (("cluster", "check", "lab.yaml"), "nfs"),
    ],
)
def test_a_wrong_name_is_refused_with_the_one_near_it(
    arguments: tuple[str, ...], meant: str
) -> None:
    assert f"Did you mean '{meant}'" in said(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("zzzz",),
        ("cluster", "down", "zzzz"),
        ("schema", "zzzz"),
        ("instances", "storage", "--prices", "zzzz"),
    ],
)
def test_a_name_that_is_near_to_none_is_refused_without_a_guess(
    arguments: tuple[str, ...],
) -> None:
    assert "zzzz" in said(*arguments) and "Did you mean" not in said(*arguments)


def test_a_wrong_option_before_the_command_is_still_an_option() -> None:
    assert "No such option '--verbos'" in said("--verbos")
