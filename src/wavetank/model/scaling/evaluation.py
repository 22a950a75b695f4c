"""What the functions of a group of ranks give at one process count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.model.scaling.behaviour import Label
from wavetank.model.scaling.functions.nested_strides import Pieces
from wavetank.model.scaling.functions.process_functions import NoFunctionError
from wavetank.model.scaling.functions.rank_functions import At, RankFunction
from wavetank.model.scaling.rank_group import FittedMember, Group, NumberInName
from wavetank.trace.schema import FileView


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
