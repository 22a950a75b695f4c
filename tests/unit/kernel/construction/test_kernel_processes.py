"""Processes of scripts as ranks: what the plan lets wait for what."""

from __future__ import annotations

from pathlib import Path

import kernel_models as km
from plan_reader import OwnStep, read_plan

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, ProcessStep, Program
from wavetank.notes import texts


def script() -> Model:
    """Rank 0 writes, starts 1 and then 2 that do the same, and writes again when both have ended."""
    phases = [
        km.phase(1, 1, (0,), 1, [km.member("pwrite", 10)], [km.linear()]),
        km.phase(2, 1, (1, 2), 1, [km.member("pread", 10)], [km.linear()]),
        km.phase(3, 2, (0,), 1, [km.member("pwrite", 10)], [km.linear()]),
    ]
    programs = [
        Program(
            ranks=(0,),
            steps=(
                DataStep(ph_id=1, n=1),
                ProcessStep(rank=1, event="begins"),
                ProcessStep(rank=1, event="ended"),
                ProcessStep(rank=2, event="begins"),
                ProcessStep(rank=2, event="ended"),
                DataStep(ph_id=3, n=1),
            ),
        ),
        Program(ranks=(1, 2), steps=(DataStep(ph_id=2, n=1),)),
    ]
    return km.model(3, [km.model_file(1, "/a", 10), km.model_file(2, "/b", 10)], phases, programs)


def order_of(folder: Path) -> dict[int, list[tuple[str, ...]]]:
    """By rank the plan's steps: data, and (await or signal, number, ranks...)."""
    plan = read_plan(lower(make_kernel(script(), km.written(script(), folder))))
    return {
        rank: [
            (step.words[0], step.words[1], *step.words[3:])
            if isinstance(step, OwnStep)
            else (step.step,)
            for step in steps
        ]
        for rank, steps in plan.programs.items()
    }


def test_children_begin_and_end_where_they_did(tmp_path: Path) -> None:
    order = order_of(tmp_path)
    (_, *told) = order[0]
    assert order[0][0] == ("data",)
    assert [(words[0], words[2]) for words in told[:-1]] == [
        ("signal", "1"), ("await", "1"), ("signal", "2"), ("await", "2"),
    ]  # fmt: skip
    assert told[-1] == ("data",)
    for child in (1, 2):
        begin, data, end = order[child]
        assert (begin[0], begin[2], data, end[0], end[2]) == (
            "await",
            "0",
            ("data",),
            "signal",
            "0",
        )
        assert begin[:2] in [("await", words[1]) for words in told if words[0] == "signal"]
        assert end[:2] in [("signal", words[1]) for words in told if words[0] == "await"]


def test_the_order_of_processes_is_no_guess(tmp_path: Path) -> None:
    kernel = make_kernel(script(), km.written(script(), tmp_path))
    assert not any("with no collective between" in sentence for sentence in texts(kernel.notes))
