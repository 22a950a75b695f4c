"""Hand-made models of programs whose I/O is known, for the tests of kernels."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wavetank.document import HostFacts, Provenance
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Boundaries, Model, Requirements, View
from wavetank.model.document.phase import (
    LinearOffsets,
    ListedOffsets,
    PatternMember,
    Phase,
    Run,
    Series,
)
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    PauseStep,
    Program,
    Step,
    SyncStep,
    given_by_number,
)

O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC = 0, 1, 2, 0o100, 0o200, 0o1000
MPI_CREATE_RDWR, MPI_RDONLY = 1 | 8, 2


def member(
    name: str, rs: int, disp: int | None = None, disp_view: int | None = None
) -> PatternMember:
    return PatternMember(iop_type=name, rs=rs, disp=disp, disp_view=disp_view, dist=(0, 1))


def linear(a: int = 0, b: int = 0, c: int = 0) -> LinearOffsets:
    return LinearOffsets(a=a, b=b, c=c)


def phase(ph_id: int, file_id: int, ranks: tuple[int, ...], nrep: int, pattern: list[PatternMember],
          offset: list[Any], weight: int | None = None, **more: Any) -> Phase:  # fmt: skip
    level = "mpiio" if pattern[0].iop_type.startswith("MPI") else "posix"
    return Phase(
        ph_id=ph_id, file_id=file_id, level=level, ph_processid=ranks, ph_np=len(ranks),
        ph_weight=len(ranks) * nrep * sum(m.rs for m in pattern) if weight is None else weight,
        ph_nrep=nrep, ph_niop=nrep * len(pattern), pattern=tuple(pattern), offset=tuple(offset),
        **{
            "exact": all(isinstance(o, LinearOffsets) for o in offset), "tick_first": 0, "tick_last": 0,
            "start_s": None, "end_s": None, "io_time_s": None, **more,
        },
    )  # fmt: skip


def model_file(file_id: int, name: str, size: int, before: int | None = None) -> ModelFile:
    return ModelFile(
        file_id=file_id, file_name=name, file_size=size, file_size_weights=size,
        file_size_highest_offset=size, file_size_before=before, file_np=1, file_accessmode="sequential",
        file_fileaccesstype="R", file_accesstype="unique", file_nphase=1, n_operations=1, n_sequential=None,
        n_consecutive=None,
    )  # fmt: skip


def model(n_ranks: int, files: list[ModelFile], phases: list[Phase], programs: list[Program],
          series: tuple[Series, ...] = (), views: tuple[View, ...] = (),
          communicators: tuple[tuple[int, ...], ...] = (), name: str = "program") -> Model:  # fmt: skip
    return Model(
        provenance=Provenance(
            tool_version="0", tool_commit=None, command="test", created_utc="2026-01-01T00:00:00+00:00",
            host=HostFacts(hostname="h", kernel="k", machine="m", cpu_model=None, n_cpus=1, memory_bytes=1),
        ),
        application=name, command=(name,), source="hand-made", n_ranks=n_ranks,
        app_np=len({rank for p in phases for rank in p.ph_processid}), app_nfiles=len(files),
        app_st=sum(p.ph_weight for p in phases), elapsed_s=None,
        boundaries=Boundaries(split_at_communication={}, split_at_computation_s=None, similarity=None),
        requirements=Requirements(
            storage_capacity_bytes=sum(f.file_size for f in files), n_processes=n_ranks,
            needs_global_file_system=True, reached_read_bytes_per_s=None, reached_write_bytes_per_s=None,
        ),
        files=tuple(files), phases=tuple(phases), series=series, views=views, communicators=communicators,
        programs=tuple(programs), timeline=(),
    )  # fmt: skip


def written(made: Model, folder: Path) -> Path:
    path = folder / "model.json"
    path.write_text(json.dumps({"schema": made.schema_id(), **made.model_dump(mode="json")}))
    return path


def abyss(size: int = 1_000_000, rs: int = 8191, n_ranks: int = 4) -> Model:
    """ABYSS-P: ranks 0 and 1 of 4 read a file each to its end, in requests of 8191 bytes; then a barrier."""
    count, last = -(-size // rs), size - (-(-size // rs) - 1) * rs
    phases = [
        phase(reader + 1, reader + 1, (reader,), count, [member("read", rs, rs)], [linear(b=rs)], size,
              moved_last=(last,) if last != rs else None)
        for reader in (0, 1)
    ]  # fmt: skip
    files = [
        model_file(1, "/data/reads1.fastq", size, size),
        model_file(2, "/data/reads2.fastq", size, size),
    ]

    def reader(rank: int) -> Program:
        steps: tuple[Step, ...] = (
            FileStep(iop_type="open", file_id=rank + 1, handle=0, flags=O_RDONLY),
            DataStep(ph_id=rank + 1, n=count, null_seeks=3 * count),
            FileStep(iop_type="read", file_id=rank + 1, handle=0, size=rs, offset=size),
            FileStep(iop_type="close", file_id=rank + 1, handle=0),
            SyncStep(communicator=0),
        )
        return Program(ranks=(rank,), steps=steps)

    others = Program(ranks=tuple(range(2, n_ranks)), steps=(SyncStep(communicator=0),))
    return model(n_ranks, files, phases, [reader(0), reader(1), others], name="ABYSS-P",
                 communicators=(tuple(range(n_ranks)),))  # fmt: skip


def btio(steps: int = 40, rs: int = 960, piece: int = 480, n_ranks: int = 4) -> Model:
    """BT-IO: collective writes through a strided view, a phase each; reopened; one read phase of all of them.

    Rank r's view shows, of each tile of n_ranks*piece bytes, the piece that starts at r*piece.
    """
    extent = n_ranks * piece
    views = tuple(
        View(displacement=0, etype_size=8, extent=extent, run_offsets=(r * piece,), run_lengths=(piece,))
        for r in range(n_ranks)
    )  # fmt: skip
    ranks = tuple(range(n_ranks))
    views_of = {"view_ids": ranks, "collective": True}
    absolute = rs * n_ranks  # each operation of all ranks fills that much of the file
    phases = [
        phase(i + 1, 1, ranks, 1, [member("MPI_File_write_at_all", rs)], [linear(a=piece, c=i * absolute)],
              offset_view=(linear(c=i * rs),), **views_of)
        for i in range(steps)
    ]  # fmt: skip
    phases.append(
        phase(steps + 1, 1, ranks, steps, [member("MPI_File_read_at_all", rs, absolute, rs)],
              [linear(a=piece, b=absolute)], offset_view=(linear(b=rs),), **views_of)
    )  # fmt: skip
    size = steps * absolute

    def program(rank: int) -> Program:
        opening = FileStep(
            iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=MPI_CREATE_RDWR, communicator=0
        )
        closing = FileStep(iop_type="MPI_File_close", file_id=1, handle=0)
        view = FileStep(iop_type="MPI_File_set_view", file_id=1, handle=0, view_id=rank)
        writes: list[Step] = []
        for i in range(steps):
            writes += [
                PauseStep(seconds=0.001),
                DataStep(ph_id=i + 1, n=1),
                SyncStep(communicator=0),
            ]
        return Program(
            ranks=(rank,),
            steps=(
                opening, view, *writes, closing,
                opening.model_copy(update={"mpi_mode": MPI_RDONLY}), view, DataStep(ph_id=steps + 1, n=steps), closing,
            ),
        )  # fmt: skip

    return model(
        n_ranks, [model_file(1, "/scratch/btio.full.out", size)], phases, [program(r) for r in ranks],
        series=(Series(ph_ids=tuple(range(1, steps + 1)), offset_step=absolute, dist=(1, 0)),), views=views,
        communicators=(ranks,), name="bt",
    )  # fmt: skip


def file_per_process(n_ranks: int = 4, rs: int = 65536, count: int = 8) -> Model:
    """Each rank writes a file of its own, then reads it back."""
    files = [model_file(r + 1, f"/scratch/out.{r:04d}", rs * count) for r in range(n_ranks)]
    phases, programs = [], []
    for r in range(n_ranks):
        phases.append(
            phase(2 * r + 1, r + 1, (r,), count, [member("write", rs, rs)], [linear(b=rs)])
        )
        phases.append(
            phase(2 * r + 2, r + 1, (r,), count, [member("pread", rs, rs)], [linear(b=rs)])
        )
        programs.append(
            Program(
                ranks=(r,),
                steps=(
                    FileStep(
                        iop_type="open", file_id=r + 1, handle=0, flags=O_RDWR | O_CREAT | O_TRUNC
                    ),
                    DataStep(ph_id=2 * r + 1, n=count),
                    FileStep(iop_type="fsync", file_id=r + 1, handle=0),
                    DataStep(ph_id=2 * r + 2, n=count),
                    FileStep(iop_type="close", file_id=r + 1, handle=0),
                ),
            )
        )
    return model(n_ranks, files, phases, programs, name="fpp")


def read_write_three_times(rs: int = 4096) -> Model:
    """(read, write) x 3 on one file: each block is read at its place and written 3 blocks further on."""
    one = phase(1, 1, (0,), 3, [member("pread", rs, rs), member("pwrite", rs, rs)],
                [linear(b=rs), linear(b=rs, c=3 * rs)])  # fmt: skip
    program = Program(
        ranks=(0,),
        steps=(
            FileStep(iop_type="open", file_id=1, handle=0, flags=O_RDWR),
            DataStep(ph_id=1, n=1),
            DataStep(ph_id=1, n=1, single=True),
            FileStep(iop_type="fsync", file_id=1, handle=0),
            DataStep(ph_id=1, n=3, single=True),
            FileStep(iop_type="close", file_id=1, handle=0),
        ),
    )
    return model(
        1, [model_file(1, "/scratch/work.dat", 6 * rs, 3 * rs)], [one], [program], name="rw3"
    )


def listed(*ranks: Sequence[Run]) -> ListedOffsets:
    """The runs of each rank as columns."""
    runs = [run for of_rank in ranks for run in of_rank]
    columns = {
        name: [getattr(run, name) for run in runs]
        for name in ("count", "rs", "offset", "disp", "moved")
    }
    return ListedOffsets(n_runs=[len(of_rank) for of_rank in ranks], **columns)


def irregular(n_ranks: int = 1) -> Model:
    """Reads of two sizes at places that no function gives: kept as a list."""
    places = ListedOffsets(n_runs=[2], count=[2, 1], rs=[100, 7], offset=[50, 3], disp=[300, 0])
    one = phase(1, 1, (0,), 3, [member("read", 100)], [places], 207)
    program = Program(
        ranks=tuple(range(n_ranks)),
        steps=(
            FileStep(iop_type="open", file_id=1, handle=0, flags=O_RDONLY),
            DataStep(ph_id=1, n=3),
            FileStep(iop_type="close", file_id=1, handle=0),
        ),
    )
    return model(
        n_ranks, [model_file(1, "/data/index", 1000, 1000)], [one], [program], name="irregular"
    )


def shuffled(n: int) -> list[int]:
    """0 to n - 1 in no order, the same each time."""
    found = list(range(n))
    random.Random(n).shuffle(found)
    return found


def at_random(n: int = 64, rs: int = 4096, n_ranks: int = 1, calls: tuple[str, ...] = ("pwrite", "pread"),
              spread: int = 1, before: int | None = None) -> Model:  # fmt: skip
    """Each rank makes n operations of each call on one file, at places of its own in no order.

    Args:
        n: operations of a call on each rank.
        rs: bytes of each.
        n_ranks: ranks.
        calls: a phase of each.
        spread: of the places only each so-manieth is used.
        before: size of the file before the run; None: the run makes it.
    """
    ranks = tuple(range(n_ranks))
    runs = tuple(
        tuple(
            Run(count=1, rs=rs, offset=(rank * n + at) * rs * spread, disp=0, moved=rs)
            for at in shuffled(n)
        )
        for rank in ranks
    )
    phases = [
        phase(number, 1, ranks, n, [member(call, rs)], [listed(*runs)])
        for number, call in enumerate(calls, start=1)
    ]
    opens = "MPI_File_open" if calls[0].startswith("MPI") else "open"
    flags = MPI_CREATE_RDWR if opens != "open" else O_RDWR | O_CREAT
    steps: tuple[Step, ...] = (
        FileStep(iop_type=opens, file_id=1, handle=0, **given_by_number(opens, flags)),
        *(DataStep(ph_id=one.ph_id, n=n) for one in phases),
        FileStep(iop_type=opens.replace("open", "close"), file_id=1, handle=0),
    )
    size = n * rs * n_ranks * spread
    return model(
        n_ranks, [model_file(1, "/s/data", size, before)], phases, [Program(ranks=ranks, steps=steps)], name="random"
    )  # fmt: skip
