"""What calls were given, by name: one module knows in which columns of a row it lies."""

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wavetank.trace import arguments
from wavetank.trace.arguments import ARGUMENTS, Argument, Memory
from wavetank.trace.ops import OPS, OPS_BY_NAME
from wavetank.trace.schema import UNKNOWN, FoldTable, OpKind

SOURCE = Path(arguments.__file__).parents[1]
COPIES = {"trace/events.py", "trace/fold.py"}
"""Modules that hand the column on as it is."""
COMPARE = {
    "model/compression/unfinished_substreams.py", "model/compression/interleaving_joins.py", "model/native/substreams.py",
}  # fmt: skip
"""Modules to which it is a part of what operations have in common."""
HAND_ON = {
    "kernel/fidelity/order.py", "kernel/lowering/step_lines.py", "model/comparison/call_results.py",
    "model/scaling/behaviour.py", "variants/file_per_process.py",
}  # fmt: skip
"""Modules to which it is a part of a step, whatever it says."""


def table(*rows: dict[str, Any]) -> FoldTable:
    """Rows of single calls: op by name, and columns that are not 0 or, of view and offset, UNKNOWN."""
    n = len(rows)
    names = [name for name in FoldTable.__dataclass_fields__ if name not in ("loop", "handle_step")]
    columns = {name: np.zeros(n, dtype=np.int64) for name in names}
    for i, row in enumerate(rows):
        given = {"count": 1, "view": UNKNOWN, "offset": UNKNOWN} | row
        given["op"] = OPS_BY_NAME[row["op"]].code
        for name, value in given.items():
            columns[name][i] = value
    columns["op"] = columns["op"].astype(np.uint8)
    columns["view"] = columns["view"].astype(np.int32)
    return FoldTable(**columns)


CALLS = table(
    {"op": "open", "arg": os.O_CREAT | os.O_RDWR},
    {"op": "lseek", "arg": os.SEEK_END, "offset": 10},
    {"op": "pwrite", "size": 7, "moved": 7, "offset": 3},
    {"op": "MPI_Barrier", "arg": 4},
    {"op": "MPI_File_open", **arguments.mpi_open(5, 2, 3)},
    {"op": "MPI_File_open", **arguments.mpi_open(9)},
    {"op": "MPI_File_set_view", "arg": arguments.takes_hints(1), "offset": 0, "view": 6},
    {"op": "MPI_File_set_info", "arg": arguments.takes_hints(UNKNOWN)},
    {"op": "MPI_Allreduce", "arg": UNKNOWN},
    {"op": "ftruncate", "arg": 1},
    {"op": "stat", "view": int(arguments.view_of_name(2))},
)


def test_each_call_says_what_it_was_given_and_all_others_nothing() -> None:
    assert arguments.open_flags(CALLS).tolist() == [os.O_CREAT | os.O_RDWR] + [0] * 10
    assert arguments.mpi_mode(CALLS).tolist() == [0, 0, 0, 0, 5, 9, 0, 0, 0, 0, 0]
    assert arguments.seek_origin(CALLS).tolist() == [0, os.SEEK_END] + [0] * 9
    assert arguments.communicator(CALLS).tolist() == [-1, -1, -1, 4, 2, -1, -1, -1, -1, -1, -1]
    assert arguments.hints(CALLS).tolist() == [-1, -1, -1, -1, 3, -1, 1, -1, -1, -1, -1]
    assert arguments.file_view(CALLS).tolist() == [-1, -1, -1, -1, -1, -1, 6, -1, -1, -1, -1]
    assert arguments.name_number(CALLS).tolist() == [0] * 10 + [2]
    assert arguments.number_given(CALLS).tolist() == [0o102, 2, 0, 4, 5, 9, 0, 0, -1, 1, 0]


@pytest.mark.parametrize(
    "ask",
    [
        arguments.open_flags, arguments.mpi_mode, arguments.seek_origin, arguments.communicator, arguments.hints,
        arguments.file_view, arguments.name_number, arguments.number_given, arguments.is_new_name,
    ],
)  # fmt: skip
def test_some_rows_say_the_same_as_all(ask: Any) -> None:
    everything = ask(CALLS)
    places = np.array([10, 4, 4, 0, 6])
    assert ask(CALLS, places).tolist() == everything[places].tolist()
    assert ask(CALLS, CALLS.op > 10).tolist() == everything[CALLS.op > 10].tolist()
    assert ask(CALLS, slice(3, 7)).tolist() == everything[3:7].tolist()
    assert ask(CALLS, np.zeros(0, dtype=np.int64)).tolist() == []


def test_data_calls_by_mpi_io_say_how_their_memory_lies_and_that_is_no_number_of_theirs() -> None:
    data = table(
        {"op": "MPI_File_write_at_all", "arg": Memory.GAPS},
        {"op": "MPI_File_iread", "arg": Memory.PLAIN},
        {"op": "pwrite"},
        {"op": "MPI_File_open", **arguments.mpi_open(3)},
    )
    assert arguments.memory(data).tolist() == [
        Memory.GAPS, Memory.PLAIN, Memory.UNKNOWN, Memory.UNKNOWN
    ]  # fmt: skip
    assert arguments.memory(data, np.array([1])).tolist() == [Memory.PLAIN]
    assert arguments.number_given(data).tolist() == [0, 0, 0, 3]


def test_memory_whose_gaps_are_known_names_a_view_that_gets_new_numbers() -> None:
    first = arguments.MEMORY_VIEW
    data = table(
        {"op": "MPI_File_write_at_all", "arg": first + 2},
        {"op": "MPI_File_read", "arg": first + 7},  # of a view that is not described
        {"op": "MPI_File_iread", "arg": Memory.GAPS},
        {"op": "pwrite", "arg": first},
    )
    assert arguments.memory(data).tolist() == [Memory.GAPS] * 3 + [Memory.UNKNOWN]
    assert arguments.memory_view(data).tolist() == [2, 7, UNKNOWN, UNKNOWN]
    assert arguments.memory_view(data, np.array([2, 0])).tolist() == [UNKNOWN, 2]
    columns = {"op": data.op, "arg": data.arg}

    def of_all(given: np.ndarray) -> np.ndarray:
        return np.where(given == 2, 0, UNKNOWN).astype(np.int32)

    arguments.renumber(columns, of_all, of_all, of_all)
    assert columns["arg"].tolist() == [first, Memory.GAPS, Memory.GAPS, first]


def test_two_rows_of_one_call_are_told_from_a_row_alone() -> None:
    calls = table(
        {"op": "rename", "arg": 0}, {"op": "rename", "arg": 1},
        {"op": "link", "arg": 1},  # that of the old name is not there
        {"op": "link", "arg": 0}, {"op": "symlink", "arg": 1},  # of two calls
        {"op": "ftruncate", "arg": 0}, {"op": "ftruncate", "arg": 1},  # sizes
        {"op": "symlink", "arg": 0},
    )  # fmt: skip
    assert np.flatnonzero(arguments.is_old_of_two_names(calls)).tolist() == [0]
    assert np.flatnonzero(arguments.is_new_name(calls)).tolist() == [1, 2, 4]
    nothing = table()
    assert arguments.is_old_of_two_names(nothing).tolist() == []


def test_new_numbers_go_where_the_old_ones_were() -> None:
    columns = {
        name: getattr(CALLS, name).copy() for name in ("op", "arg", "size", "moved", "offset")
    }
    arguments.renumber(
        columns,
        lambda given: np.where(given >= 0, given + 100, UNKNOWN),
        lambda given: np.where(given >= 0, given + 1000, UNKNOWN),
        lambda given: np.where(given >= 0, given + 10000, UNKNOWN),
    )
    names = [name for name in FoldTable.__dataclass_fields__ if name not in columns]
    renumbered = FoldTable(**columns, **{name: getattr(CALLS, name) for name in names})
    assert arguments.communicator(renumbered).tolist() == [
        -1, -1, -1, 104, 102, -1, -1, -1, -1, -1, -1
    ]  # fmt: skip
    assert arguments.hints(renumbered).tolist() == [
        -1, -1, -1, -1, 1003, -1, 1001, -1, -1, -1, -1
    ]  # fmt: skip
    same = [0, 1, 2, 9, 10]
    for name, column in columns.items():
        assert column[same].tolist() == getattr(CALLS, name)[same].tolist(), name
    assert renumbered.moved[4] == renumbered.size[4]


def test_what_is_known_of_calls_on_two_names_is_one_list() -> None:
    assert {"rename", "link", "symlink"} == arguments.ON_TWO_NAMES
    assert {
        op.name for op in OPS.values() if op.kind is OpKind.RESIZE
    } == {name for name, said in ARGUMENTS.items() if said is Argument.NEW_SIZE}  # fmt: skip


def test_no_other_module_knows_what_the_number_of_a_call_means() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "arg":
                found.add(path.relative_to(SOURCE).as_posix())
    here = {"trace/arguments.py", "model/document/program.py"}
    assert found == here | COPIES | COMPARE | HAND_ON
