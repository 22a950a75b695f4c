"""Groups of ranks that do the same in every run.

Reads models of one application; leaves for each group which ranks it has at a process count, and what they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from wavetank.model.document.model import Model
from wavetank.model.scaling.behaviour import Behaviours, Shape, file_kind
from wavetank.model.scaling.functions.process_functions import (
    NoFunctionError,
    NoNameError,
    candidates,
    whole_at,
)
from wavetank.model.scaling.phase_fit import Fitter
from wavetank.model.scaling.rank_group import Found, Group, Grouped
from wavetank.model.scaling.step_fit import StepFitter
from wavetank.tables.words import ranks_text


def group_models(models: Mapping[int, Model]) -> Grouped:
    """Group the ranks of models, and fit what they do.

    Files whose users do not correspond between runs are left out, with the reason. Where phases as they are follow no
    function, those that follow on each other are tried as one.

    Raises:
        NoFunctionError: the rest does not correspond either.
    """
    try:
        found: Grouped | NoFunctionError = _fitted(models, joined=False)
    except NoFunctionError as error:
        found = error
    if isinstance(found, Grouped) and not _problems(found):
        return found
    try:
        again = _fitted(models, joined=True)
    except NoFunctionError:
        if isinstance(found, NoFunctionError):
            raise found from None
        return found
    return again if isinstance(found, NoFunctionError) or not _problems(again) else found


def _problems(found: Grouped) -> bool:
    return bool(found.left_out) or any(
        group.reasons or group.step_reasons for group in found.groups
    )


def _fitted(
    models: Mapping[int, Model], joined: bool, without: Mapping[str, str] | None = None
) -> Grouped:
    """Groups and their functions. ``without``: kinds of files that were left out already, and why."""
    left_out = dict(without or {})
    kinds = sorted({file_kind(name) for model in models.values() for name in _names(model)})
    try:
        groups = _grouped(models, left_out, joined)
    except NoFunctionError as error:
        for kind in kinds:
            others = [other for other in kinds if other != kind]
            try:
                _grouped(models, others, joined)
            except NoFunctionError as own:
                left_out[kind] = str(own)
        if not left_out or len(left_out) == len(kinds):
            raise error
        groups = _grouped(models, left_out, joined)
    Fitter(groups).fit()
    try:
        for group, behaviours in groups:
            StepFitter(group, behaviours).fit()
    except NoNameError as error:
        left_out[error.kind] = str(error)
        if len(left_out) == len(kinds):
            raise
        return _fitted(models, joined, left_out)
    # The folder is that of the largest run: where runs are has nothing to do with np.
    return Grouped(
        tuple(group for group, _ in groups), left_out, Behaviours(models[max(models)]).folder
    )


def _names(model: Model) -> list[str]:
    behaviours = Behaviours(model)
    return [file.file_name.removeprefix(behaviours.folder).lstrip("/") for file in model.files]


def _grouped(
    models: Mapping[int, Model], without: Sequence[str] | Mapping[str, str], joined: bool
) -> list[tuple[Group, Found]]:
    by_shape: dict[Shape, Found] = defaultdict(lambda: defaultdict(dict))
    for n, model in models.items():
        behaviours = Behaviours(model, without, joined)
        for rank in range(n):
            behaviour = behaviours.of(rank)
            by_shape[behaviour.shape][n][rank] = behaviour
    made: list[tuple[Group, Found]] = []
    rest: list[tuple[Shape, str]] = []
    for shape, found in by_shape.items():
        ranks = {n: tuple(sorted(of)) for n, of in found.items()}
        members, text = None, "all others"
        try:
            members, text = membership(ranks, models)
        except NoFunctionError as error:
            rest.append((shape, str(error)))
        most = max(found)
        sample = found[most][min(found[most])]
        ph_ids = {n: tuple(phase.ph_id for phase in of[min(of)].phases) for n, of in found.items()}
        made.append((Group(shape, ranks, members, text, sample, ph_ids), found))
    # One group may be all ranks that are in no other: there may be none at the least process counts.
    if len(rest) > 1 or (rest and len(by_shape[rest[0][0]]) < min(2, len(models))):
        raise NoFunctionError(_no_groups(by_shape, models, rest))
    return made


def _no_groups(
    by_shape: Mapping[Shape, Found], models: Mapping[int, Model], rest: Sequence[tuple[Shape, str]]
) -> str:
    told = []
    for n in models:
        groups = [tuple(sorted(found[n])) for found in by_shape.values() if n in found]
        told.append(
            f"at np {n} in {len(groups)} ({'; '.join(ranks_text(g) for g in groups[:4])}{'; ...' if len(groups) > 4 else ''})"
        )
    differs = _first_difference(
        {
            n: next(shape for shape, found in by_shape.items() if 0 in found.get(n, {}))
            for n in models
        }
    )
    return f"ranks do the same in other groups at each process count: {', '.join(told)}{differs}"


def _first_difference(shapes: Mapping[int, Shape]) -> str:
    """Where what rank 0 does is another thing at two process counts."""
    most = max(shapes)
    for n, shape in shapes.items():
        if shape == shapes[most]:
            continue
        ours, theirs = _calls(shape), _calls(shapes[most])
        pairs = zip_longest(ours, theirs, fillvalue="nothing more")
        for number, (one, other) in enumerate(pairs, start=1):
            if one != other:
                return f". Step {number} of rank 0 is {one} at np {n} and {other} at np {most}"
    return ""


def _calls(shape: Shape) -> list[str]:
    steps, kinds = shape[:2]
    assert isinstance(steps, tuple) and isinstance(kinds, tuple)  # noqa: S101 - see Behaviours.of
    told = []
    for step in steps:
        if step[0] == "data":
            told.append(" + ".join(name for name, _ in kinds[step[1]][2]))
        elif step[0] == "file":
            view = "" if step[7] is None else " with a file view that is not contiguous"
            told.append(f"{step[1]}{view}")
        else:
            told.append("a collective" if step[0] == "sync" else "a loop")
    return told


# --- who is in a group ----------------------------------------------------------------------------


def membership(
    ranks: Mapping[int, tuple[int, ...]], models: Mapping[int, Model]
) -> tuple[Callable[[int], tuple[int, ...]], str]:
    """The ranks of a group as a function of np: all, or a range whose ends are functions of it.

    Raises:
        NoFunctionError: they are no such range at all process counts.
    """
    if len(ranks) == len(models) and all(of == tuple(range(n)) for n, of in ranks.items()):
        return (lambda n: tuple(range(n))), "all"
    if len(ranks) < 2:
        raise NoFunctionError("one run alone has it")
    # What is checked below is every rank of every run, not these ends alone: one run more is enough.
    first = candidates({n: of[0] for n, of in ranks.items()}, least_checks=1)
    last = candidates({n: of[-1] for n, of in ranks.items()}, least_checks=1)
    steps = {n: of[1] - of[0] for n, of in ranks.items() if len(of) > 1}
    step = candidates(steps if len(steps) > 1 else dict.fromkeys(ranks, 1), least_checks=1)
    regular = all(
        len(of) == 1 or of == tuple(range(of[0], of[-1] + 1, of[1] - of[0]))
        for of in ranks.values()
    )
    if not regular or not first or not last or not step or len(steps) == 1:
        raise NoFunctionError("its ranks are no range that is a function of np")

    def members(n: int) -> tuple[int, ...]:
        low = whole_at(first, n, "the first rank of a group", least=0)
        high = whole_at(last, n, "the last rank of a group")
        by = whole_at(step, n, "the step of a group's ranks", least=1)
        return tuple(rank for rank in range(low, high + 1, by) if rank < n)

    for n in models:
        if members(n) != ranks.get(n, ()):
            raise NoFunctionError("its ranks are no range that is a function of np")
    text = str(first[0]) if str(first[0]) == str(last[0]) else f"{first[0]} to {last[0]}"
    if str(step[0]) != "1":
        text += f" by {step[0]}"
    return members, text
