"""What calls were given: each different set of it once, with a column for each meaning."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from wavetank.trace import arguments
from wavetank.trace.arguments import MEMORY_VIEW, Memory
from wavetank.trace.call_details import (
    distinct,
    joined,
    of_calls,
    sets_of_shared_columns,
    with_names,
)
from wavetank.trace.open import open_trace
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import COLUMNS, NOTHING_GIVEN, UNKNOWN, FoldTable
from wavetank.trace.store import FOLDS_NAME, TABLES_NAME, write_imported

DATA = Path(__file__).parents[2] / "data"


def shared(*rows: dict[str, Any]) -> FoldTable:
    """Rows of single calls as the files of a trace have them: op by name; what is not said is 0, of places UNKNOWN."""
    n = len(rows)
    names = [name for name in (*COLUMNS, "arg") if name != "given"]
    columns = {name: np.zeros(n, dtype=np.int64) for name in names}
    for i, row in enumerate(rows):
        said = {"count": 1, "view": UNKNOWN, "offset": UNKNOWN, "view_offset": UNKNOWN} | row
        said["op"] = OPS_BY_NAME[row["op"]].code
        for name, value in said.items():
            columns[name][i] = value
    columns["op"] = columns["op"].astype(np.uint8)
    details, (row,) = joined([sets_of_shared_columns(columns)])
    columns["given"] = row[columns["given"]]
    return FoldTable(**columns, details=details)


def told(table: FoldTable) -> list[dict[str, int]]:
    """Of each row what is not as if nothing was given."""
    return [
        {
            name: int(column[row])
            for name, column in vars(table.details).items()
            if column[row] != vars(NOTHING_GIVEN)[name][0]
        }
        for row in table.given.tolist()
    ]


CALLS = shared(
    {"op": "open", "arg": os.O_CREAT | os.O_RDWR},
    {"op": "lseek", "arg": os.SEEK_END, "offset": 10},
    {"op": "lseek", "arg": os.SEEK_SET, "offset": 10},
    {"op": "pwrite", "size": 7, "moved": 7, "offset": 3},
    {"op": "MPI_Barrier", "arg": 0},
    {"op": "MPI_File_open", "arg": 5, "size": 3, "moved": 3, "offset": 0},
    {"op": "MPI_File_open", "arg": 0, "size": 0, "moved": 0},
    {"op": "MPI_File_set_view", "arg": 2, "offset": 0, "view": 6},
    {"op": "MPI_File_set_info", "arg": 0},
    {"op": "MPI_Allreduce", "arg": UNKNOWN},
    {"op": "ftruncate", "arg": 1},
    {"op": "ftruncate", "arg": 0},
    {"op": "MPI_File_write_at_all", "size": 8, "moved": 8, "offset": 0, "arg": Memory.PLAIN},
    {"op": "MPI_File_read", "size": 8, "moved": 8, "offset": 0, "arg": MEMORY_VIEW + 2},
    {"op": "MPI_File_iread", "size": 8, "moved": 8, "offset": 0, "arg": Memory.GAPS},
    {"op": "munmap", "arg": 4096},
    {"op": "stat"},
)


def test_sizes_and_places_that_are_left_are_those_of_bytes() -> None:
    opens = CALLS.op == OPS_BY_NAME["MPI_File_open"].code
    for name, nothing in (("size", 0), ("moved", 0), ("offset", UNKNOWN), ("view_offset", UNKNOWN)):
        assert getattr(CALLS, name)[opens].tolist() == [nothing] * 2, name
    assert (CALLS.size.sum(), CALLS.moved.sum()) == (31, 31)
    assert CALLS.view.max() == 6


def test_nothing_is_the_first_set_and_each_set_is_there_once() -> None:
    rows = np.stack(list(vars(CALLS.details).values()), axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows) == 11
    assert rows[0].tolist() == [int(column[0]) for column in vars(NOTHING_GIVEN).values()]
    given = distinct({"new_size": np.array([3, -2, 0, 3])})
    assert given[0].new_size.tolist() == [0, -2, 3]
    assert given[1].tolist() == [2, 1, 0, 2]


def test_the_number_of_a_call_is_the_one_that_it_was_given_whatever_it_means() -> None:
    assert CALLS.details.number[CALLS.given].tolist() == [
        0o102, 2, 0, 0, 0, 5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4096, 0
    ]  # fmt: skip


def test_a_number_goes_to_the_column_of_its_meaning() -> None:
    names = ["open", "lseek", "MPI_File_open", "chmod", "rename", "MPI_Barrier", "stat"]
    op = np.array([OPS_BY_NAME[name].code for name in names], dtype=np.uint8)
    number = np.array([64, 2, 64, 0o644, 1, 0, 0])
    on = np.array([UNKNOWN, UNKNOWN, 3, UNKNOWN, UNKNOWN, 0, UNKNOWN])
    details, given = of_calls(op, number, communicator=on)
    said = [
        {name: column[row] for name, column in vars(details).items() if column[row] not in (0, -1)}
        for row in given.tolist()
    ]
    assert said == [
        {"flags": 64}, {"origin": 2}, {"mpi_mode": 64, "communicator": 3}, {"mode": 0o644}, {"new_name": 1}, {}, {},
    ]  # fmt: skip
    assert details.communicator[given].tolist() == on.tolist()


def test_tables_of_several_processes_become_one() -> None:
    one = distinct({"flags": np.array([7, 9])})[0]
    other = distinct({"flags": np.array([9, 1]), "hints": np.array([UNKNOWN, 4])})[0]
    whole, (first, second) = joined([one, other])
    assert len(whole.flags) == 4
    assert whole.flags[first].tolist() == one.flags.tolist()
    for table, rows in ((one, first), (other, second)):
        for name, column in vars(table).items():
            assert getattr(whole, name)[rows].tolist() == column.tolist(), name


def test_a_name_comes_to_what_a_call_was_given_and_goes_again() -> None:
    name = np.zeros(len(CALLS), dtype=np.int32)
    name[[0, 16]] = 2
    named = with_names(CALLS, name)
    said = told(named)
    assert [row.pop("name", 0) for row in said] == name.tolist()
    assert said == told(CALLS)
    assert told(with_names(named, np.zeros(len(CALLS), dtype=np.int32))) == told(CALLS)


def test_two_rows_of_one_call_are_told_from_a_row_alone() -> None:
    calls = shared(
        {"op": "rename", "arg": 0}, {"op": "rename", "arg": 1},
        {"op": "link", "arg": 1},  # that of the old name is not there
        {"op": "link", "arg": 0}, {"op": "symlink", "arg": 1},  # of two calls
        {"op": "ftruncate", "arg": 0}, {"op": "ftruncate", "arg": 1},  # sizes
        {"op": "symlink", "arg": 0},
    )  # fmt: skip
    assert np.flatnonzero(arguments.is_old_of_two_names(calls)).tolist() == [0]
    assert np.flatnonzero(arguments.is_new_name(calls)).tolist() == [1, 2, 4]
    assert arguments.is_new_name(calls, np.array([4, 0])).tolist() == [True, False]
    assert arguments.is_old_of_two_names(shared()).tolist() == []


def require_same(one: FoldTable, other: FoldTable) -> None:
    for name in COLUMNS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    for name, column in vars(one.details).items():
        assert column.tolist() == getattr(other.details, name).tolist(), name


def test_a_log_that_is_converted_now_is_read_as_the_log(tmp_path: Path) -> None:
    log = DATA / "recorder" / "3.0" / "merged"
    trace = open_trace(log)
    write_imported(trace, tmp_path / "t", log / "VERSION")
    require_same(read_trace(tmp_path / "t").folds, trace.folds)
    body = json.loads((tmp_path / "t" / TABLES_NAME).read_text(encoding="utf-8"))
    with np.load(tmp_path / "t" / FOLDS_NAME) as packed:
        assert "fold_arg" not in packed and body["schema"] == "wavetank.imported-trace/1"
