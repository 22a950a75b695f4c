from pathlib import Path

import kernel_models as km
import pytest
from plan_reader import read_plan

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.plan_text import lower, rank_list
from wavetank.model.document.model import Model
from wavetank.model.document.phase import UnknownOffsets
from wavetank.model.document.program import DataStep, FileStep
from wavetank.notes import texts


def plan_of(model: Model, folder: Path) -> str:
    return lower(make_kernel(model, km.written(model, folder)))


@pytest.mark.parametrize(
    ("ranks", "text"), [((0,), "0"), ((0, 1, 2), "0-2"), ((0, 2, 3, 7), "0,2-3,7"), ((5, 6), "5-6")]
)
def test_ranks_are_written_as_ranges(ranks, text):
    assert rank_list(ranks) == text


def test_a_kernel_of_a_hundred_million_operations_has_as_short_a_plan_as_a_small_one(tmp_path):
    few = plan_of(km.abyss(8191 * 10), tmp_path)
    many = plan_of(km.abyss(8191 * 50_000_000), tmp_path)
    assert len(many.splitlines()) == len(few.splitlines())


def test_the_plan_reads_as_the_kernel(tmp_path):
    lines = [line.strip() for line in plan_of(km.abyss(10_000), tmp_path).splitlines()]
    assert lines[:4] == [
        "wavetank-plan 1",
        "ranks 4",
        "file 1 1 input 10000 reads1.fastq",
        "file 2 2 input 10000 reads2.fastq",
    ]
    # 2 reads of 8191: the second moves 10000 - 8191 = 1809 bytes; linear COUNT RS A B C MOVED_LAST
    assert "linear 2 8191 0 8191 0 1809" in lines
    # data PHASE COUNT HANDLE SINGLE NULL_SEEKS
    assert "data 1 2 - 0 6" in lines
    # empty CALL FILE HANDLE OFFSET SIZE COUNT ERROR
    assert "empty read 1 0 10000 8191 1 0" in lines
    assert lines[-1] == "plan-end"


def test_names_with_odd_characters_stay_one_word(tmp_path):
    kernel = make_kernel(km.irregular(), km.written(km.irregular(), tmp_path))
    file = kernel.files[0].model_copy(update={"name": "a b%c"})
    line = next(
        line
        for line in lower(kernel.model_copy(update={"files": (file,)})).splitlines()
        if line.startswith("file")
    )
    assert line == "file 1 1 input 1000 a%20b%25c"


def test_positions_are_those_in_the_view(tmp_path):
    plan = read_plan(plan_of(km.btio(3, rs=960), tmp_path))
    assert [run.offset for run in plan.phases[2].calls[0].runs(3)] == [
        960
    ]  # second write of 960 bytes


def test_an_open_without_a_recorded_communicator_takes_the_ranks_that_open(tmp_path):
    made = km.btio(1)

    def without(step: object) -> object:
        if isinstance(step, FileStep) and step.iop_type == "MPI_File_open":
            return step.model_copy(update={"communicator": None})
        return step

    programs = tuple(
        program.model_copy(update={"steps": tuple(without(step) for step in program.steps)})
        for program in made.programs
        if program.ranks != (3,)
    )
    made = made.model_copy(update={"programs": programs})
    kernel = make_kernel(made, km.written(made, tmp_path))
    lines = lower(kernel).splitlines()
    assert "communicator 3 0 1 2" in lines  # beside "communicator all"
    # do CALL FILE HANDLE ARG OFFSET VIEW COMMUNICATOR ERROR COUNT INFO NAME
    assert " do MPI_File_open 1 0 9 - - 1 0 1 - 0" in lines
    assert any("communicator" in sentence for sentence in texts(kernel.notes))


def test_an_operation_whose_offset_nobody_knows_is_left_out_and_said(tmp_path):
    made = km.btio(2)
    phase = made.phases[0].model_copy(update={"offset": (UnknownOffsets(),), "offset_view": None})
    made = made.model_copy(update={"phases": (phase, *made.phases[1:])})
    kernel = make_kernel(made, km.written(made, tmp_path))
    assert 1 not in {phase.ph_id for phase in kernel.phases}
    assert any("does not know its offsets" in sentence for sentence in texts(kernel.notes))


def test_an_unknown_offset_in_a_kernel_file_is_refused(tmp_path):
    made = km.btio(1)
    kernel = make_kernel(made, km.written(made, tmp_path))
    phase = kernel.phases[0].model_copy(update={"offset_view": (UnknownOffsets(),)})
    with pytest.raises(KernelError, match="does not know the offsets"):
        lower(kernel.model_copy(update={"phases": (phase, *kernel.phases[1:])}))


def test_a_step_of_single_operations_says_so(tmp_path):
    plan = plan_of(km.read_write_three_times(), tmp_path)
    assert " data 1 1 - 1 0" in plan.splitlines() and " data 1 3 - 1 0" in plan.splitlines()


def test_the_kernel_file_comes_back_the_same(tmp_path):
    made = km.btio(3)
    kernel = make_kernel(made, km.written(made, tmp_path))
    kernel.write(tmp_path / "kernel.json")
    assert Kernel.read(tmp_path / "kernel.json") == kernel


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9])
def test_a_plan_that_was_cut_short_is_not_read(tmp_path, cut):
    text = plan_of(km.btio(3), tmp_path)
    lines = text.splitlines()
    with pytest.raises(KernelError, match="damaged"):
        inside = next(i for i, line in enumerate(lines) if line.startswith("program"))
        read_plan("\n".join(lines[: inside + 1 + int(cut * 3)]))


def test_a_model_without_handles_lowers(tmp_path):
    made = km.file_per_process()
    assert all(
        isinstance(s, DataStep | FileStep) for program in made.programs for s in program.steps
    )
    assert "plan-end" in plan_of(made, tmp_path)


def test_hints_are_told_with_the_calls_that_they_were_given_to(tmp_path):
    kernel = make_kernel(km.btio(1), km.written(km.btio(1), tmp_path))
    hints = (("cb_nodes", "2"), ("empty", ""), ("dash", "-"), ("odd", "a b"))
    programs = tuple(
        program.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"info_id": 0})
                    if getattr(step, "iop_type", "") == "MPI_File_open"
                    else step
                    for step in program.steps
                )
            }
        )
        for program in kernel.programs
    )
    text = lower(kernel.model_copy(update={"infos": (hints,), "programs": programs}))
    # info N KEY VALUE ...: one word each, "-" for an empty value
    assert "\ninfo 4 cb_nodes 2 empty - dash %2D odd a%20b\n" in text
    opens = [line.split() for line in text.splitlines() if " MPI_File_open " in line]
    assert opens and {words[-1] for words in opens} == {"0"}


def test_messages_alone_that_part_two_phases_become_a_tick(tmp_path):
    """BT-IO's steps without the collectives between them: each phase but the first comes after a tick."""
    made = km.btio(3)
    programs = tuple(
        program.model_copy(
            update={
                "steps": tuple(step for step in program.steps if step.step not in ("sync", "pause"))
            }
        )
        for program in made.programs
    )
    text = plan_of(made.model_copy(update={"programs": programs}), tmp_path)
    steps = [line.strip() for line in text[text.index("program") :].splitlines()]
    steps = steps[: steps.index("end")]
    writes = [
        i for i, line in enumerate(steps) if line.split()[:2] in (["data", "2"], ["data", "3"])
    ]
    assert len(writes) == 2
    assert all(steps[i - 1] == "tick" for i in writes)
    with_syncs = plan_of(made, tmp_path)
    assert "tick" not in with_syncs
