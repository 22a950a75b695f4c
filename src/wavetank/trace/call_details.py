"""What calls were given beside bytes, a place and a file view: tables of its different sets, see ``schema.CallDetails``.

Reads what readers and importers know of calls, by columns; leaves a ``CallDetails`` and, for each call, the number of its row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from wavetank.trace.arguments import ARGUMENTS, MEMORY_VIEW, Argument, Memory
from wavetank.trace.distinct import distinct_rows
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import (
    NOTHING_GIVEN,
    NUMBERS,
    UNKNOWN,
    BoolArray,
    CallDetails,
    FoldTable,
    Int32Array,
    Int64Array,
)

Numbers = npt.NDArray[np.integer[Any]]
TableT = TypeVar("TableT", bound=FoldTable)
_NOTHING = {
    column.name: int(getattr(NOTHING_GIVEN, column.name)[0]) for column in fields(CallDetails)
}


def distinct(columns: Mapping[str, Numbers]) -> tuple[CallDetails, Int32Array]:
    """The different sets of what some calls were given, and for each call the number of its set.

    That of a call that was given nothing comes first, the others in the order of their numbers.

    Args:
        columns: of ``CallDetails``, of equal length, one at least; of those that are missing nothing was given.
    """
    n = len(next(iter(columns.values())))
    sets = np.empty((1 + len(_NOTHING), n + 1), dtype=np.int64)
    for of_column, (name, nothing) in zip(sets[1:], _NOTHING.items(), strict=True):
        of_column[:n] = columns.get(name, nothing)
        of_column[n] = nothing
    sets[0] = (sets[1:] != sets[1:, n:]).any(axis=0)  # whether anything was given
    order = np.lexsort(sets[::-1])
    new = (np.diff(sets[:, order]) != 0).any(axis=0)
    row = np.empty(n + 1, dtype=np.int32)
    row[order] = np.append(0, np.cumsum(new))
    return CallDetails(*sets[1:, order[np.append(True, new)]]), row[:n]


def of_calls(op: Numbers, number: Int64Array, **others: Numbers) -> tuple[CallDetails, Int32Array]:
    """What calls were given.

    Args:
        op: their codes.
        number: that each was given, see ``Argument``; 0: none.
        others: columns of ``CallDetails`` beside those of numbers.
    """
    some: BoolArray = number != 0
    for name, column in others.items():
        some = some | (column != _NOTHING[name])
    at = np.flatnonzero(some)
    if not len(at):
        return NOTHING_GIVEN, np.broadcast_to(np.int32(0), len(op))
    columns: list[Numbers] = [op, number, *others.values()]
    rows, which = distinct_rows([column[at] for column in columns])
    details, row = distinct(
        _numbers(rows[:, 0], rows[:, 1]) | dict(zip(others, rows.T[2:], strict=True))
    )
    return details, _spread(row[which], at, len(op))


def joined(tables: Sequence[CallDetails]) -> tuple[CallDetails, list[Int32Array]]:
    """Tables as one; and for each of them what its rows are there."""
    columns = {
        name: np.concatenate([getattr(table, name) for table in tables]) for name in _NOTHING
    }
    details, row = distinct(columns)
    return details, np.split(row, np.cumsum([len(table.flags) for table in tables])[:-1])


def with_names(table: TableT, name: Numbers) -> TableT:
    """Rows whose calls were made on other names of their files, see ``CallDetails.name``."""
    details = table.details
    at = np.flatnonzero((name != 0) | (details.name != 0)[table.given])
    pairs, which = distinct_rows((table.given[at], name[at]))
    renamed = {column: getattr(details, column)[pairs[:, 0]] for column in _NOTHING}
    both, (own, other) = joined([details, CallDetails(**{**renamed, "name": pairs[:, 1]})])
    given = own[table.given]
    given[at] = other[which]
    return replace(table, given=given, details=both)


def _spread(row: Int32Array, at: Int64Array, n: int) -> Int32Array:
    found = np.zeros(n, dtype=np.int32)
    found[at] = row
    return found


def _numbers(op: Int64Array, number: Int64Array) -> dict[str, Numbers]:
    """Numbers of calls, each in the column of its meaning."""
    return {name: np.where(codes[op], number, 0) for name, codes in _SAY_NUMBERS.items()}


def _codes(argument: Argument) -> BoolArray:
    """By operation code, whether this is what its number says, shape (256,)."""
    found = np.zeros(256, dtype=bool)
    found[[OPS_BY_NAME[name].code for name, said in ARGUMENTS.items() if said is argument]] = True
    return found


_OF = {argument: _codes(argument) for argument in Argument}
_SAY_NUMBERS = {name: _OF[Argument(name)] for name in NUMBERS}


# --- the columns of a trace's files -----------------------------------------------------------------

_MPI_OPEN = OPS_BY_NAME["MPI_File_open"].code
_MAY_SAY_0 = _OF[Argument.COMMUNICATOR].copy()
_MAY_SAY_0[_MPI_OPEN] = True
_FEW = 64  # calls of a part; to look for equal ones among them takes longer than to keep them


def sets_of_shared_columns(columns: dict[str, npt.NDArray[Any]]) -> CallDetails:
    """Take what calls were given out of the columns that it shares with other numbers in a part of a trace.

    ``arg`` says what WT_ARGUMENTS of native/include/wavetank_trace.h lists. ``size`` and ``moved`` of an
    ``MPI_File_open`` are its communicator + 1, ``offset`` is the number of its hints.

    Args:
        columns: those of a ``FoldTable`` but ``given``, and ``arg``. Left are all but ``arg``, each with one meaning, and
            ``given``.

    Returns:
        The sets in any order; some may be equal. ``joined`` looks at those of all parts.
    """
    arg = columns.pop("arg")
    at = np.flatnonzero((arg != 0) | _MAY_SAY_0[columns["op"]])
    op = columns["op"][at]
    opens = op == _MPI_OPEN
    on = np.where(opens, columns["size"][at], 0)
    info = np.where(opens, columns["offset"][at], UNKNOWN)
    if opens.any():
        for name, nothing in (
            ("size", 0),
            ("moved", 0),
            ("offset", UNKNOWN),
            ("view_offset", UNKNOWN),
        ):
            columns[name] = columns[name].copy()
            columns[name][at[opens]] = nothing
    number, which = arg[at], np.arange(len(at))
    if len(at) > _FEW:
        rows, which = distinct_rows((op, number, on, info))
        op, number, on, info = rows.T
    memory = np.where(_OF[Argument.MEMORY][op], number, Memory.UNKNOWN)
    told = _numbers(op, number) | {
        "memory": np.minimum(memory, Memory.GAPS),
        "memory_view": np.maximum(memory - MEMORY_VIEW, UNKNOWN),
        "communicator": np.where(_OF[Argument.COMMUNICATOR][op], number, on - 1),
        "hints": np.where(_OF[Argument.HINTS][op], number - 1, info),
    }
    sets = np.empty((len(_NOTHING), len(op) + 1), dtype=np.int64)
    for column, (name, nothing) in zip(sets, _NOTHING.items(), strict=True):
        column[0], column[1:] = nothing, told.get(name, nothing)
    columns["given"] = _spread((which + 1).astype(np.int32), at, len(columns["op"]))
    return CallDetails(*sets)
