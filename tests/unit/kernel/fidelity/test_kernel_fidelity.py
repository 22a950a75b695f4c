from pathlib import Path

import kernel_models as km
import pytest

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.fidelity.benchmark_certificate import ior_fidelity
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep, RepeatStep

MODELS = {
    "abyss": km.abyss(100_000),
    "bt-io": km.btio(),
    "file per process": km.file_per_process(),
    "read and write three times": km.read_write_three_times(),
    "irregular": km.irregular(),
}


def kernel_of(model: Model, folder: Path) -> Kernel:
    return make_kernel(model, km.written(model, folder))


@pytest.mark.parametrize("name", MODELS)
def test_a_kernel_is_exact_against_its_own_model(tmp_path, name):
    model = MODELS[name]
    rows = replay_fidelity(kernel_of(model, tmp_path), model)
    assert [row.ph_ids for row in rows] == [*((phase.ph_id,) for phase in model.phases), ()]
    assert all(row.exact for row in rows)
    assert sum(row.kernel.bytes for row in rows) == model.app_st


def changed(kernel: Kernel, ph_id: int, **what: object) -> Kernel:
    phases = tuple(
        phase.model_copy(update=what) if phase.ph_id == ph_id else phase for phase in kernel.phases
    )
    return kernel.model_copy(update={"phases": phases})


def test_a_request_size_that_differs_is_found(tmp_path):
    model = MODELS["abyss"]
    kernel = kernel_of(model, tmp_path)
    member = kernel.phases[1].pattern[0].model_copy(update={"rs": 8192})
    first, second, other_calls = replay_fidelity(changed(kernel, 2, pattern=(member,)), model)
    assert first.exact and other_calls.exact
    assert not second.exact and "of rank 1" in second.differences[0]
    # 13 reads (100000 / 8191 = 12.2), one byte more for each of the 12 whole ones
    assert second.kernel.bytes - second.model.bytes == 12


def test_an_offset_that_differs_on_one_rank_is_found(tmp_path):
    model = MODELS["bt-io"]
    kernel = kernel_of(model, tmp_path)
    rows = replay_fidelity(changed(kernel, 7, offset_view=(km.linear(a=8, c=6 * 960),)), model)
    wrong = [row for row in rows if not row.exact]
    assert [row.ph_ids for row in wrong] == [(7,)]
    assert "of rank 1" in wrong[0].differences[0]  # a*rank is 0 on rank 0 alone


def test_another_file_view_is_found(tmp_path):
    model = MODELS["bt-io"]
    kernel = kernel_of(model, tmp_path)
    views = (kernel.views[0].model_copy(update={"displacement": 8}), *kernel.views[1:])
    rows = replay_fidelity(kernel.model_copy(update={"views": views}), model)
    # All phases go where they went in a view; rank 0 sets another one.
    assert [row.ph_ids for row in rows if not row.exact] == [()]
    assert "rank 0" in rows[-1].differences[0] and "MPI_File_set_view" in rows[-1].differences[0]


def test_missing_repetitions_are_counted(tmp_path):
    model = MODELS["bt-io"]
    kernel = kernel_of(model, tmp_path)
    steps = tuple(
        step.model_copy(update={"n": 30})
        if isinstance(step, DataStep) and step.ph_id == 41
        else step
        for step in kernel.programs[0].steps
    )
    programs = (kernel.programs[0].model_copy(update={"steps": steps}), *kernel.programs[1:])
    rows = replay_fidelity(kernel.model_copy(update={"programs": programs}), model)
    assert rows[40].kernel.operations == rows[40].model.operations - 10


def test_another_order_is_found(tmp_path):
    model = MODELS["file per process"]
    kernel = kernel_of(model, tmp_path)
    program = kernel.programs[2]
    steps = list(program.steps)
    steps[1], steps[3] = steps[3], steps[1]  # reads before it writes
    programs = (
        *kernel.programs[:2],
        program.model_copy(update={"steps": tuple(steps)}),
        kernel.programs[3],
    )
    rows = replay_fidelity(kernel.model_copy(update={"programs": programs}), model)
    assert [row.ph_ids for row in rows if not row.exact] == [()]
    assert "rank 2" in rows[-1].differences[0]


def test_repeats_are_counted_and_compared(tmp_path):
    made = km.read_write_three_times()
    program = made.programs[0]
    steps = (
        program.steps[0],
        RepeatStep(times=3, steps=(DataStep(ph_id=1, n=1),)),
        program.steps[-1],
    )
    made = made.model_copy(update={"programs": (program.model_copy(update={"steps": steps}),)})
    row, other_calls = replay_fidelity(kernel_of(made, tmp_path), made)
    assert row.exact and row.kernel.operations == 6 and other_calls.exact


def test_the_removal_of_an_mpi_file_is_a_call_like_others(tmp_path):
    model = km.btio(steps=2, n_ranks=2)
    first, *others = model.programs
    gone = FileStep(iop_type="unlink", file_id=1, handle=-1)
    programs = (first.model_copy(update={"steps": (*first.steps, gone)}), *others)
    model = model.model_copy(update={"programs": programs})
    kernel = kernel_of(model, tmp_path)
    rows = replay_fidelity(kernel, model)
    assert all(row.exact for row in rows) and rows[-1].kernel.operations == 13
    rows = replay_fidelity(kernel_of(km.btio(steps=2, n_ranks=2), tmp_path), model)
    assert "rank 0, step 14: no further step in the kernel" in rows[-1].differences[0]


@pytest.mark.parametrize(("name", "other"), [("abyss", "bt-io"), ("bt-io", "file per process")])
def test_nothing_of_a_kernel_of_another_model_is_exact(tmp_path, name, other):
    rows = replay_fidelity(kernel_of(MODELS[name], tmp_path), MODELS[other])
    assert not any(row.exact for row in rows)
    assert rows[-1].ph_ids == ()


def test_a_tolerance_is_about_operations_and_bytes(tmp_path):
    model = km.abyss(1_000_000)
    row = ior_fidelity(kernel_of(model, tmp_path), model.phases)[0]
    # 122 of 123 operations: 0.8 %; 999424 of 1000000 bytes: 0.06 %
    assert not row.within(0) and not row.within(0.005) and row.within(0.01)


def test_refused_phases_issue_nothing(tmp_path):
    model = MODELS["read and write three times"]
    (row,) = ior_fidelity(kernel_of(model, tmp_path), model.phases)
    assert row.kernel.operations == 0 and row.model.operations == 6 and not row.within(0.5)


def test_ior_expanded_equals_the_model_where_the_layout_is_the_same(tmp_path):
    model = MODELS["file per process"]
    for row in ior_fidelity(kernel_of(model, tmp_path), model.phases):
        assert row.model == row.kernel
        assert not any("Operation" in difference for difference in row.differences)
