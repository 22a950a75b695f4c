"""Puts the ranks' parts together: one phase for the ranks that do the same thing.

Ranks belong to one phase when their operations, repetitions, request sizes and displacements agree,
within the similarity window. The n-th such part of one rank belongs to the n-th of another. Source:
method, section 2, "Across ranks".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.offsets import fit_offsets
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Offsets, UnknownOffsets
from wavetank.model.phases.rank_phase import RankPhase
from wavetank.model.rules import Rules
from wavetank.trace.schema import UNKNOWN

Shape = tuple[tuple[int, ...], tuple[int | None, ...]]  # rs and disp of each member


@dataclass(frozen=True)
class Group:
    """The parts of one phase: indices into the list of rank phases, by ascending rank."""

    parts: tuple[int, ...]


def group_ranks(
    parts: Sequence[RankPhase], rules: Rules, several: Container[int] = ()
) -> list[Group]:
    """Put parts of different ranks together.

    ``several``: files that stand for several; where these differ in size, the first one's says nothing.
    """
    by_call: dict[tuple[object, ...], dict[Shape, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for number, part in enumerate(parts):
        # Where repetitions are irregular the first displacement says nothing.
        regular = part.regular
        disp = part.disp if regular else (None,) * len(part.members)
        call = (
            part.level, part.file, part.ops, part.slots, part.n_rep, part.view == UNKNOWN,
            part.offsets_known, regular,
        )  # fmt: skip
        size = (0,) * len(part.members) if part.file in several and not regular else part.rs
        by_call[call][(size, disp)].append(number)
    groups: list[Group] = []
    for shapes in by_call.values():
        for members in _classes(shapes, rules):
            groups.extend(_by_occurrence(parts, members))
    return groups


def _classes(shapes: dict[Shape, list[int]], rules: Rules) -> Iterable[list[int]]:
    """Join shapes that are similar to the first of their class, in the order of their sizes."""
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


def offsets_of(parts: Sequence[RankPhase], member: int, in_view: bool) -> Offsets:
    """Where a pattern member's repetitions lie, over all ranks of a phase."""
    each = [((part.view_members if in_view else None) or part.members)[member] for part in parts]
    first = each[0]
    if not parts[0].offsets_known:
        equal = all(
            (one.n_runs, one.size, one.moved) == (1, first.size, first.moved) for one in each
        )
        sizes = None if equal else ListedSizes.of([one.runs for one in each])
        return UnknownOffsets.model_construct(sizes=sizes)
    alike = (1, first.size, first.moved, first.disp)
    fitted: LinearOffsets | None = None
    if len(each) == first.n_runs == 1 or all(
        (one.n_runs, one.size, one.moved, one.disp) == alike for one in each
    ):
        fitted = fit_offsets(
            [one.offset for one in each], [part.rank for part in parts], first.disp
        )
    return fitted or ListedOffsets.of([one.runs for one in each])
