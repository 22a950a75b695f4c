"""Kernels of logs that know less than a trace: no opens, no file views."""

from __future__ import annotations

import kernel_models as km
import pytest

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.construction.overlaps import without_overlaps
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model
from wavetank.model.document.phase import ListedOffsets, Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.notes import texts

RS, STEP, N_RANKS, N_STEPS = 17280, 69120, 4, 12
# BT-IO class S on 4 ranks, as Darshan keeps it: the first offset of each rank's operation, through a view
FIRST = (0, 240, 2880, 3120)


def bt_phase(ph_id: int, name: str, first: tuple[int, ...] = FIRST) -> Phase:
    listed = ListedOffsets(
        n_runs=[1] * len(first), count=N_STEPS, rs=RS, offset=list(first), disp=STEP
    )
    one = km.phase(ph_id, 1, tuple(range(N_RANKS)), N_STEPS, [km.member(name, RS, STEP)],
                   [listed])  # fmt: skip
    return one.model_copy(update={"level": "mpiio", "collective": True})


def log_of(*phases: Phase, programs: tuple[Program, ...] | None = None) -> Model:
    steps = tuple(DataStep(ph_id=phase.ph_id, n=phase.ph_nrep) for phase in phases)
    programs = programs or (Program(ranks=tuple(range(N_RANKS)), steps=steps),)
    return km.model(
        N_RANKS, [km.model_file(1, "/s/bt.out", N_STEPS * STEP)], list(phases), list(programs)
    )


def kernel_of(model: Model, folder) -> Kernel:
    return make_kernel(model, km.written(model, folder))


def opens(kernel: Kernel) -> list[tuple[tuple[int, ...], int]]:
    """(ranks, mode) of each program that begins with MPI_File_open."""
    return [
        (program.ranks, step.mpi_mode)
        for program in kernel.programs
        if isinstance(step := program.steps[0], FileStep) and step.iop_type == "MPI_File_open"
    ]


# MPI_MODE_CREATE 1, RDONLY 2, WRONLY 4, RDWR 8
@pytest.mark.parametrize(
    ("names", "mode"),
    [
        (["MPI_File_write_at_all"], 5),
        (["MPI_File_read_at_all"], 2),
        (["MPI_File_write_at_all", "MPI_File_read_at_all"], 9),
    ],
)
def test_a_file_whose_opening_is_not_in_the_log_is_opened_at_the_start(tmp_path, names, mode):
    kernel = kernel_of(log_of(*(bt_phase(i + 1, name) for i, name in enumerate(names))), tmp_path)
    assert opens(kernel) == [((0, 1, 2, 3), mode)]
    assert any(sentence.startswith("When ") for sentence in texts(kernel.notes))


def test_ranks_that_do_not_use_the_file_do_not_open_it(tmp_path):
    one = bt_phase(1, "MPI_File_write_at").model_copy(
        update={
            "collective": False, "ph_processid": (1, 3), "ph_np": 2,
            "offset": (km.linear(a=RS, b=STEP),),
        }
    )  # fmt: skip
    kernel = kernel_of(log_of(one), tmp_path)
    assert opens(kernel) == [((1, 3), 5)]
    assert sorted(rank for program in kernel.programs for rank in program.ranks) == [0, 1, 2, 3]


def test_a_file_that_the_trace_opens_is_not_opened_twice(tmp_path):
    steps = (
        FileStep(iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=5),
        DataStep(ph_id=1, n=N_STEPS),
    )
    program = Program(ranks=tuple(range(N_RANKS)), steps=steps)
    kernel = kernel_of(log_of(bt_phase(1, "MPI_File_write_at_all"), programs=(program,)), tmp_path)
    assert [len(program.steps) for program in kernel.programs] == [2]


def test_overlapping_parts_of_a_collective_call_are_laid_side_by_side(tmp_path):
    kernel = kernel_of(log_of(bt_phase(1, "MPI_File_write_at_all")), tmp_path)
    (offsets,) = kernel.phases[0].offset
    assert isinstance(offsets, ListedOffsets)
    # 4 ranks of 17280 bytes fill the 69120 bytes of a step, each step begins where the one before ends
    assert [runs[0].offset for runs in offsets.runs] == [0, RS, 2 * RS, 3 * RS]
    assert {runs[0].disp for runs in offsets.runs} == {STEP}
    assert kernel.phases[0].ph_weight == N_RANKS * N_STEPS * RS
    assert any("overlap between ranks" in sentence for sentence in texts(kernel.notes))


def test_an_offset_function_with_overlapping_ranks_is_laid_out_in_its_order():
    one = bt_phase(1, "MPI_File_write_at_all").model_copy(
        update={"offset": (km.linear(a=-100, b=STEP, c=1000),)}
    )
    (offsets,) = without_overlaps(one).offset
    assert isinstance(offsets, ListedOffsets)
    # lowest: rank 3 at 1000 - 300 = 700; then ranks 2, 1, 0
    assert [runs[0].offset for runs in offsets.runs] == [700 + n * RS for n in (3, 2, 1, 0)]


@pytest.mark.parametrize("first", [(0, RS, 2 * RS, 3 * RS), (0, 0, 0, 0)])
def test_parts_beside_each_other_and_reads_of_the_same_bytes_stay(first):
    one = bt_phase(1, "MPI_File_read_at_all", first)
    assert without_overlaps(one) is one
