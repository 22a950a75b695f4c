"""The public Python interface: its surface, what it costs to import, and that its tables hold what the commands print."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
import typing
from pathlib import Path

import campaign_examples
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import wavetank
from waiting import HANG_S

ROOT = Path(__file__).parents[3]
LOG = ROOT / "tests/data/darshan/ior_strided_shared_mpiio_coll_256k.darshan"  # 4 ranks, DXT
SURFACE = Path(__file__).with_name("surface.txt")


def surface() -> list[str]:
    """A line for each public name, attribute, method and signature."""
    lines = []
    for name in sorted(wavetank.__all__):
        found = getattr(wavetank, name)
        if not callable(found):
            lines.append(name)
        elif not inspect.isclass(found):
            lines.append(f"{name}{inspect.signature(found)}")
        else:
            lines += [f"{name}.{line}" for line in members(found)] or [name]
    return lines


def members(found: type) -> list[str]:
    """Attributes with their types, properties, and methods with their signatures."""
    own = inspect.get_annotations(found)
    lines = {key: f"{key}: {said}" for key, said in own.items() if not key.startswith("_")}
    for key, value in vars(found).items():
        if key.startswith("_") and key not in (
            "__len__",
            "__arrow_c_stream__",
            "_repr_html_",
            "_repr_svg_",
        ):
            continue
        if isinstance(value, property):
            lines[key] = f"{key}: {typing.cast(property, value).fget.__annotations__['return']}"  # type: ignore[union-attr]
        elif inspect.isfunction(value):
            lines[key] = f"{key}{inspect.signature(value)}"
    return [lines[key] for key in sorted(lines)]


def test_the_surface_is_the_one_that_users_were_promised() -> None:
    """Whoever changes it changes ``surface.txt`` with it."""
    assert surface() == SURFACE.read_text().splitlines()


def test_the_stub_says_where_each_name_is() -> None:
    stub = ast.parse((ROOT / "packaging/public-names.pyi").read_text())
    said = {
        alias.name: str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }
    home = {name: f"wavetank.{module}" for name, module in wavetank._HOME.items()}  # type: ignore[attr-defined]
    assert said == home


def test_importing_wavetank_imports_nothing_else_of_it() -> None:
    """The command line begins with this import too."""
    program = (
        "import sys; before = set(sys.modules); import wavetank; dir(wavetank);"
        "print(sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run([sys.executable, "-S", "-c", program], env={"PYTHONPATH": str(ROOT / "src")},
                         capture_output=True, text=True, timeout=HANG_S, check=True)  # fmt: skip
    assert ran.stdout == "['wavetank']\n"


@pytest.fixture(scope="module")
def trace() -> wavetank.Trace:
    return wavetank.open_trace(LOG)


def test_events_are_the_calls_of_the_log_in_every_library(trace: wavetank.Trace) -> None:
    """IOR's ranks wrote by 256 KiB, collectively."""
    events = trace.events()
    frame = events.to_pandas()
    data = frame[(frame.level == "mpiio") & (frame.kind == "write")]
    assert len(frame) == len(events) == trace.n_events
    assert set(data.moved) == {256 * 1024}
    assert set(data["rank"]) == {0, 1, 2, 3}
    assert set(data.call) == {"MPI_File_write_at_all"}
    assert (frame.end_s >= frame.start_s).all()
    polars = pl.DataFrame(events)
    assert polars.columns == list(frame.columns) == events.to_arrow().column_names
    assert (
        polars["moved"].sum()
        == frame.moved.sum()
        == sum(row["moved"] or 0 for row in events.records())
    )
    assert events.to_arrow().schema.field("size").metadata[b"unit"] == b"B"
    assert trace.events(ranks=[1, 3]).records() == [
        row for row in events.records() if row["rank"] in (1, 3)
    ]
    with pytest.raises(wavetank.WavetankError, match="at most 10 are asked for"):
        trace.events(at_most=10)


def test_folds_stand_for_the_same_calls(trace: wavetank.Trace) -> None:
    folds, events = trace.folds.to_pandas(), trace.events().to_pandas()
    assert folds["count"].sum() == len(events)
    assert folds.moved.sum() == events.moved.sum()


def test_models_kernels_and_figures_are_those_of_the_commands(
    trace: wavetank.Trace, tmp_path: Path
) -> None:
    model = trace.model()
    with pytest.raises(wavetank.WavetankError, match="Save it first"):
        model.kernel()
    model.save(tmp_path / "a.json")
    again = wavetank.open_model(tmp_path / "a.json")
    assert len(model.difference(again)) == 0
    other = wavetank.open_trace(LOG.with_name("ior_seq_fpp_posix_1m.darshan")).model()
    assert len(model.difference(other)) > 0
    told = subprocess.run([sys.executable, "-m", "wavetank", "summary", str(tmp_path / "a.json"), "--format", "json"],
                          capture_output=True, text=True, timeout=HANG_S, check=True)  # fmt: skip
    printed = json.loads(told.stdout)
    assert model.phases.records() == again.tables["phases"].records() == printed["phases"]
    assert model.bytes_moved == sum(row["ph_weight"] for row in model.phases.records())
    kernel = again.kernel()
    kernel.save(tmp_path / "k.json")
    opened = wavetank.open_kernel(tmp_path / "k.json")
    assert {k: len(t) for k, t in opened.tables.items()} == {
        k: len(t) for k, t in kernel.tables.items()
    }
    figure = model.figure("temporal")
    figure.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == figure._repr_svg_()
    with pytest.raises(wavetank.WavetankError, match=r"\.svg or \.png"):
        figure.save(tmp_path / "a.jpg")
    with pytest.raises(wavetank.WavetankError, match="is no level"):
        trace.model(levels=["stdio"])  # type: ignore[list-item]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.svg", "k.json"]


def test_a_campaign_is_tables_figures_and_its_report(tmp_path: Path) -> None:
    campaign_examples.make_campaign(
        tmp_path / "results", clusters=("nfs", "gluster-1"), n_repetitions=1
    )
    campaign = wavetank.open_campaign(tmp_path / "results")
    tables = campaign.tables
    assert len(campaign.measurements) == len(campaign._found.measurements) > 0
    for table in (*tables.values(), campaign.measurements):
        arrow, frame = table.to_arrow(), table.to_pandas()
        assert arrow.num_rows == len(frame) == len(table)
        assert isinstance(arrow, pa.Table)
        assert f"<caption>{table.title[:5]}" in table._repr_html_()
    first = campaign.applications[0]
    figures = campaign.figures(first)
    assert {"rate", "time", "cost", "pareto"} <= set(figures)
    assert list(campaign.figures()) == list(figures)  # there is one
    with pytest.raises(wavetank.WavetankError, match=f"Applications: {first}"):
        campaign.figures("another")
    campaign.save_report(tmp_path / "report.html")
    assert campaign.name in (tmp_path / "report.html").read_text()


def test_missing_values_are_null_everywhere() -> None:
    columns = [wavetank.Column(k, k, "", kind) for k, kind in
               (("n", "integer"), ("x", "number"), ("b", "boolean"), ("t", "text"), ("l", "list"), ("o", "object"))]  # fmt: skip
    values = {"n": [1, None], "x": [0.5, None], "b": [True, None], "t": ["<a>", None],
              "l": [[1, None], None], "o": [{"k": [1]}, None]}  # fmt: skip
    table = wavetank.Table("a", "A", columns, values)
    frame, arrow = table.to_pandas(), table.to_arrow()
    assert frame.isna().to_numpy().tolist() == [[False] * 6, [True] * 6]
    assert arrow.to_pylist() == [
        {"n": 1, "x": 0.5, "b": True, "t": "<a>", "l": [1, None], "o": '{"k": [1]}'},
        dict.fromkeys("nxbtlo"),
    ]
    assert table.records()[1] == dict.fromkeys("nxbtlo")
    assert "&lt;a&gt;" in table._repr_html_()
    assert frame.n.dtype == "Int64"
    assert np.isnan(frame.x[1])
