"""Ranks that do the same through different MPI file views: one program for all of them, and back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from wavetank.model.document.program import (
    DataStep,
    FileStep,
    Program,
    Step,
)
from wavetank.model.document.step_walks import changed_steps, file_steps, plain_steps

Views = tuple[int, ...]


def shared_programs(programs: Sequence[Program]) -> tuple[Program, ...]:
    """Programs that differ in the views that ranks set alone, as one: each step has the views by rank."""
    if len(programs) < 2:
        return tuple(programs)
    bare = [
        _with_views(program.steps, lambda: None)
        if any(_view_steps(program.steps))
        else program.steps
        for program in programs
    ]
    # Hashes of whole programs take as long as making them, and most differ in little that is looked up fast.
    sketches = [(len(steps), _sketch(steps)) for steps in bare]
    times = Counter(sketches)
    alike: dict[object, list[Program]] = defaultdict(list)
    for program, steps, sketch in zip(programs, bare, sketches, strict=True):
        alike[sketch if times[sketch] == 1 else (sketch, steps)].append(program)
    return tuple(_shared(same) for same in alike.values())


_SKETCHED = 32
_OF_A_SKETCH = ("step", "ph_id", "n", "iop_type", "file_id", "count")


def _sketch(steps: Sequence[Step]) -> tuple[object, ...]:
    """What is equal of equal steps, without looking at more than the first few."""
    first = islice(plain_steps(steps), _SKETCHED)
    return tuple(tuple(map(vars(step).get, _OF_A_SKETCH)) for step in first)


def programs_by_view(programs: Sequence[Program]) -> tuple[Program, ...]:
    """Programs in which all ranks set the same views: what a step's ``view_ids`` say, each in its own."""
    found = []
    for program in programs:
        views = [step.view_ids for step in _view_steps(program.steps)]
        if not any(views):
            found.append(program)
            continue
        groups: dict[Views, list[int]] = defaultdict(list)
        for position, rank in enumerate(program.ranks):
            own = tuple(
                step.view_ids[position] if step.view_ids else _one(step)
                for step in _view_steps(program.steps)
            )
            groups[own].append(rank)
        for own, ranks in groups.items():
            given = iter(own)
            steps = _with_views(program.steps, lambda given=given: next(given))  # type: ignore[misc]
            found.append(Program(ranks=tuple(ranks), steps=steps))
    return tuple(found)


def _shared(programs: Sequence[Program]) -> Program:
    if len(programs) == 1:
        return programs[0]
    views = {
        rank: [_one(step) for step in _view_steps(program.steps)]
        for program in programs
        for rank in program.ranks
    }
    ranks = tuple(sorted(views))
    given = iter(
        [tuple(views[rank][place] for rank in ranks) for place in range(len(views[ranks[0]]))]
    )
    return Program(ranks=ranks, steps=_with_views(programs[0].steps, lambda: next(given)))


def _one(step: FileStep) -> int:
    return -1 if step.view_id is None else step.view_id


def _sets_view(step: Step) -> bool:
    return isinstance(step, FileStep) and (step.view_id is not None or step.view_ids is not None)


def _view_steps(steps: Sequence[Step]) -> Iterator[FileStep]:
    return filter(_sets_view, file_steps(steps))


def _with_views(steps: Sequence[Step], view: Callable[[], int | Views | None]) -> tuple[Step, ...]:
    """The steps with other views, asked for in order: one, one for each rank, or 0 throughout for None."""

    def with_view(step: DataStep | FileStep) -> DataStep | FileStep:
        if not _sets_view(step):
            return step
        new = view()
        several = isinstance(new, tuple) and len(set(new)) > 1
        one = new[0] if isinstance(new, tuple) else new or 0
        views = {"view_id": None if several else one, "view_ids": new if several else None}
        return step.model_copy(update=views)

    return changed_steps(steps, with_view)
