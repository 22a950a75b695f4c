"""A phase that several groups of ranks have, or one: what its ranks do in every run, as columns by process count.

Reads behaviours; leaves numbers for functions to be found of, and mean sizes where places follow none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.model import View
from wavetank.model.scaling.behaviour import LocalPhase
from wavetank.model.scaling.functions.block_division import Column
from wavetank.model.scaling.functions.nested_strides import Pieces
from wavetank.model.scaling.functions.process_functions import (
    Candidates,
    NoFunctionError,
    candidates,
    value_at,
)
from wavetank.model.scaling.functions.rank_functions import At, RankFunction
from wavetank.model.scaling.rank_group import FittedMember


@dataclass(frozen=True)
class Scope:
    """A phase of several groups, or of one: its ranks in ascending order, by process count."""

    groups: tuple[int, ...]
    ranks: Mapping[int, tuple[int, ...]]
    phases: Mapping[int, tuple[LocalPhase, ...]]
    views: Mapping[int, tuple[View | None, ...]]

    def column(self, of: Callable[[LocalPhase], int]) -> Column:
        """A number of each rank."""
        return {n: [of(phase) for phase in phases] for n, phases in self.phases.items()}


def runs_of(phase: LocalPhase, member: int) -> RunArrays:
    """The runs of a rank by pattern member, of a phase whose offsets are known."""
    assert phase.runs is not None  # noqa: S101 - the shape says whether offsets are known
    return phase.runs[member]


def is_listed(scope: Scope) -> bool:
    """Whether operations of some rank are at no one distance."""
    return any(
        len(one) != 1 for of in scope.phases.values() for phase in of for one in (phase.runs or ())
    )


def suffix(scope: Scope, member: int) -> str:
    """The number of a pattern member, of several."""
    return f"[{member}]" if len(next(iter(scope.phases.values()))[0].rs) > 1 else ""


def size_of(phase: LocalPhase, member: int) -> int:
    """The request size of a rank by pattern member, bytes; of several, the first."""
    return phase.rs[member] if phase.runs is None else int(phase.runs[member].size[0])


def _mean_size(phase: LocalPhase, member: int) -> Fraction:
    if phase.runs is None:
        return Fraction(phase.rs[member])
    one = phase.runs[member]
    return Fraction(int((one.count * one.size).sum()), int(one.count.sum()))


def operations(runs: RunArrays) -> Pieces:
    """Single operations of runs."""
    count = runs.count
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return Pieces(
        np.repeat(runs.offset, count) + within * np.repeat(runs.disp, count),
        np.repeat(runs.size, count),
    )


def _mean_of(means: Candidates) -> Callable[[At], list[int]]:
    """Sizes that have a mean: the first ranks one byte more where it is no whole number."""

    def of(at: At) -> list[int]:
        total = value_at(means, at.n, "the mean size") * len(at.ranks)
        if total.denominator != 1 or total < 0:
            raise NoFunctionError(f"the mean size {means[0]} gives no whole total at np {at.n}")
        size, more = divmod(total.numerator, len(at.ranks))
        return [size + (place < more) for place in range(len(at.ranks))]

    return of


def sizes_alone(scope: Scope) -> tuple[FittedMember | None, ...]:
    """The sizes, or their mean, so that the weight is known."""
    sample = next(iter(scope.phases.values()))[0]
    members: list[FittedMember | None] = []
    for member in range(len(sample.rs)):
        means = candidates(
            {
                n: sum((_mean_size(phase, member) for phase in of), Fraction(0)) / len(of)
                for n, of in scope.phases.items()
            }
        )
        checks = len(scope.phases) - means[0].n_parameters if means else 0
        if not means or checks < min(
            2, len(scope.phases) - 1
        ):  # a line through three means may be chance
            members.append(None)
            continue
        mean = RankFunction(str(means[0]), checks, _mean_of(means), False)
        members.append(FittedMember(mean, None, None, None))
    return tuple(members)
