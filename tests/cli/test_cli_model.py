"""``wavetank model``: what it prints, writes and refuses; and tables of files that are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from applications import madbench2
from click.testing import CliRunner, Result
from fold_builder import Event, trace_of

from wavetank.cli import model as model_command
from wavetank.cli import schema, summary
from wavetank.errors import DocumentError, ModelError, TraceError
from wavetank.model.document.model import Model
from wavetank.trace.schema import FileView

Run = Callable[..., Result]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``wavetank model`` on a trace of these events; raises what the command raises."""
    folder = tmp_path / "run.trace"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)

    def run(events: list[Event], *arguments: str, views: tuple[FileView, ...] = ()) -> Result:
        monkeypatch.setattr(
            "wavetank.trace.open.open_trace", lambda path: trace_of(events, views=views)
        )
        return CliRunner().invoke(
            model_command.command,
            ["run.trace", *arguments],
            catch_exceptions=False,
            standalone_mode=False,
        )

    return run


WRITES = [Event(0, "pwrite", offset=i * 4096, size=4096) for i in range(10)]


def test_a_model_file_fits_its_published_schema(model: Run, tmp_path: Path) -> None:
    model(madbench2(4, 4, 1000), "-o", "m.json")
    body = json.loads((tmp_path / "m.json").read_text())
    jsonschema.validate(body, schema.json_schema("model"))
    assert body["schema"] == "wavetank.model/1"
    assert body["app_np"] == 4
    assert {"file_accessmode", "file_fileaccesstype", "file_accesstype"} <= set(body["files"][0])
    assert {"ph_weight", "ph_niop", "ph_nrep", "ph_processid"} <= set(body["phases"][0])
    assert {"rs", "disp", "dist", "iop_type"} <= set(body["phases"][0]["pattern"][0])
    assert Model.read(tmp_path / "m.json").application == "app"


def test_json_holds_the_application_file_and_phase_tables(model: Run) -> None:
    body = json.loads(model(WRITES, "--format", "json").stdout)
    application = {row["field"]: row["value"] for row in body["application"]}
    assert (application["app_np"], application["app_st"]) == (1, 40_960)
    assert body["files"][0]["file_size"] == 40_960
    (phase,) = body["phases"]
    assert (phase["rs"], phase["disp"], phase["ph_nrep"]) == ([4096], [4096], 10)


def test_communication_parts_phases_where_it_is_asked_to(model: Run) -> None:
    events = [Event(0, "pwrite", offset=i * 10, size=10, communication=1) for i in range(5)]

    def n_phases(*arguments: str) -> int:
        return len(json.loads(model(events, "--format", "json", *arguments).stdout)["phases"])

    assert n_phases() == 1
    assert n_phases("--split-at-communication", "both") == 5


def test_a_trace_without_data_has_phases_of_calls_and_one_without_calls_is_refused(
    model: Run,
) -> None:
    assert (
        "Phases of calls that move no data" in model([Event(0, "open"), Event(0, "close")]).stdout
    )
    with pytest.raises(ModelError, match="no I/O at all"):
        model([])


def test_a_window_that_is_none_is_refused(model: Run) -> None:
    with pytest.raises(ModelError, match="no window around 1"):
        model(WRITES, "--similarity", "1.2", "0.8")


def test_a_missing_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no\.trace"):
        CliRunner().invoke(
            model_command.command,
            [str(tmp_path / "no.trace")],
            catch_exceptions=False,
            standalone_mode=False,
        )


def invoke_summary(*arguments: str | Path) -> Result:
    return CliRunner().invoke(
        summary.command,
        ["--full", *(str(argument) for argument in arguments)],
        catch_exceptions=False,
        standalone_mode=False,
    )


def test_summary_prints_a_model_like_the_command_that_made_it(model: Run, tmp_path: Path) -> None:
    made = model(WRITES, "-o", "m.json").stdout
    assert invoke_summary(tmp_path / "m.json").stdout == made


def test_summary_refuses_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"schema": "other/1"}')
    (tmp_path / "text").write_text("hello")
    for name, message in (
        ("other.json", "not one of wavetank's"),
        ("text", "no JSON file"),
        ("missing", "there is no"),
    ):
        with pytest.raises(DocumentError, match=message):
            invoke_summary(tmp_path / name)


def test_a_damaged_model_file_is_named_with_the_place(model: Run, tmp_path: Path) -> None:
    model(WRITES, "-o", "m.json")
    body = json.loads((tmp_path / "m.json").read_text())
    body["phases"][0]["ph_weight"] = "many"
    (tmp_path / "m.json").write_text(json.dumps(body))
    with pytest.raises(ModelError, match="ph_weight"):
        Model.read(tmp_path / "m.json")
