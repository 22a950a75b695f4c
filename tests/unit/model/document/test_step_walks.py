"""Steps of programs one by one, whatever they are nested in."""

from __future__ import annotations

import numpy as np

from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    PauseStep,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.document.step_walks import (
    Around,
    changed_among,
    changed_steps,
    file_steps,
    flat,
    in_order,
    orders_expanded,
    plain_steps,
    unrolled,
)

OPEN = FileStep(iop_type="open", file_id=1, handle=0)
READ, WRITE = DataStep(ph_id=1, n=2), DataStep(ph_id=2, n=1)
SYNC, PAUSE = SyncStep(communicator=0), PauseStep(seconds=1.0)
MIX = IrregularOrderStep(steps=(READ, OPEN), order=np.array([0, 1, 0]))
STEPS: tuple[Step, ...] = (
    OPEN,
    RepeatStep(times=2, steps=(WRITE, RepeatStep(times=3, steps=(SYNC, MIX)))),
    PAUSE,
)


def test_each_plain_step_comes_once() -> None:
    assert list(plain_steps(STEPS)) == [OPEN, WRITE, SYNC, READ, OPEN, PAUSE]


def test_mixes_are_laid_out_between_repeats_that_stay() -> None:
    assert list(orders_expanded((MIX, *STEPS))) == [READ, OPEN, READ, *STEPS]


def test_each_plain_step_is_said_to_be_performed_as_often_as_the_run_does() -> None:
    assert list(flat(STEPS)) == [
        (OPEN, 1),
        (WRITE, 2),
        (SYNC, 6),
        (READ, 12),
        (OPEN, 6),
        (PAUSE, 1),
    ]
    performed = list(unrolled(STEPS))
    assert performed == [OPEN, *([WRITE] + [SYNC, READ, OPEN, READ] * 3) * 2, PAUSE]
    assert [step for step, _ in flat(STEPS, 5)][:1] == [OPEN]
    assert sum(times for _, times in flat(STEPS)) == len(performed)


def test_changes_reach_steps_inside_of_repeats_and_mixes() -> None:
    def renumbered(step: DataStep | FileStep) -> DataStep | FileStep:
        if isinstance(step, FileStep):
            return step.model_copy(update={"file_id": 9})
        return step

    changed = changed_steps(STEPS, renumbered)
    assert [s.file_id for s in plain_steps(changed) if isinstance(s, FileStep)] == [9, 9]
    assert len(list(unrolled(changed))) == len(list(unrolled(STEPS)))
    assert changed_steps(STEPS, lambda step: step) == STEPS


def test_what_is_left_out_leaves_no_empty_repeat_or_mix() -> None:
    assert changed_steps([RepeatStep(times=4, steps=(MIX, WRITE))], lambda step: None) == ()
    kept = changed_steps(STEPS, lambda step: step if isinstance(step, FileStep) else None)
    assert list(flat(kept)) == [(OPEN, 1), (SYNC, 6), (OPEN, 6), (PAUSE, 1)]


def test_of_what_repeats_the_first_repetitions_may_do() -> None:
    assert list(unrolled(STEPS, most=2)) == [
        OPEN, *([WRITE] + [SYNC, READ, OPEN, READ] * 2) * 2, PAUSE,
    ]  # fmt: skip
    assert list(unrolled(STEPS, most=3)) == list(unrolled(STEPS))


def test_a_walk_in_order_goes_through_as_many_repetitions_as_it_is_told_to() -> None:
    """One stands for all where it is told of none: of the outer repeat here, which is of 2 repetitions."""
    walked = list(in_order(STEPS, lambda repeat: None if repeat.times == 2 else 1))
    assert walked == [
        (OPEN, 1), (WRITE, 2), (SYNC, 2), (READ, 2), (OPEN, 2), (READ, 2), (PAUSE, 1),
    ]  # fmt: skip


def test_calls_without_data_come_once_each_wherever_they_are() -> None:
    assert list(file_steps(STEPS)) == [OPEN, OPEN]


def test_a_step_of_data_says_how_many_operations_it_is() -> None:
    assert READ.operations(3) == 6
    assert READ.model_copy(update={"single": True}).operations(3) == 2


def test_a_change_may_ask_what_is_beside_a_step_and_how_often_it_is_performed() -> None:
    seen: list[tuple[DataStep | FileStep, Around]] = []

    def change(step: DataStep | FileStep, around: Around) -> DataStep | FileStep:
        seen.append((step, around))
        return step

    assert changed_among(STEPS, change, times=5) == STEPS
    outer, inner = STEPS[1], STEPS[1].steps[1]  # type: ignore[union-attr]
    assert seen == [
        (OPEN, Around(None, outer, 5)),
        (WRITE, Around(None, inner, 10)),
        (READ, Around(None, None, 60)),
        (OPEN, Around(None, None, 30)),
    ]
