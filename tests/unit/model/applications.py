"""Event streams of the papers' applications, at full size: what their ranks do, call by call."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from fold_builder import Event

from wavetank.trace.schema import FileView

BT_GRID = {"S": 12, "W": 24, "A": 64, "B": 102, "C": 162}
BT_STEPS = 40
POINT_BYTES = 5 * 8  # five doubles a grid point


def bt_cells(grid: int, n_ranks: int, rank: int) -> list[tuple[range, range, range]]:
    """The cells of a rank in NPB's diagonal multi-partition (make_set in BT/make_set.f)."""
    n = isqrt(n_ranks)
    sizes = [grid // n + (part < grid % n) for part in range(n)]
    parts = [range(sum(sizes[:part]), sum(sizes[: part + 1])) for part in range(n)]
    x, y = rank % n, rank // n
    return [(parts[(x + c) % n], parts[(y - c) % n], parts[c]) for c in range(n)]


def bt_view(grid: int, n_ranks: int, rank: int) -> FileView:
    """The rank's view of one time step: rows of its cells, in the order of the file."""
    runs = sorted(
        (((z * grid + y) * grid + xs.start) * POINT_BYTES, len(xs) * POINT_BYTES)
        for xs, ys, zs in bt_cells(grid, n_ranks, rank)
        for z in zs
        for y in ys
    )
    return FileView(
        displacement=0,
        etype_size=8,
        extent=grid**3 * POINT_BYTES,
        run_offsets=tuple(offset for offset, _ in runs),
        run_lengths=tuple(length for _, length in runs),
    )


def bt_io(
    grid: int, n_ranks: int, steps: int = BT_STEPS
) -> tuple[list[Event], tuple[FileView, ...]]:
    """BT-IO full: solve and write_at_all for each step, reopen, then read all of it back."""
    views = tuple(bt_view(grid, n_ranks, rank) for rank in range(n_ranks))
    events = []
    for rank, view in enumerate(views):
        rs = sum(view.run_lengths)
        operations = [
            Event(
                rank, op, offset=step * view.extent + view.run_offsets[0], size=rs, view=rank,
                view_offset=step * rs, handle=handle, communication=communication,
            )
            for op, handle, communication in (("MPI_File_write_at_all", 0, 30), ("MPI_File_read_at_all", 1, 0))
            for step in range(steps)
        ]  # fmt: skip
        for handle in (0, 1):
            events += [
                Event(rank, "MPI_File_open", handle=handle),
                Event(rank, "MPI_File_set_view", handle=handle, view=rank),
                *operations[handle * steps : (handle + 1) * steps],
                Event(rank, "MPI_File_close", handle=handle),
            ]
    return events, views


def s3d_io(grid: int, n_ranks: int, n_files: int = 5) -> list[Event]:
    """S3D-IO: for each of five checkpoints a shared file, and in it one collective write of 16 fields."""
    rs = grid**3 * 16 * 8 // n_ranks
    events = []
    for rank in range(n_ranks):
        for file in range(n_files):
            events += [
                Event(rank, "MPI_File_open", file, communication=3),
                Event(rank, "MPI_File_write_all", file, offset=rank * rs, size=rs),
                Event(rank, "MPI_File_close", file),
            ]
    return events


def madbench2(n_ranks: int, n_bin: int, rs: int) -> list[Event]:
    """MADbench2 with a shared file: S writes, W reads ahead, writes and reads, C reads."""
    calls = [("write", n) for n in range(n_bin)] + [("read", 0), ("read", 1)]
    for n in range(n_bin - 2):
        calls += [("write", n), ("read", n + 2)]
    calls += [("write", n_bin - 2), ("write", n_bin - 1)] + [("read", n) for n in range(n_bin)]
    return [
        event
        for rank in range(n_ranks)
        for event in (
            Event(rank, "MPI_File_open"),
            *(
                Event(rank, f"MPI_File_{op}_at", offset=(rank * n_bin + n) * rs, size=rs)
                for op, n in calls
            ),
            Event(rank, "MPI_File_close"),
        )
    ]


def abyss_read(rank: int, file: int, size: int, rs: int = 8191) -> Iterator[Event]:
    """ABYSS-P on one input file: reads of a stream's buffer, tells after every record, and the end of the file."""
    record = 226
    yield Event(rank, "open", file)
    told = 0
    for offset in range(0, size, rs):
        moved = min(rs, size - offset)
        yield Event(rank, "read", file, offset=offset, size=rs, moved=moved)
        while told + record <= offset + moved:
            told += record
            # A message to another rank now and then.
            yield Event(
                rank, "lseek", file, offset=offset + moved, arg=1, communication=told % 5 == 0
            )
    yield Event(rank, "read", file, offset=size, size=rs, moved=0)
    yield Event(rank, "close", file)
