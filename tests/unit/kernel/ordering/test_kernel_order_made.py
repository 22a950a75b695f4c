"""Ranks that use what one of them makes or removes wait for it; what cannot be ordered is no exact kernel."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import kernel_models as km

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.lowering.plan_text import lower
from wavetank.kernel.ordering.waits import find_waits
from wavetank.model.document.model import Model
from wavetank.model.document.program import (
    FileStep,
    ProcessStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.notes import texts

FOLDER, INNER, OTHER = 1, 2, 3
MEET = SyncStep(communicator=0)


def call(name: str, file: int = FOLDER, **more: int) -> FileStep:
    return FileStep(iop_type=name, file_id=file, handle=0, **more)


MKDIR = call("mkdir", mode=0o755)
MADE_ALREADY = MKDIR.model_copy(update={"error": errno.EEXIST})
STAT = call("stat")
RMDIR = call("rmdir")


def of(*programs: Sequence[Step]) -> Model:
    """A program for each rank."""
    files = [
        km.model_file(FOLDER, "/s/d", 0).model_copy(update={"directory": True}),
        km.model_file(INNER, "/s/d/f", 0),
        km.model_file(OTHER, "/s/d/g", 0),
    ]
    ranks = tuple(range(len(programs)))
    made = [Program(ranks=(rank,), steps=tuple(programs[rank])) for rank in ranks]
    return km.model(len(programs), files, [], made, communicators=(ranks,))


def kernel_of(model: Model, tmp_path: Path) -> Kernel:
    return make_kernel(model, km.written(model, tmp_path))


def words_of(kernel: Kernel, rank: int) -> list[str]:
    """Of one rank's program in the plan: do for a call, signal and await for waits."""
    text = lower(kernel).split("program ")[1 + rank]
    return [line.split()[0] for line in text.splitlines()[1:] if line.startswith(" ")]


def test_a_call_that_found_a_folder_waits_for_the_rank_that_made_it(tmp_path):
    kernel = kernel_of(of([STAT], [MKDIR, STAT]), tmp_path)
    assert words_of(kernel, 0) == ["await", "do"]
    assert words_of(kernel, 1) == ["do", "signal", "do"]


def test_a_folder_that_was_there_already_was_made_before(tmp_path):
    kernel = kernel_of(of([MKDIR], [MADE_ALREADY, STAT]), tmp_path)
    assert words_of(kernel, 1) == ["await", "do", "do"]  # once, before the first


def test_a_file_in_a_folder_comes_after_the_folder(tmp_path):
    creates = call("open", INNER, flags=os.O_CREAT | os.O_WRONLY)
    kernel = kernel_of(of([MKDIR], [creates, call("close", INNER)]), tmp_path)
    assert words_of(kernel, 1)[0] == "await"


def test_a_name_is_removed_after_the_others_have_used_it(tmp_path):
    kernel = kernel_of(of([MKDIR, RMDIR], [STAT, STAT]), tmp_path)
    assert words_of(kernel, 0) == ["do", "signal", "await", "do"]
    assert words_of(kernel, 1) == ["await", "do", "do", "signal"]


def test_what_is_there_before_the_run_is_waited_for_by_its_removal_only(tmp_path):
    kernel = kernel_of(of([RMDIR], [STAT]), tmp_path)
    assert words_of(kernel, 0) == ["await", "do"]
    assert words_of(kernel, 1) == ["do", "signal"]


def test_calls_that_a_collective_orders_wait_for_nothing(tmp_path):
    assert find_waits(kernel_of(of([MKDIR, MEET], [MEET, STAT]), tmp_path)).number == 0


def test_calls_that_found_nothing_wait_for_nothing(tmp_path):
    missed = STAT.model_copy(update={"error": errno.ENOENT})
    assert find_waits(kernel_of(of([MKDIR], [missed]), tmp_path)).number == 0


def test_several_names_of_one_rank_need_one_wait(tmp_path):
    creates = call("open", INNER, flags=os.O_CREAT)
    other = call("open", OTHER, flags=os.O_CREAT)
    uses = [call("stat", OTHER), call("stat", INNER), STAT]
    kernel = kernel_of(of([MKDIR, creates, other], uses), tmp_path)
    assert find_waits(kernel).number == 1  # the last that is made is used first


def test_what_is_inferred_from_results_is_not_said_to_be_assumed(tmp_path):
    model = of([STAT], [MKDIR, STAT])
    kernel = kernel_of(model, tmp_path)
    assert not any("wait" in sentence for sentence in texts(kernel.notes))
    assert all(row.exact for row in replay_fidelity(kernel, model))


def test_a_name_that_is_made_again_and_again_is_left_to_chance_and_said(tmp_path):
    again = RepeatStep(times=3, steps=(MKDIR, RMDIR))
    model = of([again], [STAT])
    row = replay_fidelity(kernel_of(model, tmp_path), model)[-1]
    assert any("whether d is there for it is chance" in text for text in row.differences)
    ended = ProcessStep(rank=1, event="ended")
    script = of([again, ended, again], [STAT])
    kernel = kernel_of(script, tmp_path)
    assert not any(
        "chance" in t for row in replay_fidelity(kernel, script) for t in row.differences
    )
    met = of([*[MEET] * 3, again, MEET], [*[MEET] * 3, STAT, MEET])
    kernel = kernel_of(met, tmp_path)
    assert not any("chance" in t for row in replay_fidelity(kernel, met) for t in row.differences)
