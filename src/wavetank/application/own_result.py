"""What a traced run of the application itself says, in the terms of a replay's result.

Reads the trace and its model; leaves a ``ReplayResult``: the time in which at least one rank was at an I/O call, its
parts, and the phases of the kernel as the application went through them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wavetank.errors import MeasurementError
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.results.io_time import Spans, call_rates, io_time
from wavetank.kernel.results.result import IoTime, PhaseResult, RankPhaseResult, ReplayResult
from wavetank.model.comparison.counterparts import same_phases
from wavetank.model.document.metadata import call_name
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.model.events.mpi_calls import inside_calls
from wavetank.trace.ops import DATA_KINDS, OPS, codes_where
from wavetank.trace.schema import UNKNOWN, BoolArray, FoldTable, Int64Array, Level, OpKind, Trace
from wavetank.units import format_size

SMALLEST_SHARE = 0.01
"""Of the bytes: less may differ between a run and its kernel, or come from elsewhere, and nothing is said."""
LARGEST_SHARE = 0.1
"""Of the bytes: a run that moves so many more or fewer than the kernel is another program's or of another input."""
_DATA, _METADATA, _FLUSH = 0, 1, 2
_COMPLETING = frozenset({"MPI_Wait", "MPI_Test", "MPI_File_end"})
_RATES = {
    **{name: name for name in (
        "open", "close", "readdir", "stat", "access", "unlink", "mkdir", "rmdir", "mknod", "rename", "link",
        "symlink", "readlink",
    )},
    **dict.fromkeys(("chmod", "fchmod", "chown", "fchown", "utime", "futime"), "attributes"),
    **dict.fromkeys(("truncate", "ftruncate", "fallocate"), "resize"),
    **dict.fromkeys(("MPI_File_set_size", "MPI_File_preallocate"), "resize"),
    "fstat": "stat", "MPI_File_get_size": "stat", "MPI_File_open": "open", "MPI_File_close": "close",
    "MPI_File_delete": "unlink",
}  # fmt: skip
"""What calls are to a metadata server, as in native/replay/run/open_files.c."""
_BY_KIND = {OpKind.READ: _DATA, OpKind.WRITE: _DATA, OpKind.SYNC: _FLUSH}


@dataclass(frozen=True)
class Ran:
    """A run that has ended well.

    Attributes:
        trace: of it, its loops taken apart.
        model: of the trace.
        hosts: node of each rank.
        root: folder of the run, on its nodes.
        flush_s: until all that it wrote was on storage, after its end; None: that was not asked for.
        started_monotonic_ns: its first process's start on this machine's CLOCK_MONOTONIC; None: not known.
    """

    trace: Trace
    model: Model
    hosts: Sequence[str]
    root: str
    flush_s: float | None
    started_monotonic_ns: int | None


def require_own_files(trace: Trace, root: str) -> None:
    """Refuse a run whose data went elsewhere than to the folder that it was given: that I/O is not the cluster's.

    Raises:
        MeasurementError: it wrote, or read a part of weight, outside.
    """
    table, _, kinds = _calls(trace)
    below = np.array(
        [file.path == root or file.path.startswith(f"{root}/") for file in trace.files], dtype=bool
    )
    data = (kinds == _DATA) & (table.moved > 0)
    outside = data & ~below[np.maximum(table.file, 0)]
    if not outside.any():
        return
    reads = codes_where(lambda op: op.kind == OpKind.READ)
    moved = int(table.moved[data].sum())
    for does, which in (
        ("wrote", outside & ~reads[table.op]),
        ("read", outside & reads[table.op]),
    ):
        size = int(table.moved[which].sum())
        if not size or (does == "read" and size < SMALLEST_SHARE * moved):
            continue
        by_file: Counter[int] = Counter()
        for file, n in zip(table.file[which].tolist(), table.moved[which].tolist(), strict=True):
            by_file[file] += n
        most = trace.files[by_file.most_common(1)[0][0]].path
        way = (
            "Have it write below {mount}"
            if does == "wrote"
            else "Name it as 'input', and read it below {mount}"
        )
        raise MeasurementError(
            f"the application {does} {format_size(size)} outside of its folder on the cluster's file system ({root}), "
            f"of {most} above all: that is no I/O of the cluster. {way}, the folder in which it runs"
        )


def result_of(
    ran: Ran, kernel: Kernel, settings: Mapping[str, str]
) -> tuple[ReplayResult, list[str]]:
    """The result of a run, and sentences on what makes it another run than the kernel's.

    Args:
        ran: the run.
        kernel: of the application.
        settings: how it was run.

    Raises:
        MeasurementError: it is another program's or of another input, or has no times.
    """
    table, level, kinds = _calls(ran.trace)
    own = kinds >= 0
    if (table.start_ns[own] == UNKNOWN).any():
        raise MeasurementError("the trace of the application has no times")
    doubts = _differences(ran.model, kernel)
    spans, names = _spans(table, kinds, ran)
    flush_s = ran.flush_s or 0.0
    left = 0 if ran.flush_s is not None else _not_flushed(table, level, kinds)
    elapsed_s = float(ran.trace.elapsed_s or 0.0)
    calls = call_rates(spans, names)
    phases, unmatched = _phases(ran, kernel, table, kinds)
    doubts += unmatched
    at_calls = np.where(own & (kinds != _DATA), table.busy_ns, 0)
    result = ReplayResult(
        status="ok",
        elapsed_s=elapsed_s + flush_s,
        metadata_time_s=float(at_calls.sum()) * 1e-9,
        io=_with_flush(io_time(spans, left), flush_s),
        calls=calls,
        started_monotonic_ns=ran.started_monotonic_ns,
        phases=tuple(phases),
        moved_bytes=ran.model.app_st,
        n_operations=int(table.count[(kinds == _DATA) & (table.moved > 0)].sum()),
        settings={
            "metadata_operations": str(int(table.count[own & (kinds != _DATA)].sum())),
            **settings,
        },
    )
    return result, doubts


def _calls(trace: Trace) -> tuple[FoldTable, Int64Array, Int64Array]:
    """Rows, their levels, and what of the application's own I/O each is: a number of a kind, or -1.

    What the MPI library does inside of an MPI-IO call is no call of the application.
    """
    table = trace.folds
    levels = np.zeros(256, dtype=np.uint8)
    kinds = np.full(256, _METADATA, dtype=np.int64)
    for code, op in OPS.items():
        levels[code] = op.level
        kinds[code] = _DATA if op.name in _COMPLETING else _BY_KIND.get(op.kind, _METADATA)
        if op.kind == OpKind.SYNC_RANKS:
            kinds[code] = -1
    level = levels[table.op]
    kind = kinds[table.op]
    moves = codes_where(lambda op: op.kind in DATA_KINDS)
    kind = np.where(moves[table.op] & (table.moved <= 0), _METADATA, kind)
    completes = codes_where(lambda op: op.name in _COMPLETING)
    kind = np.where((table.file < 0) & ~completes[table.op], -1, kind)
    kind[inside_calls(table) >= 0] = -1
    return table, level.astype(np.int64), kind


def _spans(
    table: FoldTable, kinds: Int64Array, ran: Ran
) -> tuple[list[Spans], list[dict[str, tuple[str, int]]]]:
    """Of each rank its spans, as the replay tells them, and the calls that move no data by their number."""
    numbers: dict[str, int] = {}
    spans: list[Spans] = []
    told: list[dict[str, tuple[str, int]]] = []
    own = np.flatnonzero(kinds >= 0)
    for rank in np.unique(table.rank[own]).tolist():
        rows = own[table.rank[own] == rank]
        counts: Counter[str] = Counter()
        of_rank: list[list[int]] = []
        last = 0
        for row, kind, start, end, busy in _timed(table, kinds, rows):
            call = _call(ran.trace, table, row) if kind == _METADATA else None
            if call is not None:
                counts[call] += int(table.count[row])
            if end <= start:  # a clock that did not tick
                continue
            parts = [0, 0, 0]
            parts[kind] = busy
            span = [start - last, end - start, *parts]
            if call is not None:
                span += [numbers.setdefault(call, len(numbers)), busy]
            of_rank.append(span)
            last = end
        spans.append(of_rank)
        told.append(
            {str(numbers.setdefault(name, len(numbers))): (name, n) for name, n in counts.items()}
        )
    return spans, told


def _call(trace: Trace, table: FoldTable, row: int) -> str | None:
    """The kind of a call that moves no data, as the replay tells its number; None where it tells none."""
    name, given = OPS[int(table.op[row])].name, int(table.given[row])
    if table.details.new_name[given]:  # the second row of one call
        return None
    file = int(table.file[row])
    directory = file >= 0 and trace.files[file].directory
    kind = call_name(_RATES.get(name, name), int(table.details.flags[given]), directory=directory)
    return kind if name in _RATES else None


def _with_flush(io: IoTime, flush_s: float) -> IoTime:
    """With the flush behind the run's end, in which no rank is at anything else."""
    return io.model_copy(
        update={
            "total_s": io.total_s + flush_s,
            "flush_s": (io.flush_s or 0.0) + flush_s,
            "at_least_s": None if io.at_least_s is None else io.at_least_s + flush_s,
            "at_most_s": None if io.at_most_s is None else io.at_most_s + flush_s,
        }
    )


def _not_flushed(table: FoldTable, level: Int64Array, kinds: Int64Array) -> int:
    """Bytes of files that a rank wrote and did not flush afterwards: at most so many are in caches at the end."""
    writes = codes_where(lambda op: op.kind == OpKind.WRITE)
    left: dict[tuple[int, int], int] = defaultdict(int)
    for row in np.flatnonzero(kinds >= 0).tolist():
        where = int(table.rank[row]), int(table.file[row])
        if kinds[row] == _DATA and writes[table.op[row]]:
            left[where] += int(table.moved[row])
        elif kinds[row] == _FLUSH and not table.error[row]:
            left[where] = 0
    return sum(left.values())


def _differences(model: Model, kernel: Kernel) -> list[str]:
    """Whether a run moved what its kernel moves.

    Raises:
        MeasurementError: far from it.
    """
    theirs, ours = model.app_st, sum(phase.ph_weight for phase in kernel.phases)
    difference = abs(theirs - ours)
    told = f"the application moved {format_size(theirs)} and its kernel moves {format_size(ours)}"
    if difference > LARGEST_SHARE * max(theirs, ours):
        raise MeasurementError(
            f"{told}: the kernel is of another program, input or number of ranks. Give the application the arguments "
            "and the input of the run that was traced"
        )
    if difference > SMALLEST_SHARE * max(theirs, ours):
        return [f"{told}: its runs differ, or its input does"]
    return []


def _phases(
    ran: Ran, kernel: Kernel, table: FoldTable, kinds: Int64Array
) -> tuple[list[PhaseResult], list[str]]:
    """The kernel's phases as the application went through them, and a sentence where it had no such phases."""
    theirs = same_phases(kernel.phases, ran.model.phases)
    total = max(sum(phase.ph_weight for phase in kernel.phases), 1)
    found, missing, missing_bytes = [], [], 0
    for phase in kernel.phases:
        same = theirs.get(phase.ph_id)
        if same is None or same.start_s is None or same.end_s is None or same.io_time_s is None:
            missing.append(phase.ph_id)
            missing_bytes += phase.ph_weight
            continue
        found.append(_phase(ran, phase.ph_id, same, table, kinds))
    if missing_bytes < SMALLEST_SHARE * total:
        return found, []
    ids = ", ".join(map(str, missing[:10])) + (" ..." if len(missing) > 10 else "")
    return found, [
        f"the application's run has no phase like phase {ids} of the kernel: their times are not told apart"
    ]


def _phase(ran: Ran, ph_id: int, phase: Phase, table: FoldTable, kinds: Int64Array) -> PhaseResult:
    """A phase's time is that in which one of its ranks was at one of its calls: between them the application computes."""
    start_s, end_s, io_s = phase.start_s or 0.0, phase.end_s or 0.0, phase.io_time_s or 0.0
    path = next(file.file_name for file in ran.model.files if file.file_id == phase.file_id)
    rows = _rows_of(ran.trace, phase, path, table, kinds)
    spans = [
        list(_plain(table, kinds, np.flatnonzero(rows & (table.rank == rank))))
        for rank in phase.ph_processid
    ]
    time_s = io_time(spans, 0).total_s or io_s / phase.ph_np
    n = phase.ph_niop * phase.ph_np
    # Rates of nothing are nothing; a clock that does not tick gives none either.
    per_s = 1 / time_s if time_s > 0 else 0.0
    return PhaseResult(
        ph_id=ph_id,
        bytes=phase.ph_weight,
        operations=n,
        time_s=time_s,
        rate_bytes_per_s=phase.ph_weight * per_s,
        iops=n * per_s,
        latency=None,
        ranks=tuple(
            RankPhaseResult(
                rank=rank,
                host=ran.hosts[rank] if rank < len(ran.hosts) else ran.hosts[0],
                bytes=phase.ph_weight // phase.ph_np,
                operations=phase.ph_niop,
                io_time_s=io_s / phase.ph_np,
                start_s=start_s,
                end_s=end_s,
                latency=None,
            )
            for rank in phase.ph_processid
        ),
    )


def _rows_of(
    trace: Trace, phase: Phase, path: str, table: FoldTable, kinds: Int64Array
) -> BoolArray:
    """Data calls of the phase's ranks on its file, of its calls and within its time."""
    names = {member.iop_type for member in phase.pattern}
    level = Level.MPIIO if phase.level == "mpiio" else Level.POSIX
    codes = [code for code, op in OPS.items() if op.name in names and op.level == level]
    files = [  # one file of the model may stand for all of a folder
        number
        for number, file in enumerate(trace.files)
        if file.path == path or file.path.startswith(f"{path}/")
    ]
    slack_ns = 1_000_000  # times in models are rounded
    rows: BoolArray = (
        (kinds == _DATA)
        & np.isin(table.op, codes)
        & np.isin(table.file, files)
        & (table.start_ns >= (phase.start_s or 0.0) * 1e9 - slack_ns)
        & (table.end_ns <= (phase.end_s or 0.0) * 1e9 + slack_ns)
    )
    return rows


def _plain(table: FoldTable, kinds: Int64Array, rows: Int64Array) -> Iterator[list[int]]:
    last = 0
    for _, _, start, end, busy in _timed(table, kinds, rows):
        if end > start:
            yield [start - last, end - start, busy, 0, 0]
            last = end


def _timed(
    table: FoldTable, kinds: Int64Array, rows: Int64Array
) -> Iterator[tuple[int, int, int, int, int]]:
    """Of each row, by its start: its number, its kind, start, end, and time at calls, ns."""
    rows = rows[np.argsort(table.start_ns[rows], kind="stable")]
    start, end = table.start_ns[rows], table.end_ns[rows]
    busy = np.minimum(table.busy_ns[rows], end - start)
    columns = (rows, kinds[rows], start, end, busy)
    yield from zip(*(column.tolist() for column in columns), strict=True)
