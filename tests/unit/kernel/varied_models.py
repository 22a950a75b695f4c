"""Hand-made models that together have everything a kernel can have: for tests that change one thing after the other."""

from __future__ import annotations

import os

import kernel_models as km

from wavetank.model.document.model import Model, View
from wavetank.model.document.phase import ListedOffsets
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    PauseStep,
    ProcessStep,
    Program,
)


def names_and_processes() -> Model:
    """A program that writes, renames, pauses, and starts another one that reads by an irregular list."""
    writes = km.phase(1, 1, (0,), 3, [km.member("write", 10, 10)], [km.linear(b=10)])
    reads = km.phase(
        2, 2, (1,), 3, [km.member("pread", 10)],
        [ListedOffsets(n_runs=[3], count=1, rs=10, offset=[0, 20, 5], disp=0)],
    )  # fmt: skip
    parent = Program(
        ranks=(0,),
        steps=(
            FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_CREAT | km.O_WRONLY),
            DataStep(ph_id=1, n=2),
            PauseStep(seconds=0.5),
            DataStep(ph_id=1, n=1),
            FileStep(iop_type="write", file_id=1, handle=0, size=0, offset=30),
            FileStep(iop_type="fsync", file_id=1, handle=0),
            FileStep(iop_type="close", file_id=1, handle=0),
            FileStep(iop_type="rename", file_id=1, handle=-1),
            FileStep(iop_type="rename", file_id=2, handle=-1, new_name=True),
            ProcessStep(rank=1, event="begins"),
            ProcessStep(rank=1, event="ended"),
            FileStep(iop_type="unlink", file_id=2, handle=-1),
        ),
    )
    child = Program(
        ranks=(1,),
        steps=(
            FileStep(iop_type="open", file_id=2, handle=0),
            DataStep(ph_id=2, n=3),
            FileStep(iop_type="close", file_id=2, handle=0),
        ),
    )
    files = [km.model_file(1, "/run/new", 30), km.model_file(2, "/run/old", 30)]
    return km.model(2, files, [writes, reads], [parent, child])


def with_hints() -> Model:
    model = km.btio(steps=2, n_ranks=2)
    (first, *others) = model.programs
    steps = tuple(
        step.model_copy(update={"info_id": 0})
        if isinstance(step, FileStep) and step.iop_type == "MPI_File_open"
        else step
        for step in first.steps
    )
    programs = (first.model_copy(update={"steps": steps}), *others)
    return model.model_copy(
        update={"infos": ((("cb_nodes", "1"), ("romio_cb_write", "enable")),), "programs": programs}
    )


def with_memory() -> Model:
    """Both ranks' memory has gaps, each other ones; that of the last phase's rank 0 has none."""
    model = km.btio(steps=2, n_ranks=2)
    n = len(model.views)
    tiles = [
        View(displacement=0, etype_size=1, extent=gap + 8, run_offsets=(0, gap), run_lengths=(8, 8))
        for gap in (16, 32)
    ]
    *others, last = model.phases
    phases = [
        *(phase.model_copy(update={"memory": ((n, n + 1),)}) for phase in others),
        last.model_copy(update={"memory": ((-1, n + 1),)}),
    ]
    return model.model_copy(update={"views": (*model.views, *tiles), "phases": tuple(phases)})


def mix() -> Model:
    """Two ranks that read, write and seek in no order, at listed places; the last read of rank 1 is short."""
    reads = km.phase(
        1, 1, (0, 1), 4, [km.member("read", 10)],
        [ListedOffsets(n_runs=[3, 2], count=[2, 1, 1, 2, 2], rs=10, offset=[0, 70, 5, 100, 40], disp=[20, 0, 0, 30, 7],
                       moved=[20, 10, 10, 20, 13])], 73,
    )  # fmt: skip
    writes = km.phase(
        2, 1, (0, 1), 2, [km.member("pwrite", 5)],
        [ListedOffsets(n_runs=[2, 2], count=1, rs=[5, 6, 5, 8], offset=[9, 300, 11, 200], disp=0)], 24,
    )  # fmt: skip
    read, write = DataStep(ph_id=1, n=1, handle=0), DataStep(ph_id=2, n=1, handle=0)
    seek = FileStep(iop_type="lseek", file_id=1, handle=0, offset=500)
    empty = FileStep(iop_type="read", file_id=1, handle=0, size=10, offset=500)
    program = Program(
        ranks=(0, 1),
        steps=(
            FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_CREAT | os.O_RDWR),
            IrregularOrderStep(steps=(read, write, seek, empty), order=[0, 2, 3, 1, 0, 0, 2, 1, 0]),
            FileStep(iop_type="close", file_id=1, handle=0),
        ),
    )
    return km.model(2, [km.model_file(1, "/run/data", 600)], [reads, writes], [program])


MODELS = {
    "mix": mix(),
    "names and processes": names_and_processes(),
    "views, communicators and hints": with_hints(),
    "memory with gaps": with_memory(),
    "abyss": km.abyss(100_000, n_ranks=3),
    "file per process": km.file_per_process(n_ranks=2),
    "read and write three times": km.read_write_three_times(),
    "irregular": km.irregular(),
}
