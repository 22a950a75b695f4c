"""``wavetank doctor``: what is missing, on one screen."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from wavetank.cli.main import cli
from wavetank.doctor.finding import Finding


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty abilities, of which every other one is missing."""
    found = [
        Finding(
            area="file systems", ability=f"fs{n}", state="missing" if n % 2 else "ok",
            found="nothing", cost="no clusters of it, " * 5, remedy=f"apt-get install fs{n}",
        )
        for n in range(60)
    ]  # fmt: skip
    monkeypatch.setattr("wavetank.doctor.examination.examine", lambda: found)
    monkeypatch.setattr("wavetank.doctor.examination.can_work", lambda findings: True)


@pytest.mark.usefixtures("many")
def test_what_is_missing_is_on_one_screen_and_what_is_there_is_not() -> None:
    lines = CliRunner().invoke(cli, ["doctor"]).stdout.splitlines()
    assert "30 of 60 abilities are missing" in lines[0]
    assert len(lines) <= 25
    assert any(line.startswith("  fs1:") for line in lines)
    assert not any(line.startswith("  fs2:") for line in lines)
    assert "wavetank doctor --all" in lines[-1]


@pytest.mark.usefixtures("many")
def test_all_abilities_are_a_table() -> None:
    lines = CliRunner().invoke(cli, ["doctor", "--all"]).stdout.splitlines()
    assert sum("fs" in line for line in lines) >= 60
