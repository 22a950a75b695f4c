"""What people see of a model."""

from __future__ import annotations

import pytest
from fold_builder import PROVENANCE, Event, model_of, trace_of

from table_texts import texts
from wavetank.model.document.phase import LinearOffsets
from wavetank.model.extract import extract_model
from wavetank.model.tables.application_table import application_table
from wavetank.model.tables.file_table import common_folder, file_table
from wavetank.model.tables.model_tables import model_tables
from wavetank.model.tables.phase_table import offset_text


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["/a/b/c", "/a/b/d/e"], "/a/b/"),
        (["/a/b/c"], "/a/b/"),
        (["/c", "/a/b"], ""),  # a file in the root
        (["/c"], ""),
        (["relative", "/a/b"], "/a/"),
        (["relative"], ""),
        ([], ""),
        (["/ab/x", "/abc/x"], ""),
    ],
)
def test_the_folder_that_all_files_share_is_told_once(paths: list[str], folder: str) -> None:
    assert common_folder(paths) == folder


def test_offsets_are_told_as_a_function_of_the_rank() -> None:
    assert offset_text(LinearOffsets(a=100, b=10, c=5)) == "100 * rank + 5"
    assert offset_text(LinearOffsets(a=100, b=10, c=-5)) == "100 * rank - 5"
    assert offset_text(LinearOffsets(a=0, b=10, c=7)) == "7"


def test_rows_and_columns_agree_in_every_table() -> None:
    for table in model_tables(
        model_of([Event(0, "pwrite", offset=i * 10, size=10) for i in range(10)])
    ):
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(len(row) == len(table.columns) for row in table.shown)
        assert all(tuple(row) == table.keys for row in table.records())


def test_the_need_of_a_global_file_system_names_a_file_that_several_ranks_open() -> None:
    model = model_of(
        [
            Event(0, "write", file=1, offset=0, size=10),
            Event(1, "write", file=1, offset=10, size=10),
        ]
    )
    rows = {row[0].value: row[2] for row in application_table(model).rows}
    need = rows["needs_global_file_system"]
    name = next(file.file_name for file in model.files if file.file_accesstype == "shared")
    assert need.text == f"required: {name.rpartition('/')[2]} is opened by several ranks"
    assert need.value is True


def test_request_sizes_that_are_only_similar_are_shown_from_least_to_most() -> None:
    # Three ranks with a size each, within the similarity window: one phase.
    events = [
        Event(rank, "pwrite", offset=rank * 100_000 + i * 4800, size=4000 + 400 * rank)
        for rank in range(3)
        for i in range(5)
    ]
    model = model_of(events)
    table = next(table for table in model_tables(model) if table.title == "Phases")
    assert [row["rs"] for row in texts(table)] == ["4,000 to 4,800"]
    assert [(row["rs_min"], row["rs_max"]) for row in table.records()] == [(4000, 4800)]
    same = model_of([Event(0, "pwrite", offset=i * 10, size=10) for i in range(5)])
    table = next(table for table in model_tables(same) if table.title == "Phases")
    assert [row["rs"] for row in texts(table)] == ["10"]


def test_many_files_that_are_used_alike_are_a_line_for_people() -> None:
    n = 20  # a file of each rank: too few of a rank for a family
    events = [
        event
        for rank in range(n)
        for event in (
            Event(rank, "open", file=rank, handle=rank, arg=0o101),
            Event(rank, "write", file=rank, handle=rank, size=1000 + rank),
            Event(rank, "close", file=rank, handle=rank),
        )
    ]
    events += [
        Event(0, "open", file=n, handle=n),
        Event(0, "read", file=n, handle=n, size=7),
        Event(0, "close", file=n, handle=n),
    ]
    paths = [f"/d/out.{rank:03d}.dat" for rank in range(n)] + ["/d/out.020.dat"]
    table = file_table(extract_model(trace_of(events, paths=paths), PROVENANCE))
    assert len(table.rows) == n + 1
    shown = [(row["file_id"], row["file_name"], row["n_operations"]) for row in texts(table)]
    assert shown == [("1 ... 20", "out.*.dat (20 files)", "20"), ("21", "out.020.dat", "1")]
    assert texts(table)[0]["file_size"].startswith(f"{sum(range(1000, 1000 + n)):,} B")
