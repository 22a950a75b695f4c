"""A group of ranks that do the same in every run, with what it does as functions of np and the rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wavetank.model.scaling.behaviour import Behaviour, Label, Shape
from wavetank.model.scaling.functions.nested_strides import PiecesFunction
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.scaling.functions.rank_functions import RankFunction

Found = dict[int, dict[int, Behaviour]]
"""By process count and rank."""


@dataclass(frozen=True)
class FittedView:
    """A file view of each rank of a group."""

    displacement: RankFunction
    etype_size: RankFunction
    extent: RankFunction
    pieces: PiecesFunction


@dataclass(frozen=True)
class NumberInName:
    """A number in a file's name, in ``width`` digits at least."""

    value: RankFunction
    width: int


@dataclass(frozen=True)
class FittedMember:
    """Where the operations of one pattern member lie: a run of equal ones at one distance, or any pieces."""

    size: RankFunction | None
    offset: RankFunction | None
    disp: RankFunction | None
    short: RankFunction | None  # bytes that the last one moved less
    pieces: PiecesFunction | None = None


@dataclass
class Group:
    """Ranks of one shape."""

    shape: Shape
    ranks: Mapping[int, tuple[int, ...]]  # by process count, those traced
    members: Callable[[int], tuple[int, ...]] | None  # at any; None: all that no other group has
    members_text: str
    sample: Behaviour  # of the nearest traced run
    ph_ids: Mapping[int, tuple[int, ...]] = field(
        default_factory=dict
    )  # of the first rank's phases, by process count
    labels: tuple[Label, ...] = ()
    numbers: list[RankFunction | None] = field(default_factory=list)
    views: list[FittedView | None] = field(default_factory=list)
    phases: list[tuple[FittedMember | None, ...]] = field(default_factory=list)
    counts: list[RankFunction | None] = field(default_factory=list)  # repetitions of each phase
    names: list[list[str | NumberInName]] = field(
        default_factory=list
    )  # of each file, text and numbers in turn
    other_names: list[list[list[str | NumberInName]]] = field(default_factory=list)
    sizes_before: list[RankFunction | None] = field(default_factory=list)
    unknown_sizes: dict[str, str] = field(
        default_factory=dict
    )  # by kind of file: why its size before the run has no function
    reasons: dict[int, str] = field(default_factory=dict)  # by local phase: why it has no function
    step_reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    fields: list[tuple[int | None, str, str, int]] = field(
        default_factory=list
    )  # phase, field, text, checks


@dataclass(frozen=True)
class Grouped:
    """The groups of an application's runs."""

    groups: tuple[Group, ...]
    left_out: Mapping[str, str]  # kinds of files, and why
    folder: str  # that the files of the nearest run are in


def ranks_of(groups: Sequence[Group], n: int) -> list[tuple[int, ...]]:
    """The ranks of each group at a process count.

    Raises:
        NoFunctionError: the groups overlap, or leave ranks out.
    """
    known = [None if group.members is None else group.members(n) for group in groups]
    taken = [rank for ranks in known if ranks is not None for rank in ranks]
    rest = tuple(sorted(set(range(n)) - set(taken)))
    found = [rest if ranks is None else ranks for ranks in known]
    everyone = sorted(rank for ranks in found for rank in ranks)
    if everyone != list(range(n)):
        raise NoFunctionError(
            f"the groups of ranks that do the same ({'; '.join(group.members_text for group in groups)}) are not all ranks at np {n}"
        )
    return found
