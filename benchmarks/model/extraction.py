"""How fast the model is extracted, and how the time grows: printed as ratios of the same run.

    .venv/bin/python benchmarks/model/extraction.py [--largest 10000000] [--darshan-log LOG]

Events are made before the time begins. With
--darshan-log: the same log into PyDarshan's default DataFrames (where PyDarshan is installed) against
importing it and extracting its model. Targets: 10 million unfolded events/s on one core; linear growth;
from folds, time that grows with folds and not with operations; 20 times faster than the DataFrames.
Times are seconds of one core (CPU time), so that a busy machine does not change them much.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from wavetank.document import Provenance, provenance
from wavetank.model.extract import extract_model
from wavetank.trace.open import open_trace
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import (
    COLUMNS,
    FoldTable,
    Int64Array,
    Level,
    RankFacts,
    Trace,
    TracedFile,
    one_after_another,
)

CHUNK = 1 << 20
KINDS = (
    "sequential", "strided", "ten phases", "read, write", "two files", "seek, read", "5 writes, read",
    "random", "random sizes", "random r, w", "irregular order", "irregular, 100 files", "irregular, seeks", "stray seeks", "read and pread",
    "irregular, bursts", "irregular, MPI-IO",
    "two scans", "long period", "near period", "lines", "lines, MPI-IO",
)  # fmt: skip
"""An irregular order: random calls on random files by random sizes at random offsets, in no order.

Lines: 32 at one distance, then a jump to the next plane, as of BT-IO simple; by MPI-IO each is a POSIX call in a call of MPI-IO.
"""


def chunk(kind: str, rank: int, first: int, n: int, total: int) -> FoldTable:
    """Operations first to first + n of one rank that makes ``total``."""
    i = np.arange(first, first + n, dtype=np.int64)
    read, write = OPS_BY_NAME["pread"].code, OPS_BY_NAME["pwrite"].code
    size = np.full(n, 4096, dtype=np.int64)
    op = np.full(n, read, dtype=np.uint8)
    file = np.zeros(n, dtype=np.int32)
    offset = (rank * total + i) * 4096
    if kind == "strided":
        offset = (rank + i * 64) * 4096
    elif kind == "ten phases":
        size = np.where(i * 10 // total % 2 == 0, 4096, 65536)
        offset = i * size
    elif kind == "read, write":
        op[i % 2 == 1] = write
        offset = (rank * total + i // 2) * 4096
    elif kind == "two files":
        file[i % 2 == 1] = 1
        offset = (rank * total + i // 2) * 4096
    elif kind == "seek, read":
        op[i % 2 == 0] = OPS_BY_NAME["lseek"].code
        op[i % 2 == 1] = OPS_BY_NAME["read"].code
        size = np.where(i % 2 == 0, 0, size)
        offset = (rank + i // 2 * 64) * 4096
    elif kind == "5 writes, read":
        op[i % 6 < 5] = write
        offset = np.where(i % 6 < 5, i // 6 * 5 + i % 6, i // 6) * 4096
    elif kind.startswith("random"):
        generator = np.random.default_rng(first)
        offset = generator.integers(0, 1 << 28, n) * 4096
        if kind == "random sizes":
            size = generator.integers(1, 1 << 20, n)
        elif kind == "random r, w":
            op[i % 2 == 1] = write
    elif kind.startswith("lines"):
        line = i // 2 if kind == "lines, MPI-IO" else i
        offset = (line // 32 * 4096 + line % 32 * 64) * 1280 + rank
        size[:] = 1280
        of_line = OPS_BY_NAME["MPI_File_write_at"].code if kind == "lines, MPI-IO" else write
        op = np.where(i % 2 == 0, write, of_line).astype(np.uint8)
    elif kind in KINDS[KINDS.index("irregular order") :]:
        op, file, size, offset = mixed(kind, first, i)
    zero, none = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int32)
    tick, start = i if kind == "irregular, MPI-IO" else zero, i * 1000
    subtick = i - tick
    if kind == "lines, MPI-IO":
        tick, subtick, start = i // 2 + (i % 2 == 0), zero, i // 2 * 2000
    return FoldTable(
        rank=np.full(n, rank, dtype=np.int32), seq=i, op=op, file=file, handle=file,
        count=np.ones(n, dtype=np.int64), size=size, moved=size, offset=offset, disp=zero, view=none, view_offset=offset,
        view_disp=zero, tick=tick, subtick=subtick, tick_step=zero, subtick_step=zero, start_ns=start, end_ns=i * 1000 + 500,
        busy_ns=i * 1000 + 500 - start, error=np.zeros(n, dtype=np.int32), given=np.zeros(n, dtype=np.int32),
    )  # fmt: skip


def mixed(kind: str, first: int, i: Int64Array) -> tuple[np.ndarray, ...]:
    """Call, file, size and offset of operations without an order, or with one that is hard to see."""
    generator, n = np.random.default_rng(first), len(i)
    level = "MPI_File_{}_at" if kind == "irregular, MPI-IO" else "p{}"
    codes = np.array([OPS_BY_NAME[level.format(way)].code for way in ("read", "write")], np.uint8)
    op = codes[generator.integers(0, 2, n)]
    file = generator.integers(0, 100 if kind == "irregular, 100 files" else 8, n).astype(np.int32)
    size = generator.integers(1, 1 << 20, n)
    offset = generator.integers(0, 1 << 28, n) * 4096
    if kind == "read and pread":
        op = np.where(op == codes[0], codes[0], OPS_BY_NAME["read"].code).astype(np.uint8)
    elif kind in ("irregular, seeks", "stray seeks"):
        pair = i // 2 - first // 2
        op = np.array([OPS_BY_NAME[way].code for way in ("read", "write")], np.uint8)[op[pair] & 1]
        op[i % 2 == 0] = OPS_BY_NAME["lseek"].code
        file, offset, size = file[pair], offset[pair], np.where(i % 2 == 0, 0, size[pair])
        if kind == "stray seeks":  # one in 10,000 does not lead to the call behind it
            offset = offset + (i % 20_000 == 0)
    elif kind == "irregular, bursts":  # of one to 60 operations in a row
        burst = np.searchsorted(np.cumsum(generator.integers(1, 60, n)), np.arange(n), side="right")
        op, file, size = op[burst], file[burst], np.full(n, 4096)
        offset = offset[burst] + (np.arange(n) - np.searchsorted(burst, burst)) * 4096
    elif kind == "two scans":  # of two files, in turns of random length
        op, file, size = np.full(n, codes[0]), file % 2, np.full(n, 4096)
        offset = (
            np.where(file == 0, np.cumsum(file == 0), np.cumsum(file == 1)) * 4096 + first * 4096
        )
    elif kind in ("long period", "near period"):  # 1000 random calls again and again
        again = i % 1000
        generator = np.random.default_rng(1)
        op, file = (
            codes[generator.integers(0, 2, 1000)][again],
            generator.integers(0, 8, 1000)[again].astype(np.int32),
        )
        size = generator.integers(1, 1 << 20, 1000)[again]
        offset = generator.integers(0, 1 << 28, 1000)[again] * 4096 + i // 1000 * (1 << 41)
        if kind == "near period":  # and one call in 500 is another
            op = np.where(
                np.random.default_rng(first).random(n) < 0.002, codes.sum() - op, op
            ).astype(np.uint8)
    return op, file, size, offset


def run_of(kind: str, n_ranks: int, total: int) -> FoldTable:
    """The operations of some ranks."""
    chunks = [
        chunk(kind, rank, first, min(CHUNK, total - first), total)
        for rank in range(n_ranks)
        for first in range(0, total, CHUNK)
    ]
    return FoldTable(
        **{name: one_after_another([getattr(one, name) for one in chunks]) for name in COLUMNS}
    )


def trace_of(table: FoldTable) -> Trace:
    """A trace of these rows."""
    n_ranks = int(table.rank.max()) + 1
    return Trace(
        source="benchmark", command=("benchmark",), n_ranks=n_ranks, mpi_library=None, started_utc=None, elapsed_s=None,
        ranks=tuple(RankFacts(rank, "node", 0, True) for rank in range(n_ranks)),
        files=tuple(TracedFile(f"/data/{file}") for file in range(100)), views=(), communicators=(), folds=table,
        levels=(Level.POSIX, Level.MPIIO),
    )  # fmt: skip


def extraction_s(kind: str, n_ranks: int, total: int, made_by: Provenance) -> tuple[float, int]:
    """Seconds from operations to a model, and its phases."""
    trace = trace_of(run_of(kind, n_ranks, total))
    started = time.process_time()
    model = extract_model(trace, made_by)
    elapsed = time.process_time() - started
    assert sum(phase.ph_niop * phase.ph_np for phase in model.phases) == n_ranks * total // (
        2 if kind in ("seek, read", "irregular, seeks", "stray seeks") else 1
    )
    return elapsed, len(model.phases)


def peak_gib() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def reading_s(n: int) -> float:
    """Seconds that it takes to look once at all columns of n events, at the speed of a chunk's; the best of three runs."""
    table = chunk("sequential", 0, 0, CHUNK, CHUNK)
    columns = [getattr(table, name) for name in COLUMNS]
    return _best(lambda: [column.max() for column in columns]) * n / CHUNK


def kinds(n: int, made_by: Provenance, chosen: str) -> None:
    """Unfolded events of several patterns, of those whose name begins as chosen."""
    extraction_s(
        "irregular order", 1, 10**4, made_by
    )  # so that what is imported at first use is not counted
    runs = 2 if n < 10**8 else 1  # the first time that memory is used costs a virtual machine more
    reading = reading_s(n)
    print(
        f"\nunfolded events, one rank; the better of {runs} run{'s'[: runs - 1]}\n"
        f"to look once at all of their columns takes {reading / n * 1e9:.1f} ns an event here"
    )
    print(
        f"{'pattern':<16}{'events':>12}{'events/s':>14}{'phases':>8}{'of 10 M/s':>11}{'of looking':>12}{'peak GiB':>10}"
    )
    for kind in (kind for kind in KINDS if kind.startswith(chosen)):
        elapsed, phases = min(extraction_s(kind, 1, n, made_by) for _ in range(runs))
        rate = n / elapsed
        print(
            f"{kind:<16}{n:>12}{rate:>14.3g}{phases:>8}{rate / 10e6:>11.2f}{elapsed / reading:>12.1f}{peak_gib():>10.2f}"
        )


def growth(largest: int, made_by: Provenance) -> None:
    """Time over events, over ranks and over folds."""
    print("\ngrowth with events: time per event, against the row before (1.0 is linear)")
    before, n = None, 10**5
    while n <= largest:
        each = (
            min(extraction_s("sequential", 1, n, made_by)[0] for _ in range(3 if n < 10**8 else 1))
            / n
        )
        print(
            f"{n:>12} events{each * 1e9:>10.1f} ns each{'' if before is None else f'{each / before:>8.2f}'}"
        )
        before, n = each, n * 10
    print("\ngrowth with ranks at 1000 events a rank: time per rank, against the row before")
    before = None
    for n_ranks in (1, 16, 256, 4096):
        ranks = trace_of(run_of("sequential", n_ranks, 1000))
        started = time.process_time()
        extract_model(ranks, made_by)
        each = (time.process_time() - started) / n_ranks
        print(
            f"{n_ranks:>12} ranks{each * 1e6:>10.1f} us each{'' if before is None else f'{each / before:>8.2f}'}"
        )
        before = each
    print(
        "\nfrom folds: the same 1000 folds of more and more operations (1.0: operations cost nothing)"
    )
    before = None
    for count in (10, 10**3, 10**6):
        table = chunk("sequential", 0, 0, 1000, 1000)
        folded = replace(
            table, count=np.full(1000, count), moved=table.size * count, disp=table.size,
            view_disp=table.size, offset=table.offset * count * 2, view_offset=table.offset * count * 2,
        )  # fmt: skip
        elapsed = min(_seconds(folded, made_by) for _ in range(3))
        print(
            f"{1000 * count:>12} operations{elapsed * 1e3:>8.1f} ms{'' if before is None else f'{elapsed / before:>8.2f}'}"
        )
        before = elapsed


def _seconds(table: FoldTable, made_by: Provenance) -> float:
    started = time.process_time()
    extract_model(trace_of(table), made_by)
    return time.process_time() - started


def against_pydarshan(log: Path, made_by: Provenance) -> None:
    """The same log: PyDarshan's DataFrames, and our import and extraction; the better of three runs each."""
    trace = open_trace(log)
    n = int(trace.folds.count.sum())
    reading = _best(lambda: open_trace(log))
    extracting = _best(lambda: extract_model(trace, made_by))
    ours = reading + extracting
    print(
        f"\n{log.name}: {n} segments, imported in {reading:.3f} s and extracted in {extracting:.3f} s"
    )
    try:
        import darshan
    except ImportError:
        print("PyDarshan is not installed: nothing to compare with (pip install darshan)")
        return

    def default() -> None:
        """As PyDarshan's guide does it: the report, and each DXT module's records as DataFrames."""
        report = darshan.DarshanReport(str(log))
        for module in ("DXT_POSIX", "DXT_MPIIO"):
            if module in report.records:
                report.records[module].to_df()

    def fastest() -> None:
        """Straight to DataFrames, only DXT."""
        report = darshan.DarshanReport(str(log), read_all=False)
        for module in ("DXT_POSIX", "DXT_MPIIO"):
            if module in report.modules:
                report.mod_read_all_dxt_records(module, dtype="pandas")

    for name, run in (
        ("default DataFrames (report, then to_df)", default),
        ("DataFrames of DXT alone", fastest),
    ):
        theirs = _best(run)
        print(
            f"PyDarshan {darshan.__version__}'s {name}: {theirs:.3f} s; {theirs / ours:.1f} times as long, "
            f"{theirs / extracting:.0f} times the extraction alone"
        )


def _best(run: Callable[[], object]) -> float:
    """Seconds of the fastest of three runs."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        run()
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--largest", type=int, default=10**7, help="events of the largest run; 10^8 takes a minute"
    )
    parser.add_argument("--pattern", default="", help="only patterns whose name begins with this")
    parser.add_argument("--darshan-log", type=Path, help="a log with DXT segments")
    arguments = parser.parse_args()
    made_by = provenance()
    assert len(fields(FoldTable)) == len(vars(chunk("sequential", 0, 0, 1, 1)))
    kinds(arguments.largest, made_by, arguments.pattern)
    if not arguments.pattern:
        growth(arguments.largest, made_by)
    if arguments.darshan_log:
        against_pydarshan(arguments.darshan_log, made_by)


if __name__ == "__main__":
    main()
