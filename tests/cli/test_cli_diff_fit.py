"""``wavetank diff`` and ``wavetank fit``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from applications import madbench2
from click.testing import CliRunner
from fold_builder import PROVENANCE, Event, model_of, trace_of

from wavetank.cli import diff, fit
from wavetank.errors import ModelError, UsageError
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with models of MADbench2 at 2, 4 and 8 processes: mN.json."""
    for n in (2, 4, 8):
        model_of(madbench2(n, 8, 1000)).write(tmp_path / f"m{n}.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: object, *arguments: str) -> tuple[int, str]:
    """Exit status as main() gives it, and what was printed."""
    result = CliRunner().invoke(command, arguments, catch_exceptions=False, standalone_mode=False)  # type: ignore[call-overload]
    return result.return_value or 0, result.stdout


def test_models_that_are_the_same_give_status_0(models: Path) -> None:
    status, text = run(diff.command, "m4.json", "m4.json")
    assert status == 0
    assert "5 phases are the same" in text


def test_models_that_differ_give_status_3_and_say_where(models: Path) -> None:
    status, text = run(diff.command, "m4.json", "m8.json", "--format", "json")
    assert status == 3
    body = json.loads(text)
    assert not body["same"]
    weights = {
        row["ph_id_a"]: row["ratio"] for row in body["differences"] if row["field"] == "ph_weight"
    }
    assert weights == dict.fromkeys(range(1, 6), 2.0)


def test_fit_prints_functions_of_np(models: Path) -> None:
    _, text = run(fit.command, "m2.json", "m4.json", "m8.json", "--format", "json")
    rows = {
        (row["ph_id"], row["field"]): row["function"]
        for row in json.loads(text)["fields_by_number_of_processes"]
    }
    assert rows[None, "app_st"] == "32000 * np"
    assert rows[1, "rs"] == "1000"
    assert rows[1, "a"] == "8000"


def test_fit_writes_the_model_of_a_run_that_never_was(models: Path) -> None:
    run(fit.command, "m2.json", "m4.json", "m8.json", "--np", "64", "-o", "m64.json")
    model = Model.read(models / "m64.json")
    assert (model.n_ranks, model.app_st, model.source) == (64, 64 * 32_000, "extrapolated")
    assert [one.path for one in model.provenance.inputs] == ["m2.json", "m4.json", "m8.json"]


def test_programs_named_by_their_process_counts_are_one_by_name(models: Path) -> None:
    for n in (2, 4, 8):
        path = models / f"m{n}.json"
        body = json.loads(path.read_text())
        path.write_text(json.dumps({**body, "application": f"mad.A.{n}"}))
    with pytest.raises(ModelError, match=r"mad\.A\.2 at np 2, .*: --name mad\.A$"):
        run(fit.command, "m2.json", "m4.json", "m8.json")
    run(
        fit.command,
        "m2.json",
        "m4.json",
        "m8.json",
        "--name",
        "mad",
        "--np",
        "16",
        "-o",
        "m16.json",
    )
    assert Model.read(models / "m16.json").application == "mad"


def test_a_name_with_blanks_is_one_file_in_application_and_replay(models: Path) -> None:
    events = [Event(0, "pwrite", 0, offset=i * 10, size=10) for i in range(3)]
    for model, path in (("a", "/run/my file (1).dat"), ("b", "/root/my_file_1_.dat")):
        extract_model(trace_of(events, paths=[path]), PROVENANCE).write(models / f"{model}.json")
    status, text = run(diff.command, "a.json", "b.json")
    assert status == 0, text
    other = [*events[:-1], replace(events[-1], size=11)]
    trace = trace_of(other, paths=["/root/my_file_1_.dat"])
    extract_model(trace, PROVENANCE).write(models / "b.json")
    status, text = run(diff.command, "a.json", "b.json", "--format", "json")
    assert status == 3
    found = {row["where"] for row in json.loads(text)["differences"]}
    assert found == {"application", "my file (1).dat"}


def test_an_output_without_a_process_count_is_a_usage_error(models: Path) -> None:
    with pytest.raises(UsageError, match="--np"):
        run(fit.command, "m2.json", "m4.json", "-o", "x.json")
