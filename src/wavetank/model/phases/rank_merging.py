"""Puts the ranks' parts together: one phase for the ranks that do the same thing.

Ranks belong to one phase when their operations, repetitions, request sizes and displacements agree,
within the similarity window. The n-th such part of one rank belongs to the n-th of another. Source:
method, section 2, "Across ranks".

Why ranks are put together after each was looked at alone, and not while rows are read: a rank's patterns depend on nothing of the
other ranks. So the work is that of each rank, and a rank that does something else disturbs none.

Why by what is done and not by when: ranks of a program drift, and clocks of hosts differ. The n-th part of the same kind is taken for
the same step of the program, whenever a rank came to it.

Why places are no condition: ranks of one phase are at different places by nature. A function of the rank that gives all of
them is fitted behind it, exactly or not at all. Where there is none the places are listed, and the phase stays one.

Why a displacement counts only where it is regular: the first one of irregular repetitions is chance, and would separate ranks that do the
same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.offsets import fit_offsets
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Offsets, UnknownOffsets
from wavetank.model.phases.rank_phase import RankPhase
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN

Shape = tuple[tuple[int, ...], tuple[int | None, ...]]  # rs and disp of each member


class Group(NamedTuple):
    """The parts of one phase: indices into the list of rank phases, by ascending rank."""

    parts: tuple[int, ...]


def group_ranks(
    parts: Sequence[RankPhase], rules: Rules, several: Container[int] = ()
) -> list[Group]:
    """Put parts of different ranks together.

    ``several``: files that stand for several; where these differ in size, the first one's says nothing.
    """
    by_call: dict[tuple[object, ...], dict[Shape, list[int]]] = {}
    for number, part in enumerate(parts):
        members, file, n_rep = part.members, part.file, part.n_rep
        known = members[0].offset != UNKNOWN
        # Where repetitions are irregular the first displacement says nothing.
        disp: tuple[int | None, ...]
        if len(members) == 1:  # most are: no need to look at each of them
            (member,) = members
            regular = member.n_runs == 1
            disp = (member.step,) if regular and n_rep > 1 and known else (None,)
            size: tuple[int, ...] = (member.size,)
        else:
            regular = part.regular
            disp = part.disp if regular else (None,) * len(members)
            size = part.rs
        if not regular and file in several:
            size = (0,) * len(members)
        call = (
            part.level, file, part.ops, part.slots, n_rep, part.view == UNKNOWN, known, regular,
        )  # fmt: skip
        by_call.setdefault(call, {}).setdefault((size, disp), []).append(number)
    groups: list[Group] = []
    for shapes in by_call.values():
        for alike in _classes(shapes, rules):
            if len(alike) == 1:
                groups.append(Group((alike[0],)))
            else:
                groups.extend(_by_occurrence(parts, alike))
    return groups


def _classes(shapes: dict[Shape, list[int]], rules: Rules) -> Iterable[list[int]]:
    """Join shapes that are similar to the first of their class, in the order of their sizes."""
    if len(shapes) == 1:
        return shapes.values()
    classes: list[tuple[Shape, list[int]]] = []
    for shape in sorted(shapes, key=lambda s: (s[0], [d or 0 for d in s[1]])):
        for first, members in classes[-8:]:
            if _alike(first, shape, rules):
                members.extend(shapes[shape])
                break
        else:
            classes.append((shape, list(shapes[shape])))
    return [members for _, members in classes]


def _alike(first: Shape, second: Shape, rules: Rules) -> bool:
    return all(rules.alike(a, b) for a, b in zip(first[0], second[0], strict=True)) and all(
        a == b if a is None or b is None else rules.alike(a, b)
        for a, b in zip(first[1], second[1], strict=True)
    )


def _by_occurrence(parts: Sequence[RankPhase], members: list[int]) -> Iterable[Group]:
    """The n-th part of every rank together."""
    members.sort()  # parts are in order of stream and occurrence
    if len({parts[number].rank for number in members}) == 1:
        return [Group((number,)) for number in members]
    nth: dict[int, int] = defaultdict(int)
    groups: dict[int, list[int]] = defaultdict(list)
    for number in members:
        rank = parts[number].rank
        groups[nth[rank]].append(number)
        nth[rank] += 1
    return [
        Group(tuple(sorted(group, key=lambda number: parts[number].rank)))
        for group in groups.values()
    ]


def offsets_of_each(
    phases: Sequence[Sequence[RankPhase]], *, in_view: bool
) -> list[tuple[Offsets, ...]]:
    """Where the repetitions of each pattern member of some phases lie.

    ``in_view``: in the MPI file view, which all of these phases have.
    """
    firsts: list[int] = []
    steps: list[int] = []
    found: list[list[Offsets | None]] = []
    for parts in phases:
        one = parts[0]
        members = (one.view_members if in_view else None) or one.members
        if len(parts) == 1 and one.members[0].offset != UNKNOWN:
            # Of one rank's single run nothing is to be fitted: these are made at once below.
            firsts += [member.offset for member in members if member.n_runs == 1]
            steps += [member.disp for member in members if member.n_runs == 1]
            found.append(
                [
                    None if member.n_runs == 1 else offsets_of(parts, number, in_view)
                    for number, member in enumerate(members)
                ]
            )
        else:
            found.append([offsets_of(parts, number, in_view) for number in range(len(members))])
    n = len(firsts)
    made = iter(LinearOffsets.of_columns(function=["linear"] * n, a=[0] * n, b=steps, c=firsts))
    return [tuple([next(made) if one is None else one for one in of_phase]) for of_phase in found]


def offsets_of(parts: Sequence[RankPhase], member: int, in_view: bool) -> Offsets:
    """Where a pattern member's repetitions lie, over all ranks of a phase."""
    each = [((part.view_members if in_view else None) or part.members)[member] for part in parts]
    first = each[0]
    if not parts[0].offsets_known:
        shape = (1, first.size, first.moved)
        equal = not [one for one in each if (one.n_runs, one.size, one.moved) != shape]
        sizes = None if equal else ListedSizes.of([one.runs for one in each])
        return UnknownOffsets.model_construct(sizes=sizes)
    alike = (1, first.size, first.moved, first.disp)
    fitted: LinearOffsets | None = None
    if len(each) == first.n_runs == 1 or not [
        one for one in each if (one.n_runs, one.size, one.moved, one.disp) != alike
    ]:
        fitted = fit_offsets(
            [one.offset for one in each], [part.rank for part in parts], first.disp
        )
    if fitted is not None:
        return fitted
    if not [one for one in each if one.n_runs != 1]:
        return ListedOffsets.of_single_runs(
            [(one.count, one.size, one.moved, one.offset, one.disp) for one in each]
        )
    return ListedOffsets.of([one.runs for one in each])
