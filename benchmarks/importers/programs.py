"""What real programs do, call by call, as logs of Darshan show it: the sequences without the programs.

Each function gives names of files, the number of ranks and the calls by module of ``large_log.write_calls``. Times are
made: calls of a rank follow on each other, and a POSIX call lies in the MPI-IO call that it is made in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from large_log import MIB, Calls

from wavetank.trace.schema import Int64Array

Program = tuple[list[str], int, dict[str, list[Calls]]]

_STEP_S = 2e-5  # from one call to the next
_SOLVE_S = 0.2  # between two dumps


def bt_io_simple(grid: int = 64, dumps: int = 40) -> Program:
    """NAS BT-IO, "simple", class A, 4 ranks: an MPI_File_write_at for each line of each cell, then all are read.

    Source: NPB 3.3, simple_mpiio.f (the order) and make_set.f (the cells: a diagonal multi-partition).
    """
    side = 2  # cells along each dimension
    width = grid // side
    calls: dict[str, list[Calls]] = {"DXT_POSIX": [], "DXT_MPIIO": []}
    for rank in range(side * side):
        x, y = rank % side, rank // side
        offset = []
        for cell in range(side):
            k, j = np.meshgrid(np.arange(width), np.arange(width), indexing="ij")
            line = (y * width + j) + grid * (cell * width + k)
            offset.append(40 * (x * width + grid * line.ravel()))
            x, y = (x + 1) % side, (y - 1) % side
        one = np.concatenate(offset)
        dump = np.repeat(np.arange(dumps), len(one))
        where = np.tile(one, dumps) + dump * 40 * grid**3
        for module, inside_s in (("DXT_MPIIO", 0.0), ("DXT_POSIX", 1e-6)):
            both = np.concatenate([dump, dump + dumps])
            start = np.arange(2 * len(where)) * _STEP_S + both * _SOLVE_S + inside_s
            calls[module].append(
                Calls(
                    rank, 0, np.arange(2 * len(where)) < len(where), np.tile(where, 2),
                    np.full(2 * len(where), 40 * width), start, start + 1e-5 - 2 * inside_s,
                )
            )  # fmt: skip
    return ["/scratch/btio.simple.out"], side * side, calls


def bt_io_full(grid: int = 162, dumps: int = 40, n_ranks: int = 64) -> Program:
    """NAS BT-IO, "full", class C, 64 ranks: a collective write for each dump, which rank 0 makes by 16 MiB."""
    whole = 40 * grid**3
    each = whole // n_ranks
    pieces = -(-whole // (16 * MIB))
    mpi, posix = [], []
    for rank in range(n_ranks):
        n = 2 * dumps
        start = np.arange(n) * _SOLVE_S
        mpi.append(
            Calls(rank, 0, np.arange(n) < dumps, np.arange(n) % dumps * whole + rank * 40 * grid // 8,
                  np.full(n, each), start, start + 0.1, collective=True)
        )  # fmt: skip
    at = np.arange(2 * dumps * pieces)
    piece, dump = at % pieces, at // pieces
    start = dump * _SOLVE_S + piece * 1e-3 + 1e-4
    posix.append(
        Calls(0, 0, dump < dumps, dump % dumps * whole + piece * 16 * MIB,
              np.minimum(16 * MIB, whole - piece * 16 * MIB), start, start + 5e-4)
    )  # fmt: skip
    return ["/scratch/btio.full.out"], n_ranks, {"DXT_POSIX": posix, "DXT_MPIIO": mpi}


def ior_random(block: int = 1 << 28, transfer: int = 4096, n_ranks: int = 4) -> Program:
    """IOR ``-z -t 4k``: each rank writes the transfers of its block in a random order, and reads them in another."""
    calls = []
    for rank in range(n_ranks):
        random = np.random.default_rng(rank)
        n = block // transfer
        place = np.concatenate([random.permutation(n), random.permutation(n)])
        calls.append(
            _at(rank, 0, np.arange(2 * n) < n, rank * n * transfer + place * transfer,
                np.full(2 * n, transfer))
        )  # fmt: skip
    return ["/scratch/ior.random"], n_ranks, {"DXT_POSIX": calls}


def s3d_io(checkpoints: int = 20, n_ranks: int = 64, grid: int = 100) -> Program:
    """S3D-IO by PnetCDF: a file for each checkpoint, its header by rank 0, and four variables written by all ranks."""
    names = [f"/scratch/pressure_wave_test.{number}.field.nc" for number in range(checkpoints)]
    cells = grid**3 // n_ranks
    sizes = np.array([11, 3, 1, 1]) * 8 * cells
    mpi, posix = [], []
    for file in range(checkpoints):
        for rank in range(n_ranks):
            place = np.cumsum(sizes * n_ranks) - sizes * n_ranks + 1528 + rank * sizes
            start = file * _SOLVE_S * 5 + 0.1 + np.arange(4) * 0.05
            head = int(rank == 0)
            mpi.append(
                Calls(rank, file, np.ones(4 + head, bool), np.append(np.zeros(head, dtype=np.int64), place),
                      np.append(np.full(head, 1528), sizes), np.append(np.full(head, start[0] - 0.05), start),
                      np.append(np.full(head, start[0] - 0.01), start + 0.04), np.arange(4 + head) >= head)
            )  # fmt: skip
        end = 1528 + int(sizes.sum()) * n_ranks
        at = np.arange(1528, end, 16 * MIB)
        start = file * _SOLVE_S * 5 + 0.101 + np.arange(len(at)) * 1e-3
        posix.append(
            Calls(0, file, np.ones(len(at), bool), at, np.minimum(16 * MIB, end - at), start, start + 5e-4)
        )  # fmt: skip
    return names, n_ranks, {"DXT_POSIX": posix, "DXT_MPIIO": mpi}


def hdf5_chunks(n_ranks: int = 4, chunks: int = 40_000) -> Program:
    """An HDF5 file for each rank: chunks of a data set in turns with the nodes of its index, then the superblock.

    Chunks of 64 KiB are written in their order; after 64 of them the B-tree gets a node of 2,096 bytes; each time the
    root and the object header are written again. Then chunks are read in a random order, each after its node.
    """
    calls = []
    for rank in range(n_ranks):
        random = np.random.default_rng(rank)
        chunk, node = 65536, 2096
        offset, size, is_write = [np.array([0])], [np.array([96])], [True]
        group = 64 * chunk + node
        for number in range(chunks // 64):
            base = 4096 + number * group
            place = np.append(base + np.arange(64) * chunk, [base + 64 * chunk, 800, 96])
            offset.append(place)
            size.append(np.append(np.full(64, chunk), [node, 328, 272]))
            is_write += [True] * 67
        offset.append(np.array([0]))
        size.append(np.array([96]))
        is_write.append(True)
        wanted = random.permutation(chunks // 64 * 64)
        base = 4096 + wanted // 64 * group
        offset.append(np.stack([base + 64 * chunk, base + wanted % 64 * chunk], axis=1).ravel())
        size.append(np.tile([node, chunk], len(wanted)))
        is_write += [False] * 2 * len(wanted)
        calls.append(
            _at(rank, rank, np.array(is_write), np.concatenate(offset), np.concatenate(size))
        )
    return [f"/scratch/out.{rank}.h5" for rank in range(n_ranks)], n_ranks, {"DXT_POSIX": calls}


def training_loader(n_files: int = 2000, epochs: int = 10, n_ranks: int = 4) -> Program:
    """A Python training loader: files in another random order each epoch, of which each rank reads its share whole.

    ``open(name, "rb").read()`` reads as many bytes as the file has, and then none.
    """
    random = np.random.default_rng(7)
    length = np.round(random.lognormal(11.6, 0.4, n_files)).astype(np.int64)
    of_pair: dict[tuple[int, int], list[int]] = {}
    for epoch in range(epochs):
        order = random.permutation(n_files)
        for position, file in enumerate(order.tolist()):
            of_pair.setdefault((position % n_ranks, file), []).append(
                epoch * n_files + position // n_ranks
            )
    calls = []
    for (rank, file), turns in sorted(of_pair.items()):
        start = np.repeat(np.array(turns) * 4 * _STEP_S, 2)
        start[1::2] += 1.5 * _STEP_S
        n, size = len(start), int(length[file])
        calls.append(
            Calls(rank, file, np.zeros(n, bool), np.tile([0, size], n // 2), np.tile([size, 0], n // 2),
                  start, start + _STEP_S)
        )  # fmt: skip
    names = [f"/data/train/n{file // 100:04}/{file:06}.JPEG" for file in range(n_files)]
    return names, n_ranks, {"DXT_POSIX": calls}


def _at(rank: int, file: int, is_write: np.ndarray, offset: Int64Array, size: Int64Array) -> Calls:
    """Calls of which one follows on the other."""
    start = np.arange(len(offset)) * _STEP_S
    return Calls(rank, file, is_write, offset, size, start, start + _STEP_S / 2)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "BT-IO simple, class A": bt_io_simple,
    "BT-IO full, class C": bt_io_full,
    "IOR random": ior_random,
    "S3D-IO": s3d_io,
    "HDF5 chunks": hdf5_chunks,
    "training loader": training_loader,
}
