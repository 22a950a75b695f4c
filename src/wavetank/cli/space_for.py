"""``wavetank space create --for``: shows which spaces would do for a kernel, and asks for the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from wavetank.cli.output import print_tables
from wavetank.errors import MeasurementError, UsageError
from wavetank.notes import carried, texts

if TYPE_CHECKING:
    from wavetank.cli.space_need import Need, Option
    from wavetank.kernel.document.kernel import Kernel
    from wavetank.service.client.spaces import Spaces
    from wavetank.service.core.records import Access, Kind, Mode, Space
    from wavetank.tables.table import Table

CHOSEN_BY_FOR = {
    "servers": "--servers",
    "devices": "--devices",
    "stripe": "--stripe",
    "redundancy": "--redundancy",
}
GOES_ON = ("no_room", "quota", "not_offered")
"""Codes of refusals that the next space may not meet."""
REMINDER = (
    "The measurements are of clusters, not of the service's servers: 'wavetank space check' performs the kernel on the "
    "space itself."
)


def need_of(
    name: str,
    kernel: Path,
    within: str | None,
    size: int | None,
    kind: str | None,
    mode: str,
    access: tuple[Access, ...],
    accepted: Sequence[str],
) -> Need:
    """What the options ask for.

    Raises:
        UsageError: they do not fit together, or with the kernel.
        KernelError: it cannot be read.
    """
    from wavetank.campaign.variant_files import space_needed
    from wavetank.cli.space_need import Need, see_room

    given = [option for parameter, option in CHOSEN_BY_FOR.items() if _is_given(parameter)]
    if given:
        raise UsageError(
            f"--for chooses {' and '.join(given)} by what was measured: leave that out"
        )
    need = Need(
        name=name,
        bytes=space_needed(_read(kernel)),
        within_s=limit_of(within),
        size=size,
        kind=cast("Kind | None", kind),  # click has looked at it
        mode=cast("Mode", mode) if _is_given("mode") else None,
        access=access,
        accepted=frozenset(accepted),
    )
    if against := see_room(need):
        raise UsageError(f"--size: {against}")
    return need


def limit_of(within: str | None) -> float:
    """Seconds of ``--within``.

    Raises:
        UsageError: it is missing, no duration, or none at all.
    """
    from wavetank.units import parse_duration

    if within is None:
        raise UsageError("--for needs --within: the I/O time that the kernel may take, e.g. 60s")
    try:
        limit = parse_duration(within)
    except ValueError as error:
        raise UsageError(f"--within: {error}") from error
    if not limit:
        raise UsageError("--within: no I/O takes no time at all: give, e.g., 60s")
    return limit


def create_for(
    spaces: Spaces,
    need: Need,
    kernel: Path,
    campaigns: Sequence[Path],
    *,
    settle: Callable[[Space], Space] | None,
    output_format: str,
) -> None:
    """Show the table, and ask for the cheapest space that will do.

    Args:
        spaces: of the tenant.
        need: what is asked for.
        kernel: its file.
        campaigns: folders of results.
        settle: waits for the space, where that is asked for; None: nothing is asked for.
        output_format: of the tables.

    Raises:
        MeasurementError: no space is known to do, with what would tell.
        ServiceError: the service refused each that would do.
    """
    from wavetank.campaign.evidence import evidence_of
    from wavetank.cli.space_need import how_to_measure, options
    from wavetank.cli.space_tables import SPACES

    made = _read(kernel)
    evidence, notes = evidence_of(made, campaigns)
    rows = options(need, spaces.classes(), evidence)
    for note in (*notes, *texts(carried(made.notes))):
        _say(f"note: {note}")
    unknown = dict.fromkeys(row.kind for row in rows if row.verdict == "not measured")
    for line in how_to_measure(unknown, str(kernel)):
        _say(f"to measure: {line}")
    fitting = [row for row in rows if row.verdict == "will do"]
    tables: list[Table] = [_table(rows)]
    try:
        if not fitting:
            raise MeasurementError(_none_will_do(rows))
        if settle is not None:
            tables.append(SPACES.table([settle(_first(spaces, fitting))]))
    finally:
        print_tables(tables, output_format)


def _table(rows: Sequence[Option]) -> Table:
    from wavetank.cli.space_tables import OPTIONS

    return OPTIONS.table(rows, caption=REMINDER)


def _first(spaces: Spaces, fitting: Sequence[Option]) -> Space:
    """The first of some spaces that the service takes.

    Raises:
        AnsweredError: it takes none; why it did not take the last.
    """
    from wavetank.service.client.connection import AnsweredError

    # Several measurements of the same space are one request.
    different: dict[str, Option] = {}
    for row in fitting:
        different.setdefault(_place_of(row), row)
    for left, row in zip(reversed(range(len(different))), different.values(), strict=True):
        assert row.request is not None and row.evidence is not None  # noqa: S101 - what will do has both
        _say(
            f"{row.mode} {row.kind} on {_servers(row.request.servers)}: {row.why}; as measured on {row.evidence.where}"
        )
        try:
            return spaces.create(row.request)
        except AnsweredError as error:
            if error.code not in GOES_ON or not left:
                raise
            _say(f"refused, the next one that will do is asked for: {error}")
    raise AssertionError("the last one returns or raises")


def _place_of(option: Option) -> str:
    return "" if option.request is None else option.request.model_dump_json()


def _none_will_do(rows: Sequence[Option]) -> str:
    counts = {row.verdict: 0 for row in rows}
    for row in rows:
        counts[row.verdict] += 1
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "the service offers none"
    hint = next(
        (f". The first that would: {row.why}" for row in rows if row.verdict == "would do"), ""
    )
    return f"no space is known to do ({told}){hint}. Nothing was asked for; the table says why"


def _servers(n: int) -> str:
    return f"{n} server" if n == 1 else f"{n} servers"


def _read(path: Path) -> Kernel:
    from wavetank.kernel.document.kernel import Kernel

    return Kernel.read(path)


def _is_given(parameter: str) -> bool:
    from click.core import ParameterSource

    source = click.get_current_context().get_parameter_source(parameter)
    return source is not ParameterSource.DEFAULT


def _say(line: str) -> None:
    click.echo(f"wavetank: {line}", err=True)
