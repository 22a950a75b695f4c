"""A trace of a run that was not traced: what each rank of the groups would do at a process count, call by call.

Reads the groups of ``rank_groups``; leaves a trace without times, from which the extraction makes the model as it does from any
other. Phases are separated where they were in the traced runs: by communication, for which a tick stands.

Why a trace and not the model, though the functions are of a model's numbers: phases are not the same at each process count.
BT-IO's ranks fall into other groups of similar sizes as the grid divides in another way. Which phases there are follows from the
accesses by the rules of the extraction, and there is one extraction. A second one here would differ from it in time.

Why the traced process counts are made again in the same way: what the functions give there must be the traced models. This checks
the functions, the steps and the extraction together.

Why without times: nothing says how long a call takes in a run that was not made.

Why it has an end (``MOST_ROWS``): repeats are performed round by round, as each goes on where the one before it ended. So
rows grow with the run, and all of them are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wavetank.model.document.model import Boundaries
from wavetank.model.document.offsets import ViewPositions
from wavetank.model.events.file_identity import NAMED_OPS
from wavetank.model.scaling.behaviour import Shape
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.scaling.functions.rank_functions import At
from wavetank.model.scaling.rank_group import Group, Values, ranks_of, values_at
from wavetank.trace.call_details import of_calls
from wavetank.trace.ops import DATA_KINDS, OPS_BY_NAME
from wavetank.trace.schema import (
    UNKNOWN,
    FileView,
    FoldTable,
    Level,
    Op,
    OpKind,
    OtherName,
    RankFacts,
    Trace,
    TracedFile,
)

COLUMNS = (
    "rank", "seq", "op", "file", "handle", "count", "size", "moved", "offset", "disp", "view",
    "view_offset", "view_disp", "tick", "subtick", "tick_step", "subtick_step", "start_ns", "end_ns",
    "busy_ns", "error", "arg", "communicator", "hints", "name",
)  # fmt: skip
_GIVEN = ("arg", "communicator", "hints", "name")
"""Columns that say what a call was given, the number first."""
_TYPES = {"op": np.uint8, **dict.fromkeys(("rank", "file", "handle", "view", "error"), np.int32)}


class Tables:
    """What the ranks of a run share: files, views, hints, communicators, and the rows."""

    def __init__(self, n: int, folder: str) -> None:
        self.n, self._folder = n, folder
        self.files: dict[str, TracedFile] = {}
        self._file_ids: dict[str, int] = {}
        self.views: dict[FileView, int] = {}
        self.infos: dict[tuple[tuple[str, str], ...], int] = {}
        self.communicators: dict[tuple[int, ...], int] = {tuple(range(n)): 0}
        self.rows: list[tuple[int, ...]] = []
        self._positions: dict[int, ViewPositions] = {}

    def file(self, name: str, sample: TracedFile) -> int:
        """The number of a file."""
        path = self._folder + name
        if path not in self.files:
            self.files[path] = TracedFile(
                path,
                file_system=sample.file_system,
                size_before=sample.size_before,
                other_names=tuple(
                    replace(name, path=self._folder + name.path) for name in sample.other_names
                ),
            )
            self._file_ids[path] = len(self._file_ids)
        return self._file_ids[path]

    def view(self, view: FileView) -> int:
        """The number of a view."""
        number = self.views.setdefault(view, len(self.views))
        if number not in self._positions:
            self._positions[number] = ViewPositions(view)
        return number

    def absolute(self, view: int, position: int) -> int:
        """Where in the file a position of a view is."""
        found = self._positions[view].absolute(position)
        return UNKNOWN if found is None else found

    def trace(self, command: tuple[str, ...]) -> Trace:
        """All of it."""
        columns = (
            np.array(self.rows, dtype=np.int64).T
            if self.rows
            else np.zeros((len(COLUMNS), 0), dtype=np.int64)
        )
        of_rows = {
            name: column.astype(_TYPES.get(name, np.int64))
            for name, column in zip(COLUMNS, columns, strict=True)
        }
        number, *others = (of_rows.pop(name) for name in _GIVEN)
        details, given = of_calls(
            of_rows["op"], number, **dict(zip(_GIVEN[1:], others, strict=True))
        )
        table = FoldTable(**of_rows, given=given, details=details)
        return Trace(
            source="extrapolated",
            command=command,
            n_ranks=self.n,
            mpi_library=None,
            started_utc=None,
            elapsed_s=None,
            ranks=tuple(RankFacts(rank, "", 0, complete=True) for rank in range(self.n)),
            files=tuple(self.files.values()),
            views=tuple(self.views),
            communicators=tuple(self.communicators),
            folds=table,
            levels=(Level.POSIX, Level.MPIIO),
            infos=tuple(self.infos),
        )


_BARRIER = OPS_BY_NAME["MPI_Barrier"]
_LSEEK = OPS_BY_NAME["lseek"]
_SEEK_CUR = 1
MOST_ROWS = 20_000_000
"""Rows of a synthetic trace; more would take several GiB."""


def synthesise(
    groups: Sequence[Group], n: int, folder: str, boundaries: Boundaries, command: tuple[str, ...]
) -> Trace:
    """The trace of ``n`` ranks.

    Raises:
        NoFunctionError: a number has no value at ``n``.
    """
    tables = Tables(n, folder)
    by_rank: dict[int, _Rank] = {}
    for group, ranks in zip(groups, ranks_of(groups, n), strict=True):
        if ranks:
            given = values_at(group, At(n, ranks))
            for place, rank in enumerate(ranks):
                by_rank[rank] = _Rank(rank, place, group, given, tables, boundaries)
    for rank in sorted(by_rank):
        by_rank[rank].perform()
    return tables.trace(command)


# --- one rank -------------------------------------------------------------------------------------


@dataclass
class _Rank:
    """Performs the steps of one rank, into rows."""

    rank: int
    place: int
    group: Group
    given: Values
    tables: Tables
    boundaries: Boundaries
    tick: int = 0
    subtick: int = 0
    clock: int = 0
    seq: int = 0
    handles: dict[tuple[int, int, int], int] = field(default_factory=dict)
    n_handles: int = 0
    done: dict[int, int] = field(default_factory=dict)  # operations of each phase so far
    totals: dict[int, int] = field(default_factory=dict)  # operations of each phase in all
    last_phase: dict[tuple[int, int], int] = field(default_factory=dict)
    seeks: dict[tuple[int, int | None], int] = field(
        default_factory=dict
    )  # rows whose place is the next operation's

    def perform(self) -> None:
        """All steps."""
        self._numbers = self._iterate()
        shape = self.group.shape[0]
        assert isinstance(shape, tuple)  # noqa: S101 - see Behaviours.of
        self._count(shape, 1)
        self._numbers = self._iterate()
        self._steps(shape)

    def _iterate(self) -> Iterator[int | None]:
        for column in self.given.numbers:
            yield None if column is None else column[self.place]

    def _next(self) -> int:
        value = next(self._numbers)
        return 0 if value is None else value

    # --- how many operations each phase has

    def _count(self, steps: Shape, times: int) -> None:
        for step in steps:
            assert isinstance(step, tuple)  # noqa: S101
            if step[0] == "repeat":
                self._count(step[1], times * self._next())
            elif step[0] == "data":
                n = self._next() * (1 if step[2] else len(self.given.phases[step[1]]))
                self._next()
                self.totals[step[1]] = self.totals.get(step[1], 0) + times * n
            else:
                for _ in range(_n_numbers(step)):
                    next(self._numbers)

    # --- steps

    def _steps(self, steps: Shape) -> None:
        for step in steps:
            assert isinstance(step, tuple)  # noqa: S101
            if step[0] == "repeat":
                self._repeat(step[1])
            elif step[0] == "sync":
                self._sync(step[1])
            elif step[0] == "data":
                self._data(step)
            else:
                self._file(step)

    def _repeat(self, steps: Shape) -> None:
        times = self._next()
        numbers = [next(self._numbers) for _ in range(_n_numbers(("repeat", steps)) - 1)]
        rest = self._numbers
        for _ in range(times):
            self._numbers = iter(numbers)
            self._steps(steps)
        self._numbers = rest

    def _communicator(self, kind: object) -> int:
        ranks: tuple[int, ...]
        if kind == "all":
            ranks = tuple(range(self.tables.n))
        elif kind == "self":
            ranks = (self.rank,)
        elif kind == "range":
            first, step, number = self._next(), self._next(), self._next()
            ranks = tuple(range(first, first + number * step, step)) if step else (first,)
        else:
            assert isinstance(kind, tuple)  # noqa: S101
            ranks = kind[1]
        if not ranks or ranks[-1] >= self.tables.n:
            raise NoFunctionError(
                f"a communicator has ranks that are not there at np {self.tables.n}"
            )
        return self.tables.communicators.setdefault(ranks, len(self.tables.communicators))

    def _sync(self, kind: object) -> None:
        count = self._next()
        communicator = self._communicator(kind)
        if count:
            self._row(_BARRIER, file=UNKNOWN, count=count, communicator=communicator)

    def _row(self, op: Op, *, file: int, handle: int = 0, count: int = 1, **columns: int) -> None:
        if len(self.tables.rows) > MOST_ROWS:
            raise NoFunctionError("the run would have too many operations to list")
        counted = op.level != Level.POSIX
        timed = self.boundaries.split_at_computation_s is not None
        offset = columns.get("offset", 0)
        disp = columns.get("disp", 0)
        row = {
            "rank": self.rank, "seq": self.seq, "op": op.code, "file": file, "handle": handle, "count": count,
            "size": 0, "moved": 0, "offset": 0, "disp": 0, "view": UNKNOWN, "view_offset": offset,
            "view_disp": disp, "tick": self.tick, "subtick": self.subtick,
            "tick_step": int(counted and count > 1), "subtick_step": int(not counted and count > 1),
            "start_ns": self.clock if timed else UNKNOWN, "end_ns": self.clock + count if timed else UNKNOWN,
            "busy_ns": count if timed else 0, "error": 0, "arg": 0, "communicator": UNKNOWN, "hints": UNKNOWN,
            "name": 0,
        } | columns  # fmt: skip
        self.tables.rows.append(tuple(row[name] for name in COLUMNS))
        self.seq += count
        self.clock += count
        if counted:
            self.tick, self.subtick = self.tick + count, 0
        else:
            self.subtick += count

    def _local_file(self, number: int) -> int:
        sample = self.group.sample.files[number]
        before = self.given.sizes_before[number]
        others = zip(self.given.other_names[number], sample.other_names, strict=True)
        return self.tables.file(
            self.given.names[number][self.place],
            TracedFile(
                "",
                file_system=sample.file_system,
                size_before=None if before is None else before[self.place],
                other_names=tuple(OtherName(of[self.place], name.symlink) for of, name in others),
            ),
        )

    def _handle(self, file: int, level: int, slot: int, opens: bool) -> int:
        key = (file, level, slot)
        if opens or key not in self.handles:
            self.handles[key] = self.n_handles
            self.n_handles += 1
        return self.handles[key]

    def _file(self, step: Shape) -> None:
        _, name, number, slot, error, arg, no_offset, view, other_name, info, communicator = step
        op = _op(name)
        count, size = self._next(), self._next()
        columns: dict[str, int] = {"error": _int(error)}
        if not no_offset:
            columns["offset"] = self._next()
        columns["arg"] = self._next() if op.kind == OpKind.RESIZE else _int(arg)
        info_id = self._info(info)
        on = UNKNOWN if communicator is None else self._communicator(communicator)
        columns.update(hints=info_id, communicator=on)
        if op.kind == OpKind.OPEN and op.level == Level.MPIIO:
            columns["offset"] = UNKNOWN
        elif op.kind in DATA_KINDS:
            columns["size"] = size
        file = self._local_file(_int(number))
        views = None if view is None or view == -1 else self.given.views[_int(view)]
        if views is not None:
            columns["view"] = self.tables.view(views[self.place])
        if other_name and op.name in NAMED_OPS:
            columns["name"] = _int(other_name)
        handle = self._handle(file, op.level, _int(slot), op.kind == OpKind.OPEN and not error)
        if op.kind == OpKind.SEEK and no_offset:
            self.seeks[file, handle] = len(self.tables.rows)
            columns["offset"] = 0
        if count:
            self._row(op, file=file, handle=handle, count=count, **columns)

    def _info(self, info: object) -> int:
        if info is None:
            return UNKNOWN
        assert isinstance(info, tuple)  # noqa: S101
        pairs = tuple((key, str(self._next()) if value is None else value) for key, value in info)
        return self.tables.infos.setdefault(pairs, len(self.tables.infos))

    # --- data

    def _data(self, step: Shape) -> None:
        _, number, single, _ = step
        phase = _int(number)
        members = self.given.phases[phase]
        n, nulls = self._next(), self._next()
        operations = n * (1 if single else len(members))
        file_number, level_name, pattern, _ = self._phase_shape(phase)
        if not operations or any(member is None for member in members):
            return
        file = self._local_file(file_number)
        level = Level.MPIIO if level_name == "mpiio" else Level.POSIX
        self._part(phase, file, level, level_name)
        first = self.done.get(phase, 0)
        self.done[phase] = first + operations
        at = first
        while at < first + operations:
            index, member = divmod(at, len(members))
            count = first + operations - at if len(members) == 1 else 1
            op_name, slot = pattern[member]
            count = self._operations(phase, member, index, count, (_op(op_name), file, slot))
            at += count
        if nulls:
            row = dict(zip(COLUMNS, self.tables.rows[-1], strict=True))
            known = row["offset"] != UNKNOWN
            end = row["offset"] + (row["count"] - 1) * row["disp"]
            end += row["moved"] - (row["count"] - 1) * row["size"]
            self._row(
                _LSEEK, file=file, handle=row["handle"], count=nulls, arg=_SEEK_CUR, offset=end if known else 0
            )  # fmt: skip

    def _phase_shape(self, phase: int) -> tuple[int, str, tuple[tuple[str, int], ...], bool]:
        shapes = self.group.shape[1]
        assert isinstance(shapes, tuple)  # noqa: S101 - see Behaviours.of
        found: tuple[int, str, tuple[tuple[str, int], ...], bool] = shapes[phase]
        return found

    def _part(self, phase: int, file: int, level: int, level_name: str) -> None:
        """Between two phases on a file lies communication, or time, where these separate phases and no other phase goes on."""
        before = self.last_phase.get((file, level))
        self.last_phase[file, level] = phase
        if before is None or before == phase or phase in self.done:
            return
        going_on = any(
            0 < done < self.totals[other] for other, done in self.done.items() if other != phase
        )
        if going_on:
            return
        if self.boundaries.split_at_communication.get(level_name):
            self.tick, self.subtick = self.tick + 1, 0
        if self.boundaries.split_at_computation_s is not None:
            self.clock += int(2e9 * self.boundaries.split_at_computation_s)

    def _operations(
        self, phase: int, member: int, index: int, count: int, where: tuple[Op, int, int]
    ) -> int:
        """Up to ``count`` operations from the ``index``-th of a pattern member on, as one row; how many it were."""
        op, file, slot = where
        given = self.given.phases[phase][member]
        assert given is not None  # noqa: S101
        n_members = len(self.given.phases[phase])
        total = self.totals[phase] // n_members
        short = 0
        disp = 0
        if given.pieces is not None:
            pieces = given.pieces[self.place]
            if len(pieces) != total:
                raise NoFunctionError(
                    f"a phase would have {total} operations and places for {len(pieces)}"
                )
            count, size, position = 1, int(pieces.length[index]), int(pieces.offset[index])
        else:
            assert given.size is not None  # noqa: S101
            size = given.size[self.place]
            disp = given.disp[self.place] if given.disp is not None else 0
            position = UNKNOWN if given.offset is None else given.offset[self.place] + index * disp
            if given.offset is not None and given.disp is None and total > 1:
                raise NoFunctionError("a phase of one operation would have several")
            if given.short is not None and index + count == total:
                short = given.short[self.place]
        handle = self._handle(file, op.level, slot, opens=False)
        columns = {"size": size, "offset": position, "disp": disp if count > 1 else 0}
        number = self.group.sample.phases[phase].view
        views = None if number is None else self.given.views[number]
        if views is not None and position != UNKNOWN:
            view = views[self.place]
            view_id = self.tables.view(view)
            visible = sum(view.run_lengths)
            if count > 1 and (not visible or disp % visible):
                count, columns["disp"] = 1, 0
                short = short if index + 1 == total else 0
            columns |= {
                "view": view_id, "view_offset": position, "view_disp": columns["disp"],
                "offset": self.tables.absolute(view_id, position),
                "disp": columns["disp"] // visible * view.extent if visible else 0,
            }  # fmt: skip
        if position == UNKNOWN:
            columns["disp"] = 0
        seek = self.seeks.pop((file, handle), None)
        if seek is not None:
            row = dict(zip(COLUMNS, self.tables.rows[seek], strict=True))
            row |= {"offset": columns["offset"], "view_offset": columns["offset"]}
            self.tables.rows[seek] = tuple(row[name] for name in COLUMNS)
        self._row(op, file=file, handle=handle, count=count, moved=count * size - short, **columns)
        return count


def _n_numbers(step: Shape) -> int:
    """Numbers that a step takes, in the order in which ``behaviour`` lists them."""
    if step[0] == "repeat":
        assert isinstance(step[1], tuple)  # noqa: S101
        return 1 + sum(_n_numbers(inner) for inner in step[1])
    if step[0] == "data":
        return 2
    if step[0] == "sync":
        return 1 + (3 if step[1] == "range" else 0)
    _, name, _, _, _, _, no_offset, _, _, info, communicator = step
    hints = sum(value is None for _, value in info) if isinstance(info, tuple) else 0
    return (
        2 + (not no_offset) + (_op(name).kind == OpKind.RESIZE) + hints + (3 if communicator == "range" else 0)
    )  # fmt: skip


def _op(name: object) -> Op:
    op = OPS_BY_NAME.get(str(name))
    if op is None:
        raise NoFunctionError(f"{name} is no call that wavetank knows")
    return op


def _int(value: object) -> int:
    assert isinstance(value, int)  # noqa: S101
    return value
