"""A group of ranks that do the same in every run, with what it does as functions of np and the rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wavetank.model.scaling.behaviour import Behaviour, Label, Shape
from wavetank.model.scaling.functions.nested_strides import Pieces, PiecesFunction
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.scaling.functions.rank_functions import At, RankFunction
from wavetank.trace.schema import FileView

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


@dataclass(frozen=True)
class MemberValues:
    """Where one pattern member's operations are, a value for each rank of the group."""

    size: list[int] | None
    offset: list[int] | None
    disp: list[int] | None
    short: list[int] | None
    pieces: list[Pieces] | None


@dataclass(frozen=True)
class Values:
    """All numbers of a group at one process count, a value for each rank."""

    numbers: list[list[int] | None]
    views: list[list[FileView] | None]
    phases: list[list[MemberValues | None]]
    names: list[list[str]]
    other_names: list[list[list[str]]]
    sizes_before: list[list[int] | None]


def values_at(group: Group, at: At) -> Values:
    """What the functions of a group give.

    Raises:
        NoFunctionError: one has no value there.
    """
    known: dict[int, list[int]] = {}

    def of(function: RankFunction | None, what: str, least: int | None = None) -> list[int] | None:
        if function is None:
            return None
        if id(function) not in known:
            try:
                known[id(function)] = function.of(at)
            except NoFunctionError as error:
                raise NoFunctionError(f"{what}: {error}") from error
        values = known[id(function)]
        if least is not None and min(values, default=least) < least:
            raise NoFunctionError(f"{what} = {function.text} is negative at np {at.n}")
        return values

    def number(function: RankFunction | None, label: Label) -> list[int] | None:
        try:
            return of(function, label.field, 0)
        except NoFunctionError:
            if label.phase in group.reasons:  # it is not extrapolated, and says why
                return None
            raise

    def member(phase: int, fitted: FittedMember | None) -> MemberValues | None:
        if fitted is None:
            return None
        try:
            return placed(phase, fitted)
        except NoFunctionError:
            if phase in group.reasons:
                return None
            raise

    def placed(phase: int, fitted: FittedMember) -> MemberValues:
        where = f"of phase {group.sample.phases[phase].ph_id}"
        return MemberValues(
            of(fitted.size, f"rs {where}", 0),
            of(fitted.offset, f"the offset {where}"),
            of(fitted.disp, f"disp {where}"),
            of(fitted.short, f"the short last operation {where}"),
            None if fitted.pieces is None else fitted.pieces.of(at),
        )

    return Values(
        [
            number(function, label)
            for function, label in zip(group.numbers, group.labels, strict=True)
        ],
        [
            None
            if view is None
            else [
                FileView(displacement, etype, extent, tuple(p.offset.tolist()), tuple(p.length.tolist()))
                for displacement, etype, extent, p in zip(
                    view.displacement.of(at), view.etype_size.of(at), view.extent.of(at), view.pieces.of(at),
                    strict=True,
                )
            ]
            for view in group.views
        ],
        [
            [member(number, fitted) for fitted in members]
            for number, members in enumerate(group.phases)
        ],
        [_file_names(parts, at) for parts in group.names],
        [[_file_names(parts, at) for parts in others] for others in group.other_names],
        [of(function, "the size of a file before the run", 0) for function in group.sizes_before],
    )  # fmt: skip


def _file_names(parts: Sequence[str | NumberInName], at: At) -> list[str]:
    columns = [
        [part] * len(at.ranks)
        if isinstance(part, str)
        else [f"{value:0{part.width}d}" for value in part.value.of(at)]
        for part in parts
    ]
    return ["".join(texts) for texts in zip(*columns, strict=True)]
