"""A plan says what its kernel says: every line that is lost, doubled or changed is noticed by the reader of plans."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import kernel_models as km
import pytest
from plan_checks import does_the_same, plan_differences
from plan_reader import read_plan
from plan_ticks import separated_differences
from varied_models import MODELS

from wavetank.document import provenance
from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.program import DataStep, FileStep, Program, RepeatStep
from wavetank.model.extract import extract_model
from wavetank.trace.open import open_trace

LOGS = Path(__file__).parents[3] / "data/darshan/recorded"


@pytest.mark.parametrize("log", sorted(path.name for path in LOGS.glob("*.darshan")))
def test_plans_of_recorded_logs_say_what_their_kernels_say(tmp_path: Path, log: str) -> None:
    model = extract_model(open_trace(LOGS / log), provenance())
    try:
        kernel = make_kernel(model, km.written(model, tmp_path))
    except KernelError:
        return  # of counters alone, or without places
    assert plan_differences(lower(kernel), kernel) == []


def broken(text: str) -> Iterator[str]:
    """The plan as a lowering would write it that drops, doubles, swaps or changes something."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        kind, *words = line.split() or [""]
        if kind in (
            "call",
            "memory",
            "linear",
            "run",
            "view",
            "info",
            "communicator",
            "phase",
            *_STEPS,
        ):
            for place, word in enumerate(words):
                if word.lstrip("-").isdigit() or word == "-":
                    other = "0" if word == "-" else str(int(word) + 1)
                    changed = " ".join([kind, *words[:place], other, *words[place + 1 :]])
                    yield "\n".join([*lines[:number], changed, *lines[number + 1 :]])
        if kind in _STEPS:
            yield "\n".join([*lines[:number], *lines[number + 1 :]])
            yield "\n".join([*lines[: number + 1], *lines[number:]])
            if lines[number + 1].split()[0] in _STEPS:
                swapped = [lines[number + 1], line]
                yield "\n".join([*lines[:number], *swapped, *lines[number + 2 :]])


_STEPS = ("data", "do", "empty", "pair", "sync", "pause")


@pytest.mark.parametrize("name", MODELS)
def test_a_lowering_that_goes_wrong_is_noticed(tmp_path: Path, name: str) -> None:
    """Or its plan is refused."""
    model = MODELS[name]
    kernel = make_kernel(model, km.written(model, tmp_path))
    plan, n_changed = lower(kernel), 0
    assert plan_differences(plan, kernel) == []
    for text in broken(plan):
        try:
            if not does_the_same(read_plan(text), read_plan(plan)):
                n_changed += 1
                assert plan_differences(text, kernel), difference(plan, text)
        except KernelError:
            continue
    assert n_changed > 20


def difference(plan: str, other: str) -> str:
    return "\n".join(unified_diff(plan.splitlines(), other.splitlines(), n=1))


PLAN = """wavetank-plan 1
ranks 1
file 1 1 output 0 f
phase 1 1
 call MPI_File_write_at placed 0
  linear 4 10 0 10 0 10
phase 2 1
 call MPI_File_write_at placed 0
  linear 4 20 0 20 100 20
program 0
{}
end
plan-end
"""
SEPARATED = " repeat 4\n  tick\n  data 2 1 - 0 0\n end"
TIMES = " repeat 4\n  data 2 1 - 0 0\n end"


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (f" data 1 4 - 0 0\n tick\n{TIMES}", None),
        (f" data 1 4 - 0 0\n{TIMES}", "nothing separates phase 2 from phase 1"),
        (
            f" data 1 4 - 0 0\n{SEPARATED}",
            "a tick splits phase 2 into several",
        ),
        (" repeat 4\n  data 1 1 - 0 0\n  tick\n  data 2 1 - 0 0\n  tick\n end", None),
    ],
    ids=["separated once", "not separated", "separated in each repetition", "separated in turn"],
)
def test_ticks_part_phases_where_the_model_does(steps, told):
    found = list(separated_differences(read_plan(PLAN.format(steps))))
    assert found == ([(0, told)] if told else [])


def test_a_tick_before_a_loop_parts_its_first_repetition_only(tmp_path):
    """Phases of one call that only messages part; the second one's calls each come after a seek."""
    ranks = (0, 1)
    phases = [
        km.phase(i, 1, ranks, 4, [km.member("MPI_File_write_at", 8 * i, 100)], [km.linear(a=50, b=100, c=1000 * i)])
        for i in (1, 2)
    ]  # fmt: skip
    opening = FileStep(
        iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=km.MPI_CREATE_RDWR, communicator=0
    )
    asking = FileStep(iop_type="MPI_File_get_size", file_id=1, handle=0)
    steps = (
        opening, DataStep(ph_id=1, n=4),
        RepeatStep(times=4, steps=(asking, DataStep(ph_id=2, n=1))),
    )  # fmt: skip
    model = km.model(2, [km.model_file(1, "/s/f", 5000)], phases, [Program(ranks=ranks, steps=steps)],
                     communicators=(ranks,))  # fmt: skip
    kernel = make_kernel(model, km.written(model, tmp_path))
    lines = [line.strip() for line in lower(kernel).splitlines()]
    assert lines[lines.index("repeat 4") - 1] == "tick" and lines.count("tick") == 1
    assert plan_differences(lower(kernel), kernel) == []
